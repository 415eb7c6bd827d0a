//! Ages, durations, sizes and rates as people read them. JSON carries RFC 3339 and plain numbers instead.

use jiff::Timestamp;

/// `5 s`, `2 min`, `9 h`, `41 d`: one unit, rounded down; below two units of the larger one the smaller is kept (`90 s`, `47 h`).
pub fn duration_in_words(seconds: f64) -> String {
    let magnitude = seconds.abs();
    if magnitude < 10.0 {
        return format!("{seconds:.1} s");
    }
    let (value, unit) = if magnitude < 120.0 {
        (seconds, "s")
    } else if magnitude < 7_200.0 {
        (seconds / 60.0, "min")
    } else if magnitude < 172_800.0 {
        (seconds / 3_600.0, "h")
    } else {
        (seconds / 86_400.0, "d")
    };
    format!("{:.0} {unit}", value.trunc())
}

/// `1 base backup`, `3 base backups`: for nouns that take an s.
pub fn many(count: impl Into<Count>, one: &str) -> String {
    let Count(count) = count.into();
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// How many of something: lengths and sums alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(u64);

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Self(count)
    }
}

impl From<usize> for Count {
    fn from(count: usize) -> Self {
        Self(count as u64)
    }
}

/// `4 min ago`; `in 3 h` for a moment that is still to come.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs_f64();
    if seconds < 0.0 { format!("in {}", duration_in_words(-seconds)) } else { format!("{} ago", duration_in_words(seconds)) }
}

/// `579 MiB`: binary units, three digits at most before the point.
pub fn bytes_in_words(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        unit = next;
        if value < 1024.0 {
            break;
        }
        if next != "PiB" {
            value /= 1024.0;
        }
    }
    if unit == "B" || value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `214 MiB/s`.
pub fn rate(bytes: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "-".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people; saturates")]
    let per_second = (bytes as f64 / seconds) as u64;
    format!("{}/s", bytes_in_words(per_second))
}
