//! The closed table of metrics and the code say the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use dalsegno::domain::metric::{METRICS, OF_THE_CLOCK, metric};

const UNITS: [&str; 4] = ["_bytes", "_seconds", "_count", "_objects"];
/// The one that says yes or no.
const YES_OR_NO: &str = "exporter_up";

fn table() -> BTreeSet<String> {
    METRICS.iter().map(|row| row.name.to_owned()).collect()
}

#[test]
fn the_reference_page_is_what_the_table_says() {
    let mut page = String::from(
        "# Metrics of samples\n\nA sample is a number with a time about one subject (`domain::Sample`). Made from the table in \
         `src/domain/metric.rs`; a test compares the two (`UPDATE_DOCS=1`\nwrites it anew). The table is closed: a metric that is not in it \
         does not exist, and `tests/it/ledger/metrics.rs` holds the code against it. A name ends in its\nunit: `_bytes`, `_seconds`, \
         `_count`, `_objects`. A name is never renamed and never used for a second thing.\n\n| metric | subject | unit | what it says \
         |\n|---|---|---|---|\n",
    );
    for row in METRICS {
        writeln!(page, "| `{}` | {} | {} | {} |", row.name, row.subject, row.unit, row.says).unwrap();
    }
    page.push_str(
        "\nKept raw for 14 days, at most one per pass, subject and metric; then by the hour (count, minimum, maximum, mean) for 13 months. \
         See\n[ledger.md](ledger.md). A value that is not a number (NaN, infinite) is never kept. Numbers over time (`domain::Series`) have \
         the same names.\n",
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/metrics.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&file).unwrap() == page,
        "docs/reference/metrics.md differs: run the test with UPDATE_DOCS=1"
    );
}

#[test]
fn the_table_is_sorted_and_names_each_metric_once() {
    let names: Vec<&str> = METRICS.iter().map(|row| row.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for name in OF_THE_CLOCK {
        assert!(metric(name).is_some(), "{name}");
    }
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
        assert!(name == YES_OR_NO || UNITS.iter().any(|unit| name.ends_with(unit)), "{name}");
    }
}

#[test]
fn the_reader_of_the_code_sees_both_ways_to_name_one() {
    let text =
        "metric: \"archive_bytes\".into(),\npub const LOOK: &str = \"look_seconds\";\nconst HINT: &str = \"wait some seconds\";";
    assert_eq!(named_in(text), ["archive_bytes", "look_seconds"]);
}
