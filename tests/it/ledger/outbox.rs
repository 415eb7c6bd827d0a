use dalsegno::domain::Message;
use jiff::SignedDuration;

use super::{at, open, pass};

const LEASE: SignedDuration = SignedDuration::from_secs(30);

fn message(key: &str) -> Message {
    Message { channel: "ops".into(), key: key.into(), body: "{}".into() }
}

#[tokio::test]
async fn a_message_is_claimed_once_and_again_when_its_sender_died() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    assert_eq!(ledger.queue(run, at(0), &[message("a"), message("b"), message("a")]).await.unwrap(), 2);
    let due = ledger.claim(at(0), LEASE, 10).await.unwrap();
    assert_eq!(due.iter().map(|queued| queued.message.key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(ledger.claim(at(1), LEASE, 10).await.unwrap().is_empty(), "another process does not send it meanwhile");
    ledger.close().await;

    let ledger = open(folder.path()).await;
    let again = ledger.claim(at(31), LEASE, 10).await.unwrap();
    assert_eq!(again.len(), 2);
    assert_eq!((again[0].message.key.as_str(), again[0].attempts), ("a", 2), "the same key at every attempt");
}

#[tokio::test]
async fn delivered_later_and_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    ledger.queue(run, at(0), &[message("a"), message("b"), message("c")]).await.unwrap();
    let due = ledger.claim(at(0), LEASE, 10).await.unwrap();
    ledger.delivered(due[0].id, at(1)).await.unwrap();
    ledger.later(due[1].id, at(600), "503").await.unwrap();
    ledger.given_up(due[2].id, at(1), "404").await.unwrap();
    assert!(ledger.claim(at(599), LEASE, 10).await.unwrap().is_empty());
    let waiting = ledger.waiting().await.unwrap();
    assert_eq!((waiting[0].messages, waiting[0].last_error.as_deref()), (1, Some("503")));
    let due = ledger.claim(at(600), LEASE, 10).await.unwrap();
    assert_eq!(due.len(), 1);
    let undelivered = ledger.undelivered().await.unwrap();
    assert_eq!((undelivered[0].channel.as_str(), undelivered[0].why.as_str()), ("ops", "404"));
    ledger.delivered(due[0].id, at(601)).await.unwrap();
    assert!(ledger.undelivered().await.unwrap().is_empty(), "the channel works again");
}
