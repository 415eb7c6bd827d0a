//! The table of codes, the documentation that is made from it, and what policy can say.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dalsegno::domain::{CODES, code};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_table_is_sorted_and_names_each_code_once() {
    let names: Vec<_> = CODES.iter().map(|row| row.code).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for row in CODES.iter() {
        assert!(row.code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", row.code);
        for text in [row.title, row.meaning, row.harm, row.remedy] {
            assert!(!text.is_empty(), "{} has an empty column", row.code);
        }
        assert!(row.sources.iter().all(|url| url.starts_with("https://")), "{}", row.code);
    }
}

/// Every text in quotes in the judging rooms that is in the form of a code must have a row: read from the source, so that a
/// new rule cannot forget it.
#[test]
fn every_code_that_judging_can_say_has_a_row() {
    let mut said = BTreeSet::new();
    for room in ["src/policy", "src/drill", "src/conductor", "src/notify"] {
        for file in walkdir::WalkDir::new(here(room)).into_iter().filter_map(Result::ok).filter(|f| f.file_type().is_file()) {
            let text = std::fs::read_to_string(file.path()).unwrap();
            for call in ["say(\"", "critical(\"", "warning(\"", "say(\n", "code: \""] {
                for (at, _) in text.match_indices(call) {
                    let Some(name) = text[at..].split('"').nth(1) else { continue };
                    if name.contains('-') && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
                        said.insert(name.to_owned());
                    }
                }
            }
        }
    }
    assert!(said.len() > 30, "the search found only {said:?}");
    // Codes that refusals and drills answer with stand alone in their lines.
    for file in ["src/archive/refusal.rs", "src/archive/target.rs", "src/drill/judge.rs", "src/drill/reason.rs"] {
        let text = std::fs::read_to_string(here(file)).unwrap();
        let alone = |word: &&str| {
            ["archive-", "base-", "wal-", "restore-target", "drill-", "s3-"].iter().any(|start| word.starts_with(start))
        };
        let words = text.lines().filter_map(|line| line.split('"').nth(1)).filter(|word| !word.contains([' ', '.', '{', '<']));
        said.extend(words.filter(alone).map(str::to_owned));
    }
    let missing: Vec<_> = said.iter().filter(|name| code(name).is_none()).collect();
    assert!(missing.is_empty(), "codes without a row in CODES: {missing:?}");
}

#[test]
fn the_reference_page_is_what_the_table_says() {
    let mut page = String::from(
        "# Findings\n\nMade from the table of codes in `src/domain/code/`; a test compares the two (`UPDATE_DOCS=1` writes it anew). \
         `dalsegno explain CODE` prints the same.\nOne code, one remedy: a code is never renamed and never used for a second thing.\n",
    );
    for row in CODES.iter() {
        write!(page, "\n## {}\n\n{}\n\n", row.code, row.title).unwrap();
        write!(page, "- **Means** {}\n- **Harm** {}\n- **Do** {}\n", row.meaning, row.harm, row.remedy).unwrap();
        if !row.sources.is_empty() {
            writeln!(page, "- **Seen in** {}", row.sources.iter().map(|url| format!("<{url}>")).collect::<Vec<_>>().join(" "))
                .unwrap();
        }
    }
    let file = here("docs/reference/findings.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/reference/findings.md differs from the table: run the test with UPDATE_DOCS=1");
}
