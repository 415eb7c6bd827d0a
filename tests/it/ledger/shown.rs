//! What `history`, `show` and `ledger verify` print.

use dalsegno::cli::out::{Format, Out};
use dalsegno::cli::{history, ledger as command, show};
use dalsegno::domain::{ExitCode, Requests, RunId, Sample, Severity, StoreId, Verdict};
use dalsegno::ledger::{HistoryFilter, Ledger, RunKind, RunState, Verified};

use super::drills::evidence;
use super::{at, finding, open, pass, subject};

async fn story(folder: &std::path::Path) -> Ledger {
    let ledger = open(folder).await;
    let run = pass(&ledger, 0).await;
    let found =
        [finding("never-drilled", &subject("gitea"), Severity::Warning), finding("wal-gap", &subject("a"), Severity::Critical)];
    ledger.commit_findings(run, at(1), &found, &|_| true).await.unwrap();
    let made = Requests { class_a: 7, class_b: 5, free: 0, bytes_in: 3_000_000, bytes_out: 0 };
    ledger.commit_requests(run, at(1), &StoreId("minio".into()), made).await.unwrap();
    let sample = |metric: &str, value| Sample { subject: subject("a"), metric: metric.into(), value, at: at(1) };
    let samples = [sample("archive_bytes", 5e9), sample("archive_age_seconds", 130.0), sample("archive_objects", 42.0)];
    ledger.commit_samples(run, at(1), &samples).await.unwrap();
    ledger.end(run, at(3), RunState::Done, ExitCode::Findings).await.unwrap();
    let run = pass(&ledger, 300).await;
    ledger.commit_findings(run, at(301), &found[..1], &|key| key.code == "wal-gap").await.unwrap();
    ledger.end(run, at(302), RunState::Done, ExitCode::Fine).await.unwrap();
    let fixed = RunId::parse("01999999-aaaa-7bbb-8ccc-0123456789ab").unwrap();
    ledger.take_in(&evidence(fixed, "a", Verdict::Failed, 500), &"ab".repeat(32), at(600)).await.unwrap();
    ledger.begin(RunId::new(), RunKind::Pass, at(700)).await.unwrap();
    ledger
}

/// Ids and the name of this machine are different everywhere.
fn settled(text: &str) -> String {
    text.replace(&dalsegno::process::host().unwrap(), "HOST")
        .lines()
        .map(|line| if line.starts_with("id  ") { "id  ID" } else { line })
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn history_is_one_line_per_run() {
    let folder = tempfile::tempdir().unwrap();
    let runs = story(folder.path()).await.history(&HistoryFilter::default()).await.unwrap();
    insta::assert_snapshot!(history::table(&runs, at(900), &Out::plain(Format::Table, 100)));
}

#[tokio::test]
async fn show_tells_findings_requests_and_samples_of_a_pass() {
    let folder = tempfile::tempdir().unwrap();
    let shown = story(folder.path()).await.show("1").await.unwrap();
    insta::assert_snapshot!(settled(&show::page(&shown, at(900), &Out::plain(Format::Wide, 100))));
}

#[tokio::test]
async fn show_tells_why_a_drill_is_not_proven() {
    let folder = tempfile::tempdir().unwrap();
    let shown = story(folder.path()).await.show("3").await.unwrap();
    insta::assert_snapshot!(settled(&show::page(&shown, at(900), &Out::plain(Format::Wide, 100))));
}

#[test]
fn verify_says_what_is_wrong_and_what_to_do() {
    let file = std::path::Path::new("/var/lib/dalsegno/ledger.sqlite");
    let good = Verified { checks: vec!["a", "b"], ..Verified::default() };
    let bad = Verified { problems: vec!["two open findings of x on y".into()], ..good.clone() };
    insta::assert_snapshot!(format!("{}\n---\n{}", command::verified_text(&good, file), command::verified_text(&bad, file)));
}

#[tokio::test]
async fn export_makes_a_new_file_for_its_owner_and_never_overwrites_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path()).await;
    let file = folder.path().join("export.jsonl");
    let args = command::Args { command: command::Command::Export(command::Export { file: Some(file.clone()) }) };
    let out = Out::plain(Format::Table, 100);
    assert_eq!(command::run(&args, &ledger, &out).await.unwrap(), ExitCode::Fine);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.lines().count() > 10 && written.ends_with('\n'));
    assert!(command::run(&args, &ledger, &out).await.is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
}
