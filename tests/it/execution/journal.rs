//! The journal on disk.

use std::fs;

use dalsegno::domain::{Explained, Handle, Verdict};
use dalsegno::execution::{How, JOURNAL_FILE, Journal, JournalError, Record, read_journal, replay};
use serde_json::json;

use super::bench::{BOOK, Bench, cx, now, planned, run_plan};
use super::folder_act::FolderAct;

#[tokio::test]
async fn a_journal_is_readable_after_a_cut_at_any_byte() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let (_, journal) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    let path = journal.folder().join(JOURNAL_FILE);
    let folder = journal.folder().to_owned();
    let whole = read_journal(&folder).unwrap();
    assert_eq!(whole.lines, journal.lines());
    let bytes = fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let told = read_journal(&folder).unwrap();
        assert_eq!(told.damaged_at, None, "cut at {cut}");
        let lines = bytes[..cut].split(|byte| *byte == b'\n').count() - 1;
        assert_eq!(told.lines, whole.lines[..lines], "cut at {cut}");
        assert_eq!(replay(&told.lines).is_some(), lines > 0, "cut at {cut}");
    }
}

#[tokio::test]
async fn zeros_behind_the_last_line_are_a_torn_end_and_a_changed_line_inside_is_damage() {
    let bench = Bench::new();
    let act = FolderAct::new(&bench.sandboxes);
    let plan = planned(BOOK);
    let (_, journal) = run_plan(&bench, &act, &plan, &cx(plan.run)).await;
    let path = journal.folder().join(JOURNAL_FILE);
    let bytes = fs::read(&path).unwrap();
    let mut padded = bytes.clone();
    padded.extend([0; 512]);
    fs::write(&path, &padded).unwrap();
    assert_eq!(read_journal(journal.folder()).unwrap().damaged_at, None);
    let mut changed = bytes;
    let second = changed.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    changed[second] = b'?';
    fs::write(&path, &changed).unwrap();
    let told = read_journal(journal.folder()).unwrap();
    assert_eq!((told.damaged_at, told.lines.len()), (Some(2), 1));
}

#[test]
fn a_journal_of_a_newer_program_is_refused_with_a_hint() {
    let bench = Bench::new();
    let plan = planned(BOOK);
    let journal = Journal::begin(&bench.drills, &plan, json!({}), now()).unwrap();
    let path = journal.folder().join(JOURNAL_FILE);
    let text = fs::read_to_string(&path).unwrap().replace("\"format\":1", "\"format\":9");
    fs::write(&path, text).unwrap();
    let error = read_journal(journal.folder()).unwrap_err();
    assert!(matches!(error, JournalError::Newer { found: 9, .. }), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn a_second_begin_of_the_same_run_is_refused_and_closing_removes_the_lock() {
    let bench = Bench::new();
    let plan = planned(BOOK);
    let journal = Journal::begin(&bench.drills, &plan, json!({}), now()).unwrap();
    let second = Journal::begin(&bench.drills, &plan, json!({}), now()).unwrap_err();
    assert!(matches!(second, JournalError::Held { .. }), "{second}");
    let folder = journal.folder().to_owned();
    journal.close(How::Finished, Some(Verdict::Proven), &[]).unwrap();
    assert!(!folder.join("lock").exists());
    let told = read_journal(&folder).unwrap();
    assert_eq!(replay(&told.lines).unwrap().ended, Some(Vec::new()));
}

#[test]
fn what_the_disk_would_not_take_still_counts_for_clean_up() {
    let bench = Bench::new();
    let plan = planned(BOOK);
    let mut journal = Journal::begin(&bench.drills, &plan, json!({}), now()).unwrap();
    journal.write(Record::Handle { step: "sandbox".into(), handle: Handle(json!("x")) }).unwrap();
    assert_eq!(journal.lines().len(), 2);
    assert!(journal.lines().windows(2).all(|pair| pair[0].n + 1 == pair[1].n));
}
