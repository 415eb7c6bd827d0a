use dalsegno::domain::{
    AssertionResult, CheckEnd, EVIDENCE_FORMAT, Evidence, ExitCode, Explained as _, Isolation, Requests, Restored, RestoredBy,
    Rpo, RunId, Verdict,
};
use dalsegno::ledger::{HistoryFilter, LedgerError, RunKind, RunState, TakenIn};

use super::{at, open, place, place_in, subject};

pub(crate) fn evidence(run: RunId, name: &str, verdict: Verdict, ended: i64) -> Evidence {
    Evidence {
        format: EVIDENCE_FORMAT,
        run,
        site: "home".into(),
        host: "bench".into(),
        subject: subject(name),
        runbook: "pg-restore".into(),
        runbook_sha256: "ab".repeat(32),
        made_by: "0.1.0".into(),
        began: at(ended - 14),
        ended: at(ended),
        verdict,
        reasons: if verdict == Verdict::Proven { Vec::new() } else { vec!["segment 5 is missing".into()] },
        hints: Vec::new(),
        codes: Vec::new(),
        restored: Some(Restored {
            place: place(),
            name: "20260930T020000".into(),
            by: RestoredBy::BaseAndWal {
                system_expected: None,
                system_restored: None,
                segments: 131,
                postgres: Some("PostgreSQL 16.4".into()),
                recovery: Some(dalsegno::domain::RecoveryEnd {
                    target: "end".into(),
                    timeline: 1,
                    expected_segment: "000000010000000000000010".into(),
                    reached_segment: None,
                    reached_lsn: None,
                }),
            },
        }),
        isolation_declared: Isolation::Closed,
        isolation: Isolation::Closed,
        isolation_facts: Vec::new(),
        rpo: Rpo { seconds: Some(135.0), ..Rpo::default() },
        rpo_budget_seconds: Some(600.0),
        rto_seconds: Some(13.2),
        rto_budget_seconds: Some(1800.0),
        phases: Vec::new(),
        checks: vec!["users".into()],
        assertions: vec![AssertionResult {
            name: "users".into(),
            expected: "at least 10".into(),
            seen: "12".into(),
            end: CheckEnd::Passed,
            tells_stale: true,
            seconds: 0.1,
        }],
        steps: Vec::new(),
        left_over: Vec::new(),
        requests: Requests::default(),
        sizes: std::collections::BTreeMap::default(),
    }
}

#[tokio::test]
async fn evidence_of_a_drill_that_knew_no_ledger_is_taken_in_once() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let proof = evidence(RunId::new(), "keycloak-db", Verdict::Proven, 0);
    assert_eq!(ledger.take_in(&proof, "aa", at(60)).await.unwrap(), TakenIn::New);
    assert_eq!(ledger.take_in(&proof, "aa", at(61)).await.unwrap(), TakenIn::Known);
    let line =
        ledger.history(&HistoryFilter { subject: Some("keycloak-db".into()), ..Default::default() }).await.unwrap().remove(0);
    assert_eq!(
        (line.kind, line.state, line.verdict, line.exit_code),
        (RunKind::Drill, RunState::Done, Some(Verdict::Proven), Some(0))
    );
    assert_eq!(ledger.show("1").await.unwrap().evidence, Some(proof));
}

#[tokio::test]
async fn a_second_and_different_file_of_one_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let proof = evidence(RunId::new(), "a", Verdict::Failed, 0);
    ledger.take_in(&proof, "aa", at(60)).await.unwrap();
    let forged = Evidence { verdict: Verdict::Proven, ..proof.clone() };
    let error = ledger.take_in(&forged, "bb", at(61)).await.unwrap_err();
    assert!(matches!(error, LedgerError::EvidenceDiffers { .. }), "{error}");
    assert_eq!(error.exit(), ExitCode::Stuck);
    assert_eq!(ledger.last_drills().await.unwrap()[0].verdict, Verdict::Failed);
}

#[tokio::test]
async fn newer_evidence_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let proof = Evidence { format: EVIDENCE_FORMAT + 1, ..evidence(RunId::new(), "a", Verdict::Proven, 0) };
    assert!(matches!(ledger.take_in(&proof, "aa", at(60)).await, Err(LedgerError::EvidenceNewer { .. })));
}

#[tokio::test]
async fn a_drill_that_was_running_is_closed_by_its_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = RunId::new();
    ledger.begin(run, RunKind::Drill, at(-14)).await.unwrap();
    let failed = Evidence { left_over: vec!["/var/tmp/x".into()], ..evidence(run, "a", Verdict::Failed, 0) };
    ledger.take_in(&failed, "aa", at(60)).await.unwrap();
    let line = ledger.history(&HistoryFilter::default()).await.unwrap().remove(0);
    assert_eq!(
        (line.number, line.state, line.exit_code),
        (1, RunState::Done, Some(5)),
        "left-overs weigh more than a failed drill"
    );
}

#[tokio::test]
async fn a_proof_holds_for_one_place_only() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    ledger.take_in(&evidence(RunId::new(), "a", Verdict::Proven, 0), "aa", at(1)).await.unwrap();
    ledger.take_in(&evidence(RunId::new(), "a", Verdict::Unknown, 50), "bb", at(51)).await.unwrap();
    let any = |_: &Evidence| true;
    let here = place();
    assert_eq!(ledger.last_proof(&subject("a"), Some(&here), &any).await.unwrap().unwrap().ended, at(0));
    assert_eq!(ledger.last_drills().await.unwrap()[0].ended, at(50));
    assert_eq!(ledger.last_drills().await.unwrap().len(), 1);
    let elsewhere = place_in("other");
    assert_eq!(ledger.last_proof(&subject("a"), Some(&elsewhere), &any).await.unwrap(), None);
    assert_eq!(ledger.last_proof(&subject("b"), Some(&here), &any).await.unwrap(), None);
    assert_eq!(ledger.last_proof(&subject("a"), None, &any).await.unwrap().unwrap().ended, at(0));
}

#[tokio::test]
async fn the_newest_proof_that_counts_and_the_newest_failure_are_found_behind_newer_drills() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    for (ended, verdict) in [(0, Verdict::Proven), (50, Verdict::Failed), (100, Verdict::Proven), (150, Verdict::Unknown)] {
        ledger.take_in(&evidence(RunId::new(), "a", verdict, ended), &ended.to_string(), at(ended + 1)).await.unwrap();
    }
    let here = place();
    let early = |evidence: &Evidence| evidence.ended < at(100);
    assert_eq!(ledger.last_proof(&subject("a"), Some(&here), &early).await.unwrap().unwrap().ended, at(0));
    assert_eq!(ledger.last_proof(&subject("a"), Some(&here), &|_| false).await.unwrap(), None);
    assert_eq!(ledger.last_failed(&subject("a"), Some(&here)).await.unwrap().unwrap().ended, at(50));
    assert_eq!(ledger.last_failed(&subject("a"), Some(&place_in("other"))).await.unwrap(), None);
    let nowhere = Evidence { restored: None, ..evidence(RunId::new(), "b", Verdict::Failed, 7) };
    ledger.take_in(&nowhere, "cc", at(8)).await.unwrap();
    assert_eq!(ledger.last_failed(&subject("b"), Some(&here)).await.unwrap().unwrap().ended, at(7));
}

#[tokio::test]
async fn an_export_says_of_a_drill_where_it_ran_and_what_it_asked_of_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let made = Requests { class_a: 4, class_b: 140, ..Requests::default() };
    let drilled = Evidence { host: "laptop".into(), requests: made, ..evidence(RunId::new(), "a", Verdict::Proven, 0) };
    ledger.take_in(&drilled, "aa", at(1)).await.unwrap();
    ledger.take_in(&drilled, "aa", at(2)).await.unwrap();
    let mut written = Vec::new();
    ledger.export(&mut written).await.unwrap();
    let text = String::from_utf8(written).unwrap();
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |table: &str| rows.iter().filter(|row| row["table"] == table).collect::<Vec<_>>();
    assert_eq!(of("runs")[0]["host"], "laptop");
    let requests = of("run_requests");
    assert_eq!((requests.len(), &requests[0]["class_a"], &requests[0]["class_b"]), (1, &4.into(), &140.into()), "{text}");
}
