use dalsegno::domain::{Change, Severity};
use dalsegno::notify::{BODY_BYTES, message};
use serde_json::Value;

use super::{about, at, channel, finding, new};

const URL: &str = "https://hooks.example.net/services/T000/B000/secretsecret";

fn body(changes: &[Change], at_least: Severity) -> Value {
    let message = message(&channel(URL, at_least), &about(), changes).unwrap();
    assert!(message.body.len() <= BODY_BYTES, "{}", message.body.len());
    serde_json::from_str(&message.body).unwrap()
}

fn all_kinds() -> Vec<Change> {
    vec![
        new("never-drilled", "gitea", Severity::Warning),
        Change::Cleared { finding: finding("store-unreachable", "minio", Severity::Critical), since: at(-9_000) },
        new("wal-gap", "keycloak-db", Severity::Critical),
        Change::Still {
            finding: finding("wal-late", "a", Severity::Critical),
            since: at(-60),
            severity_was: Some(Severity::Warning),
        },
        Change::Still { finding: finding("disk", "b", Severity::Info), since: at(-60), severity_was: Some(Severity::Critical) },
        Change::Still { finding: finding("quiet", "c", Severity::Critical), since: at(-60), severity_was: None },
        new("small", "d", Severity::Info),
    ]
}

#[test]
fn one_body_carries_all_changes_worst_first() {
    insta::assert_json_snapshot!(body(&all_kinds(), Severity::Warning));
}

#[test]
fn an_ntfy_topic_comes_from_the_fragment_of_the_url() {
    let channel = channel("https://ntfy.example.net/#alerts", Severity::Info);
    let message = message(&channel, &about(), &[new("x", "a", Severity::Critical)]).unwrap();
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!((body["topic"].as_str(), body["priority"].as_u64()), (Some("alerts"), Some(5)));
    assert!(body["message"].as_str().unwrap().len() <= 4096);
}

#[test]
fn what_is_below_the_threshold_or_unchanged_is_not_told() {
    let quiet = [
        new("x", "a", Severity::Info),
        Change::Still { finding: finding("y", "a", Severity::Critical), since: at(0), severity_was: None },
        Change::Cleared { finding: finding("z", "a", Severity::Info), since: at(0) },
    ];
    assert_eq!(message(&channel(URL, Severity::Warning), &about(), &quiet), None);
    assert!(message(&channel(URL, Severity::Info), &about(), &quiet).is_some());
}

#[test]
fn the_same_pass_and_channel_have_the_same_key() {
    let changes = all_kinds();
    let one = message(&channel(URL, Severity::Info), &about(), &changes).unwrap();
    let two = message(&channel(URL, Severity::Info), &about(), &changes).unwrap();
    assert_eq!(one, two);
    assert!(one.key.ends_with("/ops"));
}

#[test]
fn many_changes_stay_inside_the_limits_of_all_three_and_the_rest_is_counted() {
    let many: Vec<_> = (0..500).map(|n| new(&format!("code-{n}"), &format!("db-{n}"), Severity::Critical)).collect();
    let body = body(&many, Severity::Info);
    let content = body["content"].as_str().unwrap();
    assert!(content.chars().count() < 2000, "Discord");
    assert!(content.contains("more: dalsegno show 1207"), "{content}");
    assert!(body["changes_left_out"].as_u64().unwrap() > 400);
}

#[test]
fn hostile_names_call_nobody_and_stay_on_their_line() {
    let name = "<!channel> @everyone & \u{202e}x\n\u{0}FAKE: all is fine ".repeat(40);
    let mut hostile = finding("wal-gap", "a", Severity::Critical);
    hostile.summary = name;
    let body = body(&[Change::New { finding: hostile }], Severity::Info);
    let (text, content) = (body["text"].as_str().unwrap(), body["content"].as_str().unwrap());
    assert!(!text.contains('<') && text.contains("&lt;!channel&gt;"), "Slack calls only what stands in angle brackets");
    assert_eq!(body["allowed_mentions"], serde_json::json!({"parse": []}), "Discord calls nobody");
    assert!(!content.lines().any(|line| line.starts_with("FAKE")), "{content}");
    assert!(!content.contains('\u{202e}') && !content.contains('\u{0}'));
    assert!(content.contains("do: set the endpoint"), "the remedy is not pushed out");
}

#[test]
fn no_body_carries_the_address() {
    let message = message(&channel(URL, Severity::Info), &about(), &all_kinds()).unwrap();
    assert!(!format!("{message:?} {:?}", channel(URL, Severity::Info)).contains("secretsecret"));
}

proptest::proptest! {
    #[test]
    fn any_text_fits(summary in "\\PC{0,900}", cause in ".{0,900}", count in 1_usize..40) {
        let mut hostile = finding("wal-gap", "a", Severity::Critical);
        hostile.summary = summary;
        hostile.cause = cause;
        let changes: Vec<_> = (0..count).map(|_| Change::New { finding: hostile.clone() }).collect();
        let body = body(&changes, Severity::Info);
        proptest::prop_assert!(body["content"].as_str().unwrap().chars().count() < 2000);
        proptest::prop_assert!(body["message"].as_str().unwrap().len() <= 4096);
    }
}
