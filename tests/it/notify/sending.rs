use std::time::Duration;

use dalsegno::domain::{Message, RunId, Severity};
use dalsegno::ledger::{Ledger, RunKind};
use dalsegno::notify::{Channel, GIVE_UP_AFTER, Next, Sent, next_attempt, send, undeliverable};
use dalsegno::process::Process;
use jiff::{SignedDuration, Timestamp};

use super::listener::{Answer, Listener};
use super::{at, channel, means, new, said};

const LIMIT: Duration = Duration::from_secs(5);
const PATH: &str = "/services/T0001234/B0001234/topsecrettoken";

fn a_message() -> Message {
    Message { channel: "ops".into(), key: "run/ops".into(), body: "{\"text\":\"x\"}".into(), replaces: false }
}

async fn sent(url: &str, limit: Duration) -> Sent {
    send(&means(), &channel(url, Severity::Info), &a_message(), at(0), limit).await
}

#[tokio::test]
async fn a_message_arrives_with_its_body_and_key() {
    let listener = Listener::start(Answer::With("204 No Content", "")).await;
    assert_eq!(sent(&format!("{}{PATH}#topic", listener.url), LIMIT).await, Sent::Delivered);
    let asked = listener.asked().remove(0);
    assert_eq!(asked.line, format!("POST {PATH} HTTP/1.1"), "the fragment is not sent");
    assert_eq!(asked.body, a_message().body);
    assert!(
        asked.head.contains("idempotency-key: run/ops") && asked.head.contains("content-type: application/json"),
        "{}",
        asked.head
    );
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_will_not_is_given_up() {
    for (status, again) in [
        ("408 Request Timeout", true),
        ("425 Too Early", true),
        ("429 Too Many Requests", true),
        ("500 Internal Server Error", true),
        ("503 Service Unavailable", true),
        ("301 Moved Permanently\r\nlocation: http://127.0.0.1:1/", false),
        ("400 Bad Request", false),
        ("401 Unauthorized", false),
        ("403 Forbidden", false),
        ("404 Not Found", false),
        ("410 Gone", false),
    ] {
        let listener = Listener::start(Answer::With(status, "no_service")).await;
        let sent = sent(&format!("{}{PATH}", listener.url), LIMIT).await;
        assert_eq!(matches!(sent, Sent::Later { .. }), again, "{status}: {sent:?}");
        assert_eq!(matches!(sent, Sent::Never { .. }), !again, "{status}: {sent:?}");
        assert_eq!(listener.asked().len(), 1, "redirects are not followed, nothing is tried twice in one pass");
    }
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date() {
    let date = "503 Busy\r\nretry-after: Wed, 30 Sep 2026 12:10:00 GMT";
    for (status, seconds) in [("429 Slow\r\nretry-after: 77", 77), (date, 600)] {
        let listener = Listener::start(Answer::With(status, "")).await;
        let sent = sent(&format!("{}{PATH}", listener.url), LIMIT).await;
        assert!(matches!(sent, Sent::Later { retry_after: Some(asked), .. } if asked == seconds), "{sent:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_hangs_costs_its_limit() {
    let listener = Listener::start(Answer::Hang).await;
    let begun = std::time::Instant::now();
    let sent = sent(&format!("{}{PATH}", listener.url), Duration::from_secs(1)).await;
    assert!(matches!(sent, Sent::Later { .. }), "{sent:?}");
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn nobody_listening_is_tried_again_and_no_url_is_given_up() {
    assert!(matches!(sent("http://127.0.0.1:1/hook/secretsecret", LIMIT).await, Sent::Later { .. }));
    assert!(matches!(sent("not a url at all", LIMIT).await, Sent::Never { .. }));
}

#[tokio::test]
async fn no_word_about_a_failure_carries_the_address() {
    let echoing = Listener::start(Answer::Echo).await;
    let hanging = Listener::start(Answer::Hang).await;
    for url in [format!("{}{PATH}", echoing.url), format!("{}{PATH}", hanging.url), format!("http://127.0.0.1:1{PATH}")] {
        let said = format!("{:?}", sent(&url, Duration::from_secs(1)).await);
        for part in [PATH, "topsecrettoken", "T0001234"] {
            assert!(!said.contains(part), "{said}");
        }
    }
}

#[test]
fn pauses_grow_to_an_hour_honour_the_receiver_and_end() {
    let pause = |attempts, asked| match next_attempt(at(0), attempts, at(0), asked) {
        Next::At(then) => then.duration_since(at(0)).as_secs(),
        Next::GiveUp => -1,
    };
    assert_eq!([1, 2, 3, 6, 7, 99].map(|attempts| pause(attempts, None)), [60, 120, 240, 1920, 3600, 3600]);
    assert_eq!(pause(1, Some(900)), 900);
    assert_eq!(pause(5, Some(1)), 960, "never earlier than our own pause");
    assert_eq!(pause(1, Some(u64::MAX)), 86_400);
    let late = at(0) + GIVE_UP_AFTER;
    assert_eq!(next_attempt(at(0), 80, late, None), Next::GiveUp);
}

/// Moves the outbox once, as a pass does; answers findings of channels that take nothing.
async fn move_outbox(ledger: &Ledger, channel: &Channel, now: Timestamp) -> Vec<String> {
    for queued in ledger.claim(now, SignedDuration::from_secs(30), 50).await.unwrap() {
        match send(&means(), channel, &queued.message, now, Duration::from_secs(1)).await {
            Sent::Delivered => ledger.delivered(queued.id, now).await.unwrap(),
            Sent::Never { why } => ledger.given_up(queued.id, now, &why).await.unwrap(),
            Sent::Later { why, retry_after } => match next_attempt(queued.made_at, queued.attempts, now, retry_after) {
                Next::At(then) => ledger.later(queued.id, then, &why).await.unwrap(),
                Next::GiveUp => ledger.given_up(queued.id, now, &why).await.unwrap(),
            },
        }
    }
    ledger.undelivered().await.unwrap().iter().map(|broken| undeliverable(&broken.channel, &broken.why).code).collect()
}

async fn open(folder: &std::path::Path) -> Ledger {
    Ledger::open(folder, at(0), Process::this().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_message_survives_restarts_until_it_is_delivered_and_only_then_stops() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::start(Answer::With("503 Service Unavailable", "")).await;
    let channel = channel(&format!("{}{PATH}", listener.url), Severity::Info);
    let ledger = open(folder.path()).await;
    let run = RunId::new();
    ledger.begin(run, RunKind::Pass, at(0)).await.unwrap();
    let made = said(&channel, &[new("wal-gap", "a", Severity::Critical)]).unwrap();
    ledger.queue(run, at(0), std::slice::from_ref(&made)).await.unwrap();
    move_outbox(&ledger, &channel, at(0)).await;
    ledger.close().await;

    let ledger = open(folder.path()).await;
    move_outbox(&ledger, &channel, at(30)).await;
    assert_eq!(listener.asked().len(), 1, "not yet due");
    listener.answers(Answer::Hang);
    move_outbox(&ledger, &channel, at(60)).await;
    ledger.close().await;

    let ledger = open(folder.path()).await;
    listener.answers(Answer::With("200 OK", "ok"));
    assert!(move_outbox(&ledger, &channel, at(300)).await.is_empty());
    move_outbox(&ledger, &channel, at(9_000)).await;
    let bodies: Vec<_> = listener.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies, [made.body.clone(), made.body.clone(), made.body.clone()], "the same body each time, none after delivery");
}

#[tokio::test]
async fn a_refused_message_is_given_up_loudly_until_the_channel_works() {
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::start(Answer::With("404 Not Found", "no_service")).await;
    let channel = channel(&format!("{}{PATH}", listener.url), Severity::Info);
    let ledger = open(folder.path()).await;
    let run = RunId::new();
    ledger.begin(run, RunKind::Pass, at(0)).await.unwrap();
    ledger.queue(run, at(0), &[a_message()]).await.unwrap();
    assert_eq!(move_outbox(&ledger, &channel, at(0)).await, ["notification-undeliverable"]);
    assert_eq!(move_outbox(&ledger, &channel, at(600)).await, ["notification-undeliverable"], "not forgotten at the next pass");
    assert_eq!(listener.asked().len(), 1);
    listener.answers(Answer::With("200 OK", "ok"));
    ledger.queue(run, at(700), &[Message { key: "next/ops".into(), ..a_message() }]).await.unwrap();
    assert!(move_outbox(&ledger, &channel, at(700)).await.is_empty());
}
