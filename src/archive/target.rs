//! The moment a person wants to go back to.
//!
//! PostgreSQL's `recovery_target_time` refuses a `Z` and every abbreviation, and reads a time without a zone in the server's own zone.
//! We read more, insist on a zone, and write one form only: `2026-11-30 12:39:00.000000+00`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::{ExitCode, Explained};

/// Where recovery shall end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryTarget {
    /// With the last complete segment of the timeline.
    End,
    /// With the last commit before or at this moment.
    Time(Timestamp),
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A moment without a zone: nobody can tell which one is meant.
    #[error("the recovery target \"{text}\" has no time zone")]
    WithoutZone {
        /// What was given.
        text: String,
        /// The same moment read as UTC, for the hint.
        as_utc: String,
    },
    /// Not a moment that we can read.
    #[error("the recovery target \"{text}\" cannot be read: {why}")]
    Format {
        /// What was given.
        text: String,
        /// What is wrong.
        why: String,
    },
}

impl Explained for TargetError {
    fn code(&self) -> &'static str {
        match self {
            Self::WithoutZone { .. } => "restore-target-without-timezone",
            Self::Format { .. } => "restore-target-format-invalid",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::WithoutZone { as_utc, .. } => format!("write the offset: --target \"{as_utc}\" if UTC is meant"),
            Self::Format { .. } => "write --target \"2026-11-30 12:39:00+00\", or --target end".to_owned(),
        })
    }

    fn exit(&self) -> ExitCode {
        ExitCode::Usage
    }
}

impl RecoveryTarget {
    /// Reads `end`, or a moment with its zone: `2026-11-30 12:39:00+00`, `2026-11-30T12:39:00Z`, `2026-11-30 13:39[Europe/Berlin]`.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        if text == "end" {
            return Ok(Self::End);
        }
        let given = || text.chars().take(80).collect::<String>();
        let format = |why: &str| TargetError::Format { text: given(), why: why.to_owned() };
        if text.len() > 80 || !text.is_ascii() {
            return Err(format("it is no moment"));
        }
        let (moment, zone) = match text.strip_suffix(']').and_then(|head| head.split_once('[')) {
            Some((moment, zone)) => (moment.trim_end(), Some(zone)),
            None => (text, None),
        };
        let (civil, offset) = split_offset(moment);
        let civil: DateTime = civil.parse().map_err(|_| format(why_not(civil)))?;
        let zone = match (offset, zone) {
            (None, None) => {
                let as_utc = civil.to_zoned(TimeZone::UTC).map(|zoned| written(zoned.timestamp())).unwrap_or_default();
                return Err(TargetError::WithoutZone { text: given(), as_utc });
            }
            (Some(offset), None) => TimeZone::fixed(offset_of(offset).ok_or_else(|| format("its offset is none"))?),
            (None, Some(name)) => named_zone(name).ok_or_else(|| format("its time zone is not known"))?,
            (Some(offset), Some(name)) => {
                let offset = offset_of(offset).ok_or_else(|| format("its offset is none"))?;
                let zone = named_zone(name).ok_or_else(|| format("its time zone is not known"))?;
                let moment = offset.to_timestamp(civil).map_err(|_| format("it is out of range"))?;
                if zone.to_offset(moment) != offset {
                    return Err(format("its offset is not that of its time zone"));
                }
                TimeZone::fixed(offset)
            }
        };
        let instant = zone.to_ambiguous_timestamp(civil);
        if instant.is_ambiguous() {
            return Err(format("this wall-clock time exists twice or never in that zone; write the offset"));
        }
        instant.compatible().map(Self::Time).map_err(|_| format("it is out of range"))
    }

    /// What goes into `recovery_target_time`; `None` for the end.
    pub fn for_postgres(self) -> Option<String> {
        match self {
            Self::End => None,
            Self::Time(moment) => Some(written(moment)),
        }
    }
}

impl std::fmt::Display for RecoveryTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::Time(moment) => f.write_str(&written(*moment)),
        }
    }
}

impl std::str::FromStr for RecoveryTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text)
    }
}

/// `2026-11-30 12:39:00.000000+00`. Cut to microseconds, never rounded up: a later moment could include what must not come back.
fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S.%6f+00").to_string()
}

/// `…Z`, `…+00`, `…+05:30`, `…-0330`: cut off at the sign, which must stand behind the time of day.
fn split_offset(text: &str) -> (&str, Option<&str>) {
    if let Some(head) = text.strip_suffix(['Z', 'z']) {
        return (head.trim_end(), Some("+00"));
    }
    if let Some(head) = text.strip_suffix(" UTC") {
        return (head.trim_end(), Some("+00"));
    }
    let clock = text.find(':').unwrap_or(text.len());
    match text.get(clock..).and_then(|tail| tail.find(['+', '-'])).and_then(|at| text.split_at_checked(clock + at)) {
        Some((head, offset)) => (head.trim_end(), Some(offset)),
        None => (text, None),
    }
}

fn named_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

fn offset_of(text: &str) -> Option<jiff::tz::Offset> {
    let negative = text.starts_with('-');
    let digits: String = text.chars().skip(1).filter(|letter| *letter != ':').collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    // PostgreSQL takes up to 15:59:59.
    if hours > 15 || minutes > 59 {
        return None;
    }
    let seconds = hours * 3600 + minutes * 60;
    jiff::tz::Offset::from_seconds(if negative { -seconds } else { seconds }).ok()
}

fn why_not(civil: &str) -> &'static str {
    let ends_in_letters = civil.rsplit([' ', 'T']).next().is_some_and(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic()));
    if ends_in_letters { "abbreviations of time zones are not unambiguous" } else { "it is no moment" }
}
