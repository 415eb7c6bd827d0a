//! One field of a schedule, read as robfig/cron reads it.

use super::CalendarError;

/// What a field may hold.
pub(super) struct Bounds {
    /// For people.
    pub(super) name: &'static str,
    /// The least value.
    pub(super) min: u32,
    /// The greatest value.
    pub(super) max: u32,
    /// Names of the values, from the least on.
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Of the six fields, in their order.
pub(super) const BOUNDS: [Bounds; 6] = [
    Bounds { name: "second", min: 0, max: 59, names: &[] },
    Bounds { name: "minute", min: 0, max: 59, names: &[] },
    Bounds { name: "hour", min: 0, max: 23, names: &[] },
    Bounds { name: "day of month", min: 1, max: 31, names: &[] },
    Bounds { name: "month", min: 1, max: 12, names: MONTHS },
    Bounds { name: "day of week", min: 0, max: 6, names: DAYS },
];

/// The values of a field that match, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) bits: u64,
    /// A star stands in it, so that it restricts nothing in the sense of the two fields of days.
    pub(super) star: bool,
}

impl Field {
    /// Everything.
    pub(super) fn all(bounds: &Bounds) -> Self {
        Self { bits: bits(bounds.min, bounds.max, 1), star: true }
    }

    /// Its values, lowest first.
    pub(super) fn values(self, bounds: &Bounds) -> Vec<u32> {
        (bounds.min..=bounds.max).filter(|value| self.bits >> value & 1 == 1).collect()
    }
}

/// Reads a field: ranges, joined by commas. A field of nothing but commas holds no value, and is not refused there either.
pub(super) fn parse(text: &str, bounds: &Bounds, stepped_star_restricts: bool) -> Result<Field, CalendarError> {
    let mut field = Field::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let found = range(part, bounds, stepped_star_restricts).map_err(|why| CalendarError::Field {
            field: bounds.name,
            part: part.to_owned(),
            why,
        })?;
        field.bits |= found.bits;
        field.star |= found.star;
    }
    Ok(field)
}

/// `5`, `1-5`, `*/15`, `5/15` (from 5 to the end), `mon-fri`.
fn range(part: &str, bounds: &Bounds, stepped_star_restricts: bool) -> Result<Field, String> {
    let mut by_slash = part.split('/');
    let (span, step, too_much) = (by_slash.next().unwrap_or_default(), by_slash.next(), by_slash.next());
    if too_much.is_some() {
        return Err("more than one step".to_owned());
    }
    let ends: Vec<&str> = span.split('-').collect();
    let star = matches!(ends.first(), Some(&"*" | &"?"));
    let (start, mut end) = match ends.as_slice() {
        _ if star => (bounds.min.into(), bounds.max.into()),
        [one] => (value(one, bounds)?, value(one, bounds)?),
        [low, high] => (value(low, bounds)?, value(high, bounds)?),
        _ => return Err("more than one range".to_owned()),
    };
    let step = step.map_or(Ok(1), number)?;
    if part.contains('/') && ends.len() == 1 {
        end = bounds.max.into();
    }
    if start < bounds.min.into() || end > bounds.max.into() {
        return Err(format!("only {} to {} are", bounds.min, bounds.max));
    }
    if start > end {
        return Err("it ends before it begins".to_owned());
    }
    if step == 0 {
        return Err("a step of nothing".to_owned());
    }
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(Field { bits: bits(small(start), small(end), small(step)), star: star && !(step > 1 && stepped_star_restricts) })
}

fn value(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let named = bounds.names.iter().zip(u64::from(bounds.min)..).find(|(name, _)| name.eq_ignore_ascii_case(text));
    named.map_or_else(|| number(text), |(_, value)| Ok(value))
}

/// As Go's `Atoi` takes it: a sign may stand in front.
fn number(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    u64::try_from(number).map_err(|_| "it is below zero".to_owned())
}

fn bits(start: u32, end: u32, step: u32) -> u64 {
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    (start..=end).step_by(step).fold(0, |bits, value| bits | 1 << value)
}
