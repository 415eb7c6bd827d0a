//! An entry is small: it names a base and says what differs. Here both become one whole recording.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failures")
}

/// The whole recording of an entry, in a folder of its own.
pub(crate) fn compose(root: &Path, name: &str) -> TempDir {
    let whole = tempfile::tempdir().unwrap();
    let entry = root.join(name);
    let base = fs::read_to_string(entry.join("base")).unwrap_or_else(|_| panic!("tests/failures/{name} names no base"));
    lay(root, base.trim(), whole.path());
    copy(&entry, whole.path());
    let mut passes = folders(whole.path());
    passes.retain(|pass| pass.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|b| b.is_ascii_digit())));
    passes.sort();
    for pass in &passes {
        if let Ok(other) = fs::read_to_string(pass.join("like")) {
            // As the other pass was before its own changes; the changes of this one lie in this entry.
            let plain = tempfile::tempdir().unwrap();
            lay(root, base.trim(), plain.path());
            copy(&plain.path().join(other.trim()), pass);
            copy(&entry.join(pass.file_name().unwrap()), pass);
        }
    }
    for pass in &passes {
        for store in folders(&pass.join("store")) {
            change(&store);
        }
        for context in folders(&pass.join("kube")) {
            super::objects::change(&context);
        }
        if let Ok(text) = fs::read_to_string(pass.join("rename")) {
            let (from, to) = text.trim().split_once(' ').unwrap();
            fs::rename(pass.join("store").join(from), pass.join("store").join(to)).unwrap();
        }
    }
    whole
}

/// A base, with the one below it that it names.
fn lay(root: &Path, base: &str, to: &Path) {
    let folder = root.join("bases").join(base);
    if let Ok(below) = fs::read_to_string(folder.join("base")) {
        lay(root, below.trim(), to);
    }
    copy(&folder, to);
}

/// `list.drop`: keys, or prefixes that end in `/`, that are not there. `X.add.jsonl`: rows that come, or replace the one of their key.
fn change(store: &Path) {
    let mut list = rows(&store.join("list.jsonl"));
    if let Ok(drop) = fs::read_to_string(store.join("list.drop")) {
        for gone in drop.lines().filter(|line| !line.is_empty()) {
            let before = list.len();
            list.retain(|row| !(key(row) == gone || (gone.ends_with('/') && key(row).starts_with(gone))));
            assert!(list.len() < before, "{}: list.drop names {gone}, which is not there", store.display());
        }
    }
    write(&store.join("list.jsonl"), &add(list, &store.join("list.add.jsonl")));
    write(&store.join("reads.jsonl"), &add(rows(&store.join("reads.jsonl")), &store.join("reads.add.jsonl")));
}

fn add(mut rows_: Vec<Value>, file: &Path) -> Vec<Value> {
    for row in rows(file) {
        rows_.retain(|known| key(known) != key(&row));
        rows_.push(row);
    }
    rows_
}

fn key(row: &Value) -> &str {
    row["key"].as_str().unwrap()
}

pub(super) fn rows(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).collect()
}

fn write(file: &Path, rows: &[Value]) {
    let text = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    fs::write(file, text).unwrap();
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().map(Result::unwrap);
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())).map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
