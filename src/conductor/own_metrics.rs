//! What the ledger alone tells in Prometheus' words: when the last pass was, and how much of what is open.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::outcome::Counted;
use crate::ledger::{HistoryFilter, Ledger, LedgerError, RunKind, RunState};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BySeverity {
    severity: &'static str,
}

/// The page of numbers.
pub async fn own_metrics(ledger: &Ledger) -> Result<String, LedgerError> {
    let filter =
        HistoryFilter { kind: Some(RunKind::Pass), state: Some(RunState::Done), limit: Some(1), ..HistoryFilter::default() };
    let newest = ledger.history(&filter).await?.into_iter().next();
    let open = ledger.open_findings().await?;
    let counted = Counted::of(open.iter().map(|open| &open.finding));
    let mut registry = Registry::default();
    let last = Gauge::<i64>::default();
    last.set(newest.map_or(0, |run| run.ended.unwrap_or(run.began).as_second()));
    registry.register("dalsegno_last_pass_timestamp_seconds", "When the newest pass came to its end; 0 = none did", last);
    let findings = Family::<BySeverity, Gauge>::default();
    for (severity, count) in
        [("critical", counted.critical), ("warning", counted.warnings), ("info", counted.infos), ("unknown", counted.unknown)]
    {
        findings.get_or_create(&BySeverity { severity }).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    registry.register("dalsegno_findings_open", "Open findings; unknown = what could not be looked at", findings);
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = prometheus_client::encoding::prometheus_text::encode(&mut text, &registry);
    Ok(text)
}
