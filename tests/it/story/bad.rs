//! Five archives that must not be proven, through the program as a person calls it, and their healthy twin.

use std::io::{Read as _, Write as _};
use std::process::Child;
use std::time::Duration;

use lab::link::{Link, Mode, Shape};
use serde_json::Value;

use super::archived::{Archived, servers_are_here};
use super::moments::wait_for;
use super::stage::{DRILL, Said, Stage, texts};
use crate::restore::drill::{PREFIX, SERVER};

/// The stage of a copy, and the client that damages it.
async fn stage_of_copy() -> (&'static Archived, Stage, String, lab::s3::Client) {
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = archived.copy().await;
    (archived, Stage::of(archived, weed.endpoint(), &bucket).await, bucket, weed.client())
}

/// Exit code, verdict, what is said about it, and that nothing is left.
fn ends(stage: &Stage, said: &Said, exit: i32, verdict: &str, words: &[&str]) -> Value {
    assert_eq!(said.exit(), exit, "{said:?}");
    let told = said.json();
    let evidence = &told;
    assert_eq!(evidence["verdict"], verdict, "{told:#}");
    let (reasons, hints) = (texts(&evidence["reasons"]), texts(&evidence["hints"]));
    for word in words {
        assert!(reasons.contains(word), "{reasons:?} does not say {word:?}");
    }
    assert_eq!(reasons.is_empty(), verdict == "proven", "{reasons}");
    assert_eq!(hints.is_empty(), verdict == "proven", "{hints}");
    stage.leaves_nothing(verdict);
    assert_eq!(stage.evidence().as_ref(), Some(evidence), "the file says what was printed");
    told
}

fn step_ends(evidence: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    evidence["steps"].as_array().unwrap().iter().map(|step| (text(&step["call"]["step"]), text(&step["end"]["end"]))).collect()
}

fn said(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { status: output.status, out: text(output.stdout), err: text(output.stderr) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_healthy_twin_is_proven() {
    if !servers_are_here() {
        return;
    }
    let (archived, stage, ..) = stage_of_copy().await;
    let evidence = ends(&stage, &stage.drill(), 0, "proven", &[]);
    assert!(evidence["codes"].as_array().unwrap().is_empty());
    assert_eq!(evidence["restored"]["system_restored"].to_string().trim_matches('"'), archived.system_id);
    assert_eq!(evidence["restored"]["recovery"]["reached_segment"], evidence["restored"]["recovery"]["expected_segment"]);
    let rows = evidence["assertions"].as_array().unwrap().iter().find(|one| one["name"] == "rows").unwrap();
    assert!(rows["seen"].to_string().contains(&archived.rows.to_string()), "{rows}");
    assert!(evidence["rto_seconds"].is_number() && evidence["rpo"]["seconds"].is_number(), "{evidence:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hole_is_failed_before_anything_is_made() {
    if !servers_are_here() {
        return;
    }
    let (archived, stage, bucket, client) = stage_of_copy().await;
    client.delete(&bucket, &archived.segment_key(1)).await.unwrap();
    let lost = &archived.segments[archived.segments.len() - 2];
    let evidence = ends(&stage, &stage.drill(), 4, "failed", &[lost]);
    assert_eq!(evidence["codes"], serde_json::json!(["drill-failed"]));
    assert_eq!(
        step_ends(&evidence)[..2],
        [("choose", "failed"), ("sandbox", "skipped")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert!(!stage.sandboxes().exists(), "nothing was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_inflates_short_is_failed_with_its_key() {
    if !servers_are_here() {
        return;
    }
    let (archived, stage, bucket, client) = stage_of_copy().await;
    let key = archived.segment_key(2);
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(archived.bytes(&key).as_ref()).read_to_end(&mut whole).unwrap();
    assert_eq!(whole.len(), 1 << 20);
    // A flawless gzip of too little: its own check sum and length are right.
    let mut short = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    short.write_all(&whole[..whole.len() / 2]).unwrap();
    client.put(&bucket, &key, short.finish().unwrap()).await.unwrap();
    let evidence = ends(&stage, &stage.drill(), 4, "failed", &[&key, "524288", "1048576"]);
    assert_eq!(evidence["codes"], serde_json::json!(["drill-failed"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_comes_late_is_not_proven_until_it_came() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = archived.copy().await;
    // Slow, so that the segment can be taken away after the catalogue was read.
    let link =
        Link::start(weed.endpoint(), Shape { one_way: Duration::from_millis(10), bytes_per_second: Some(1 << 20) }).unwrap();
    let stage = Stage::of(archived, &link.endpoint(), &bucket).await;
    let key = archived.segment_key(0);
    let mut child = stage.command(&DRILL).spawn().unwrap();
    assert!(wait_for(&stage, &mut child, "receipt", "choose"));
    weed.client().delete(&bucket, &key).await.unwrap();
    assert!(wait_for(&stage, &mut child, "intent", "recover"));
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    assert!(stage.evidence().is_none(), "while it is absent nothing is proven");
    weed.client().put(&bucket, &key, archived.bytes(&key)).await.unwrap();
    let evidence = ends(&stage, &said(child), 0, "proven", &[]);
    assert_eq!(evidence["restored"]["recovery"]["reached_segment"], serde_json::json!(archived.segments.last().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_was_listed_and_never_comes_is_unknown_and_so_is_a_store_that_dies_while_it_is_read() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = archived.copy().await;
    let shape = Shape { one_way: Duration::from_millis(10), bytes_per_second: Some(1 << 20) };
    let (link, dying) = (Link::start(weed.endpoint(), shape).unwrap(), Link::start(weed.endpoint(), shape).unwrap());
    let absent = Stage::of(archived, &link.endpoint(), &bucket).await;
    let dead = Stage::of(archived, &dying.endpoint(), &archived.bucket).await;
    // Both are tried again for a minute: together.
    let key = archived.segment_key(1);
    let mut waits = absent.command(&DRILL).spawn().unwrap();
    let mut tries = dead.command(&DRILL).spawn().unwrap();
    assert!(wait_for(&absent, &mut waits, "receipt", "choose"));
    weed.client().delete(&bucket, &key).await.unwrap();
    assert!(wait_for(&dead, &mut tries, "receipt", "choose"));
    dying.set(Mode::Refuse);
    let (waits, tries) = (said(waits), said(tries));
    let evidence = ends(&absent, &waits, 3, "unknown", &[&key]);
    assert!(
        evidence["restored"]["recovery"]["reached_segment"].is_null()
            || evidence["restored"]["recovery"]["reached_segment"] != archived.segments.last().unwrap().as_str()
    );
    let evidence = ends(&dead, &tries, 3, "unknown", &["tried again"]);
    assert!(texts(&evidence["hints"]).contains("endpoint"), "{evidence:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_history_is_not_proven_unless_the_timeline_is_named() {
    if !servers_are_here() {
        return;
    }
    let (_, stage, bucket, client) = stage_of_copy().await;
    let key = format!("{PREFIX}/{SERVER}/wals/00000002.history");
    client.put(&bucket, &key, "1\t0/3000000\tno recovery target specified\n").await.unwrap();
    ends(&stage, &stage.drill(), 3, "unknown", &["00000002"]);
    let named = stage.run(&["drill", "pg-restore", "--timeline", "1", "-o", "json"]);
    ends(&stage, &named, 0, "proven", &[]);
}
