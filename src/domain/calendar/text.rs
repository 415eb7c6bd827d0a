//! A whole schedule as text: zone, word or fields.

use jiff::tz::TimeZone;

use super::field::{self, BOUNDS, Field};
use super::wall::Wall;
use super::{Calendar, CalendarError, Dialect, Due, every};

/// Words and what they stand for, the seconds first.
const WORDS: [(&str, [&str; 6]); 7] = [
    ("@yearly", ["0", "0", "0", "1", "1", "*"]),
    ("@annually", ["0", "0", "0", "1", "1", "*"]),
    ("@monthly", ["0", "0", "0", "1", "*", "*"]),
    ("@weekly", ["0", "0", "0", "*", "*", "0"]),
    ("@daily", ["0", "0", "0", "*", "*", "*"]),
    ("@midnight", ["0", "0", "0", "*", "*", "*"]),
    ("@hourly", ["0", "0", "*", "*", "*", "*"]),
];

pub(super) fn parse(dialect: Dialect, written: &str) -> Result<Calendar, CalendarError> {
    let (zone, rest) = match dialect {
        Dialect::Cnpg => (TimeZone::UTC, written),
        Dialect::CronJob | Dialect::Velero => prefixed(written)?,
    };
    let due = if let Some(pause) = rest.strip_prefix("@every ") {
        Due::Every(every::pause(pause).ok_or_else(|| CalendarError::Every(pause.to_owned()))?)
    } else if rest.starts_with('@') {
        let (_, fields) = WORDS.iter().find(|(word, _)| *word == rest).ok_or_else(|| CalendarError::Word(rest.to_owned()))?;
        Due::At(matcher(dialect, fields)?)
    } else {
        Due::At(matcher(dialect, &fields(dialect, rest)?)?)
    };
    Ok(Calendar { zone, due })
}

/// `CRON_TZ=Zone …` or `TZ=Zone …`.
fn prefixed(written: &str) -> Result<(TimeZone, &str), CalendarError> {
    let Some(named) = written.strip_prefix("CRON_TZ=").or_else(|| written.strip_prefix("TZ=")) else {
        return Ok((TimeZone::UTC, written));
    };
    let (name, rest) = named.split_once(' ').ok_or_else(|| CalendarError::Zone(named.to_owned()))?;
    Ok((zone(name)?, rest.trim()))
}

/// By its name. No name at all is UTC, as Go has it.
pub(super) fn zone(name: &str) -> Result<TimeZone, CalendarError> {
    if name.is_empty() || name == "UTC" {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| CalendarError::Zone(name.to_owned()))
}

/// The six fields, the seconds first. Five of CNPG lack the day of the week, five of the others the seconds.
fn fields<'a>(dialect: Dialect, text: &'a str) -> Result<[&'a str; 6], CalendarError> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    match (dialect, parts.as_slice()) {
        (Dialect::Cnpg, &[second, minute, hour, day, month]) => Ok([second, minute, hour, day, month, "*"]),
        (Dialect::Cnpg, &[second, minute, hour, day, month, weekday]) => Ok([second, minute, hour, day, month, weekday]),
        (Dialect::CronJob | Dialect::Velero, &[minute, hour, day, month, weekday]) => {
            Ok(["0", minute, hour, day, month, weekday])
        }
        (_, parts) => Err(CalendarError::Count {
            dialect,
            text: text.to_owned(),
            found: parts.len(),
            wanted: if dialect == Dialect::Cnpg { "six" } else { "five" },
        }),
    }
}

fn matcher(dialect: Dialect, texts: &[&str; 6]) -> Result<Wall, CalendarError> {
    let mut fields = [Field::default(); 6];
    for ((field, text), bounds) in fields.iter_mut().zip(texts).zip(&BOUNDS) {
        *field = field::parse(text, bounds, dialect.stepped_star_restricts())?;
    }
    Wall::new(fields)
}
