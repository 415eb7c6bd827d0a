//! What people see: 100 columns, no colour.

use dalsegno::cli::{Format, Out, check, doctor, run, status};
use dalsegno::conductor::{
    Checked, ClockLine, Counted, Delivery, Examination, Examined, Line, PassOutcome, Reach, State, Status, Swept,
};
use dalsegno::domain::{Change, Clock, Ended, ExitCode, Finding, FindingKey, Held, NoNumber, RunId, Severity, Subject, Within};
use dalsegno::ledger::{OpenFinding, RunKind, RunLine, RunState};
use jiff::SignedDuration;

use super::scene::{db, later, now, store_subject};

fn out() -> Out {
    Out::plain(Format::Table, 100)
}

fn ago(minutes: i64) -> jiff::Timestamp {
    now().checked_sub(SignedDuration::from_mins(minutes)).unwrap()
}

fn finding(code: &str, severity: Severity, subject: Subject, summary: &str) -> Finding {
    Finding {
        code: code.into(),
        severity,
        subject,
        summary: summary.into(),
        evidence: vec!["timeline 1: 000000010000000000000051 to 000000010000000000000053 (3 missing)".into()],
        cause: "these segments were never archived, or were deleted".into(),
        remedy: "take a base backup now; look for the segments in pg_wal, on a standby, or in bucket versions".into(),
        could_not_look: false,
    }
}

fn hole() -> Finding {
    finding(
        "wal-gap",
        Severity::Critical,
        db("keycloak-db"),
        "3 segment(s) are missing although later ones are there, from 000000010000000000000051: no base backup can be recovered past it",
    )
}

fn dark() -> Finding {
    Finding {
        could_not_look: true,
        evidence: vec!["connection refused by https://minio.lan:9000".into()],
        cause: "connection refused by https://minio.lan:9000".into(),
        remedy: "bring the store back".into(),
        ..finding(
            "object-store-outage",
            Severity::Critical,
            store_subject(),
            "the store does not answer as it should; this also hides pg/home/prod/app",
        )
    }
}

fn clock(state: &State) -> Clock {
    let within = Within { low: 25_600.0, middle: 33_000.0, high: 42_100.0 };
    match state {
        State::Critical => Clock { held: Held::ArchivingFails, full_in: Some(within), ..Clock::default() },
        State::Unknown => Clock::default(),
        _ => Clock { held: Held::Not, no_number: Some(NoNumber::Flat), ..Clock::default() },
    }
}

fn line(subject: Subject, state: State, why: &str) -> Line {
    let pg = subject.to_string().starts_with("pg/");
    Line {
        mechanism: pg.then(|| "base+wal → minio".to_owned()),
        restorable_to: pg.then(|| ago(2)),
        rpo_budget_seconds: pg.then_some(900.0),
        proven: None,
        clock: pg.then(|| ClockLine::from(&clock(&state))),
        seen: Some(ago(4)),
        state,
        why: why.into(),
        findings: vec![],
        subject,
    }
}

fn a_run() -> RunLine {
    RunLine {
        number: 1207,
        id: RunId::new(),
        kind: RunKind::Pass,
        state: RunState::Done,
        began: ago(4),
        ended: Some(ago(4)),
        exit_code: Some(1),
        host: "franca".into(),
        new: 1,
        still: 0,
        cleared: 0,
        requests: 12,
        verdict: None,
        subject: None,
    }
}

#[test]
fn the_status_screen_says_the_nearest_harm_first() {
    let mut lines = vec![
        Line {
            restorable_to: Some(ago(9 * 60)),
            proven: Some(ago(41 * 24 * 60)),
            findings: vec![OpenFinding { finding: hole(), since: ago(180), last_seen: ago(4) }],
            ..line(db("keycloak-db"), State::Critical, "wal-gap")
        },
        line(db("gitea"), State::Warning, "never-drilled"),
        Line {
            restorable_to: Some(ago(10 * 24 * 60)),
            rpo_budget_seconds: None,
            ..line(db("forgotten"), State::Info, "recovery-window-overstated")
        },
        Line {
            findings: vec![OpenFinding { finding: dark(), since: ago(4), last_seen: ago(4) }],
            ..line(store_subject(), State::Unknown, "object-store-outage")
        },
        Line { restorable_to: None, mechanism: None, ..line(db("new-db"), State::Unknown, "never seen") },
    ];
    lines.extend((0..8).map(|n| line(db(&format!("app-{n}")), State::Fine, "")));
    let counted = Counted { critical: 1, warnings: 1, infos: 0, unknown: 1 };
    let status = Status { site: "home".into(), now: now(), pass: Some(a_run()), stale: false, counted, lines };
    insta::assert_snapshot!(status::table(&status, &out()));
}

#[test]
fn before_the_first_pass_the_status_says_what_to_do() {
    let status = Status {
        site: "home".into(),
        now: now(),
        pass: None,
        stale: true,
        counted: Counted::default(),
        lines: vec![line(db("app"), State::Unknown, "no pass yet")],
    };
    insta::assert_snapshot!(status::table(&status, &out()));
}

#[test]
fn a_run_says_what_is_new_what_is_still_there_and_what_is_over() {
    let gone = finding("s3-clock-skew", Severity::Warning, store_subject(), "this machine's clock is 4 min behind the store's");
    let findings = vec![hole(), dark()];
    let outcome = PassOutcome {
        number: 1208,
        now: later(0),
        seconds: 1.23,
        counted: Counted::of(&findings),
        changes: vec![
            Change::Still { finding: dark(), since: ago(300), severity_was: Some(Severity::Warning) },
            Change::New { finding: hole() },
            Change::Cleared { finding: gone, since: ago(2000), why: Ended::Fixed },
        ],
        findings,
        bugs: vec![],
        seen: vec![db("keycloak-db")],
        swept: Swept { closed: vec!["drill 0193 was interrupted; its sandbox is removed".into()], stuck: vec![] },
        requests: vec![],
        delivery: Delivery { waiting: vec![("ops".into(), "webhook ops: no answer within 10 s".into())], ..Delivery::default() },
        exit: ExitCode::Findings,
    };
    assert_eq!(outcome.findings[0].key(), FindingKey { code: "wal-gap".into(), subject: db("keycloak-db") });
    insta::assert_snapshot!(run::table(&outcome, "home", &out()));
}

#[test]
fn a_check_that_finds_nothing_says_what_was_seen() {
    let checked = Checked {
        now: now(),
        seconds: 0.4,
        counted: Counted::default(),
        findings: vec![],
        seen: vec![db("app"), store_subject()],
        bugs: vec![],
        exit: ExitCode::Fine,
    };
    insta::assert_snapshot!(check::table(&checked, "home", &out()));
}

#[test]
fn hostile_names_cannot_move_the_cursor() {
    let mut bad = hole();
    bad.evidence = vec!["key \u{1b}[2J\u{7} ends".into()];
    let checked = Checked {
        now: now(),
        seconds: 0.4,
        counted: Counted::default(),
        findings: vec![bad],
        seen: vec![],
        bugs: vec![],
        exit: ExitCode::Findings,
    };
    let text = check::table(&checked, "", &out());
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
}

#[test]
fn the_doctor_names_the_unreachable_first_with_the_fix() {
    let examination = Examination {
        providers: vec![
            Examined {
                provider: "store/minio".into(),
                reach: Reach::Unreachable,
                seen: vec![],
                fixes: vec![(
                    "connection refused by https://minio.lan:9000".into(),
                    "is the store running? nc -vz minio.lan 9000".into(),
                )],
            },
            Examined {
                provider: "store/r2".into(),
                reach: Reach::Reachable,
                seen: vec![
                    "r2 at https://acct.r2.cloudflarestorage.com, bucket dr, region auto".into(),
                    "the reading key may: list yes, read yes, write NO, list uploads yes".into(),
                ],
                fixes: vec![],
            },
        ],
        exit: ExitCode::CouldNotLook,
    };
    insta::assert_snapshot!(doctor::table(&examination, &out()));
}
