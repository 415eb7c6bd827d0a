use std::time::Duration;

use dalsegno::domain::{Secret, Severity, Told};
use dalsegno::notify::{Channel, Sent, Way, metrics, send};
use lab::ntfy::Ntfy;
use lab::pushgateway::Pushgateway;
use lab::webhook::Manner;

use super::{about, at, finding, means, new, notice, of, said};

const LIMIT: Duration = Duration::from_secs(5);
const TOPIC: &str = "alerts-7f3a9c";

fn ntfy(server: &Ntfy, token: Option<&str>) -> Channel {
    let url = Secret::new(format!("{}/{TOPIC}", server.url()));
    of("ntfy/phone", Way::Ntfy { url, auth: token.map(|token| Secret::new(format!("Bearer {token}"))) })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_has_title_priority_and_tags_and_its_topic_is_kept_by_nobody() {
    let server = Ntfy::with_token("tk_secret").unwrap();
    let channel = ntfy(&server, Some("tk_secret"));
    let message = said(&channel, &[new("wal-gap", "keycloak-db", Severity::Critical)]).unwrap();
    assert!(!message.body.contains(TOPIC), "the outbox holds no address");
    assert_eq!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Delivered);
    let got = server.messages().remove(0);
    assert_eq!((got.topic.as_str(), got.priority), (TOPIC, 5));
    assert_eq!(got.title.as_deref(), Some("dalsegno home: 1 new (1 critical)"));
    assert_eq!(got.tags, ["rotating_light", "home"]);
    assert!(got.message.contains("key: home/wal-gap/pg/home/prod/keycloak-db"), "{}", got.message);
    let gone = said(&channel, &[notice(Told::Cleared, None, finding("wal-gap", "a", Severity::Critical))]).unwrap();
    send(&means(), &channel, &gone, at(0), LIMIT).await;
    let good_news = server.messages().remove(1);
    assert_eq!((good_news.priority, good_news.tags[0].as_str()), (3, "white_check_mark"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_push_is_no_attachment() {
    let server = Ntfy::start().unwrap();
    let channel = ntfy(&server, None);
    let many: Vec<_> = (0..300).map(|n| new(&format!("code-{n}"), &format!("db-ü{n}"), Severity::Critical)).collect();
    let message = said(&channel, &many).unwrap();
    assert_eq!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Delivered, "{}", message.body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_for_good_and_told_without_topic_and_token() {
    let server = Ntfy::with_token("tk_secret").unwrap();
    let channel = ntfy(&server, Some("tk_wrong_one"));
    let message = said(&channel, &[new("wal-gap", "a", Severity::Critical)]).unwrap();
    let sent = send(&means(), &channel, &message, at(0), LIMIT).await;
    assert!(matches!(sent, Sent::Never { .. }), "{sent:?}");
    let words = format!("{sent:?} {channel:?}");
    assert!(!words.contains(TOPIC) && !words.contains("tk_wrong_one"), "{words}");
    server.answer(Manner::Status(503));
    assert!(matches!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Later { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_topic_is_given_up() {
    let server = Ntfy::start().unwrap();
    let url = Secret::new(server.url());
    let channel = of("ntfy/phone", Way::Ntfy { url, auth: None });
    let message = said(&channel, &[new("wal-gap", "a", Severity::Critical)]).unwrap();
    assert!(matches!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Never { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_replace_their_group_at_a_pushgateway() {
    let server = Pushgateway::start().unwrap();
    let channel = of("pushgateway", Way::Pushgateway { url: server.url(), job: "dalsegno".into(), auth: None });
    assert_eq!(said(&channel, &[new("wal-gap", "a", Severity::Critical)]), None, "it takes no words");
    for text in ["# TYPE a gauge\na{site=\"home\"} 1\n", "# TYPE b gauge\nb{site=\"home\"} 2\n"] {
        let message = metrics(&channel, &about(), text).unwrap();
        assert!(message.replaces);
        assert_eq!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Delivered);
    }
    let groups = server.groups();
    let (group, samples) = groups.iter().next().unwrap();
    assert_eq!((group["job"].as_str(), group["site"].as_str()), ("dalsegno", "home"));
    assert_eq!(samples.iter().map(|sample| sample.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn a_file_of_metrics_is_replaced_whole_and_its_folder_may_be_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dalsegno.prom");
    let channel = of("metrics-file", Way::File { path: path.clone() });
    for text in ["a 1\n", "b 2\n"] {
        let message = metrics(&channel, &about(), text).unwrap();
        assert_eq!(send(&means(), &channel, &message, at(0), LIMIT).await, Sent::Delivered);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "b 2\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half-written is left");
    let channel = of("metrics-file", Way::File { path: folder.path().join("gone/dalsegno.prom") });
    let sent = send(&means(), &channel, &metrics(&channel, &about(), "a 1\n").unwrap(), at(0), LIMIT).await;
    assert!(matches!(sent, Sent::Later { .. }), "{sent:?}");
}
