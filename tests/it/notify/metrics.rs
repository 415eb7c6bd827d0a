//! What Prometheus is told, and that rules and dashboard ask for nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dalsegno::conductor::metrics::{MEASURES, render};
use dalsegno::domain::{Ack, Expected, Message, Policy, Sample, Severity};
use dalsegno::domain::{ExitCode, RunId};
use dalsegno::ledger::{Ledger, RunKind, RunState};
use dalsegno::process::Process;

use super::{at, finding};

async fn a_ledger(folder: &Path) -> Ledger {
    let ledger = Ledger::open(folder, at(0), Process::this().unwrap()).await.unwrap();
    for second in [0, 300] {
        let run = RunId::new();
        ledger.begin(run, RunKind::Pass, at(second)).await.unwrap();
        let found = [finding("wal-gap", "keycloak-db", Severity::Critical)];
        ledger.commit_findings(run, at(second), &found, &|_| true).await.unwrap();
        let subject = found[0].subject.clone();
        let sample = |metric: &str, value| Sample { subject: subject.clone(), metric: metric.into(), value, at: at(second) };
        let samples = [sample("look_seconds", 0.2), sample("archive_bytes", 4096.0), sample("archive_age_seconds", 60.0)];
        ledger.commit_samples(run, at(second), &samples).await.unwrap();
        let message = Message { channel: "ops".into(), key: run.to_string(), body: "{}".into(), replaces: false };
        ledger.queue(run, at(second), &[message]).await.unwrap();
        ledger.end(run, at(second + 2), RunState::Done, ExitCode::Findings).await.unwrap();
    }
    let key = finding("wal-gap", "keycloak-db", Severity::Critical).key();
    let (severity, reason, author) = (Severity::Critical, "known".to_owned(), "vera".to_owned());
    ledger.acknowledge(&Ack { key, severity, reason, author, made_at: at(10), until: at(86_400) }).await.unwrap();
    ledger
}

fn expected() -> Expected {
    let mut expected = Expected::default();
    let policy = Policy { rpo_seconds: Some(900.0), drill_every_seconds: Some(604_800.0), ..Policy::default() };
    expected.policies.insert(finding("x", "keycloak-db", Severity::Info).subject, policy);
    expected
}

#[tokio::test]
async fn the_ledger_as_prometheus_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = a_ledger(folder.path()).await;
    let text = render(&ledger, &expected(), "home", at(303)).await.unwrap();
    insta::with_settings!({filters => vec![(r#"version="[^"]+""#, r#"version="0""#)]}, {
        insta::assert_snapshot!(text);
    });
    assert_eq!(render(&ledger, &expected(), "home", at(303)).await.unwrap(), text, "the same each time");
}

#[tokio::test]
async fn what_is_rendered_is_the_exposition_format_and_every_name_is_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = a_ledger(folder.path()).await;
    let text = render(&ledger, &expected(), "ho\"me\\\n", at(303)).await.unwrap();
    let samples = lab::exposition::parse(&text).unwrap();
    assert!(samples.iter().all(|sample| sample.labels["site"] == "ho\"me\\\n" && sample.time.is_none()));
    let known = known();
    for sample in samples {
        assert!(known.contains(&sample.name), "{} is in no table", sample.name);
    }
}

#[tokio::test]
async fn a_ledger_without_a_pass_says_nothing_of_passes() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path(), at(0), Process::this().unwrap()).await.unwrap();
    let text = render(&ledger, &Expected::default(), "", at(0)).await.unwrap();
    assert!(!text.contains("pass_last_end"), "absent() must see that it is absent: {text}");
    assert!(text.contains("dalsegno_findings{site=\"-\",severity=\"critical\"} 0"), "{text}");
}

/// Names that can be there: the table of measures, and the closed table of samples.
fn known() -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/reference/metrics.md")).unwrap();
    let named =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| format!("dalsegno_{name}"));
    MEASURES.iter().map(|(name, ..)| format!("dalsegno_{name}")).chain(named).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Every `dalsegno_…` in a text that is a name of a metric.
fn asked_for(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !word(c)).filter(|word| word.starts_with("dalsegno_")).map(str::to_owned).collect()
}

#[test]
fn rules_and_dashboard_ask_only_for_metrics_that_exist() {
    let known = known();
    let mut files = 0;
    for folder in ["deploy/alerts", "deploy/grafana"] {
        for entry in
            walkdir::WalkDir::new(root().join(folder)).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
        {
            files += 1;
            let asked = asked_for(&std::fs::read_to_string(entry.path()).unwrap());
            let unknown: Vec<_> = asked.difference(&known).collect();
            assert!(unknown.is_empty(), "{} asks for {unknown:?}", entry.path().display());
        }
    }
    assert!(files >= 3, "{files}");
}

#[test]
fn a_metric_that_does_not_exist_would_be_seen() {
    assert_eq!(asked_for("time() - dalsegno_made_up{x=\"1\"} > 3").into_iter().collect::<Vec<_>>(), ["dalsegno_made_up"]);
    assert!(!known().contains("dalsegno_made_up"));
}

#[test]
fn the_page_of_metrics_has_a_row_for_each_measure() {
    let page = std::fs::read_to_string(root().join("docs/reference/prometheus.md")).unwrap();
    for (name, help, labels) in MEASURES {
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        let row = format!("| `dalsegno_{name}` | {labels} | {help} |");
        assert!(page.contains(&row), "docs/reference/prometheus.md lacks: {row}");
    }
}

#[test]
fn the_dashboard_is_whole() {
    let text = std::fs::read_to_string(root().join("deploy/grafana/dalsegno.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels of one id");
        let targets = panel["targets"].as_array().unwrap_or_else(|| panic!("{} asks nothing", panel["title"]));
        for target in targets {
            let asked = target["expr"].as_str().unwrap();
            assert!(!asked_for(asked).is_empty(), "{asked}");
        }
    }
    assert!(panels.len() >= 8);
}
