//! What holds of every schedule; and croner as a second opinion where its dialect is the same.

use std::str::FromStr as _;

use croner::Cron;
use dalsegno::domain::{Calendar, CalendarDialect as Dialect};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

const ZONES: &[&str] =
    &["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago", "Pacific/Apia"];

fn field(min: u32, max: u32) -> impl Strategy<Value = String> {
    let value = || min..=max;
    prop_oneof![
        3 => Just("*".to_owned()),
        3 => value().prop_map(|value| value.to_string()),
        1 => (value(), value()).prop_map(|(a, b)| format!("{},{}", a.min(b), a.max(b))),
        1 => (value(), value()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (2u32..12).prop_map(|step| format!("*/{step}")),
    ]
}

/// Of the days only what both dialects read alike: a star with a step is a star to one of them.
fn days(min: u32, max: u32) -> impl Strategy<Value = String> {
    field(min, max).prop_map(|text| if text.starts_with("*/") { "*".to_owned() } else { text })
}

fn five() -> impl Strategy<Value = String> {
    (field(0, 59), field(0, 23), days(1, 31), field(1, 12), days(0, 6)).prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

fn moment() -> impl Strategy<Value = Timestamp> {
    // 2020 to 2035, with and without a part of a second.
    (1_577_836_800i64..2_051_222_400, prop_oneof![Just(0i32), 0..1_000_000_000i32])
        .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap())
}

fn calendar(text: &str, zone: &str) -> Calendar {
    Calendar::parse(Dialect::CronJob, text).unwrap().in_zone(zone).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn forwards_and_backwards_meet(text in five(), zone in 0..ZONES.len(), from in moment()) {
        let calendar = calendar(&text, ZONES[zone]);
        let Some(next) = calendar.next_after(from) else { return Ok(()) };
        prop_assert!(next > from);
        let tick = SignedDuration::from_nanos(1);
        prop_assert_eq!(calendar.next_after(next.checked_sub(tick).unwrap()), Some(next));
        prop_assert_eq!(calendar.previous_before(next.checked_add(tick).unwrap()), Some(next));
        if let Some(last) = calendar.previous_before(next) {
            prop_assert!(last <= from, "{last} lies between {from} and {next}");
            prop_assert_eq!(calendar.next_after(last), Some(next));
        }
    }

    /// A run is a moment at which the clock of the zone shows what the text says: checked against the plain fields.
    #[test]
    fn the_clock_shows_what_the_text_says(minute in 0i8..60, hour in 0i8..24, zone in 0..ZONES.len(), from in moment()) {
        let calendar = calendar(&format!("{minute} {hour} * * *"), ZONES[zone]);
        let tz = TimeZone::get(ZONES[zone]).unwrap();
        for run in calendar.upcoming(from, 5) {
            let wall = tz.to_datetime(run);
            prop_assert_eq!((wall.hour(), wall.minute(), wall.second()), (hour, minute, 0));
        }
    }

    #[test]
    fn croner_says_the_same_where_clocks_do_not_change(text in five(), from in moment()) {
        let ours = calendar(&text, "UTC").next_after(from);
        let wall = TimeZone::UTC.to_datetime(from);
        let theirs = Cron::from_str(&text).unwrap().find_next_occurrence(&wall, false);
        if let Some(ours) = ours {
            prop_assert_eq!(TimeZone::UTC.to_datetime(ours), theirs.unwrap(), "{}", text);
        } else if let Ok(theirs) = theirs {
            prop_assert!(theirs.year() > wall.year() + 5, "{text}: {theirs}");
        }
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[0-9*/,?@a-z =-]{0,24}", from in moment()) {
        for dialect in [Dialect::CronJob, Dialect::Velero, Dialect::Cnpg] {
            if let Ok(calendar) = Calendar::parse(dialect, &text) {
                let next = calendar.next_after(from);
                prop_assert!(next.is_none_or(|next| next > from));
            }
        }
    }
}
