//! Durations as Go writes them: `1h30m`, `1.5h`, `500ms`. <https://pkg.go.dev/time#ParseDuration>

use jiff::SignedDuration;

/// Longest word first, so that `ms` is not read as `m`; the figure is seconds.
const UNITS: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];

/// Longest duration that Go can hold, in seconds.
const LONGEST: f64 = 9_223_372_036.0;

/// The pause of `@every`: whole seconds, and never less than one.
pub(super) fn pause(text: &str) -> Option<SignedDuration> {
    let seconds = seconds(text)?;
    #[expect(clippy::cast_possible_truncation, reason = "cut to whole seconds, far below the limits of i64")]
    let whole = seconds.max(1.0) as i64;
    Some(SignedDuration::from_secs(whole))
}

fn seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (digits, tail) = rest.split_at(number);
        if digits.matches('.').count() > 1 || !digits.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (word, factor) = UNITS.iter().find(|(word, _)| tail.starts_with(word))?;
        let value: f64 = digits.parse().ok()?;
        sum += value * factor;
        rest = tail.strip_prefix(word)?;
        // `1hour`: the letters up to the next number are one word.
        if rest.starts_with(|c: char| c.is_alphabetic()) {
            return None;
        }
    }
    (sum <= LONGEST).then_some(sign * sum)
}
