//! Real faults, as recordings: each must be named with the right code and severity, and its healthy twin must stay silent.
//!
//! `tests/failures/README.md` tells how an entry is made. Printed as a table per system by
//! `cargo test --test it corpus -- --nocapture`; the last line is `CORPUS <named> <visible> <alarms on twins>`.

mod compose;
mod objects;
mod run;
mod table;

use std::io::Write as _;

use run::Outcome;

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_named_and_every_twin_is_silent() {
    let root = compose::root();
    let mut rows = Vec::new();
    for entry in table::ENTRIES {
        rows.push((entry, run::fault(&root, entry).await, run::twin(&root, entry).await));
    }
    // Past the test's capture: the table is what `make corpus` is for.
    writeln!(std::io::stdout(), "{}", table::report(&rows)).unwrap();
    let wrong: Vec<String> = rows
        .iter()
        .flat_map(|(entry, fault, twin)| {
            let fault = (*fault != Outcome::AsExpected).then(|| format!("{}: {fault:?}", entry.name));
            let twin = (*twin != Outcome::AsExpected).then(|| format!("{}.twin: {twin:?}", entry.name));
            fault.into_iter().chain(twin)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_folder_is_an_entry_or_a_base() {
    let known: Vec<String> =
        table::ENTRIES.iter().flat_map(|entry| [entry.name.to_owned(), format!("{}.twin", entry.name)]).collect();
    for folder in std::fs::read_dir(compose::root()).unwrap().map(Result::unwrap).filter(|f| f.path().is_dir()) {
        let name = folder.file_name().into_string().unwrap();
        assert!(name == "bases" || known.contains(&name), "tests/failures/{name} belongs to no entry of the table");
    }
}

/// A runner that cannot fail would be worth nothing: a fault judged by its twin's expectation, and the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn the_runner_notices_a_fault_that_is_not_named_and_a_twin_that_alarms() {
    let root = compose::root();
    let folder = compose::compose(&root, "wal-object-zero-bytes");
    std::fs::write(folder.path().join("expect.yaml"), "findings: []\n").unwrap();
    assert!(matches!(run::judge(folder.path()).await, Outcome::Alarms(_)));
    let folder = compose::compose(&root, "wal-object-zero-bytes.twin");
    let expect = "findings: [{code: wal-segment-empty, severity: critical, subject: pg/lan/prod/orders}]\n";
    std::fs::write(folder.path().join("expect.yaml"), expect).unwrap();
    assert!(matches!(run::judge(folder.path()).await, Outcome::NotNamed(_)));
}

/// The same through the binary, as a person replays what somebody sent.
#[test]
fn a_recording_is_judged_by_the_command_as_by_the_library() {
    let root = compose::root();
    for (name, exit, word) in [
        ("partial-segment-in-middle", 1, "wal-partial-inside-chain"),
        ("partial-segment-in-middle.twin", 0, "no findings"),
        ("object-store-unreachable-or-full", 3, "object-store-outage"),
    ] {
        let folder = compose::compose(&root, name);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_dalsegno"))
            .args(["check", "--replay"])
            .arg(folder.path())
            .env_clear()
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{name}: {said}");
        assert!(said.contains(word), "{name}: {said}");
    }
}
