use dalsegno::domain::Severity;

use super::scene::alert_rules;

const STOCK: (&str, &str) =
    ("LastFailedArchiveTime", "(cnpg_pg_stat_archiver_last_failed_time - cnpg_pg_stat_archiver_last_archived_time) > 1");
const READY: (&str, &str) = ("Backlog", "cnpg_collector_pg_wal_archive_status{value=\"ready\"} > 8");
const ABSENT: (&str, &str) = ("Blind", "absent(cnpg_collector_up{cluster=\"app\"})");
const AGE: (&str, &str) = ("Old", "time() - cnpg_pg_stat_archiver_last_archived_time > 900");

#[test]
fn rules_that_see_only_counted_failures_are_named() {
    let finding = alert_rules(&[STOCK]).only("archive-alerts-insufficient", Severity::Warning);
    assert_eq!(finding.subject.to_string(), "cluster/home/home");
    assert!(finding.evidence.iter().any(|line| line.contains("LastFailedArchiveTime")), "{:?}", finding.evidence);
    let finding = alert_rules(&[STOCK, AGE, READY]).only("archive-alerts-insufficient", Severity::Warning);
    assert!(
        finding.evidence.iter().any(|line| line.contains("Old fires for ever on an idle database")),
        "{:?}",
        finding.evidence
    );
    alert_rules(&[STOCK, ABSENT]).only("archive-alerts-insufficient", Severity::Warning);
}

#[test]
fn rules_for_a_backlog_and_for_missing_metrics_are_enough() {
    alert_rules(&[STOCK, READY, ABSENT]).silent();
    alert_rules(&[ABSENT, ("Grows", "predict_linear(cnpg_collector_pg_wal{value=\"size\"}[1h], 86400) > 9e9")]).silent();
    // Nobody watches with Prometheus.
    alert_rules(&[]).silent();
}
