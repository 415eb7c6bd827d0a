//! Durations as people write them in configuration and runbooks: `90s`, `15m`, `26h`, `35d`, `1h30m`.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a written duration looks like, for the JSON Schema.
const PATTERN: &str = "^([0-9]+(ms|s|m|h|d|w))+$";

/// The units, longest word first so that `ms` is not read as `m`; the figure is milliseconds.
const UNITS: [(&str, u64); 6] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Nothing there.
    #[error("an empty text is not a duration")]
    Empty,
    /// A bare number.
    #[error("\"{0}\" has no unit")]
    NoUnit(String),
    /// Something else.
    #[error("\"{0}\" is not a duration")]
    NotADuration(String),
    /// Longer than the program can count.
    #[error("\"{0}\" is too long a duration")]
    TooLong(String),
}

impl SpanError {
    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::NoUnit(number) => format!("write the unit behind the number: {number}s, {number}m, {number}h or {number}d"),
            _ => "a duration is a whole number with its unit: 90s, 15m, 26h, 35d (also 1h30m, 500ms, 2w)".to_owned(),
        }
    }
}

/// A duration as it stands in YAML: a text with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    /// Seconds as the nouns carry them.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl std::str::FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        if text.is_empty() {
            return Err(SpanError::Empty);
        }
        let too_long = || SpanError::TooLong(text.to_owned());
        let mut rest = text;
        let mut millis = 0_u64;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, tail) = rest.split_at(digits);
            if number.is_empty() {
                return Err(SpanError::NotADuration(text.to_owned()));
            }
            if tail.is_empty() {
                let bare = number.len() == text.len();
                return Err(if bare { SpanError::NoUnit(text.to_owned()) } else { SpanError::NotADuration(text.to_owned()) });
            }
            let Some((unit, factor)) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit)) else {
                return Err(SpanError::NotADuration(text.to_owned()));
            };
            let number: u64 = number.parse().map_err(|_| too_long())?;
            millis = number.checked_mul(*factor).and_then(|part| part.checked_add(millis)).ok_or_else(too_long)?;
            rest = tail.strip_prefix(unit).unwrap_or_default();
        }
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl std::fmt::Display for Span {
    /// One unit, the largest that divides it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        let largest =
            UNITS.iter().rev().filter(|(unit, _)| *unit != "w").find(|(_, factor)| millis.is_multiple_of(u128::from(*factor)));
        match largest {
            Some((unit, factor)) => write!(f, "{}{unit}", millis / u128::from(*factor)),
            None => write!(f, "{millis}ms"),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: SpanError| serde::de::Error::custom(error))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": PATTERN,
            "description": "A duration: a whole number with its unit, 90s, 15m, 26h, 35d (also 1h30m, 500ms, 2w).",
        })
    }
}
