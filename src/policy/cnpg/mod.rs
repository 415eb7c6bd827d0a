//! Good or bad about CNPG Clusters: who archives where and whether that works, restores, volumes; and backups and their schedules.
//!
//! A condition of CNPG has no heartbeat, so it is never believed alone, neither the good word nor the bad one. What was not looked at
//! (`None`) makes no finding here and never makes fine: the gap speaks. One cause is one finding: the rule that names the more exact
//! cause stands, and the general one asks it first.

mod alerts;
mod archiver;
mod backups;
mod numbers;
mod place;
mod plugin;
mod replica;
mod restored;
mod restores;
mod shutdown;
mod stand;
mod systems;
mod text;
mod volume;
mod writers;

use super::clock;
use super::ground::Ground;
use crate::domain::{CnpgFact, Finding};

pub(super) use place::tells_why_not_seen;
pub(super) use systems::tells_whose;

pub(super) use backups::{only_snapshots, tells_incomplete, why_old, without_wal};

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let clusters = ground.cnpg.iter().flat_map(|cluster| of_cluster(ground, cluster));
    let joined = writers::judge(ground)
        .into_iter()
        .chain(replica::judge(ground))
        .chain(shutdown::gone(ground))
        .chain(backups::orphans(ground))
        .chain(alerts::judge(ground));
    clusters.chain(joined).collect()
}

fn of_cluster(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    if cluster.from_text {
        return text::judge(ground, cluster);
    }
    if stand::is_sandbox(ground, cluster) {
        return restored::source_server(ground, cluster).into_iter().chain(restores::judge(ground, cluster)).collect();
    }
    let mut findings = place::judge(ground, cluster);
    findings.extend(systems::judge(ground, cluster));
    findings.extend(restored::judge(ground, cluster));
    findings.extend(shutdown::judge(ground, cluster));
    findings.extend(volume::judge(ground, cluster));
    findings.extend(plugin::drift(ground, cluster));
    findings.extend(backups::judge(ground, cluster));
    findings.extend(restores::judge(ground, cluster));
    findings.extend(archiving(ground, cluster, &findings));
    findings
}

/// Codes that name the very reason why nothing is archived: while one of them stands, the general ones have nothing to add.
const REASONS: &[&str] = &[
    "barman-tools-missing-in-image",
    "objectstore-reference-dangling",
    "plugin-migration-stuck",
    "restore-overwrites-source-archive",
    "volume-resize-not-applied",
    "wal-archiving-disabled-by-annotation",
    "wal-plugin-not-loaded",
    "wal-plugin-socket-unreachable",
    "wal-volume-full",
];

/// Whether WAL gets out: the first that applies, from the exact to the general.
fn archiving(ground: &Ground, cluster: &CnpgFact, known: &[Finding]) -> Vec<Finding> {
    let told = |finding: &Finding| REASONS.contains(&finding.code.as_str()) && finding.subject == cluster.subject;
    if stand::is_asleep(cluster) || !stand::has_archiver(cluster) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    if !known.iter().any(told) {
        let exact = plugin::not_archiving(ground, cluster).map(|finding| with_the_clock(ground, finding));
        findings.extend(exact.or_else(|| archiver::not_archiving(ground, cluster)));
    }
    findings.extend(archiver::beside(ground, cluster, findings.is_empty()));
    findings
}

/// An exact reason does not make the clock stop.
fn with_the_clock(ground: &Ground, mut finding: Finding) -> Finding {
    let clock = clock::clock_of(ground, &finding.subject);
    if clock.full_in.is_some() {
        finding.evidence.push(format!("{} ({})", clock::when(&clock), clock.grounds()));
    }
    finding
}
