//! The types that a parameter can have, and how a value of each is read.

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::domain::{SqlCheck, Subject};

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Any text.
    Text,
    /// A subject: `pg/home/prod/keycloak-db`.
    Subject,
    /// Where recovery stops: `end`, or a time (RFC 3339).
    Target,
    /// A timeline: a number, never `latest`.
    Timeline,
    /// A length of time: `90s`, `15m`, `26h`, `35d`. Handed on as seconds.
    Duration,
    /// A size: `512MiB`, `2GiB`, or plain bytes. Handed on as bytes.
    Bytes,
    /// `true` or `false`.
    Bool,
    /// A list of SQL checks (name, database, sql, expect, …), as in the configuration.
    Checks,
}

impl Kind {
    /// All kinds, for messages and documentation.
    pub const ALL: [Self; 8] =
        [Self::Text, Self::Subject, Self::Target, Self::Timeline, Self::Duration, Self::Bytes, Self::Bool, Self::Checks];

    /// The word in the text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Subject => "subject",
            Self::Target => "target",
            Self::Timeline => "timeline",
            Self::Duration => "duration",
            Self::Bytes => "bytes",
            Self::Bool => "bool",
            Self::Checks => "checks",
        }
    }

    /// Reads a value of this kind into the form that verbs are given. The error says what would be right.
    pub fn read(self, value: &Value) -> Result<Value, String> {
        match (self, value) {
            (Self::Text, Value::String(_)) | (Self::Bool, Value::Bool(_)) => Ok(value.clone()),
            (Self::Text, Value::Number(number)) => Ok(Value::String(number.to_string())),
            (Self::Subject, Value::String(text)) => {
                text.parse::<Subject>().map(|subject| Value::String(subject.to_string())).map_err(|error| error.to_string())
            }
            (Self::Target, Value::String(text)) => target(text),
            (Self::Timeline, Value::Number(number)) => timeline(&number.to_string()),
            (Self::Timeline, Value::String(text)) => timeline(text),
            (Self::Duration, Value::String(text)) => duration_seconds(text).and_then(seconds_value),
            (Self::Duration, Value::Number(number)) => {
                Err(format!("{number} has no unit (write {number}s, {number}m, {number}h or {number}d)"))
            }
            (Self::Bytes, Value::Number(number)) if number.is_u64() => Ok(value.clone()),
            (Self::Bytes, Value::String(text)) => bytes(text).map(Value::from),
            (Self::Bool, Value::String(text)) if text == "true" || text == "false" => Ok(Value::Bool(text == "true")),
            (Self::Checks, Value::Array(_)) => match serde_json::from_value::<Vec<SqlCheck>>(value.clone()) {
                Ok(_) => Ok(value.clone()),
                Err(error) => Err(format!("not a list of checks: {error}")),
            },
            _ => Err(format!("{} is not {}", shown(value), self.right())),
        }
    }

    /// What a right value looks like.
    const fn right(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Subject => "a subject (pg/home/prod/keycloak-db)",
            Self::Target => "a target (\"end\", or a time as 2026-09-30T14:58:12Z)",
            Self::Timeline => "a timeline (a number from 1)",
            Self::Duration => "a duration (90s, 15m, 26h, 35d)",
            Self::Bytes => "a size (512MiB, 2GiB, or bytes)",
            Self::Bool => "true or false",
            Self::Checks => "a list of checks",
        }
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 { format!("{}…", text.chars().take(60).collect::<String>()) } else { text }
}

fn target(text: &str) -> Result<Value, String> {
    if text == "end" {
        return Ok(Value::from("end"));
    }
    if text == "latest" {
        return Err("the target is called \"end\": everything that the catalogue says must be there".to_owned());
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Value::String(moment.to_string()));
    }
    Err(match text.parse::<DateTime>() {
        Ok(civil) => format!("\"{text}\" has no time zone: write {civil}Z if UTC is meant, else its offset (+02:00)"),
        Err(_) => format!("\"{text}\" is not {}", Kind::Target.right()),
    })
}

fn timeline(text: &str) -> Result<Value, String> {
    if text == "latest" {
        return Err(
            "a drill names its timeline, never \"latest\" (leave it out to take the one of the newest base backup)".to_owned()
        );
    }
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(Value::from(number)),
        _ => Err(format!("\"{text}\" is not {}", Kind::Timeline.right())),
    }
}

fn seconds_value(seconds: f64) -> Result<Value, String> {
    Number::from_f64(seconds).map(Value::Number).ok_or_else(|| "not a finite length of time".to_owned())
}

/// Seconds of `90s`, `15m`, `26h`, `35d`, or several in falling order: `1h30m`. The error says what would be right.
pub fn duration_seconds(text: &str) -> Result<f64, String> {
    let bad = || format!("\"{text}\" is not {}", Kind::Duration.right());
    let mut rest = text.trim();
    let mut total = 0.0;
    let mut smaller_than = f64::INFINITY;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit_seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        if unit_seconds >= smaller_than {
            return Err(bad());
        }
        smaller_than = unit_seconds;
        total += number.parse::<f64>().map_err(|_| bad())? * unit_seconds;
        rest = behind.trim_start();
    }
    // A thousand years: more is a slip of the finger, and less than Duration's limit.
    if total > 0.0 && total < 3.2e10 { Ok(total) } else { Err(bad()) }
}

fn bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("\"{text}\" is not {}", Kind::Bytes.right());
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(bad()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(bad)
}
