//! The main job, as a person with a bucket meets it.

use lab::barman::WalCompression;
use lab::link::Mode;

use super::platform::{DB, Platform};

#[tokio::test]
async fn a_whole_archive_is_proven_with_the_source_gone_and_nothing_is_left() {
    let Some(mut platform) = Platform::build().await else { return };
    platform.pg.crash(); // everything that a drill needs is configuration, bucket and keys
    platform.dalsegno(&["run", "--fail-on", "critical"]).exits(0);
    let drill = platform.dalsegno(&["-o", "json", "drill", "pg-restore", "--db", DB]).exits(0);
    let evidence = drill.json();
    assert_eq!(evidence["verdict"], "proven", "{evidence:#}");
    assert!(evidence["rpo"]["seconds"].is_number() && evidence["rto_seconds"].is_number(), "{evidence:#}");
    assert_eq!(platform.sandboxes(), Vec::<String>::new());
    let pass = platform.dalsegno(&["run"]).exits(0);
    assert!(pass.out.contains("cleared"), "the proof clears never-drilled: {}", pass.out);
    platform.dalsegno(&["archive", "audit"]).exits(0);
}

#[tokio::test]
async fn an_archive_with_a_hole_is_found_and_never_proven() {
    let Some(platform) = Platform::build().await else { return };
    let lost = platform.pg.switch_and_wait_archived().await.unwrap();
    platform.pg.switch_and_wait_archived().await.unwrap();
    let key = platform.barman.wal_key(&lost, WalCompression::Zstd);
    platform.weed.client().delete(&platform.bucket, &key).await.unwrap();
    let audit = platform.dalsegno(&["archive", "audit"]).exits(1);
    assert!(audit.out.contains(&lost), "{}", audit.out);
    let drill = platform.dalsegno(&["drill", "pg-restore", "--db", DB]);
    assert!(matches!(drill.code, Some(1 | 4)), "{:?}\n{}{}", drill.code, drill.out, drill.talk);
    assert!(drill.out.contains(&lost) && !drill.out.contains("PROVEN"), "{}", drill.out);
    assert_eq!(platform.sandboxes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_never_fine() {
    let Some(platform) = Platform::build().await else { return };
    platform.link.set(Mode::Refuse);
    let check = platform.dalsegno(&["check"]);
    assert!(matches!(check.code, Some(1 | 3)), "{:?}\n{}{}", check.code, check.out, check.talk);
    let drill = platform.dalsegno(&["-o", "json", "drill", "pg-restore", "--db", DB]).exits(3);
    assert_eq!(drill.json()["verdict"], "unknown", "what could not be read is neither proven nor failed");
    platform.link.set(Mode::Pass);
    platform.dalsegno(&["check", "--fail-on", "critical"]).exits(0);
}
