//! Why a text is not a schedule.

use super::Dialect;

/// What is wrong with a schedule's text, in the sense of the scheduler that has to read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// Too few or too many fields.
    #[error("\"{text}\" has {found} fields, {} reads {wanted}", dialect.as_str())]
    Count {
        /// Whose text.
        dialect: Dialect,
        /// The text.
        text: String,
        /// Fields found.
        found: usize,
        /// Fields that are read.
        wanted: &'static str,
    },
    /// A field that says nothing.
    #[error("\"{part}\" is no {field}: {why}")]
    Field {
        /// `minute`, `day of week`, …
        field: &'static str,
        /// The part of it.
        part: String,
        /// What is wrong.
        why: String,
    },
    /// A word behind `@` that no scheduler knows.
    #[error("\"{0}\" is not a word that it knows")]
    Word(String),
    /// `@every` with something that is no duration.
    #[error("\"{0}\" is not a duration as Go writes them")]
    Every(String),
    /// No such time zone.
    #[error("\"{0}\" is not a time zone")]
    Zone(String),
    /// Ours: the matcher does not take what was understood.
    #[error("\"{0}\" was read and cannot be matched")]
    Matcher(String),
}

impl CalendarError {
    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::Count { dialect: Dialect::Cnpg, .. } => {
                "six fields, the seconds first: \"0 0 3 * * *\" is every night at three".to_owned()
            }
            Self::Count { .. } => "five fields, the minute first: \"0 3 * * *\" is every night at three".to_owned(),
            Self::Field { .. } => {
                "numbers, ranges (1-5), lists (1,15) and steps (*/6); days of the week are 0 (Sunday) to 6".to_owned()
            }
            Self::Word(_) => "one of @yearly @monthly @weekly @daily @hourly, or @every 12h".to_owned(),
            Self::Every(_) => "hours, minutes and seconds: @every 1h30m".to_owned(),
            Self::Zone(_) => "a name of the tz database: Europe/Berlin, or UTC".to_owned(),
            Self::Matcher(_) => "dalsegno doctor, and send us the text of the schedule".to_owned(),
        }
    }
}
