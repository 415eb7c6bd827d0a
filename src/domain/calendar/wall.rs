//! Wall times that match the fields. The crate `cron` does the matching; its own text, its weekdays from 1 and its zones are kept out.

use std::str::FromStr as _;

use chrono::{DateTime as ChronoTime, Datelike as _, NaiveDate, Timelike as _, Utc};
use cron::Schedule;
use jiff::civil::DateTime;

use super::CalendarError;
use super::field::{BOUNDS, Bounds, Field};

/// What a wall clock has to show. Two matchers where both fields of days restrict: there one of them is enough.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wall(Vec<Schedule>);

impl Wall {
    pub(super) fn new(fields: [Field; 6]) -> Result<Self, CalendarError> {
        let [second, minute, hour, day, month, weekday] = fields;
        let [.., of_day, _, of_weekday] = &BOUNDS;
        let days = if day.star || weekday.star {
            vec![(day, weekday)]
        } else {
            vec![(day, Field::all(of_weekday)), (Field::all(of_day), weekday)]
        };
        let rows = days.into_iter().map(|(day, weekday)| [second, minute, hour, day, month, weekday]);
        // A field without any value never matches.
        let rows = rows.filter(|row| row.iter().all(|field| field.bits != 0));
        rows.map(|row| schedule(&row)).collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// The first match after a wall time.
    pub(super) fn after(&self, wall: DateTime) -> Option<DateTime> {
        let from = to_chrono(wall)?;
        self.0.iter().filter_map(|schedule| schedule.after(&from).next()).min().and_then(from_chrono)
    }

    /// The last match before a wall time.
    pub(super) fn before(&self, wall: DateTime) -> Option<DateTime> {
        let from = to_chrono(wall)?;
        self.0.iter().filter_map(|schedule| schedule.after(&from).next_back()).max().and_then(from_chrono)
    }
}

fn schedule(row: &[Field; 6]) -> Result<Schedule, CalendarError> {
    let text = row.iter().zip(&BOUNDS).map(|(field, bounds)| list(*field, bounds)).collect::<Vec<_>>().join(" ");
    Schedule::from_str(&text).map_err(|_| CalendarError::Matcher(text))
}

/// The values in the crate's spelling: its weekdays run from 1 (Sunday).
fn list(field: Field, bounds: &Bounds) -> String {
    if field.bits == Field::all(bounds).bits {
        return "*".to_owned();
    }
    let shift = u32::from(bounds.max == 6);
    field.values(bounds).iter().map(|value| (value + shift).to_string()).collect::<Vec<_>>().join(",")
}

fn to_chrono(wall: DateTime) -> Option<ChronoTime<Utc>> {
    let part = |value: i8| u32::try_from(value).ok();
    let date = NaiveDate::from_ymd_opt(wall.year().into(), part(wall.month())?, part(wall.day())?)?;
    Some(date.and_hms_opt(part(wall.hour())?, part(wall.minute())?, part(wall.second())?)?.and_utc())
}

fn from_chrono(time: ChronoTime<Utc>) -> Option<DateTime> {
    let part = |value: u32| i8::try_from(value).ok();
    let year = i16::try_from(time.year()).ok()?;
    let (month, day) = (part(time.month())?, part(time.day())?);
    DateTime::new(year, month, day, part(time.hour())?, part(time.minute())?, part(time.second())?, 0).ok()
}
