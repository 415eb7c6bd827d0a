//! A drill from its text to its evidence, on acts that make folders.

use std::collections::BTreeMap;
use std::fs;

use dalsegno::conductor::drill::{
    DrillError, Drillable, Ground, SHIPPED, SweptHow, choose, drill, find_evidence, open_drills, outlook, ready, sweep_drills,
    swept_exit,
};
use dalsegno::conductor::runbook::script;
use dalsegno::domain::{Cx, ExitCode, Expects, Explained, Isolation, Permit, Policy, Requests, RunId, StepEnd, Touch, Verdict};
use dalsegno::execution::Unwatched;
use serde_json::{Value, json};

use super::perfect::{SYSTEM, place, receipts};
use crate::execution::bench::{Bench, cx};
use crate::execution::folder_act::{Fault, FolderAct};

pub(crate) fn database() -> Drillable {
    Drillable {
        subject: "pg/home/prod/keycloak-db".parse().unwrap(),
        place: place(),
        expects: Expects::BaseAndWal { system: Some(SYSTEM.to_owned().try_into().unwrap()) },
        policy: Policy { rpo_seconds: Some(900.0), rto_seconds: Some(1800.0), ..Policy::default() },
        checks: vec!["users".into()],
        placeholders: Vec::new(),
    }
}

pub(crate) fn ground<'a>(bench: &'a Bench, acts: &'a [&'a dyn dalsegno::domain::Act]) -> Ground<'a> {
    Ground {
        site: "home",
        host: "bench",
        drills: &bench.drills,
        acts,
        guard: &|_, _| Permit::Yes,
        watch: &Unwatched,
        requests: &Requests::default,
    }
}

pub(crate) fn proving(bench: &Bench) -> FolderAct {
    let mut act = FolderAct::new(&bench.sandboxes);
    act.receipts = receipts();
    act
}

async fn drilled(bench: &Bench, act: &FolderAct, cx: &Cx) -> Result<dalsegno::conductor::drill::Over, DrillError> {
    let acts: [&dyn dalsegno::domain::Act; 1] = [act];
    let ground = ground(bench, &acts);
    let ready = ready(cx.run, &ground, &database(), &script("pg-restore")?, &BTreeMap::new(), None)?;
    drill(cx, &ground, &ready).await
}

#[tokio::test]
async fn the_shipped_runbook_proves_and_leaves_one_file_of_evidence() {
    let bench = Bench::new();
    let act = proving(&bench);
    let over = drilled(&bench, &act, &cx(RunId::new())).await.unwrap();
    assert_eq!(over.evidence.verdict, Verdict::Proven, "{:#?}", over.evidence.reasons);
    assert_eq!(over.exit, ExitCode::Fine);
    assert_eq!((over.evidence.rto_budget_seconds, over.evidence.rpo_budget_seconds), (Some(1800.0), Some(900.0)));
    assert!(act.left().is_empty());
    let mut names: Vec<_> = fs::read_dir(over.path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["evidence.json", "journal.jsonl"]);
    let (path, found) = find_evidence(&bench.drills, None).unwrap();
    assert_eq!((path, found), (over.path, over.evidence));
    assert!(open_drills(&bench.drills).unwrap().is_empty());
}

#[tokio::test]
async fn a_bad_archive_fails_and_our_own_lack_is_unknown() {
    for (fault, verdict, exit) in [
        (Fault::FailsInLook, Verdict::Failed, ExitCode::DrillFailed),
        (Fault::BadArchive, Verdict::Failed, ExitCode::DrillFailed),
        (Fault::CouldNotInLook, Verdict::Unknown, ExitCode::CouldNotLook),
        (Fault::PanicsInLook, Verdict::Unknown, ExitCode::CouldNotLook),
        (Fault::UnclearInLook, Verdict::Unknown, ExitCode::Stuck),
        (Fault::RefusesOnPaper, Verdict::Unknown, ExitCode::CouldNotLook),
    ] {
        let bench = Bench::new();
        let mut act = FolderAct::breaking(&bench.sandboxes, "recover", fault);
        act.receipts = receipts();
        let over = drilled(&bench, &act, &cx(RunId::new())).await.unwrap();
        assert_eq!((over.evidence.verdict, over.exit), (verdict, exit), "{fault:?}: {:#?}", over.evidence.reasons);
        assert!(!over.evidence.hints.is_empty(), "{fault:?}");
        assert!(act.left().is_empty(), "{fault:?}: {:?}", act.left());
    }
}

#[tokio::test]
async fn a_cancelled_drill_is_unknown_and_cleaned_up() {
    let bench = Bench::new();
    let mut act = FolderAct::breaking(&bench.sandboxes, "recover", Fault::HangsInStart);
    act.receipts = receipts();
    let cx = cx(RunId::new());
    let cancel = cx.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        cancel.cancel();
    });
    let over = drilled(&bench, &act, &cx).await.unwrap();
    assert_eq!(over.evidence.verdict, Verdict::Unknown);
    assert!(over.evidence.reasons.iter().any(|reason| reason.contains("cancelled")), "{:?}", over.evidence.reasons);
    assert!(act.left().is_empty());
}

#[tokio::test]
async fn a_killed_drill_is_closed_by_the_next_start_with_evidence_that_is_unknown() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    let ground = ground(&bench, &acts);
    let cx = cx(RunId::new());
    let ready = ready(cx.run, &ground, &database(), &script("pg-restore").unwrap(), &BTreeMap::new(), None).unwrap();
    // As far as a process comes that is killed right after it began.
    let context = serde_json::to_value(&ready.declared).unwrap();
    drop(dalsegno::execution::Journal::begin(&bench.drills, &ready.plan, context, cx.now).unwrap());
    assert_eq!(open_drills(&bench.drills).unwrap().len(), 1);
    let swept = sweep_drills(&cx, &ground).await.unwrap();
    assert_eq!(swept[0].how, SweptHow::Closed { left_over: vec![] });
    assert_eq!(swept_exit(&swept), ExitCode::Fine);
    let (_, evidence) = find_evidence(&bench.drills, Some(&cx.run.short())).unwrap();
    assert_eq!(evidence.verdict, Verdict::Unknown);
    assert!(evidence.steps.iter().all(|step| step.end == StepEnd::Skipped));
    assert!(evidence.reasons.iter().any(|reason| reason.contains("interrupted")), "{:?}", evidence.reasons);
}

#[test]
fn the_plan_names_every_object_and_leaves_unknown_outputs_as_they_are_written() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    let ground = ground(&bench, &acts);
    let given = BTreeMap::from([("target".to_owned(), Value::from("2026-09-30T16:00:00+02:00"))]);
    let ready = ready(RunId::new(), &ground, &database(), &script("pg-restore").unwrap(), &given, None).unwrap();
    let outlook = outlook(&ready.plan, &acts);
    let made: Vec<&Touch> = outlook.iter().flat_map(|step| &step.touches).collect();
    assert_eq!(made.len(), 2, "{made:?}");
    assert_eq!(outlook[0].with["target"], json!("2026-09-30T14:00:00Z"));
    assert!(!outlook[0].with.contains_key("timeline"), "an optional parameter without a value is no argument");
    assert_eq!(outlook[3].with["folder"], json!("$(sandbox.folder)"));
    assert!(act.log().is_empty() && act.left().is_empty() && !bench.drills.exists(), "nothing was done");
    insta::with_settings!({filters => vec![(r"dalsegno-[0-9a-f]{8}", "dalsegno-RUN"), (r"/\S*/sandboxes", "SANDBOXES")]}, {
        insta::assert_snapshot!(dalsegno::cli::drill::plan_text(&ready, &outlook));
    });
}

#[test]
fn isolation_is_never_less_than_the_runbook_says() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    for (asked, expected) in
        [(None, Isolation::Closed), (Some(Isolation::None), Isolation::Closed), (Some(Isolation::Sealed), Isolation::Sealed)]
    {
        let ready =
            ready(RunId::new(), &ground(&bench, &acts), &database(), &script("pg-restore").unwrap(), &BTreeMap::new(), asked)
                .unwrap();
        assert_eq!(ready.declared.isolation, expected);
    }
}

#[test]
fn a_database_is_found_by_name_by_subject_or_as_the_only_one() {
    let mut other = database();
    other.subject = "pg/home/prod/grafana-db".parse().unwrap();
    let one = [database()];
    let two = [database(), other];
    assert_eq!(choose(&one, None, "pg-restore").unwrap(), &one[0]);
    assert_eq!(choose(&two, Some("grafana-db"), "pg-restore").unwrap(), &two[1]);
    assert_eq!(choose(&two, Some("pg/home/prod/keycloak-db"), "pg-restore").unwrap(), &two[0]);
    for (databases, wanted) in [(&two[..], None), (&two[..], Some("db")), (&[][..], None)] {
        let error = choose(databases, wanted, "my-own.yaml").unwrap_err();
        assert!(databases.is_empty() || error.hint().unwrap().starts_with("dalsegno drill my-own.yaml --db "), "{error}");
        assert!(error.hint().is_some() && error.exit() == ExitCode::Usage, "{error}");
    }
}

#[test]
fn a_runbook_is_found_by_name_or_path_and_a_wrong_name_says_which_there_are() {
    assert!(SHIPPED.iter().all(|(name, _)| script(name).is_ok()));
    let error = script("pg-restor").unwrap_err();
    assert!(error.to_string().contains("pg-restore"), "{error}");
    assert!(script("./no/such/file.yaml").unwrap_err().to_string().contains("No such file"));
}

#[test]
fn parameters_that_are_wrong_or_unknown_are_all_told_at_once() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    let given = BTreeMap::from([
        ("target".to_owned(), Value::from("yesterday")),
        ("timeline".to_owned(), Value::from("latest")),
        ("tmeline".to_owned(), Value::from("3")),
    ]);
    let error =
        ready(RunId::new(), &ground(&bench, &acts), &database(), &script("pg-restore").unwrap(), &given, None).unwrap_err();
    let text = error.to_string();
    for part in ["yesterday", "never \"latest\"", "did you mean \"timeline\"?", "--target: ", "--timeline: ", "--set tmeline: "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The shipped runbook with one text replaced.
fn changed(from: &str, to: &str) -> dalsegno::conductor::drill::Script {
    let mut script = script("pg-restore").unwrap();
    assert!(script.text.contains(from), "{from}");
    script.text = script.text.replace(from, to);
    script
}

#[test]
fn subject_and_budgets_come_from_the_configuration_alone() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    for (name, value) in [("subject", "pg/home/prod/b"), ("rto", "9d"), ("rpo", "9d")] {
        let given = BTreeMap::from([(name.to_owned(), Value::from(value))]);
        let error =
            ready(RunId::new(), &ground(&bench, &acts), &database(), &script("pg-restore").unwrap(), &given, None).unwrap_err();
        assert!(error.to_string().contains(&format!("--set {name}: cannot be set")), "{error}");
        assert_eq!(error.exit(), ExitCode::Usage);
    }
    // A runbook may be stricter than the configuration, and never laxer.
    for (rto, seconds) in [("9d", 1800.0), ("60s", 60.0)] {
        let script = changed("rto: $(rto)", &format!("rto: {rto}"));
        let ready = ready(RunId::new(), &ground(&bench, &acts), &database(), &script, &BTreeMap::new(), None).unwrap();
        assert_eq!(ready.declared.rto_budget_seconds, Some(seconds));
        assert_eq!(ready.plan.parameters["subject"], json!(database().subject));
    }
}

#[tokio::test]
async fn a_runbook_with_a_written_subject_proves_nothing_for_the_one_that_was_asked_for() {
    let bench = Bench::new();
    let act = proving(&bench);
    let acts: [&dyn dalsegno::domain::Act; 1] = [&act];
    let ground = ground(&bench, &acts);
    for (written, verdict) in
        [("pg/home/prod/b", Verdict::Unknown), ("pg/home/prod/keycloak-db", Verdict::Proven), ("keycloak-db", Verdict::Proven)]
    {
        let cx = cx(RunId::new());
        let script = changed("subject: $(subject)", &format!("subject: {written}"));
        let ready = ready(cx.run, &ground, &database(), &script, &BTreeMap::new(), None).unwrap();
        let over = drill(&cx, &ground, &ready).await.unwrap();
        assert_eq!(over.evidence.verdict, verdict, "{:#?}", over.evidence.reasons);
        if verdict != Verdict::Proven {
            assert!(over.evidence.reasons[0].contains("the drill is of pg/home/prod/keycloak-db"), "{:?}", over.evidence.reasons);
        }
    }
}
