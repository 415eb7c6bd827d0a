//! Archives that must never be proven, each beside what makes it so. Nothing may be left behind by any of them.

use std::time::Duration;

use dalsegno::domain::{State, Undone};
use lab::barman::{BaseCompression, WalCompression};

use super::drill::{Archive, Drill, servers_are_here};

async fn ends_without_a_trace(mut drill: Drill) {
    for undone in drill.finally().await {
        assert!(matches!(undone, Undone::Removed | Undone::NothingToDo), "{undone:?}");
    }
    drill.leaves_nothing();
}

fn failed(state: &State, words: &[&str]) {
    let State::Failed { why } = state else { panic!("must be failed: {state:?}") };
    assert!(words.iter().all(|word| why.contains(word)), "{why:?} does not say {words:?}");
}

fn unknown(state: &State, words: &[&str]) {
    let State::CouldNot { why, .. } = state else { panic!("must be unknown: {state:?}") };
    assert!(words.iter().all(|word| why.contains(word)), "{why:?} does not say {words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hole_in_the_wal_is_failed_before_anything_is_made() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let segments = archive.segments().await;
    let lost = segments[segments.len() - 2].clone();
    archive.barman.client().delete(&archive.bucket, &archive.barman.wal_key(&lost, archive.wal)).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    failed(&drill.run("end", None).await, &[&lost]);
    assert!(!drill.receipts.contains_key("sandbox"), "nothing was made");
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_inflates_short_is_failed_with_its_key() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::None, BaseCompression::None).await;
    let segments = archive.segments().await;
    let key = archive.barman.wal_key(&segments[segments.len() - 2], archive.wal);
    let whole = archive.barman.client().get(&archive.bucket, &key).await.unwrap();
    archive.barman.client().put(&archive.bucket, &key, whole.slice(..whole.len() / 2)).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    failed(&drill.run("end", None).await, &[&key]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_gzip_in_the_last_segment_is_failed_with_its_key() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let segments = archive.segments().await;
    let key = archive.barman.wal_key(segments.last().unwrap(), archive.wal);
    let mut bytes = archive.barman.client().get(&archive.bucket, &key).await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    archive.barman.client().put(&archive.bucket, &key, bytes).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    failed(&drill.run("end", None).await, &[&key]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_vanishes_after_the_catalogue_was_read_is_unknown() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let segments = archive.segments().await;
    let key = archive.barman.wal_key(&segments[segments.len() - 2], archive.wal);
    let mut drill = Drill::new(archive.subject().await);
    drill.choose_and_make().await;
    archive.barman.client().delete(&archive.bucket, &key).await.unwrap();
    unknown(&drill.rest().await, &[&key]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_comes_late_is_waited_for_and_its_rows_are_there() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let segments = archive.segments().await;
    let key = archive.barman.wal_key(&segments[segments.len() - 2], archive.wal);
    let client = archive.barman.client();
    let bytes = client.get(&archive.bucket, &key).await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    drill.choose_and_make().await;
    client.delete(&archive.bucket, &key).await.unwrap();
    let bucket = archive.bucket.clone();
    let late = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        client.put(&bucket, &key, bytes).await.unwrap();
    });
    let state = drill.rest().await;
    late.await.unwrap();
    let State::Done { receipt } = state else { panic!("{state:?}") };
    assert!(receipt.assertions.iter().any(|a| a.name == "replay-end" && a.end == dalsegno::domain::CheckEnd::Passed));
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_dies_during_the_drill_is_unknown() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let link = lab::link::Link::start(archive.weed.endpoint(), lab::link::Shape::default()).unwrap();
    let mut subject = archive.subject().await;
    subject.store = archive.store_at(&link.endpoint());
    let mut drill = Drill::new(subject);
    drill.choose_and_make().await;
    link.set(lab::link::Mode::Refuse);
    unknown(&drill.rest().await, &["tried again"]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_history_is_not_followed_and_not_proven_unless_the_timeline_is_named() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let key = archive.barman.key("wals/00000002.history");
    archive.barman.client().put(&archive.bucket, &key, "1\t0/3000000\tno recovery target specified\n").await.unwrap();
    let mut drill = Drill::new(archive.subject().await);
    unknown(&drill.run("end", None).await, &["00000002"]);
    ends_without_a_trace(drill).await;
    let mut twin = Drill::new(archive.subject().await);
    let state = twin.run("end", Some(1)).await;
    assert!(matches!(state, State::Done { .. }), "{state:?}");
    ends_without_a_trace(twin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_backup_that_is_cut_off_is_failed_with_its_key() {
    if !servers_are_here() {
        return;
    }
    for base in [BaseCompression::Gzip, BaseCompression::None, BaseCompression::Lz4] {
        let archive = Archive::filled(WalCompression::Gzip, base).await;
        let keys = archive.barman.client().keys(&archive.bucket, &archive.barman.key("base/")).await.unwrap();
        let key = keys.into_iter().find(|key| key.contains("/data.tar")).unwrap();
        let whole = archive.barman.client().get(&archive.bucket, &key).await.unwrap();
        archive.barman.client().put(&archive.bucket, &key, whole.slice(..whole.len() * 2 / 3)).await.unwrap();
        let mut drill = Drill::new(archive.subject().await);
        failed(&drill.run("end", None).await, &[&key]);
        ends_without_a_trace(drill).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_clusters_backup_is_failed_by_its_system_identifier() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let mut subject = archive.subject().await;
    subject.system_id = Some(dalsegno::domain::SystemId(1));
    let mut drill = Drill::new(subject);
    failed(&drill.run("end", None).await, &["system", "expected is 1"]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_little_space_and_a_path_too_long_are_unknown_before_anything_is_made() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let limits = dalsegno::restore::Limits { reserve_bytes: 1 << 50, ..dalsegno::restore::Limits::default() };
    let mut drill = Drill::with(archive.subject().await, limits);
    unknown(&drill.run("end", None).await, &["not enough space", "needed"]);
    assert!(!drill.receipts.contains_key("sandbox"));
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_outside_of_what_is_covered_is_refused_in_seconds() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let mut drill = Drill::new(archive.subject().await);
    unknown(&drill.run("2099-01-01 00:00:00+00", None).await, &["after what the archive covers"]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_drill_ends_all_its_work_before_the_clean_up() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let link = lab::link::Link::start(archive.weed.endpoint(), lab::link::Shape::default()).unwrap();
    let mut subject = archive.subject().await;
    subject.store = archive.store_at(&link.endpoint());
    let mut drill = Drill::new(subject);
    drill.choose_and_make().await;
    link.set(lab::link::Mode::Hang);
    let cancel = drill.cx.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    unknown(&drill.rest().await, &["cancelled"]);
    ends_without_a_trace(drill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_costs_the_deadline_and_is_unknown() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let link = lab::link::Link::start(archive.weed.endpoint(), lab::link::Shape::default()).unwrap();
    let mut subject = archive.subject().await;
    subject.store = archive.store_at(&link.endpoint());
    let mut drill = Drill::new(subject);
    drill.choose_and_make().await;
    link.set(lab::link::Mode::Hang);
    drill.cx.deadline = std::time::Instant::now() + Duration::from_secs(1);
    unknown(&drill.rest().await, &["no time is left"]);
    ends_without_a_trace(drill).await;
}
