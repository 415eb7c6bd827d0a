//! The closed table of metrics and the code say the same.

use std::collections::BTreeSet;
use std::path::Path;

const UNITS: [&str; 4] = ["_bytes", "_seconds", "_count", "_objects"];

fn table() -> BTreeSet<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/metrics.md")).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

/// Names in the code: what stands behind `metric: "` or in a constant whose text ends in a unit.
fn named_in(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.contains("metric: \"") || line.contains("metric(\"") || line.contains(": &str = \""))
        .filter_map(|line| line.split('"').nth(1))
        .filter(|name| UNITS.iter().any(|unit| name.ends_with(unit)) && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_metric_of_the_code_is_in_the_table() {
    let table = table();
    assert!(table.len() >= 4, "{table:?}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in walkdir::WalkDir::new(source).into_iter().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|ending| ending == "rs") {
            for name in named_in(&std::fs::read_to_string(entry.path()).unwrap()) {
                assert!(
                    table.contains(&name),
                    "{}: metric {name} has no row in docs/reference/metrics.md",
                    entry.path().display()
                );
            }
        }
    }
}

#[test]
fn a_metric_ends_in_its_unit() {
    for name in table() {
        assert!(UNITS.iter().any(|unit| name.ends_with(unit)), "{name}");
    }
}

#[test]
fn the_reader_of_the_code_sees_both_ways_to_name_one() {
    let text =
        "metric: \"archive_bytes\".into(),\npub const LOOK: &str = \"look_seconds\";\nconst HINT: &str = \"wait some seconds\";";
    assert_eq!(named_in(text), ["archive_bytes", "look_seconds"]);
}
