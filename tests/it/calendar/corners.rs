//! What a person should be able to look up, one line each.

use dalsegno::domain::{Calendar, CalendarDialect as Dialect, CalendarError};
use jiff::{SignedDuration, Timestamp};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-11-30T15:00:00Z")
}

fn next(dialect: Dialect, text: &str) -> String {
    Calendar::parse(dialect, text).unwrap().next_after(now()).map_or_else(|| "never".to_owned(), |run| run.to_string())
}

#[test]
fn five_fields_of_cnpg_begin_with_the_seconds() {
    assert_eq!(next(Dialect::Cnpg, "0 3 * * *"), "2026-11-30T15:03:00Z");
    assert_eq!(next(Dialect::Cnpg, "0 0 3 * * *"), "2026-12-01T03:00:00Z");
    assert_eq!(next(Dialect::CronJob, "0 3 * * *"), "2026-12-01T03:00:00Z");
    // Here the first field of five leaves its range: the one case that admission refuses.
    let error = Calendar::parse(Dialect::Cnpg, "0 1 * * 0").unwrap_err();
    assert!(matches!(&error, CalendarError::Field { field: "month", .. }), "{error}");
    let error = Calendar::parse(Dialect::CronJob, "0 0 3 * * *").unwrap_err();
    assert_eq!(error.to_string(), "\"0 0 3 * * *\" has 6 fields, a Kubernetes CronJob reads five");
    assert!(error.hint().contains("0 3 * * *"));
}

#[test]
fn two_restricted_fields_of_days_are_either_and_a_star_makes_them_both() {
    // Friday the fourth comes before the thirteenth.
    assert_eq!(next(Dialect::CronJob, "0 0 13 * 5"), "2026-12-04T00:00:00Z");
    // Of v3 a star with a step restricts, of v1 it stays a star: an odd day that is a Monday.
    assert_eq!(next(Dialect::CronJob, "0 0 */2 * 1"), "2026-12-01T00:00:00Z");
    assert_eq!(next(Dialect::Cnpg, "0 0 0 */2 * 1"), "2026-12-07T00:00:00Z");
}

#[test]
fn the_thirtieth_of_february_never_comes() {
    for text in ["0 0 0 30 2 0", "0 0 0 30 2 *", "0 0 0 31 4,6,9,11 *"] {
        let calendar = Calendar::parse(Dialect::Cnpg, text).unwrap();
        // With a day of the week beside it, the day of the month need not match.
        if text.ends_with('0') {
            assert_eq!(next(Dialect::Cnpg, text), "2027-02-07T00:00:00Z");
        } else {
            assert_eq!((calendar.next_after(now()), calendar.previous_before(now())), (None, None), "{text}");
        }
    }
    assert_eq!(next(Dialect::Cnpg, "0 0 0 29 2 *"), "2028-02-29T00:00:00Z");
}

#[test]
fn a_run_in_the_missing_hour_is_skipped_and_one_in_the_double_hour_comes_twice() {
    let calendar = Calendar::parse(Dialect::Velero, "CRON_TZ=Europe/Berlin 30 2 * * *").unwrap();
    let runs = |from: &str| calendar.upcoming(at(from), 3).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(runs("2026-03-28T12:00:00Z")[0], "2026-03-30T00:30:00Z");
    assert_eq!(runs("2026-10-24T12:00:00Z"), ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]);
    assert_eq!(calendar.previous_before(at("2026-10-25T01:30:00Z")), Some(at("2026-10-25T00:30:00Z")));
    assert_eq!(calendar.previous_before(at("2026-03-30T00:30:00Z")), Some(at("2026-03-28T01:30:00Z")));
}

#[test]
fn every_counts_from_the_last_run() {
    let calendar = Calendar::parse(Dialect::Cnpg, "@every 12h").unwrap();
    assert_eq!(calendar.next_after(at("2026-11-30T03:00:00.9Z")), Some(at("2026-11-30T15:00:00Z")));
    assert_eq!(calendar.runs_between(at("2026-11-28T15:00:00Z"), now(), 100), 3);
    assert_eq!(calendar.longest_pause(now()), Some(SignedDuration::from_hours(12)));
}

#[test]
fn the_longest_pause_is_that_of_a_weekend() {
    let pause = |text: &str| Calendar::parse(Dialect::Cnpg, text).unwrap().longest_pause(now()).unwrap().as_hours();
    assert_eq!(pause("0 0 3 * * *"), 24);
    assert_eq!(pause("0 0 3 * * 1-5"), 72);
    assert_eq!(pause("0 0 */6 * * *"), 6);
    assert_eq!(Calendar::parse(Dialect::Cnpg, "0 0 0 31 2 *").unwrap().longest_pause(now()), None);
}

#[test]
fn what_is_wrong_with_a_text_is_said_with_what_would_be_right() {
    for (text, says, hint) in [
        ("", "0 fields", "six fields"),
        ("@reboot", "not a word", "@daily"),
        ("@every soon", "not a duration", "1h30m"),
        ("0 0 24 * * *", "no hour: only 0 to 23", "ranges"),
        ("0 0 0 * * 7", "no day of week: only 0 to 6", "0 (Sunday)"),
        ("0 0 0 L * *", "no day of month", "numbers"),
        ("0 0 5-1 * * *", "ends before it begins", "ranges"),
        ("0 */0 0 * * *", "a step of nothing", "steps"),
    ] {
        let error = Calendar::parse(Dialect::Cnpg, text).unwrap_err();
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(error.hint().contains(hint), "{text}: {}", error.hint());
    }
    let error = Calendar::parse(Dialect::Velero, "CRON_TZ=Mars/Olympus 0 3 * * *").unwrap_err();
    assert_eq!(error, CalendarError::Zone("Mars/Olympus".into()));
}
