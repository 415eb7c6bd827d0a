//! `golden.tsv` was made by robfig/cron itself: `cd lab/calendar-golden && go run . > ../../tests/it/calendar/golden.tsv`.

use dalsegno::domain::{Calendar, CalendarDialect, CalendarError};
use jiff::Timestamp;

struct Row<'a> {
    line: usize,
    dialect: &'a str,
    zone: &'a str,
    text: &'a str,
    from: Timestamp,
    next: Vec<&'a str>,
    slip: bool,
}

fn rows() -> Vec<Row<'static>> {
    let table = include_str!("golden.tsv");
    let row = |(at, line): (usize, &'static str)| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [dialect, zone, text, from, next @ .., slip] = parts.as_slice() else { panic!("line {}: {line}", at + 1) };
        Row { line: at + 1, dialect, zone, text, from: from.parse().unwrap(), next: next.to_vec(), slip: *slip == "slip" }
    };
    table.lines().enumerate().map(row).collect()
}

/// As the scheduler is given it: Kubernetes puts the zone of `timeZone` in front.
fn calendar(row: &Row<'_>) -> Result<Calendar, CalendarError> {
    match row.dialect {
        "cronjob" => Calendar::parse(CalendarDialect::CronJob, &format!("TZ={} {}", row.zone, row.text)),
        "velero" => Calendar::parse(CalendarDialect::Velero, row.text),
        "cnpg" => Calendar::parse(CalendarDialect::Cnpg, row.text),
        other => panic!("dialect {other}"),
    }
}

/// What we say of a row, in the words of the table.
fn said(row: &Row<'_>) -> Vec<String> {
    let Ok(calendar) = calendar(row) else { return vec!["refused".to_owned()] };
    let runs = calendar.upcoming(row.from, row.next.len());
    let mut said: Vec<String> = runs.iter().map(ToString::to_string).collect();
    if said.len() < row.next.len() {
        said.push("never".to_owned());
    }
    said
}

#[test]
fn every_text_is_read_as_robfig_reads_it() {
    let rows = rows();
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let said = said(row);
            let same = said == row.next;
            (!same).then(|| {
                format!(
                    "line {}: {} {} {:?} from {}: {said:?}, robfig {:?}",
                    row.line, row.dialect, row.zone, row.text, row.from, row.next
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} rows differ:\n{}",
        wrong.len(),
        rows.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// A table that holds nothing of a kind would prove nothing of it.
#[test]
fn the_table_holds_every_kind_of_answer() {
    let rows = rows();
    let count = |of: &dyn Fn(&Row<'_>) -> bool| rows.iter().filter(|row| of(row)).count();
    assert!(rows.len() > 4_000, "{} rows", rows.len());
    for dialect in ["cronjob", "velero", "cnpg"] {
        assert!(count(&|row| row.dialect == dialect && row.next != ["refused"]) > 300, "{dialect}");
        assert!(count(&|row| row.dialect == dialect && row.next == ["refused"]) > 20, "{dialect} refuses");
    }
    assert!(count(&|row| row.next.contains(&"never")) > 20);
    // Where robfig itself slips in the hour of a clock change, the table has what a walk second by second found.
    assert!((1..100).contains(&count(&|row| row.slip)), "{}", count(&|row| row.slip));
}

#[test]
fn a_zone_beside_the_text_is_the_zone_in_front_of_it() {
    for row in rows().iter().filter(|row| row.dialect == "cronjob") {
        let (Ok(inside), Ok(beside)) = (calendar(row), Calendar::parse(CalendarDialect::CronJob, row.text)) else { continue };
        assert_eq!(beside.in_zone(row.zone).unwrap(), inside, "line {}", row.line);
    }
}
