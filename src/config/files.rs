//! From paths to one tree: files and folders, merged by name order; the same key twice is a mistake with both places.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::mistake::{At, Mistake};
use super::tree::{Node, Shape, child, parse};

/// A configuration file larger than this is something else.
const LARGEST: u64 = 1024 * 1024;

/// Reads and merges all sources. Mistakes here stop everything, since what follows would be guesswork.
pub(super) fn read(sources: &[PathBuf], warnings: &mut Vec<Mistake>) -> Result<Node, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut files = Vec::new();
    for source in sources {
        match files_of(source, warnings) {
            Ok(found) => files.extend(found),
            Err(mistake) => mistakes.push(*mistake),
        }
    }
    let mut whole = Node::empty(files.first().map_or(At::Nowhere, |file| At::file(file)));
    for file in &files {
        match read_file(file).and_then(|text| parse(&text, file)) {
            Ok(tree) => merge(&mut whole, tree, "", &mut mistakes),
            Err(mistake) => mistakes.push(*mistake),
        }
    }
    if mistakes.is_empty() { Ok(whole) } else { Err(mistakes) }
}

/// The file itself, or the `*.yaml` of a folder in the order of their names.
fn files_of(source: &Path, warnings: &mut Vec<Mistake>) -> Result<Vec<PathBuf>, Box<Mistake>> {
    let unreadable = |error: std::io::Error| {
        let mistake = Mistake::new(&At::file(source), "", "config-unreadable", format!("cannot be read: {error}"));
        Box::new(mistake.hint("dalsegno init > dalsegno.yaml  writes a configuration to start from"))
    };
    if !std::fs::metadata(source).map_err(unreadable)?.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(source).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A mounted ConfigMap holds `..data` and its like beside the links that are meant.
        if name.starts_with('.') || path.is_dir() {
            continue;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml") => files.push(path),
            Some("yml" | "json") => warnings.push(
                Mistake::new(&At::file(&path), "", "config-file-ignored", "is not read: only *.yaml of a folder are")
                    .hint("rename it to .yaml"),
            ),
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(file: &Path) -> Result<String, Box<Mistake>> {
    let wrong = |text: String| Box::new(Mistake::new(&At::file(file), "", "config-unreadable", text));
    let open = || {
        let mut bytes = Vec::new();
        std::fs::File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let bytes = open().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong(format!("is larger than {LARGEST} bytes, which no configuration is")));
    }
    String::from_utf8(bytes).map_err(|error| wrong(format!("is not UTF-8 from byte {} on", error.utf8_error().valid_up_to())))
}

/// Mappings grow together; anything else that is there twice is a mistake.
fn merge(base: &mut Node, other: Node, path: &str, mistakes: &mut Vec<Mistake>) {
    match (&mut base.shape, other.shape) {
        (_, Shape::Null) => {}
        (mine @ Shape::Null, theirs) => {
            *mine = theirs;
            base.at = other.at;
        }
        (Shape::Map(mine), Shape::Map(theirs)) => {
            for entry in theirs {
                match mine.iter_mut().find(|known| known.key == entry.key) {
                    Some(known) => merge(&mut known.node, entry.node, &child(path, &entry.key), mistakes),
                    None => mine.push(entry),
                }
            }
        }
        (_, _) if path.is_empty() => {
            mistakes.push(
                Mistake::new(&other.at, "", "config-type", "the file does not hold a mapping")
                    .hint("begin with keys such as site:, stores:, postgres:"),
            );
        }
        (_, _) => mistakes.push(
            Mistake::new(&other.at, path, "config-key-twice", format!("is also set at {}", base.at)).hint("keep one of the two"),
        ),
    }
}
