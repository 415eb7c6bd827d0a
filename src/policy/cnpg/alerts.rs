//! Alert rules of a site: whether they would see an archive that stands still.

use super::super::ground::{Ground, say};
use crate::domain::{AlertRulesFact, Finding, Severity};

/// Metrics of which a backlog can be read: segments that wait, and the size of pg_wal.
const BACKLOG: &[&str] = &["cnpg_collector_pg_wal_archive_status", "cnpg_collector_pg_wal{", "cnpg_collector_pg_wal "];

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    ground.alert_rules.iter().filter_map(|rules| insufficient(rules)).collect()
}

/// Rules that watch archiving by the times of pg_stat_archiver alone are blind where failures are not counted, and cry where a database
/// is idle. No rule at all is no fault: this program may be the one that watches.
fn insufficient(fact: &AlertRulesFact) -> Option<Finding> {
    if fact.rules.is_empty() {
        return None;
    }
    let any = |fits: &dyn Fn(&str) -> bool| fact.rules.iter().any(|(_, _, expression)| fits(expression));
    let backlog = any(&|expression| BACKLOG.iter().any(|metric| expression.contains(metric)));
    let absent = any(&|expression| expression.contains("absent(") || expression.contains("absent_over_time("));
    let mut missing: Vec<&str> = Vec::new();
    if !backlog {
        missing.push("no rule looks at segments that wait (cnpg_collector_pg_wal_archive_status{value=\"ready\"})");
    }
    if !absent {
        missing.push("no rule says when the metrics themselves are missing (absent)");
    }
    if missing.is_empty() {
        return None;
    }
    let age_only = |expression: &str| expression.contains("time()") && expression.contains("last_archived_time");
    let flapping = fact.rules.iter().filter(|(_, _, expression)| age_only(expression));
    let mut evidence: Vec<String> = missing.iter().map(|text| (*text).to_owned()).collect();
    evidence.extend(fact.rules.iter().map(|(object, alert, expression)| format!("{object}: {alert}: {expression}")));
    evidence.extend(flapping.map(|(_, alert, _)| format!("{alert} fires for ever on an idle database")));
    Some(Finding {
        cause: missing.join("; "),
        evidence,
        remedy: "kubectl get prometheusrules -A; add: cnpg_collector_pg_wal_archive_status{value=\"ready\"} > 8 for 15m, \
                 absent(cnpg_collector_up) for 10m, and predict_linear over cnpg_collector_pg_wal{value=\"size\"}; or apply the rules that \
                 are shipped in deploy/alerts"
            .to_owned(),
        ..say(
            "archive-alerts-insufficient",
            Severity::Warning,
            &fact.subject,
            format!("the alert rules for archiving miss {} of 2 things: an archiver that is killed or hangs stays unseen", missing.len()),
        )
    })
}
