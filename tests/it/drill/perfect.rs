//! A drill to which nothing is missing, to be spoiled piece by piece.

use std::collections::BTreeMap;

use dalsegno::domain::{
    ArchivePlace, AssertionResult, Call, CheckEnd, Expects, Intent, Isolation, Phase, Place, Prefix, Receipt, Requests, RunId,
    StepEnd, StepRecord, StoreId, Touch, Undone,
};
use dalsegno::drill::{Course, Declared};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) const SUBJECT: &str = "pg/home/prod/keycloak-db";
pub(crate) const SYSTEM: &str = "7713982968056631495";

pub(crate) fn moment(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn assertion(name: &str, end: CheckEnd, tells_stale: bool) -> AssertionResult {
    AssertionResult { name: name.into(), expected: "this".into(), seen: "that".into(), end, tells_stale, seconds: 0.1 }
}

/// Receipts of the restore's verbs, by verb.
pub(crate) fn receipts() -> BTreeMap<String, Receipt> {
    let outputs = |value: Value| Receipt { outputs: value.as_object().unwrap().clone(), ..Receipt::default() };
    let mut recover = outputs(json!({
        "socket": "/tmp/s", "port": 5432, "reached_segment": "00000003000000000000008F", "reached_lsn": "0/8F000148",
        "data_as_of": "2026-09-30T14:58:07Z", "system_id": SYSTEM, "isolation": "closed",
        "isolation_facts": ["listens on no TCP address", "archive_mode is off"], "postgres": "16.4 (/usr/lib/postgresql/16/bin)",
    }));
    recover.phases = vec![
        Phase { name: "start".into(), seconds: 0.4, bytes: None },
        Phase { name: "replay".into(), seconds: 3.1, bytes: Some(2_197_815_296) },
    ];
    let mut check = outputs(json!({"sizes": {"database app": 8_912_896_u64, "table app.public.users": 1_024_u64}}));
    check.assertions = vec![
        assertion("system-id", CheckEnd::Passed, false),
        assertion("replay-end", CheckEnd::Passed, false),
        assertion("archiving-off", CheckEnd::Passed, false),
        assertion("fresh", CheckEnd::Passed, true),
        assertion("users", CheckEnd::Passed, false),
    ];
    BTreeMap::from([
        (
            "archive.choose".to_owned(),
            outputs(json!({
                "subject": SUBJECT, "place": place(), "backup": "20260930T020000", "timeline": 3, "end_segment": "00000003000000000000008F", "segments": 131,
                "base_bytes": 2_400_000_000_u64, "cluster_size": 3_000_000_000_u64, "system_id": SYSTEM,
                "covered_until": "2026-09-30T14:58:12Z", "from": "2026-09-30T02:01:00Z", "target": "end",
            })),
        ),
        ("pg.recover".to_owned(), recover),
        ("pg.check".to_owned(), check),
    ])
}

/// The records of the shipped runbook's steps.
pub(crate) fn records() -> Vec<StepRecord> {
    let run = RunId::parse("01926f00-0000-7000-8000-00000000abcd").unwrap();
    let receipts = receipts();
    let steps = [
        ("choose", "archive.choose"),
        ("sandbox", "sandbox.make"),
        ("base", "pg.restore-base"),
        ("recover", "pg.recover"),
        ("checks", "pg.check"),
    ];
    let mut began = moment("2026-09-30T15:00:00Z");
    steps
        .into_iter()
        .map(|(step, verb)| {
            let call = Call { run, step: step.into(), verb: verb.into(), args: Map::new() };
            let scaffold = matches!(verb, "sandbox.make" | "pg.recover");
            let touches = if scaffold { vec![Touch::make(format!("/var/tmp/dalsegno/{step}"))] } else { Vec::new() };
            let record = StepRecord {
                intent: Some(Intent { call: call.clone(), touches, mark: json!({}) }),
                call,
                began: Some(began),
                seconds: 2.0,
                end: StepEnd::Done,
                receipt: Some(receipts.get(verb).cloned().unwrap_or_default()),
                undone: scaffold.then_some(Undone::Removed),
            };
            began += jiff::SignedDuration::from_secs(2);
            record
        })
        .collect()
}

pub(crate) fn place() -> Place {
    let (store, prefix) = (StoreId("minio".into()), Prefix::new("cnpg"));
    ArchivePlace { store, bucket: "dr-backups".into(), prefix, server: "keycloak-db".into() }.into()
}

pub(crate) fn declared() -> Declared {
    Declared {
        site: "home".into(),
        host: "bench".into(),
        subject: SUBJECT.parse().unwrap(),
        place: place(),
        runbook: "pg-restore".into(),
        runbook_sha256: "ab".repeat(32),
        made_by: "0.1.0".into(),
        isolation: Isolation::Closed,
        rpo_budget_seconds: Some(900.0),
        rto_budget_seconds: Some(1800.0),
        expects: Expects::BaseAndWal { system: Some(SYSTEM.to_owned().try_into().unwrap()) },
        checks: vec!["users".into()],
        placeholders: Vec::new(),
    }
}

pub(crate) fn course() -> Course {
    Course {
        began: moment("2026-09-30T15:00:00Z"),
        ended: moment("2026-09-30T15:00:11Z"),
        cancelled: false,
        interrupted: false,
        clean_up_seconds: Some(0.3),
        left_over: Vec::new(),
        requests: Requests { class_a: 4, class_b: 140, free: 0, bytes_in: 2_600_000_000, bytes_out: 0 },
    }
}

/// The record of a verb.
pub(crate) fn of<'a>(records: &'a mut [StepRecord], verb: &str) -> &'a mut StepRecord {
    records.iter_mut().find(|record| record.call.verb == verb).unwrap()
}

/// The outputs of a verb's receipt.
pub(crate) fn outputs<'a>(records: &'a mut [StepRecord], verb: &str) -> &'a mut Map<String, Value> {
    &mut of(records, verb).receipt.as_mut().unwrap().outputs
}
