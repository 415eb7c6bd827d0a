//! From the tree to servers of metrics: what one lacks costs only that one.

use super::build::{placeholders_as_troubles, read_ca};
use super::load::Work;
use super::placeholder::Kind;
use super::tree::child;
use crate::domain::FactKind;
use crate::providers::postgres::config::subject as of_postgres;
use crate::providers::prometheus::config::{PrometheusFragment, PrometheusSettings, subject};

/// Servers that can be asked; a gap for each of the others.
pub(super) fn servers(work: &mut Work, site: &str, environment: &str) -> Vec<PrometheusSettings> {
    let databases: Vec<String> = work.named("postgres").into_iter().map(|(name, _)| name).collect();
    let mut servers = Vec::new();
    for (name, node) in work.named("prometheus") {
        let path = child("prometheus", &name);
        let about = subject(&name);
        work.own_placeholders(&path, &about);
        let mut troubles = placeholders_as_troubles(work, &path);
        let fragment: Option<PrometheusFragment> = work.part(&path, &node, &|_| false);
        if let Some(fragment) = fragment {
            let key = child(&path, "bearer-token");
            let token =
                fragment.bearer_token.as_ref().map(|reference| work.secret(&key, reference, Kind::Secret, &about, &mut troubles));
            let ca = fragment.ca.clone();
            let known =
                |database: &str| databases.iter().any(|of| of == database).then(|| of_postgres(site, environment, database));
            let (mut settings, complaints) = fragment.settings(&name, token, &known);
            work.take(&path, complaints);
            if let Some(ca) = ca {
                settings.ca_file = Some(read_ca(work, &path, &ca, &mut troubles));
            }
            if troubles.is_empty() {
                servers.push(settings);
            }
        }
        work.gap(&about, FactKind::Sample, &troubles);
    }
    servers
}
