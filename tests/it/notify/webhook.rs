use dalsegno::domain::{Ended, Notice, Severity, Told};
use dalsegno::notify::BODY_BYTES;
use serde_json::Value;

use super::{channel, finding, new, notice, said};

const URL: &str = "https://hooks.example.net/services/T000/B000/secretsecret";

fn body(notices: &[Notice], at_least: Severity) -> Value {
    let message = said(&channel(URL, at_least), notices).unwrap();
    assert!(message.body.len() <= BODY_BYTES, "{}", message.body.len());
    serde_json::from_str(&message.body).unwrap()
}

fn all_kinds() -> Vec<Notice> {
    let mut hung_on = new("wal-gap", "keycloak-db", Severity::Critical);
    hung_on.alert.dependents = vec!["SSO".into(), "kubectl OIDC".into()];
    let mut outage = new("object-store-outage", "minio", Severity::Critical);
    outage.explains = vec![finding("wal-archive-silent", "a", Severity::Warning).key()];
    let mut back = notice(Told::Back, None, finding("s3-auth-failed", "b", Severity::Critical));
    back.because = Some("comes and goes: back 3 times within 3 h".into());
    let mut gone = notice(Told::Cleared, None, finding("s3-tls-failed", "old", Severity::Critical));
    gone.alert.ended = Some(Ended::NotConfigured);
    vec![
        hung_on,
        outage,
        notice(Told::Worse, Some(Severity::Warning), finding("base-backup-failed", "a", Severity::Critical)),
        back,
        new("never-drilled", "gitea", Severity::Warning),
        new("never-drilled", "grafana", Severity::Warning),
        new("never-drilled", "wiki", Severity::Warning),
        notice(Told::Eased, Some(Severity::Critical), finding("proof-too-old", "b", Severity::Info)),
        new("small", "d", Severity::Info),
        notice(Told::Cleared, None, finding("s3-clock-skew", "minio", Severity::Critical)),
        gone,
    ]
}

#[test]
fn one_body_carries_all_changes_worst_first() {
    insta::assert_json_snapshot!(body(&all_kinds(), Severity::Warning));
}

#[test]
fn an_ntfy_topic_comes_from_the_fragment_of_the_url() {
    let channel = channel("https://ntfy.example.net/#alerts", Severity::Info);
    let message = said(&channel, &[new("x", "a", Severity::Critical)]).unwrap();
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!((body["topic"].as_str(), body["priority"].as_u64()), (Some("alerts"), Some(5)));
    assert!(body["message"].as_str().unwrap().len() <= 4096);
}

#[test]
fn what_is_below_the_threshold_is_not_told() {
    let quiet = [new("x", "a", Severity::Info), notice(Told::Cleared, None, finding("z", "a", Severity::Info))];
    assert_eq!(said(&channel(URL, Severity::Warning), &quiet), None);
    assert!(said(&channel(URL, Severity::Info), &quiet).is_some());
    let eased = [notice(Told::Eased, Some(Severity::Critical), finding("z", "a", Severity::Info))];
    assert!(said(&channel(URL, Severity::Warning), &eased).is_some(), "what was told is told to be smaller");
}

#[test]
fn forty_databases_with_one_cause_are_one_paragraph() {
    let forty: Vec<_> = (0..40).map(|n| new("wal-archive-silent", &format!("db-{n}"), Severity::Critical)).collect();
    let text = body(&forty, Severity::Info)["content"].as_str().unwrap().to_owned();
    assert_eq!(text.matches("NEW critical").count(), 1, "{text}");
    assert!(text.contains("×40") && text.contains("and 34 more"), "{text}");
    let mut other = forty[0].clone();
    other.alert.finding.cause = "another cause".into();
    let text = body(&[forty[1].clone(), other], Severity::Info)["content"].as_str().unwrap().to_owned();
    assert_eq!(text.matches("NEW critical").count(), 2, "the twin: {text}");
}

#[test]
fn every_change_carries_the_one_key() {
    let body = body(&all_kinds(), Severity::Info);
    let keys: Vec<&str> = body["changes"].as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    assert!(keys.contains(&"home/wal-gap/pg/home/prod/keycloak-db"), "{keys:?}");
    assert!(body["content"].as_str().unwrap().contains("key: home/wal-gap/pg/home/prod/keycloak-db"));
}

#[test]
fn the_same_pass_and_channel_have_the_same_key() {
    let changes = all_kinds();
    let one = said(&channel(URL, Severity::Info), &changes).unwrap();
    let two = said(&channel(URL, Severity::Info), &changes).unwrap();
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
    let body = body(&[notice(Told::New, None, hostile)], Severity::Info);
    let (text, content) = (body["text"].as_str().unwrap(), body["content"].as_str().unwrap());
    assert!(!text.contains('<') && text.contains("&lt;!channel&gt;"), "Slack calls only what stands in angle brackets");
    assert_eq!(body["allowed_mentions"], serde_json::json!({"parse": []}), "Discord calls nobody");
    assert!(!content.lines().any(|line| line.starts_with("FAKE")), "{content}");
    assert!(!content.contains('\u{202e}') && !content.contains('\u{0}'));
    assert!(content.contains("do: set the endpoint"), "the remedy is not pushed out");
}

#[test]
fn no_body_carries_the_address() {
    let message = said(&channel(URL, Severity::Info), &all_kinds()).unwrap();
    assert!(!format!("{message:?} {:?}", channel(URL, Severity::Info)).contains("secretsecret"));
}

proptest::proptest! {
    #[test]
    fn any_text_fits(summary in "\\PC{0,900}", cause in ".{0,900}", count in 1_usize..40) {
        let mut hostile = finding("wal-gap", "a", Severity::Critical);
        hostile.summary = summary;
        hostile.cause = cause;
        let changes: Vec<_> = (0..count).map(|_| notice(Told::New, None, hostile.clone())).collect();
        let body = body(&changes, Severity::Info);
        proptest::prop_assert!(body["content"].as_str().unwrap().chars().count() < 2000);
        proptest::prop_assert!(body["message"].as_str().unwrap().len() <= 4096);
    }
}
