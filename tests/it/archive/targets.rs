use dalsegno::archive::{RecoveryTarget, TargetError};
use dalsegno::domain::Explained;
use jiff::Timestamp;
use proptest::prelude::*;

use super::builder::at;

fn written(text: &str) -> String {
    RecoveryTarget::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).for_postgres().unwrap()
}

#[test]
fn one_moment_in_many_forms_is_written_in_the_one_that_postgresql_takes() {
    for text in [
        "2026-11-30 12:39:00+00",
        "2026-11-30T12:39:00Z",
        "2026-11-30 12:39:00Z",
        "2026-11-30 12:39:00 UTC",
        "2026-11-30T12:39:00+00:00",
        "2026-11-30 13:39:00+01",
        "2026-11-30 13:39+0100",
        "2026-11-30 09:09:00-03:30",
        "2026-11-30 13:39:00[Europe/Berlin]",
        "2026-11-30T13:39:00+01:00[Europe/Berlin]",
        "  2026-11-30 13:39:00 [Europe/Berlin]  ",
    ] {
        assert_eq!(written(text), "2026-11-30 12:39:00.000000+00", "{text}");
    }
    assert_eq!(written("2026-11-30 12:39:00.123456789+00"), "2026-11-30 12:39:00.123456+00");
    assert_eq!(RecoveryTarget::parse("end").unwrap().for_postgres(), None);
}

#[test]
fn a_moment_without_a_zone_is_asked_back() {
    for text in ["2026-11-30 14:00:00", "2026-11-30T14:00", "2026-11-30"] {
        let error = RecoveryTarget::parse(text).unwrap_err();
        assert_eq!(error.code(), "restore-target-without-timezone", "{text}");
        assert!(error.hint().unwrap().contains("+00"), "{text}");
    }
}

#[test]
fn abbreviations_and_nonsense_are_refused() {
    for text in [
        "2026-11-30 12:39:00 CEST",
        "2026-11-30 12:39:00CET",
        "yesterday",
        "",
        "2026-13-30 12:39:00+00",
        "2026-11-30 25:39:00+00",
        "2026-11-30 12:39:00+99",
        "2026-11-30 12:39:00+1:2:3",
        "2026-11-30 12:39:00[Mars/Olympus]",
        "2026-11-30 12:39:00+05:00[Europe/Berlin]",
        "2026-10-25 02:30:00[Europe/Berlin]",
        "2026-03-29 02:30:00[Europe/Berlin]",
        "2026-11-30 12:39:00+00'; DROP",
        "latest",
    ] {
        let error = RecoveryTarget::parse(text).unwrap_err();
        assert!(matches!(error, TargetError::Format { .. }), "{text}: {error}");
        assert_eq!(error.code(), "restore-target-format-invalid");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same_moment(seconds in 0_i64..4_000_000_000, micros in 0_i32..1_000_000) {
        let moment = Timestamp::new(seconds, micros * 1000).unwrap();
        let text = RecoveryTarget::Time(moment).for_postgres().unwrap();
        prop_assert_eq!(RecoveryTarget::parse(&text), Ok(RecoveryTarget::Time(moment)));
        prop_assert_eq!(RecoveryTarget::parse(&moment.to_string()), Ok(RecoveryTarget::Time(moment)));
    }

    #[test]
    fn the_zone_does_not_change_the_moment(hours in -12_i8..=14, zone in prop_oneof!["Europe/Berlin", "Asia/Seoul", "America/St_Johns", "UTC"]) {
        let moment = at("2026-11-30T12:39:00Z");
        let offset = jiff::tz::Offset::constant(hours);
        let text = format!("{}{:+03}", offset.to_datetime(moment).strftime("%Y-%m-%d %H:%M:%S"), hours);
        prop_assert_eq!(RecoveryTarget::parse(&text), Ok(RecoveryTarget::Time(moment)), "{}", text);
        let local = moment.to_zoned(jiff::tz::TimeZone::get(&zone).unwrap());
        let text = format!("{}[{zone}]", local.datetime());
        prop_assert_eq!(RecoveryTarget::parse(&text), Ok(RecoveryTarget::Time(moment)), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,100}", near in "[0-9: TZ+.\\[\\]/a-z-]{0,40}") {
        let _ = RecoveryTarget::parse(&text);
        let _ = RecoveryTarget::parse(&near);
        let _ = RecoveryTarget::parse(&format!("2026-11-30 12:39:00{near}"));
    }
}
