//! File names and file lengths.

use std::path::{Path, PathBuf};

const EMPTY_WORDS: &[&str] = &["utils", "util", "common", "helpers", "helper", "misc", "manager", "service"];

fn files(ending: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["src", "tests", "lab"]
        .iter()
        .flat_map(|folder| walkdir::WalkDir::new(root.join(folder)).into_iter().filter_map(Result::ok))
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter(|path| !path.iter().any(|part| part == "target"))
        .collect()
}

#[test]
fn no_file_is_named_after_nothing() {
    for path in files("rs") {
        for part in &path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().with_extension("") {
            assert!(
                !EMPTY_WORDS.contains(&part.to_string_lossy().as_ref()),
                "{}: a helper has a subject; name the file after it",
                path.display()
            );
        }
    }
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    for path in files("rs") {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 500, "{} has {lines} lines: there is a second subject in it", path.display());
    }
}

#[test]
fn every_migration_has_a_number_and_a_subject() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".sql"))
        .collect();
    names.sort();
    assert!(!names.is_empty());
    for (index, name) in names.iter().enumerate() {
        assert!(
            name.starts_with(&format!("{:04}_", index + 1)) && name.len() > 9,
            "{name}: migrations are NNNN_what.sql, without holes"
        );
    }
}
