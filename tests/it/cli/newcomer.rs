//! What somebody meets on the first day: a template that is not filled in, a wrong flag, a store that is not there.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A folder with a configuration, and what a command says there.
struct Place(tempfile::TempDir);

struct Said {
    exit: i32,
    out: String,
    err: String,
}

impl Place {
    fn with(yaml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dalsegno.yaml"), yaml).unwrap();
        Self(folder)
    }

    /// One store at this endpoint, one database, everything in the folder.
    fn at(endpoint: &str) -> Self {
        let place = Self::with("");
        let folder = place.0.path().display().to_string();
        let yaml = format!(
            "site: home\nenvironment: prod\nstate: {{folder: {folder}/state}}\ndrill: {{folder: {folder}/drills}}\n\
             stores:\n  main:\n    endpoint: {endpoint}\n    bucket: backups\n    \
             read: {{access-key-id: {{env: ID}}, secret-access-key: {{env: KEY}}}}\n\
             postgres:\n  keycloak-db:\n    archive: {{store: main, prefix: cnpg, server: keycloak-db}}\n"
        );
        std::fs::write(place.file(), yaml).unwrap();
        place
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("dalsegno.yaml")
    }

    fn run(&self, args: &[&str]) -> Said {
        let mut command = assert_cmd::Command::cargo_bin("dalsegno").unwrap();
        command.env_clear().env("COLUMNS", "200").env("ID", "id").env("KEY", "key").current_dir(self.0.path());
        let output = command.args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { exit: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";

#[test]
fn the_doctor_says_each_thing_of_a_fresh_template_once() {
    let place = Place::with(include_str!("../../../src/cli/init.yaml"));
    let said = place.run(&["doctor"]);
    assert!(said.out.contains("0 of 2 providers can be reached"), "{}", said.out);
    assert!(!said.out.contains("configuration"), "{}", said.out);
    for once in ["stores.main.endpoint is", "postgres.my-db.archive.prefix is", "store/home/main  NOT ASKED"] {
        assert_eq!(said.out.matches(once).count(), 1, "{once} in\n{}", said.out);
    }
    assert_eq!(said.out.matches("fill it in, then: dalsegno config check").count(), 2, "{}", said.out);
    assert!(said.out.contains("drills on this machine"), "{}", said.out);
}

#[test]
fn the_doctor_looks_at_what_a_drill_needs_and_at_nothing_else_when_asked_so() {
    let place = Place::at(NOBODY);
    std::fs::write(place.0.path().join("drills"), "a file where the folder should be").unwrap();
    let said = place.run(&["doctor", "drills", "-o", "json"]);
    let seen: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(seen["providers"], serde_json::json!([]));
    let text = seen["drills"]["missing"].to_string();
    assert!(text.contains("is no folder") && text.contains("drill.folder"), "{seen:#}");
    assert!(seen["drills"]["not_known"].to_string().contains("which PostgreSQL pg/home/prod/keycloak-db needs"), "{seen:#}");
    assert_eq!(said.exit, 3);
    let (one, other) = (place.run(&["doctor", "main"]), place.run(&["doctor", "nothing-of-this-name"]));
    assert!(one.out.contains("store/main  UNREACHABLE") && !one.out.contains("postgres/"), "{}", one.out);
    assert!(!one.out.contains("drills on this machine"), "{}", one.out);
    assert_eq!(other.exit, 2, "{}", other.err);
}

#[test]
fn a_store_that_is_not_there_is_told_of_and_given_up_soon() {
    let place = Place::at(NOBODY);
    let began = Instant::now();
    let said = place.run(&["drill", "pg-restore"]);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}\n{}", began.elapsed(), said.err);
    assert!(said.err.contains("waits for the first answer of http://127.0.0.1:1"), "{}", said.err);
    assert!(said.out.contains("UNKNOWN") && said.out.contains("no connection to http://127.0.0.1:1"), "{}", said.out);
    assert_eq!(said.exit, 3);
    let began = Instant::now();
    let said = place.run(&["run"]);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}\n{}", began.elapsed(), said.err);
    assert!(said.err.contains("still looking: "), "{}", said.err);
    assert_eq!(said.exit, 3, "{}", said.out);
}

#[test]
fn a_wrong_target_is_the_fault_of_the_option_and_the_hint_is_one_that_works() {
    let place = Place::at(NOBODY);
    let nonsense = place.run(&["drill", "pg-restore", "--target", "yesterday", "--plan"]);
    assert_eq!(nonsense.exit, 2);
    assert!(nonsense.err.contains("error: --target: \"yesterday\" is not a target"), "{}", nonsense.err);
    assert!(nonsense.err.contains("hint: for example: dalsegno drill pg-restore --target end"), "{}", nonsense.err);
    assert!(!nonsense.err.contains("zone") && !nonsense.err.contains("runbook error"), "{}", nonsense.err);
    let zoneless = place.run(&["drill", "pg-restore", "--target", "2026-09-30 14:00:00", "--plan"]);
    assert!(zoneless.err.contains("has no time zone: write 2026-09-30T14:00:00Z if UTC is meant"), "{}", zoneless.err);
    let unknown = place.run(&["drill", "pg-restore", "--set", "tagret=end", "--plan"]);
    assert!(
        unknown.err.contains("--set tagret: this runbook has no such parameter, did you mean \"target\"?"),
        "{}",
        unknown.err
    );
    assert!(unknown.err.contains("dalsegno runbook check pg-restore"), "{}", unknown.err);
    let right = place.run(&["drill", "pg-restore", "--target", "2026-09-30T14:00:00Z", "--plan"]);
    assert_eq!(right.exit, 0, "{}", right.err);
    assert!(right.out.contains("dalsegno-<run>-sandbox"), "{}", right.out);
}

#[test]
fn a_name_that_no_run_tells_of_and_nothing_bears_is_refused_with_the_near_ones() {
    let place = Place::at(NOBODY);
    let said = place.run(&["history", "keycloack-db"]);
    assert_eq!(said.exit, 2);
    assert!(said.err.contains("hint: did you mean keycloak-db"), "{}", said.err);
    // Its twin is known and has no run yet.
    let said = place.run(&["history", "keycloak-db"]);
    assert!(said.exit == 0 && said.out.contains("no runs recorded"), "{}{}", said.out, said.err);
    assert_eq!(place.run(&["history", "--limit", "0"]).exit, 2);
}

#[test]
fn a_state_folder_that_cannot_be_used_ends_a_run_and_a_drill_alike() {
    let place = Place::at(NOBODY);
    std::fs::write(place.0.path().join("state"), "a file where the folder should be").unwrap();
    for args in [&["run"][..], &["drill", "pg-restore"], &["drill", "gc"]] {
        let said = place.run(args);
        assert_eq!(said.exit, 2, "{args:?}: {}{}", said.out, said.err);
    }
}

#[test]
fn errors_are_json_for_machines_and_their_code_and_exit_are_in_it() {
    let place = Place::at(NOBODY);
    let json = |args: &[&str]| -> Value {
        let said = place.run(args);
        let last = said.err.lines().last().unwrap_or_default().to_owned();
        let told: Value = serde_json::from_str(&last).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", said.err));
        assert_eq!(told["error"]["exit"], said.exit, "{told:#}");
        told
    };
    let told = json(&["-o", "json", "drill", "pg-restore", "--target", "yesterday"]);
    assert_eq!((&told["error"]["code"], &told["error"]["exit"]), (&"drill-option".into(), &2.into()));
    assert!(told["error"]["hints"][0].as_str().unwrap().contains("--target end"), "{told:#}");
    assert_eq!(json(&["history", "--limit", "0", "--output=json"])["error"]["code"], "usage");
    assert_eq!(json(&["check", "no-such-subject", "-ojson"])["error"]["code"], "not-configured");
    assert!(place.run(&["check", "no-such-subject"]).err.starts_with("error: "));
}

#[test]
fn help_that_cannot_be_written_is_not_fine() {
    for (args, to, exit) in [(["--help"], "/dev/full", 3), (["--version"], "/dev/full", 3), (["--help"], "/dev/null", 0)] {
        let full = std::fs::OpenOptions::new().write(true).open(to).unwrap();
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("dalsegno"));
        let output = command.args(args).stdout(Stdio::from(full)).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(exit), "{args:?} to {to}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_configuration_that_names_nothing_is_said_to() {
    let said = Place::with("site: home\n").run(&["config", "check"]);
    assert!(said.out.contains("nothing is configured") && said.out.contains("dalsegno init"), "{}", said.out);
    let said = Place::at(NOBODY).run(&["config", "check"]);
    assert!(!said.out.contains("nothing is configured") && said.out.contains("1 store"), "{}", said.out);
}

#[test]
fn mistakes_of_yaml_are_told_in_words_for_who_wrote_it() {
    for (yaml, words) in [
        ("site: a: b\n", "put the value in quotes"),
        ("site: [a\n", "not closed"),
        ("site: \"a\n", "not closed"),
        ("stores:\n\tmain: {}\n", "indented with spaces"),
        ("site: a\nsite: b\n", "this key stands here a second time"),
        ("site: a\n---\nsite: b\n", "a second document begins"),
        ("site: *there\n", "an alias"),
    ] {
        let said = Place::with(yaml).run(&["config", "check"]);
        assert_eq!(said.exit, 2);
        assert!(said.err.contains(words), "{yaml:?} is told as\n{}", said.err);
        for theirs in ["token", "scanner", "event", "while parsing", "simple key", "context"] {
            assert!(!said.err.contains(theirs), "{yaml:?}: {theirs} in\n{}", said.err);
        }
    }
}
