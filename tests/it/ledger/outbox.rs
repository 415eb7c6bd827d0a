use dalsegno::domain::Message;
use jiff::SignedDuration;

use super::{at, open, pass};

const LEASE: SignedDuration = SignedDuration::from_secs(30);

fn message(key: &str) -> Message {
    Message { channel: "ops".into(), key: key.into(), body: "{}".into(), replaces: false }
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

#[tokio::test]
async fn what_waits_holds_back_what_stands_behind_it_and_no_other_channel() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let other = Message { channel: "phone".into(), ..message("p1") };
    ledger.queue(run, at(0), &[message("a"), message("b"), other]).await.unwrap();
    let due = ledger.claim(at(0), LEASE, 10).await.unwrap();
    ledger.later(due[0].id, at(600), "503").await.unwrap();
    ledger.back(due[1].id, at(600)).await.unwrap();
    ledger.delivered(due[2].id, at(1)).await.unwrap();
    ledger.queue(run, at(60), &[message("c")]).await.unwrap();
    assert!(ledger.claim(at(100), LEASE, 10).await.unwrap().is_empty(), "c is due, and a stands before it");
    ledger.close().await;
    let ledger = open(folder.path()).await;
    let due = ledger.claim(at(600), LEASE, 10).await.unwrap();
    assert_eq!(due.iter().map(|queued| queued.message.key.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!((due[0].attempts, due[1].attempts), (2, 1), "what was not tried counts no attempt");
}

#[tokio::test]
async fn a_newer_state_takes_the_place_of_one_that_waits_and_nothing_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let run = pass(&ledger, 0).await;
    let state = |key: &str| Message { channel: "alertmanager/main".into(), replaces: true, ..message(key) };
    for (second, key) in [(0, "s1"), (300, "s2"), (600, "s3")] {
        ledger.queue(run, at(second), &[state(key), message(&format!("m{second}"))]).await.unwrap();
    }
    let due = ledger.claim(at(600), LEASE, 10).await.unwrap();
    let keys: Vec<_> = due.iter().map(|queued| queued.message.key.as_str()).collect();
    assert_eq!(keys, ["m0", "m300", "s3", "m600"], "messages that say what is new are never replaced");
    let state = due.iter().find(|queued| queued.message.key == "s3").unwrap();
    ledger.later(state.id, at(900), "503").await.unwrap();
    let waiting = ledger.waiting().await.unwrap();
    let silent = waiting.iter().find(|waiting| waiting.channel == "alertmanager/main").unwrap();
    assert_eq!((silent.messages, silent.oldest), (1, at(0)), "it has taken nothing since the first");
    assert!(ledger.undelivered().await.unwrap().is_empty());
}

/// Queues messages and moves them, and says each that was delivered. Does nothing unless it is the child.
#[tokio::test]
async fn child_that_delivers_until_it_is_killed() {
    let Some(folder) = super::kill::folder_of_child() else { return };
    let ledger = open(&folder).await;
    for number in 0.. {
        let run = pass(&ledger, number).await;
        ledger.queue(run, at(number), &[message(&format!("{number:06}"))]).await.unwrap();
        for queued in ledger.claim(at(number), LEASE, 10).await.unwrap() {
            // Every third is not taken at the first attempt.
            if queued.attempts == 1 && queued.id % 3 == 0 {
                ledger.later(queued.id, at(number + 2), "503").await.unwrap();
                break;
            }
            println!("sent {}", queued.message.key);
            ledger.delivered(queued.id, at(number)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_order_of_a_channel_is_kept_over_kill_9() {
    use std::io::BufRead as _;
    for round in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let mut child = super::kill::child("ledger::outbox::child_that_delivers_until_it_is_killed", folder.path());
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut lines = lines.filter_map(|line| Some(line.split_once("sent ")?.1.to_owned()));
        let mut sent: Vec<String> = lines.by_ref().take(10 + round * 7).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        sent.extend(lines);
        let before = sent.len();
        let ledger = dalsegno::ledger::Ledger::open(folder.path(), at(1_000_000), super::me()).await.unwrap();
        for queued in ledger.claim(at(1_000_000), LEASE, 10_000).await.unwrap() {
            sent.push(queued.message.key);
            ledger.delivered(queued.id, at(1_000_000)).await.unwrap();
        }
        assert!(before >= 10 && sent.len() > before, "round {round}: {before} before the kill, {} in all", sent.len());
        // At least once and in order: only what was just sent when it was killed may come again.
        for pair in sent.windows(2) {
            assert!(pair[1] >= pair[0], "{} came after {}", pair[1], pair[0]);
        }
        let all: std::collections::BTreeSet<&String> = sent.iter().collect();
        assert_eq!(all.len(), all.last().unwrap().parse::<usize>().unwrap() + 1, "none is missing");
    }
}
