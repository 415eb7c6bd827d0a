//! The language: what is right is read as it is meant.

use dalsegno::domain::Isolation;
use dalsegno::runbook::{Budget, Kind, OnFailure, Test, check, duration_seconds};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::execution::folder_act::VERBS;

const EVERYTHING: &str = r#"
runbook: 1
name: everything
purpose: uses all of the language
parameters:
  subject: {type: subject, required: true, about: the database}
  limit: {type: duration, default: 15m, about: a length of time}
  size: {type: bytes, default: 2GiB, about: a size}
  loud: {type: bool, default: false, about: a switch}
  note: {type: text, default: "0755", about: a text that looks like a number}
isolation-at-least: sealed
budgets: {rto: 30m, rpo: $(limit)}
allows: [backup.start]
steps:
  - name: choose
    verb: archive.choose
    with: {subject: $(subject)}
    assert:
      - {output: segments, at-least: 1, tells-stale: true}
      - {output: backup, present: true}
  - {name: sandbox, verb: sandbox.make, time-limit: 1m30s, on-failure: continue}
  - {name: backup, verb: backup.start, with: {text: "$$(not a reference), $(note)"}}
finally:
  - {name: farewell, verb: pg.check}
"#;

#[test]
fn all_of_the_language_is_read() {
    let checked = check(EVERYTHING, &VERBS).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let book = checked.runbook;
    assert_eq!((book.isolation_at_least, book.name.as_str()), (Isolation::Sealed, "everything"));
    assert_eq!((book.rto, book.rpo), (Some(Budget::Seconds(1800.0)), Some(Budget::Parameter("limit".into()))));
    let default = |name: &str| book.parameters.iter().find(|parameter| parameter.name == name).unwrap().default.clone();
    assert_eq!(default("limit"), Some(json!(900.0)));
    assert_eq!(default("size"), Some(json!(2_147_483_648_u64)));
    assert_eq!(default("note"), Some(json!("0755")));
    assert_eq!(book.steps[0].assertions[0].test, Test::AtLeast(1.0));
    assert!(book.steps[0].assertions[0].tells_stale && !book.steps[0].assertions[1].tells_stale);
    assert_eq!((book.steps[1].time_limit_seconds, book.steps[1].on_failure), (Some(90.0), OnFailure::Continue));
    assert_eq!(book.finally[0].name, "farewell");
    assert_eq!(checked.sha256.len(), 64);
}

#[test]
fn the_shipped_runbooks_are_right_and_name_only_verbs_of_the_restore() {
    for (name, text) in dalsegno::conductor::drill::SHIPPED {
        let checked = check(text, &dalsegno::app::verbs()).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:#?}"));
        assert_eq!(&checked.runbook.name, name);
        assert!(checked.runbook.allows.is_empty(), "a shipped drill changes nothing outside of its sandbox");
    }
}

#[test]
fn the_example_of_the_language_page_is_right() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/runbooks/README.md")).unwrap();
    let (_, behind) = page.split_once("```yaml\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    let checked = check(example, &dalsegno::restore::VERBS).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    assert_eq!(checked.runbook.steps.len(), 2);
    for kind in Kind::ALL {
        assert!(page.contains(&format!("| `{}` |", kind.as_str())), "{kind:?} is not described");
    }
}

#[test]
fn values_are_read_by_their_kind() {
    let right = [
        (Kind::Target, "end", json!("end")),
        (Kind::Target, "2026-09-30T16:00:00+02:00", json!("2026-09-30T14:00:00Z")),
        (Kind::Timeline, "3", json!(3)),
        (Kind::Duration, "26h", json!(93_600.0)),
        (Kind::Bytes, "512MiB", json!(536_870_912)),
        (Kind::Bool, "true", json!(true)),
        (Kind::Subject, "pg/home/prod/app", json!("pg/home/prod/app")),
        (Kind::Text, "any; thing", json!("any; thing")),
    ];
    for (kind, text, expected) in right {
        assert_eq!(kind.read(&Value::from(text)), Ok(expected), "{kind:?} {text}");
    }
    let wrong = [
        (Kind::Target, "latest"),
        (Kind::Target, "2026-09-30 16:00:00"),
        (Kind::Target, ""),
        (Kind::Timeline, "latest"),
        (Kind::Timeline, "0"),
        (Kind::Timeline, "-1"),
        (Kind::Timeline, "4294967296"),
        (Kind::Duration, "15"),
        (Kind::Duration, "15x"),
        (Kind::Duration, "m15"),
        (Kind::Duration, "-5m"),
        (Kind::Duration, "0s"),
        (Kind::Duration, "5m5h"),
        (Kind::Duration, "99999999999d"),
        (Kind::Bytes, "1.5GiB"),
        (Kind::Bytes, "99999999999999999999"),
        (Kind::Bytes, "99999999TiB"),
        (Kind::Bool, "yes"),
        (Kind::Subject, "app"),
        (Kind::Checks, "select 1"),
    ];
    for (kind, text) in wrong {
        assert!(kind.read(&Value::from(text)).is_err(), "{kind:?} {text}");
    }
}

#[test]
fn durations_add_up_in_falling_order() {
    assert_eq!(duration_seconds("1h30m"), Ok(5400.0));
    assert_eq!(duration_seconds("1d 2h"), Ok(93_600.0));
    assert_eq!(duration_seconds("1.5h"), Ok(5400.0));
    assert_eq!(duration_seconds("250ms"), Ok(0.25));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = check(&text, &VERBS);
    }

    #[test]
    fn no_spoiled_runbook_makes_the_reader_panic(at in 0..1000_usize, len in 0..40_usize, put in "[ -~\\n]{0,20}") {
        let mut text: Vec<char> = EVERYTHING.chars().collect();
        let at = at.min(text.len());
        let end = (at + len).min(text.len());
        text.splice(at..end, put.chars());
        let text: String = text.into_iter().collect();
        if let Err(mistakes) = check(&text, &VERBS) {
            prop_assert!(!mistakes.is_empty());
            let lines = text.lines().count() as u64 + 1;
            prop_assert!(mistakes.iter().all(|mistake| mistake.line <= lines), "{mistakes:#?}");
        }
    }

    #[test]
    fn no_duration_makes_the_reader_panic(text in "[0-9.a-z -]{0,30}") {
        if let Ok(seconds) = duration_seconds(&text) {
            prop_assert!(seconds > 0.0 && seconds.is_finite());
        }
    }
}
