//! Clusters that were read from manifests: what a text alone can show, before anything runs.
//!
//! Nothing that needs a status, a number or a bucket is asked here: that a text has none says nothing. Two writers of one place and
//! replicas of what nobody writes are joined with all other Clusters, of every environment that was given.

use super::super::ground::{Ground, say};
use super::super::store::R2_REGIONS;
use super::numbers::Numbers;
use super::restored::source;
use super::writers::{Spot, spots, writes_to};
use super::{backups, place, plugin, restored, restores, shutdown, stand};
use crate::domain::{ArchiveRef, CnpgFact, Finding, ObjectStoreSeen, Severity, ValueKind, is_placeholder};

/// Variables that say which region requests are signed for.
const REGION: &[&str] = &["AWS_REGION", "AWS_DEFAULT_REGION"];
/// R2's hosts: <https://developers.cloudflare.com/r2/api/s3/api/>.
const R2_HOST: &str = ".r2.cloudflarestorage.com";

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    let single = [
        place::placeholders(cluster),
        place::dangling(cluster),
        region(cluster),
        source_server(ground, cluster),
        plugin::tools_missing(cluster, &Numbers::of(ground, cluster)),
    ];
    let mut findings: Vec<Finding> = single.into_iter().flatten().collect();
    findings.extend(restored::judge(ground, cluster));
    findings.extend(shutdown::judge(ground, cluster));
    findings.extend(backups::of_text(ground, cluster));
    findings.extend(restores::judge(ground, cluster));
    findings
}

/// The region that the sidecar would sign for, where the store cannot take it.
fn region(cluster: &CnpgFact) -> Option<Finding> {
    let of_store = |store: &ObjectStoreSeen| {
        let r2 = cluster.archivers.iter().any(|archiver| {
            let named = matches!(archiver, ArchiveRef::Plugin { object_store, .. } if *object_store == store.name);
            named && place::host_of(archiver.location().and_then(|at| at.endpoint.as_deref())).ends_with(R2_HOST)
        });
        let written = store.sidecar_env.iter().filter(|(name, _)| REGION.contains(&name.as_str()));
        let why = |(name, value): (&String, &Option<String>)| {
            let region = value.as_deref()?;
            let cause = if is_placeholder(region, ValueKind::Plain) {
                format!("the region is the placeholder {region}")
            } else if region.chars().any(|c| c.is_whitespace() || c.is_control()) {
                format!("the region {region:?} holds whitespace")
            } else if r2 && !R2_REGIONS.contains(&region) {
                format!("R2 signs with \"auto\", and the region is \"{region}\"")
            } else {
                return None;
            };
            Some((format!("ObjectStore {}: {name}={region:?}", store.name), cause))
        };
        written.filter_map(why).collect::<Vec<_>>()
    };
    let found: Vec<(String, String)> = cluster.object_stores.iter().flat_map(of_store).collect();
    let cause = found.first()?.1.clone();
    Some(Finding {
        evidence: found.into_iter().map(|(line, _)| line).collect(),
        cause: cause.clone(),
        ..say("s3-region-invalid", Severity::Critical, &cluster.subject, cause)
    })
}

/// A recovery by the plugin without a server name reads under the new Cluster's own name. Where nobody writes that one, it does not
/// write beside it itself (which is how one restores oneself), and others do, it is the name of one of these that was meant.
fn source_server(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let (entry, archive) = source(cluster)?;
    let (ArchiveRef::Plugin { .. }, location) = (archive, archive.location()?) else { return None };
    let spot = Spot::of(ground, cluster, location)?;
    let own = spots(ground, cluster).iter().any(|(written, _)| *written == spot || written.beside(&spot));
    let written = ground.cnpg.iter().any(|other| writes_to(ground, other, &spot));
    if location.server != cluster.cluster.name || own || written || stand::is_stopped(cluster) {
        return None;
    }
    let beside = ground.cnpg.iter().flat_map(|other| spots(ground, other)).filter(|(other, _)| other.beside(&spot));
    let mut servers: Vec<&str> = beside.map(|(_, at)| at.server.as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    let meant = (*servers.first()?).to_owned();
    Some(Finding {
        evidence: vec![
            format!("externalClusters[{entry}] reads {}", place::words(location)),
            format!("under that path is written: {}", servers.join(", ")),
        ],
        cause: "no serverName is given, and the default is the new Cluster's own name".to_owned(),
        remedy: format!("set plugin.parameters.serverName: {meant} in externalClusters[{entry}] of {}", cluster.cluster),
        ..say(
            "restore-source-server-mismatch",
            Severity::Critical,
            &cluster.subject,
            format!(
                "the recovery source resolves to server {}, which nobody writes; there is {}",
                spot.server,
                servers.join(", ")
            ),
        )
    })
}
