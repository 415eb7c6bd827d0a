//! Texts of manifests: which files of a folder are read, within which bounds, and where one document ends and the next begins.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::kube_files::ManifestMistake;

/// A file larger than this is no manifest. All of CNPG's definitions together are 1 MiB.
const MOST_BYTES: u64 = 16 << 20;
/// So many files are read.
const MOST_FILES: usize = 10_000;
/// A folder this deep is a mistake.
const DEEPEST: usize = 32;

/// A document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    /// The line of the file that its first line is, from 1.
    pub(super) first_line: u64,
}

impl Document<'_> {
    /// A definition of a kind: large, and nothing of it is judged.
    pub(super) fn is_definition(&self) -> bool {
        self.text.lines().any(|line| line.trim_end() == "kind: CustomResourceDefinition")
    }

    /// Comments and blank lines only, as templates leave them.
    pub(super) fn is_empty(&self) -> bool {
        self.text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#') || line == "---")
    }
}

/// Documents, split where a line begins with the marker: at the left edge `---` is one inside of every kind of text
/// (<https://yaml.org/spec/1.2.2/#912-document-markers>).
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut found = Vec::new();
    let (mut begun, mut first_line, mut at) = (0, 1, 0);
    for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
        let marker = line.trim_end();
        if (marker == "---" || line.starts_with("--- ")) && at > begun {
            found.push((begun..at, first_line));
            (begun, first_line) = (at, number);
        }
        at += line.len();
    }
    found.push((begun..text.len(), first_line));
    let document = |(range, first_line)| Some(Document { text: text.get::<std::ops::Range<usize>>(range)?, first_line });
    found.into_iter().filter_map(document).collect()
}

/// A text, within bounds.
pub(super) fn read(file: &Path) -> Result<String, ManifestMistake> {
    let failed = |what: String| ManifestMistake { at: file.display().to_string(), what };
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| failed(format!("cannot be read: {error}")))?;
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| failed(format!("cannot be read: {error}")))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(failed(format!("is larger than {} MiB, which no manifest is", MOST_BYTES >> 20)));
    }
    Ok(text)
}

/// The files of a path, in order of their names: itself, or what ends in yaml, yml or json below it. Hidden ones are left out, and
/// folders behind symbolic links.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, ManifestMistake> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    below(path, 0, &mut found)?;
    if found.is_empty() {
        return Err(ManifestMistake { at: path.display().to_string(), what: "holds no *.yaml, *.yml or *.json".to_owned() });
    }
    found.sort();
    Ok(found)
}

fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), ManifestMistake> {
    let failed = |what: String| ManifestMistake { at: folder.display().to_string(), what };
    if depth > DEEPEST {
        return Err(failed(format!("lies more than {DEEPEST} folders deep")));
    }
    let unreadable = |error: std::io::Error| failed(format!("cannot be read: {error}"));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type().map_err(unreadable)?.is_dir() {
            below(&path, depth + 1, found)?;
        } else if path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end.eq_ignore_ascii_case(known)))
            && path.is_file()
        {
            found.push(path);
        }
        if found.len() > MOST_FILES {
            return Err(failed(format!("more than {MOST_FILES} files")));
        }
    }
    Ok(())
}
