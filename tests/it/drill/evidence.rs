//! The evidence and its file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dalsegno::domain::{Evidence, RestoredBy, RunId};
use dalsegno::drill::{evidence, judge};
use dalsegno::execution::{EvidenceError, read_evidence, write_evidence};

use super::perfect::{course, declared, outputs, place, records};

pub(super) fn perfect_evidence() -> Evidence {
    let (records, declared, course) = (records(), declared(), course());
    let judgement = judge(&records, &declared, &course);
    evidence(RunId::parse("01926f00-0000-7000-8000-00000000abcd").unwrap(), &records, &declared, &course, &judgement)
}

#[test]
fn evidence_carries_what_the_receipts_said() {
    let evidence = perfect_evidence();
    let restored = evidence.restored.unwrap();
    assert_eq!((restored.name.as_str(), &restored.place), ("20260930T020000", &place()));
    let RestoredBy::BaseAndWal { recovery, segments, .. } = restored.by;
    let recovery = recovery.unwrap();
    assert_eq!((recovery.timeline, recovery.expected_segment.as_str()), (3, "00000003000000000000008F"));
    assert_eq!(evidence.rto_seconds, Some(8.0));
    assert_eq!(evidence.rpo.seconds, Some(108.0));
    assert_eq!(evidence.sizes["database app"], 8_912_896);
    let names: Vec<&str> = evidence.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["choose", "sandbox", "base", "start", "replay", "checks", "clean-up"]);
    assert_eq!(evidence.isolation_facts.len(), 2);
    assert_eq!(segments, 131);
}

#[test]
fn outputs_that_make_no_sense_are_left_out_and_nothing_breaks() {
    let mut records = records();
    for verb in ["archive.choose", "pg.recover"] {
        for (_, value) in outputs(&mut records, verb).iter_mut() {
            *value = serde_json::json!({"what": ["is", "this"]});
        }
    }
    let judgement = judge(&records, &declared(), &course());
    assert_eq!(judgement.verdict, dalsegno::domain::Verdict::Unknown);
    let evidence = evidence(RunId::new(), &records, &declared(), &course(), &judgement);
    assert!(evidence.restored.is_none() && evidence.rpo.seconds.is_none());
}

#[test]
fn a_file_of_evidence_is_written_once_whole_and_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = perfect_evidence();
    let path = write_evidence(folder.path(), &evidence).unwrap();
    assert_eq!(read_evidence(&path).unwrap(), evidence);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
    assert!(matches!(write_evidence(folder.path(), &evidence), Err(EvidenceError::Exists { .. })));
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["evidence.json"]);
}

#[test]
fn a_half_file_of_a_killed_process_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".evidence.json.tmp"), "{\"format\":").unwrap();
    write_evidence(folder.path(), &perfect_evidence()).unwrap();
}

#[test]
fn a_newer_format_is_refused_before_anything_else_of_it_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evidence.json");
    fs::write(&path, "{\"format\": 2, \"verdict\": \"proven\", \"new\": true}").unwrap();
    assert!(matches!(read_evidence(&path), Err(EvidenceError::Newer { found: 2, known: 1, .. })));
    for text in ["{\"verdict\": \"proven\"}", "{\"format\": 1}", "[]", "", "{\"format\": \"1\"}", "{\"format\": -1}"] {
        fs::write(&path, text).unwrap();
        assert!(matches!(read_evidence(&path), Err(EvidenceError::Malformed { .. })), "{text}");
    }
}
