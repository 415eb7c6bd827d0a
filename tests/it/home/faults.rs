//! Bad homes: damaged, newer, without conditions, out of reach. Loud, and nothing is silently replaced.

use bytes::Bytes;
use dalsegno::app::App;
use dalsegno::domain::{ExitCode, Explained, Mode};
use jiff::Timestamp;
use serde_json::Value;

use super::stage::{PREFIX, Said, Site};
use crate::store::mock::{Asked, Mock, Reply, list_page};

/// Refused by a pass and by a reader, with this exit and these words; nothing in the bucket changed.
async fn refused(site: &Site, exit: i32, words: &[&str], when: &str) -> Said {
    let before = site.objects().await;
    let read = site.run(&["history"]);
    site.forget();
    let passed = site.pass();
    for said in [&read, &passed] {
        assert_eq!(said.exit, exit, "{when}: {said:?}");
        for word in words.iter().chain(&["hint"]) {
            assert!(said.err.contains(word), "{when}: \"{word}\" is not said: {said:?}");
        }
        assert!(said.out.is_empty(), "{when}: {said:?}");
    }
    assert_eq!(site.objects().await, before, "{when}");
    passed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_snapshot_is_said_and_a_person_can_go_back() {
    let Some(site) = Site::new("home").await else { return };
    for _ in 0..3 {
        assert_eq!(site.pass().exit, 0);
    }
    let key = site.snapshot().await;
    let whole = site.client.get(&site.bucket, &key).await.unwrap();
    let mut flipped = whole.to_vec();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for (when, bytes) in [
        ("a bit flipped", Bytes::from(flipped)),
        ("cut", whole.slice(..whole.len() - 7)),
        ("empty", Bytes::new()),
        ("something else", Bytes::from_static(b"<html>not found</html>")),
    ] {
        site.client.put(&site.bucket, &key, bytes).await.unwrap();
        refused(&site, 5, &["is damaged", key.trim_start_matches(PREFIX)], when).await;
    }
    site.client.delete(&site.bucket, &key).await.unwrap();
    let said = refused(&site, 5, &["it is gone"], "deleted").await;
    // The hint can be run.
    let command = said.err.split("dalsegno ledger rewind ").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(command.starts_with("00000002-"), "{command}");
    let back = site.run(&["ledger", "rewind", &command, "-o", "json"]);
    assert_eq!(back.exit, 0, "{back:?}");
    assert_eq!(back.json()["serial"], 4, "{back:?}");
    site.forget();
    assert_eq!(site.passes(), [2, 1]);
    assert_eq!(site.pass().json()["number"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_to_what_is_not_there_or_not_whole_is_refused() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let first = site.snapshot().await.trim_start_matches(PREFIX).to_owned();
    assert_eq!(site.pass().exit, 0);
    let head = site.head().await;
    let bytes = site.client.get(&site.bucket, &format!("{PREFIX}{first}")).await.unwrap();
    site.client.put(&site.bucket, &format!("{PREFIX}{first}"), bytes.slice(..bytes.len() / 2)).await.unwrap();
    for name in [first.as_str(), "00000001-none", "../head.json", "head.json"] {
        let said = site.run(&["ledger", "rewind", name]);
        assert_eq!(said.exit, 5, "{name}: {said:?}");
    }
    assert_eq!(site.head().await, head);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_cannot_be_read_is_damage_and_a_newer_one_is_refused() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let key = format!("{PREFIX}head.json");
    let whole = site.head().await;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut head = whole.clone();
        change(&mut head);
        head.to_string()
    };
    for (text, exit, word) in [
        ("{".to_owned(), 5, "no JSON"),
        (String::new(), 5, "no JSON"),
        ("{}".to_owned(), 5, "names no format"),
        (with(&|head| drop(head.as_object_mut().unwrap().remove("snapshot"))), 5, "snapshot"),
        (with(&|head| head["plain_bytes"] = 1.into()), 5, "decompress"),
        (with(&|head| head["format"] = 2.into()), 2, "format 2"),
    ] {
        site.client.put(&site.bucket, &key, text.clone()).await.unwrap();
        refused(&site, exit, &[word], &text).await;
    }
    site.client.put(&site.bucket, &key, whole.to_string()).await.unwrap();
    assert_eq!(site.pass().exit, 0, "as it was, it is taken again");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_keys_or_its_store_no_pass_begins() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let before = site.objects().await;
    let said = site.run_with(&["run"], &[("OWN_KEY", "")]);
    assert_eq!(said.exit, 3, "{said:?}");
    assert!(said.err.contains("env:OWN_KEY is empty") && said.err.contains("hint:"), "{said:?}");
    let said = site.run_with(&["run"], &[("OWN_KEY", "wrong")]);
    assert_eq!(said.exit, 3, "{said:?}");
    assert!(said.err.contains("SignatureDoesNotMatch"), "{said:?}");
    // A key that may not write is told when it is tried, and what was found is shown.
    let said = site.run_with(&["run", "--exit", "work"], &[("OWN_ID", "LABKEYREADER"), ("OWN_KEY", "lab-secret-of-reader")]);
    assert_eq!(said.exit, 3, "{said:?}");
    assert!(said.err.contains("PutObject") && said.out.contains("run 2"), "{said:?}");
    let said = site.run_with(&["history"], &[("DALSEGNO__STORES__MAIN__ENDPOINT", "http://127.0.0.1:9")]);
    assert_eq!(said.exit, 3, "{said:?}");
    assert_eq!(site.objects().await, before);
}

#[test]
fn a_home_that_cannot_be_one_is_a_mistake_of_the_configuration() {
    let check = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.yaml"), text).unwrap();
        let env = [("A".to_owned(), "key-of-a-store".to_owned())].into();
        dalsegno::config::load(&[folder.path().join("c.yaml")], &env).map(|_| ()).map_err(|errors| errors.to_string())
    };
    let store =
        "stores: {r2: {endpoint: 'https://h', bucket: abc, read: {access-key-id: {env: A}, secret-access-key: {env: A}}OWN}}\n";
    let own = store.replace("OWN", ", own: {access-key-id: {env: A}, secret-access-key: {env: A}, prefix: dalsegno}");
    let bare = store.replace("OWN", "");
    assert_eq!(check(&format!("site: s\nledger: {{home: bucket, store: r2}}\n{own}")), Ok(()));
    for (text, word) in [
        (format!("site: s\nledger: {{home: bucket}}\n{own}"), "ledger.store: is missing"),
        (format!("site: s\nledger: {{home: bucket, store: r3}}\n{own}"), "did you mean \"r2\"?"),
        (format!("site: s\nledger: {{home: bucket, store: r2}}\n{bare}"), "has no `own:`"),
        (format!("ledger: {{home: bucket, store: r2}}\n{own}"), "needs a site"),
        (format!("site: s\nledger: {{home: buckets, store: r2}}\n{own}"), "did you mean \"bucket\"?"),
    ] {
        let said = check(&text).unwrap_err();
        assert!(said.contains(word), "{text}: {said}");
    }
}

/// A store that knows objects and treats conditions as `how` says.
async fn store(how: fn(&Asked) -> Option<Reply>) -> Mock {
    Mock::start(move |asked| {
        if let Some(reply) = how(asked) {
            return reply;
        }
        match asked.method.as_str() {
            "PUT" => Reply::new(200, "").with("etag", "\"abc\""),
            "DELETE" => Reply::new(204, ""),
            _ if asked.query.contains("object-lock") => Reply::error(404, "ObjectLockConfigurationNotFoundError", "none"),
            _ if asked.query.contains("list-type") => list_page(&[], false, None),
            _ => Reply::error(404, "NoSuchKey", "none"),
        }
    })
    .await
}

async fn kept(endpoint: &str) -> (ExitCode, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    let text = format!(
        "site: home\nstate: {{folder: {}}}\nledger: {{home: bucket, store: g}}\nstores:\n  g:\n    endpoint: {endpoint}\n    bucket: abc\n    \
         read: {{access-key-id: {{env: A}}, secret-access-key: {{env: A}}}}\n    \
         own: {{access-key-id: {{env: A}}, secret-access-key: {{env: A}}, prefix: dalsegno}}\n",
        folder.path().join("state").display()
    );
    std::fs::write(&path, text).unwrap();
    let app = App::load_with(&[path], &[("A".to_owned(), "key-of-a-store".to_owned())].into()).unwrap();
    let mut book = app.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    let kept = app.keep(&mut book, Mode::Cronjob, dalsegno::domain::RunId::new(), None, Timestamp::now()).await;
    book.close().await;
    match kept {
        Ok(_) => (ExitCode::Fine, String::new(), String::new()),
        Err(error) => (error.exit(), error.to_string(), error.hint().unwrap_or_default()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_keep_two_writers_apart_is_refused() {
    let ignores = store(|_| None).await;
    let refuses = store(|asked| {
        asked.header("if-none-match").map(|_| Reply::error(501, "NotImplemented", "A header you provided implies functionality"))
    })
    .await;
    let half = store(|asked| {
        // Knows If-None-Match, and does not look at If-Match: one object is there once it was written.
        let written = asked.header("if-none-match").is_some() && asked.body.starts_with(b"two");
        written.then(|| Reply::error(412, "PreconditionFailed", "there"))
    })
    .await;
    for (mock, word) in [(&ignores, "is ignored"), (&refuses, "If-None-Match is refused"), (&half, "If-Match with another ETag")]
    {
        let (exit, said, hint) = kept(&mock.endpoint).await;
        assert_eq!(exit, ExitCode::Usage, "{said}");
        assert!(said.contains(word) && hint.contains("dalsegno probe g"), "{said} / {hint}");
        let heads = mock.asked().iter().filter(|asked| asked.method == "PUT" && asked.path.ends_with("head.json")).count();
        assert_eq!(heads, 0, "no head was written: {word}");
        let removed = mock.asked().iter().any(|asked| asked.method == "DELETE" && asked.path.contains("/ledger/trial-"));
        assert!(removed, "what was tried is removed: {word}");
    }
}
