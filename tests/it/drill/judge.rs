//! The verdict: nothing may be missing, and what is bad must have been looked at.

use dalsegno::domain::{CheckEnd, ExitCode, Expects, Isolation, StepEnd, StepRecord, Verdict};
use dalsegno::drill::{Course, Declared, Judgement, judge};
use proptest::prelude::*;
use serde_json::json;

use super::perfect::{assertion, course, declared, moment, of, outputs, records};

/// A drill in hand.
#[derive(Clone)]
struct Drill {
    records: Vec<StepRecord>,
    declared: Declared,
    course: Course,
}

fn perfect() -> Drill {
    Drill { records: records(), declared: declared(), course: course() }
}

impl Drill {
    fn judged(&self) -> Judgement {
        judge(&self.records, &self.declared, &self.course)
    }

    fn assertions(&mut self) -> &mut Vec<dalsegno::domain::AssertionResult> {
        &mut of(&mut self.records, "pg.check").receipt.as_mut().unwrap().assertions
    }

    fn set(&mut self, name: &str, end: CheckEnd) {
        for assertion in self.assertions().iter_mut().filter(|assertion| assertion.name == name) {
            assertion.end = end;
        }
    }

    fn drop_assertion(&mut self, name: &str) {
        self.assertions().retain(|assertion| assertion.name != name);
    }

    fn end(&mut self, verb: &str, end: StepEnd) {
        of(&mut self.records, verb).end = end;
    }
}

fn could_not() -> StepEnd {
    StepEnd::CouldNot { why: "no space".into(), hint: "free 2 GiB".into() }
}

fn failed() -> StepEnd {
    StepEnd::Failed { why: "segment 7 is short".into() }
}

/// One way to spoil a drill, and what it alone makes of the verdict.
struct Spoil {
    name: &'static str,
    alone: Verdict,
    apply: fn(&mut Drill),
}

const fn spoil(name: &'static str, alone: Verdict, apply: fn(&mut Drill)) -> Spoil {
    Spoil { name, alone, apply }
}

use Verdict::{Failed, Unknown};

/// Every ingredient of a proof, taken away or made bad.
static SPOILS: &[Spoil] = &[
    spoil("a configured check was not made", Unknown, |drill| drill.drop_assertion("users")),
    spoil("a placeholder hides what should be checked", Unknown, |drill| {
        drill.declared.placeholders.push(dalsegno::domain::Placeholder {
            subject: drill.declared.subject.clone(),
            key_path: "postgres.keycloak-db.checks[1].sql".into(),
            value: "TBD".into(),
            at: "dalsegno.yaml:9:5".into(),
        });
    }),
    spoil("not said of which archive", Unknown, |drill| drop(outputs(&mut drill.records, "archive.choose").remove("place"))),
    spoil("not said of which subject", Unknown, |drill| drop(outputs(&mut drill.records, "archive.choose").remove("subject"))),
    spoil("a step failed", Failed, |drill| drill.end("pg.restore-base", failed())),
    spoil("a step could not", Unknown, |drill| drill.end("pg.restore-base", could_not())),
    spoil("a step is stuck", Unknown, |drill| drill.end("sandbox.make", StepEnd::Stuck { why: "two candidates".into() })),
    spoil("a step was skipped", Unknown, |drill| drill.end("pg.check", StepEnd::Skipped)),
    spoil("cancelled", Unknown, |drill| drill.course.cancelled = true),
    spoil("interrupted", Unknown, |drill| drill.course.interrupted = true),
    spoil("restored system not read", Unknown, |drill| drop(outputs(&mut drill.records, "pg.recover").remove("system_id"))),
    spoil("no system expected by anybody", Unknown, |drill| {
        drill.declared.expects = Expects::BaseAndWal { system: None };
        outputs(&mut drill.records, "archive.choose").remove("system_id");
    }),
    spoil("another system than configured", Failed, |drill| {
        drill.declared.expects = Expects::BaseAndWal { system: Some("1".to_owned().try_into().unwrap()) };
    }),
    spoil("another system than backup.info's", Failed, |drill| {
        outputs(&mut drill.records, "archive.choose").insert("system_id".into(), json!("1"));
    }),
    spoil("end not looked at", Unknown, |drill| drill.drop_assertion("replay-end")),
    spoil("end undecided", Unknown, |drill| drill.set("replay-end", CheckEnd::Undecided)),
    spoil("end missed by assertion", Failed, |drill| drill.set("replay-end", CheckEnd::Failed)),
    spoil("reached segment unknown", Unknown, |drill| drop(outputs(&mut drill.records, "pg.recover").remove("reached_segment"))),
    spoil("target unknown", Unknown, |drill| drop(outputs(&mut drill.records, "archive.choose").remove("target"))),
    spoil("replay one segment short", Failed, |drill| {
        outputs(&mut drill.records, "pg.recover").insert("reached_segment".into(), json!("00000003000000000000008E"));
    }),
    spoil("replay on another timeline", Failed, |drill| {
        outputs(&mut drill.records, "pg.recover").insert("reached_segment".into(), json!("00000004000000000000008F"));
    }),
    spoil("nothing tells stale", Unknown, |drill| drill.drop_assertion("fresh")),
    spoil("freshness undecided", Unknown, |drill| drill.set("fresh", CheckEnd::Undecided)),
    spoil("stale data", Failed, |drill| drill.set("fresh", CheckEnd::Failed)),
    spoil("a user's check failed", Failed, |drill| drill.set("users", CheckEnd::Failed)),
    spoil("a user's check undecided", Unknown, |drill| drill.set("users", CheckEnd::Undecided)),
    spoil("archiving not read back", Unknown, |drill| drill.drop_assertion("archiving-off")),
    spoil("archiving on", Unknown, |drill| drill.set("archiving-off", CheckEnd::Failed)),
    spoil("isolation not shown", Unknown, |drill| drop(outputs(&mut drill.records, "pg.recover").remove("isolation"))),
    spoil("isolation below declared", Unknown, |drill| drill.declared.isolation = Isolation::Sealed),
    spoil("RTO exceeded", Failed, |drill| drill.declared.rto_budget_seconds = Some(1.0)),
    spoil("RTO unknown", Unknown, |drill| of(&mut drill.records, "pg.recover").began = None),
    spoil("RPO exceeded", Failed, |drill| drill.declared.rpo_budget_seconds = Some(60.0)),
    spoil("RPO unknown", Unknown, |drill| drop(outputs(&mut drill.records, "archive.choose").remove("covered_until"))),
    spoil("covered until lies in the future", Unknown, |drill| {
        outputs(&mut drill.records, "archive.choose").insert("covered_until".into(), json!("2026-09-30T16:00:00Z"));
    }),
    spoil("no recovery at all", Unknown, |drill| drill.records.retain(|record| record.call.verb != "pg.recover")),
    spoil("no steps at all", Unknown, |drill| drill.records.clear()),
];

#[test]
fn a_drill_to_which_nothing_is_missing_is_proven() {
    let judgement = perfect().judged();
    assert_eq!(judgement.verdict, Verdict::Proven, "{judgement:#?}");
    assert!(judgement.reasons.is_empty() && judgement.hints.is_empty() && judgement.codes.is_empty());
    assert_eq!(judgement.exit, ExitCode::Fine);
}

#[test]
fn each_spoiled_ingredient_alone_gives_its_verdict_with_a_reason_and_a_hint() {
    for spoil in SPOILS {
        let mut drill = perfect();
        (spoil.apply)(&mut drill);
        let judgement = drill.judged();
        assert_eq!(judgement.verdict, spoil.alone, "{}: {judgement:#?}", spoil.name);
        assert!(!judgement.reasons.is_empty() && !judgement.hints.is_empty(), "{}: {judgement:#?}", spoil.name);
        assert!(judgement.codes.iter().all(|code| !code.is_empty()), "{}", spoil.name);
    }
}

#[test]
fn no_two_and_no_three_spoiled_ingredients_make_a_proof() {
    for (number, first) in SPOILS.iter().enumerate() {
        for (other, second) in SPOILS.iter().enumerate().skip(number) {
            for third in SPOILS.iter().skip(other) {
                // "no steps" and "no recovery" leave others nothing to spoil, so they come last.
                let mut drill = perfect();
                for spoil in [first, second, third] {
                    if drill.records.len() == 5 {
                        (spoil.apply)(&mut drill);
                    }
                }
                let verdict = drill.judged().verdict;
                assert_ne!(verdict, Verdict::Proven, "{} + {} + {}", first.name, second.name, third.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_subset_of_spoiled_ingredients_makes_a_proof_and_failed_needs_something_bad(bits in prop::collection::vec(any::<bool>(), 35)) {
        // Without the two that remove whole steps (the last in the table).
        let chosen: Vec<&Spoil> = SPOILS.iter().zip(&bits).filter(|(_, bit)| **bit).map(|(spoil, _)| spoil).collect();
        let mut drill = perfect();
        for spoil in &chosen {
            (spoil.apply)(&mut drill);
        }
        let verdict = drill.judged().verdict;
        prop_assert_eq!(verdict == Verdict::Proven, chosen.is_empty());
        if chosen.iter().all(|spoil| spoil.alone == Unknown) && !chosen.is_empty() {
            prop_assert_eq!(verdict, Unknown, "our own lacks never accuse the archive");
        }
    }
}

#[test]
fn what_was_seen_to_be_bad_outweighs_what_could_not_be_seen() {
    let mut drill = perfect();
    drill.set("fresh", CheckEnd::Failed);
    drill.course.interrupted = true;
    let judgement = drill.judged();
    assert_eq!(judgement.verdict, Verdict::Failed);
    assert!(judgement.reasons[0].contains("fresh"), "what is bad comes first: {:?}", judgement.reasons);
    assert_eq!(judgement.exit, ExitCode::DrillFailed);
}

#[test]
fn left_overs_change_the_exit_code_and_not_the_verdict() {
    let mut drill = perfect();
    drill.course.left_over = vec!["/var/tmp/dalsegno/sandbox".into()];
    let judgement = drill.judged();
    assert_eq!((judgement.verdict, judgement.exit), (Verdict::Proven, ExitCode::Stuck));
}

#[test]
fn without_a_configured_system_the_one_of_backup_info_must_come_back() {
    let mut drill = perfect();
    drill.declared.expects = Expects::BaseAndWal { system: None };
    assert_eq!(drill.judged().verdict, Verdict::Proven);
    outputs(&mut drill.records, "pg.recover").insert("system_id".into(), json!("2"));
    assert_eq!(drill.judged().verdict, Verdict::Failed);
}

#[test]
fn without_budgets_an_unknown_rpo_does_not_stand_in_the_way() {
    let mut drill = perfect();
    drill.declared.rpo_budget_seconds = None;
    outputs(&mut drill.records, "archive.choose").remove("covered_until");
    assert_eq!(drill.judged().verdict, Verdict::Proven);
}

#[test]
fn budgets_hold_at_their_very_limit() {
    // It answered 8 s after it began, and is covered until 108 s before that.
    for (rto, rpo, verdict) in [(8.0, 108.0, Verdict::Proven), (7.9, 108.0, Failed), (8.0, 107.9, Failed)] {
        let mut drill = perfect();
        drill.declared.rto_budget_seconds = Some(rto);
        drill.declared.rpo_budget_seconds = Some(rpo);
        assert_eq!(drill.judged().verdict, verdict, "rto {rto} rpo {rpo}");
    }
}

#[test]
fn a_long_drill_does_not_lengthen_the_rpo() {
    let mut drill = perfect();
    drill.course.ended = moment("2026-09-30T23:00:00Z");
    assert_eq!(drill.judged().verdict, Verdict::Proven);
}

#[test]
fn on_a_quiet_cluster_a_check_that_would_see_stale_data_stands_for_the_commit_times() {
    let mut drill = perfect();
    drill.set("fresh", CheckEnd::Undecided);
    drill.assertions().push(assertion("newest order", CheckEnd::Passed, false));
    assert_eq!(drill.judged().verdict, Unknown, "a check that cannot see stale data does not stand for it");
    drill.assertions().push(assertion("heartbeat row", CheckEnd::Passed, true));
    assert_eq!(drill.judged().verdict, Verdict::Proven);
}

#[test]
fn replay_beyond_the_expected_segment_is_no_fault_and_a_time_target_is_told_by_its_assertion() {
    let mut drill = perfect();
    outputs(&mut drill.records, "pg.recover").insert("reached_segment".into(), json!("000000030000000000000090"));
    assert_eq!(drill.judged().verdict, Verdict::Proven);
    outputs(&mut drill.records, "archive.choose").insert("target".into(), json!("2026-09-30T10:00:00Z"));
    outputs(&mut drill.records, "pg.recover").insert("reached_segment".into(), json!("000000030000000000000050"));
    assert_eq!(drill.judged().verdict, Verdict::Proven);
    drill.set("replay-end", CheckEnd::Failed);
    assert_eq!(drill.judged().verdict, Failed);
}

#[test]
fn a_step_that_ended_badly_is_the_reason_and_not_everything_that_did_not_come_after_it() {
    let mut drill = perfect();
    drill.end("archive.choose", could_not());
    for verb in ["sandbox.make", "pg.restore-base", "pg.recover", "pg.check"] {
        drill.end(verb, StepEnd::Skipped);
        of(&mut drill.records, verb).receipt = None;
    }
    of(&mut drill.records, "archive.choose").receipt = None;
    let judgement = drill.judged();
    assert_eq!(judgement.reasons, ["choose: no space"]);
    assert_eq!(judgement.hints, ["free 2 GiB"]);
}

#[test]
fn another_system_has_one_code_whoever_saw_it() {
    let by_outputs: fn(&mut Drill) =
        |drill| drop(outputs(&mut drill.records, "pg.recover").insert("system_id".into(), json!("2")));
    for spoil in [by_outputs, |drill| drill.set("system-id", CheckEnd::Failed)] {
        let mut drill = perfect();
        spoil(&mut drill);
        assert_eq!(drill.judged().codes, ["archive-system-unexpected"]);
    }
}

#[test]
fn every_code_has_its_row_in_the_table() {
    for spoil in SPOILS {
        let mut drill = perfect();
        (spoil.apply)(&mut drill);
        for code in drill.judged().codes {
            assert!(dalsegno::domain::code(&code).is_some(), "{code}");
        }
    }
}

#[test]
fn another_archive_than_the_declared_one_is_never_proven_nor_held_against_it() {
    let others: [(&str, fn(&mut Drill)); 4] = [
        ("subject chosen", |drill| {
            outputs(&mut drill.records, "archive.choose").insert("subject".into(), json!("pg/home/prod/b"));
        }),
        ("place chosen", |drill| {
            outputs(&mut drill.records, "archive.choose")["place"]["server"] = json!("keycloak-db-2");
        }),
        ("subject asked for", |drill| {
            of(&mut drill.records, "archive.choose").call.args.insert("subject".into(), json!("b"));
        }),
        ("an earlier choice", |drill| {
            let mut first = of(&mut drill.records, "archive.choose").clone();
            first.receipt.as_mut().unwrap().outputs.insert("subject".into(), json!("pg/home/prod/b"));
            drill.records.insert(0, first);
        }),
    ];
    for (name, apply) in others {
        let mut drill = perfect();
        apply(&mut drill);
        let judgement = drill.judged();
        assert_eq!((judgement.verdict, judgement.reasons.len()), (Unknown, 1), "{name}: {judgement:#?}");
        // What is bad about the other archive accuses nobody here.
        drill.end("pg.restore-base", failed());
        drill.set("users", CheckEnd::Failed);
        assert_eq!(drill.judged().verdict, Unknown, "{name}");
    }
    let mut same = perfect();
    of(&mut same.records, "archive.choose").call.args.insert("subject".into(), json!("keycloak-db"));
    assert_eq!(same.judged().verdict, Verdict::Proven);
}
