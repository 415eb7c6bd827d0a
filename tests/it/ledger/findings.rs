use dalsegno::domain::{Change, Message, Severity};
use dalsegno::ledger::{ChangeInRun, Committed};

use super::{at, finding, open, pass, subject};

fn words(committed: &Committed) -> Vec<String> {
    committed
        .changes
        .iter()
        .map(|change| match change {
            Change::New { finding } => format!("new {}", finding.code),
            Change::Still { finding, severity_was, .. } => match severity_was {
                Some(was) => format!("still {} was {}", finding.code, was.as_str()),
                None => format!("still {}", finding.code),
            },
            Change::Cleared { finding, .. } => format!("cleared {}", finding.code),
        })
        .collect()
}

#[tokio::test]
async fn a_finding_is_new_then_still_then_cleared_then_new_again() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let gap = finding("wal-gap", &subject("a"), Severity::Critical);
    let mut said = Vec::new();
    for (second, seen) in [(0, true), (60, true), (120, false), (180, true)] {
        let run = pass(&ledger, second).await;
        let found: Vec<_> = seen.then(|| gap.clone()).into_iter().collect();
        said.extend(words(&ledger.commit_findings(run, at(second), &found, &|_| true).await.unwrap()));
    }
    assert_eq!(said, ["new wal-gap", "still wal-gap", "cleared wal-gap", "new wal-gap"]);
    assert_eq!(ledger.open_findings().await.unwrap()[0].since, at(180));
}

#[tokio::test]
async fn a_finding_whose_subject_was_not_looked_at_is_never_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let (a, b) = (finding("wal-gap", &subject("a"), Severity::Critical), finding("wal-gap", &subject("b"), Severity::Critical));
    let run = pass(&ledger, 0).await;
    ledger.commit_findings(run, at(0), &[a.clone(), b.clone()], &|_| true).await.unwrap();
    let run = pass(&ledger, 60).await;
    let committed = ledger.commit_findings(run, at(60), &[], &|key| key.subject == subject("b")).await.unwrap();
    assert_eq!(words(&committed), ["still wal-gap", "cleared wal-gap"]);
    assert_eq!(committed.not_looked.iter().collect::<Vec<_>>(), [&a.key()]);
    let open = ledger.open_findings().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].last_seen, at(0), "not seen since");
    let shown = ledger.show(&run.to_string()).await.unwrap();
    let changes: Vec<_> = shown.findings.iter().map(|shown| shown.change).collect();
    assert_eq!(changes, [ChangeInRun::NotLooked, ChangeInRun::Cleared]);
}

#[tokio::test]
async fn a_change_of_severity_is_told_and_the_first_sight_stays() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for (second, severity, expected) in [
        (0, Severity::Warning, "new disk"),
        (60, Severity::Critical, "still disk was warning"),
        (120, Severity::Critical, "still disk"),
    ] {
        let run = pass(&ledger, second).await;
        let found = [finding("disk", &subject("a"), severity)];
        let committed = ledger.commit_findings(run, at(second), &found, &|_| true).await.unwrap();
        assert_eq!(words(&committed), [expected]);
    }
    assert_eq!(ledger.open_findings().await.unwrap()[0].since, at(0));
}

#[tokio::test]
async fn of_two_findings_of_one_key_the_more_severe_counts() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let found = [finding("x", &subject("a"), Severity::Info), finding("x", &subject("a"), Severity::Critical)];
    let committed = ledger.commit_findings(run, at(0), &found, &|_| true).await.unwrap();
    assert_eq!(committed.changes.len(), 1);
    assert_eq!(ledger.open_findings().await.unwrap()[0].finding.severity, Severity::Critical);
}

#[tokio::test]
async fn findings_and_their_messages_are_kept_together() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let found = [finding("x", &subject("a"), Severity::Critical)];
    let tell = |committed: &Committed| {
        vec![Message {
            channel: "ops".into(),
            key: format!("{run}/ops"),
            body: format!("{}", committed.changes.len()),
            replaces: false,
        }]
    };
    let committed = ledger.commit_findings_and_tell(run, at(0), &found, &|_| true, &tell).await.unwrap();
    assert_eq!(committed.queued, 1);
    let due = ledger.claim(at(0), jiff::SignedDuration::from_secs(60), 10).await.unwrap();
    assert_eq!(due[0].message.body, "1");
}

#[tokio::test]
async fn committing_twice_in_one_run_is_like_once() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let found = [finding("x", &subject("a"), Severity::Critical)];
    ledger.commit_findings(run, at(0), &found, &|_| true).await.unwrap();
    ledger.commit_findings(run, at(1), &found, &|_| true).await.unwrap();
    let shown = ledger.show(&run.to_string()).await.unwrap();
    assert_eq!(shown.findings.len(), 1);
    assert_eq!(shown.findings[0].change, ChangeInRun::New);
}

#[tokio::test]
async fn history_of_a_subject_lists_the_passes_that_found_something_about_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for (second, name) in [(0, "keycloak-db"), (60, "other-keycloak-db"), (120, "grafana-db")] {
        let run = pass(&ledger, second).await;
        let found = [finding("x", &subject(name), Severity::Info)];
        ledger.commit_findings(run, at(second), &found, &|_| true).await.unwrap();
    }
    let filter = dalsegno::ledger::HistoryFilter { subject: Some("keycloak-db".into()), ..Default::default() };
    let numbers: Vec<_> = ledger.history(&filter).await.unwrap().iter().map(|line| line.number).collect();
    assert_eq!(numbers, [2, 1], "run 2 cleared it");
}
