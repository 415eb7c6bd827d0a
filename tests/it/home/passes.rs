//! Passes on machines that forget.

use dalsegno::app::SNAPSHOTS_KEPT;
use dalsegno::domain::{Evidence, RunId};
use dalsegno::drill::{evidence, judge};
use serde_json::Value;

use super::stage::{PREFIX, SECRETS, Site};
use crate::drill::perfect::{course, declared, records};

#[tokio::test(flavor = "multi_thread")]
async fn the_next_pass_goes_on_where_the_last_one_ended_though_its_machine_is_gone() {
    let Some(site) = Site::new("home").await else { return };
    let first = site.pass();
    assert_eq!(first.exit, 0, "{first:?}");
    let found = first.json()["changes"].as_array().unwrap().len();
    assert!(found > 0 && first.json()["changes"][0]["change"] == "new", "{first:?}");
    let second = site.pass();
    assert_eq!(second.exit, 0, "{second:?}");
    // What was new is still there, and not new again: the second machine remembers what the first saw.
    assert_eq!(second.json()["number"], 2, "{second:?}");
    let changes = second.json()["changes"].as_array().unwrap().clone();
    assert!(changes.iter().all(|change| change["change"] == "still"), "{changes:#?}");
    assert_eq!(site.passes(), [2, 1]);
    let head = site.head().await;
    assert_eq!((&head["serial"], &head["site"], &head["format"]), (&2.into(), &"home".into(), &1.into()), "{head:#}");
    assert!(head["holder"].is_null(), "nobody said that this is a schedule: {head:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_ledger_go_the_configuration_and_a_status_and_no_secret() {
    let Some(site) = Site::new("home").await else { return };
    let site = site.with("pass: {deadline: 90s}\n");
    assert_eq!(site.pass().exit, 0);
    let head = site.head().await;
    let config = site.json(head["config"]["name"].as_str().unwrap()).await;
    assert_eq!(config["config"]["stores"]["main"]["read"]["access-key-id"]["env"], "READ_ID", "{config:#}");
    assert_eq!(config["config"]["pass"]["deadline"], "90s", "{config:#}");
    assert!(config["config"]["state"].is_null(), "a folder of that machine is nobody's business: {config:#}");
    let status = site.json("status/home.json").await;
    assert_eq!((&status["site"], &status["serial"]), (&"home".into(), &1.into()), "{status:#}");
    assert_eq!(status["subjects"][0]["subject"], "store/home/main", "{status:#}");
    for object in site.objects().await {
        let bytes = site.client.get(&site.bucket, &object.key).await.unwrap();
        let plain = if object.key.ends_with(".zst") { zstd(&bytes) } else { bytes.to_vec() };
        for secret in SECRETS.into_iter().chain(["LABKEYREADER", "LABKEYADMIN"]) {
            assert!(!plain.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret} stands in {}", object.key);
        }
    }
    // The same configuration is not written again.
    assert_eq!(site.pass().exit, 0);
    assert_eq!(site.keys("config/").await.len(), 1);
    let changed = site.beside("home").with("pass: {deadline: 80s}\n");
    assert_eq!(changed.pass().exit, 0);
    assert_eq!(site.keys("config/").await.len(), 2);
}

fn evidence_of(run: RunId) -> Evidence {
    let (records, declared, course) = (records(), declared(), course());
    let judgement = judge(&records, &declared, &course);
    evidence(run, &records, &declared, &course, &judgement)
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::copy(&mut zstd_decoder(bytes), &mut plain).unwrap();
    plain
}

fn zstd_decoder(bytes: &[u8]) -> impl std::io::Read {
    zstd::stream::read::Decoder::new(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_with_the_value_of_a_secret_in_it_is_not_put_into_the_bucket() {
    let Some(site) = Site::new("home").await else { return };
    let site = site.with(&format!(
        "postgres:\n  db:\n    archive: {{store: main, prefix: cnpg, server: db}}\n    \
         checks: [{{name: leak, database: a, sql: \"select '{}'\", expect: {{value: x}}}}]\n",
        SECRETS[0]
    ));
    let said = site.pass();
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(said.err.contains("holds the value of a secret") && !said.err.contains(SECRETS[0]), "{said:?}");
    assert!(said.json()["number"] == 1, "what the pass found is shown all the same: {said:?}");
    assert!(site.keys("").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_reads_writes_nothing() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let before = site.objects().await;
    for args in [&["status"] as &[&str], &["history"], &["show", "1"], &["ledger", "verify"], &["check"], &["doctor"]] {
        let said = site.run(args);
        assert!(said.exit == 0 || args == ["check"], "{args:?}: {said:?}");
    }
    assert_eq!(site.objects().await, before);
    let left: Vec<_> = std::fs::read_dir(site.state().join("home")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"], "copies of the ledger are gone with their commands");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_snapshots_go_by_name_and_mark_and_nothing_else_does() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let first = site.snapshot().await;
    // Somebody's object under a name of ours, and one of a name that we never give.
    let stranger = format!("{PREFIX}ledger/00000001-0a0b0c0d-{}.sqlite.zst", uuid_of(&first));
    let other = format!("{PREFIX}ledger/notes.txt");
    site.client.put(&site.bucket, &stranger, "not ours").await.unwrap();
    site.client.put(&site.bucket, &other, "not ours").await.unwrap();
    let app = site.app();
    let mut book = app.ledger_for_passes(dalsegno::domain::Mode::Cronjob, false, now()).await.unwrap();
    for _ in 0..SNAPSHOTS_KEPT + 1 {
        app.keep(&mut book, dalsegno::domain::Mode::Cronjob, RunId::new(), None, now()).await.unwrap();
    }
    book.close().await;
    let keys = site.keys("ledger/").await;
    assert!(keys.contains(&stranger) && keys.contains(&other), "{keys:#?}");
    assert!(!keys.contains(&first), "{keys:#?}");
    assert_eq!(keys.len() as u64, SNAPSHOTS_KEPT + 2, "{keys:#?}");
    assert!(keys.contains(&site.snapshot().await), "{keys:#?}");
    assert_eq!(site.passes(), [1], "the newest is whole");
}

fn uuid_of(key: &str) -> &str {
    &key.trim_end_matches(".sqlite.zst")[key.trim_end_matches(".sqlite.zst").len() - 36..]
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_others_handed_in_is_taken_in_by_the_next_pass() {
    let Some(site) = Site::new("home").await else { return };
    let run = RunId::new();
    let evidence = evidence_of(run);
    let text = serde_json::to_string(&evidence).unwrap();
    site.client.put(&site.bucket, &format!("{PREFIX}evidence/home/{run}.json"), text).await.unwrap();
    site.client.put(&site.bucket, &format!("{PREFIX}evidence/other/{}.json", RunId::new()), "{}").await.unwrap();
    let said = site.pass();
    assert_eq!(said.exit, 0, "{said:?}");
    let history = site.run(&["history", "-o", "json"]).json();
    let drills: Vec<&Value> = history.as_array().unwrap().iter().filter(|run| run["kind"] == "drill").collect();
    assert_eq!(drills.len(), 1, "{history:#}");
    assert_eq!(drills[0]["id"], run.to_string(), "{history:#}");
    // Broken evidence is a finding, and stays one.
    let broken = RunId::new();
    site.client.put(&site.bucket, &format!("{PREFIX}evidence/home/{broken}.json"), "{").await.unwrap();
    for _ in 0..2 {
        let said = site.pass().json();
        let found = said["findings"].as_array().unwrap();
        assert!(found.iter().any(|finding| finding["code"] == "evidence-unreadable"), "{found:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_this_machine_goes_into_the_bucket() {
    let Some(site) = Site::new("home").await else { return };
    let run = RunId::new();
    let evidence = evidence_of(run);
    let folder = site.state().join("drills").join(run.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    dalsegno::execution::write_evidence(&folder, &evidence).unwrap();
    std::fs::write(folder.join("journal.jsonl"), "").unwrap();
    assert_eq!(site.pass().exit, 0);
    assert_eq!(site.keys("evidence/").await, [format!("{PREFIX}evidence/home/{run}.json")]);
    let kept = site.json(&format!("evidence/home/{run}.json")).await;
    assert_eq!(kept["run"], run.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn going_over_from_a_volume_takes_along_what_is_remembered() {
    let Some(site) = Site::new("home").await else { return };
    let on_volume = [("DALSEGNO__LEDGER__HOME", "volume"), ("DALSEGNO__LEDGER__STORE", "")];
    for _ in 0..2 {
        let said = site.run_with(&["run", "--exit", "work"], &on_volume);
        assert_eq!(said.exit, 0, "{said:?}");
    }
    assert!(site.keys("").await.is_empty(), "on a volume nothing is written to the bucket");
    let said = site.run(&["run", "--exit", "work", "-o", "json"]);
    assert_eq!((said.exit, said.json()["number"].as_i64()), (0, Some(3)), "{said:?}");
    assert!(said.err.contains("the one in the state folder is where it begins"), "{said:?}");
    site.forget();
    assert_eq!(site.passes(), [3, 2, 1]);
}
