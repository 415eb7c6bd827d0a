//! The way of a newcomer: from `init` to a first proof, then things break and are found, and no secret is ever told.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use lab::barman::{BaseCompression, WalCompression};
use lab::s3::Keys;
use serde_json::Value;

use super::archived::{MAJOR, servers_are_here};
use super::stage::{Said, Stage, texts};
use crate::restore::drill::{Archive, PREFIX, SERVER};

const DB: &str = "pg/home/prod/my-db";

/// A person at a terminal. All that was ever said to them is kept.
struct Newcomer {
    stage: Stage,
    keys: RefCell<Keys>,
    heard: RefCell<String>,
}

impl Newcomer {
    fn new(stage: Stage, keys: &Keys) -> Self {
        Self { stage, keys: RefCell::new(keys.clone()), heard: RefCell::default() }
    }

    fn run(&self, args: &[&str]) -> Said {
        let keys = self.keys.borrow();
        let said = self.stage.run_with(args, &[("AWS_ACCESS_KEY_ID", &keys.id), ("AWS_SECRET_ACCESS_KEY", &keys.secret)]);
        self.heard.borrow_mut().extend([&said.out, "\n", &said.err, "\n"]);
        said
    }

    /// For people and for machines; the exit code must be the same. Gives what machines are told.
    fn both(&self, args: &[&str], exit: i32) -> Value {
        let said = self.run(args);
        assert_eq!(said.exit(), exit, "{args:?}: {said:?}");
        let machine = self.run(&[args, &["-o", "json"]].concat());
        assert_eq!(machine.exit(), exit, "{args:?}: {machine:?}");
        machine.json()
    }

    fn edit(&self, edits: &[(&str, &str)]) {
        let mut text = std::fs::read_to_string(self.stage.config()).unwrap();
        for (from, to) in edits {
            assert!(text.contains(from), "init no longer writes {from:?}");
            text = text.replace(from, to);
        }
        std::fs::write(self.stage.config(), text).unwrap();
    }
}

/// A finding of a pass by its code.
fn finding(outcome: &Value, code: &str) -> Value {
    let findings = outcome["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["code"] == code).unwrap_or_else(|| panic!("no {code}: {outcome:#}")).clone()
}

/// Every file below a folder, as bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    entries.map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap_or_default())).collect()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn from_init_to_a_first_proof_and_on_to_faults_that_are_found() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let reader = archive.weed.keys().read_only().clone();
    let person = Newcomer::new(Stage::empty().await, &reader);
    let stage = &person.stage;
    let said = person.run(&["init", stage.config().to_str().unwrap()]);
    assert_eq!(said.exit(), 0, "{said:?}");
    let (kept, sandboxes) = (stage.state(), stage.sandboxes());
    person.edit(&[
        ("# state: {folder: /var/lib/dalsegno}", &format!("state: {{folder: {}}}", kept.display())),
        ("# drill:\n#   folder: /var/tmp/dalsegno ", &format!("drill:\n  folder: {} ", sandboxes.display())),
        (
            "#   postgres: [/usr/lib/postgresql/16/bin]",
            &format!("  postgres: [{}]", lab::Tool::Postgres(MAJOR).find().unwrap().display()),
        ),
    ]);
    // Not filled in yet: `config check` refuses, naming all of it; a pass does not go blind.
    let said = person.run(&["config", "check"]);
    assert_eq!(said.exit(), 2, "{said:?}");
    for word in ["endpoint", "bucket", "prefix", "server", "dalsegno.yaml:15:15", "hint:"] {
        assert!(said.err.contains(word), "{word}: {said:?}");
    }
    let outcome = person.both(&["run"], 1);
    assert_eq!(finding(&outcome, "config-placeholder-unresolved")["severity"], "critical");
    let system_id = format!("system-id: \"{}\"", archive.pg.system_id().await.unwrap());
    person.edit(&[
        ("https://TBD-S3-HOST", archive.weed.endpoint()),
        ("TBD-BUCKET", &archive.bucket),
        ("TBD-PREFIX", PREFIX),
        ("TBD-SERVER", SERVER),
        ("# system-id: \"7400000000000000000\"", &system_id),
    ]);
    proves(&person);
    loses_a_segment(&person, &archive).await;
    loses_the_readers_key(&person, &archive);
    loses_the_archivers_key(&person, &archive).await;
    for args in READ_ONLY {
        person.both(args, 0);
    }
    person.run(&["run", "-vvv"]);
    person.run(&["drill", "pg-restore", "-vv"]);
    let wrong = archive.weed.keys().wrong_secret();
    no_secret_was_told(&person, &[&reader.id, &reader.secret, &wrong.secret]);
}

/// Commands that end well whatever was found.
const READ_ONLY: [&[&str]; 9] = [
    &["config", "check"],
    &["config", "show"],
    &["doctor"],
    &["history"],
    &["show", "1"],
    &["drill", "report"],
    &["drill", "gc"],
    &["drill", "pg-restore", "--plan"],
    &["ledger", "verify"],
];

/// The first proof: until there is one, that is a finding.
fn proves(person: &Newcomer) {
    person.both(&["config", "check"], 0);
    let examined = person.both(&["doctor"], 0);
    assert!(examined["providers"].as_array().unwrap().iter().all(|one| one["reach"] == "reachable"), "{examined:#}");
    let outcome = person.both(&["run"], 1);
    let never = finding(&outcome, "never-drilled");
    assert_eq!(outcome["findings"].as_array().unwrap().len(), 1, "{outcome:#}");
    assert_eq!(never["remedy"], "dalsegno drill pg-restore --db my-db");
    // The remedy, to the letter.
    let said = person.run(&["drill", "pg-restore", "--db", "my-db"]);
    assert_eq!(said.exit(), 0, "{said:?}");
    assert!(said.out.starts_with("PROVEN"), "{said:?}");
    let outcome = person.run(&["run", "-o", "json"]);
    assert_eq!(outcome.exit(), 0, "{outcome:?}");
    assert_eq!(outcome.json()["changes"][0]["change"], "cleared", "{outcome:?}");
    let evidence = person.both(&["drill", "report"], 0);
    assert_eq!(evidence["verdict"], "proven");
    let history = person.both(&["history"], 0);
    let drill = history.as_array().unwrap().iter().find(|run| run["kind"] == "drill").unwrap();
    assert_eq!((&drill["verdict"], &drill["subject"]), (&evidence["verdict"], &evidence["subject"]), "{drill:#}");
    let shown = person.both(&["show", &drill["number"].to_string()], 0);
    assert_eq!(shown["evidence"]["run"], evidence["run"], "{shown:#}");
    let status = person.both(&["status"], 0);
    let line = status["lines"].as_array().unwrap().iter().find(|line| line["subject"] == DB).unwrap();
    assert!(line["proven"].is_string() || line["proven"].is_object(), "{line:#}");
    for args in [&["archive", "list"], &["archive", "windows"], &["archive", "audit"]] {
        person.both(args, 0);
    }
}

/// Cause and remedy are named, and the object.
fn is_explained(person: &Newcomer, finding: &Value, word: &str) {
    assert!(texts(&finding["evidence"]).contains(word) || finding["summary"].as_str().unwrap().contains(word), "{finding:#}");
    for name in ["cause", "remedy"] {
        assert!(finding[name].as_str().is_some_and(|text| text.len() > 10), "no {name}: {finding:#}");
    }
    person.both(&["explain", finding["code"].as_str().unwrap()], 0);
}

async fn loses_a_segment(person: &Newcomer, archive: &Archive) {
    let segments = archive.segments().await;
    let lost = &segments[segments.len() - 3];
    let key = archive.barman.wal_key(lost, archive.wal);
    let client = archive.barman.client();
    let bytes = client.get(&archive.bucket, &key).await.unwrap();
    client.delete(&archive.bucket, &key).await.unwrap();
    // A hole may be an upload that is late; this archive says how soon that is no longer likely.
    person.edit(&[("    policy:\n", "    archive-timeout: 1s\n    policy:\n")]);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let outcome = person.both(&["run"], 1);
    let gap = finding(&outcome, "wal-gap");
    assert_eq!(gap["severity"], "critical", "{gap:#}");
    is_explained(person, &gap, lost);
    person.both(&["check"], 1);
    person.both(&["archive", "audit"], 1);
    let evidence = person.both(&["drill", "pg-restore"], 4);
    assert!(texts(&evidence["reasons"]).contains(lost), "{evidence:#}");
    let outcome = person.both(&["run"], 1);
    is_explained(person, &finding(&outcome, "drill-failed"), lost);
    person.edit(&[("    archive-timeout: 1s\n", "")]);
    // It is found again, and proven again.
    client.put(&archive.bucket, &key, bytes).await.unwrap();
    let said = person.run(&["drill", "pg-restore"]);
    assert_eq!(said.exit(), 0, "{said:?}");
    person.both(&["run"], 0);
}

fn loses_the_readers_key(person: &Newcomer, archive: &Archive) {
    let right = person.keys.replace(archive.weed.keys().wrong_secret());
    let outcome = person.both(&["run"], 3);
    for finding in outcome["findings"].as_array().unwrap() {
        assert_eq!(finding["could_not_look"], true, "{finding:#}");
        is_explained(person, finding, "SignatureDoesNotMatch");
    }
    let examined = person.both(&["doctor"], 3);
    let fixes = examined["providers"].to_string();
    assert!(fixes.contains("SignatureDoesNotMatch"), "{examined:#}");
    let evidence = person.both(&["drill", "pg-restore"], 3);
    assert_eq!(evidence["verdict"], "unknown");
    assert!(texts(&evidence["reasons"]).contains("SignatureDoesNotMatch"), "{evidence:#}");
    assert!(!texts(&evidence["hints"]).is_empty(), "{evidence:#}");
    let status = person.run(&["status"]);
    assert!(status.out.contains("UNKNOWN") && !status.out.contains("fine"), "{status:?}");
    person.keys.replace(right);
    person.both(&["run"], 0);
}

async fn loses_the_archivers_key(person: &Newcomer, archive: &Archive) {
    archive.archiver.break_credentials().unwrap();
    archive.pg.sql("insert into ticks default values; select pg_switch_wal()").await.unwrap();
    person.edit(&[("rpo: 15m", "rpo: 3s")]);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let outcome = person.both(&["run"], 1);
    let silent = finding(&outcome, "wal-archive-silent");
    let newest = archive.segments().await.pop().unwrap();
    is_explained(person, &silent, &newest);
    person.edit(&[("rpo: 3s", "rpo: 15m")]);
}

fn no_secret_was_told(person: &Newcomer, secrets: &[&str]) {
    let heard = person.heard.borrow();
    let files = files(person.stage.path());
    assert!(
        files.iter().any(|(path, _)| path.ends_with("evidence.json"))
            && files.iter().any(|(path, _)| path.ends_with("ledger.sqlite"))
    );
    for secret in secrets {
        let told: Vec<&str> =
            heard.lines().filter(|line| line.contains(secret)).map(|line| &line[..line.len().min(400)]).collect();
        assert!(told.is_empty(), "{secret} was told: {told:#?}");
        for (path, bytes) in &files {
            assert!(!holds(bytes, secret), "{secret} stands in {path}");
        }
    }
}
