//! The disk-full clock of a database: when the volume that holds its WAL is full, as a range, or why that cannot be said.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Why WAL stays on the volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// Nothing is known of it.
    #[default]
    NotKnown,
    /// It does not: what is made is archived.
    Not,
    /// Nothing was archived for a while although WAL waits.
    ArchivingFails,
    /// Archiving works, and slower than WAL is made.
    ArchivingIsSlower,
    /// A replication slot holds it.
    Slot,
    /// Archiving works again after an outage; the backlog goes, or is gone and no base backup followed.
    Draining,
}

/// Why there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoNumber {
    /// No metric of this database is known.
    NoMetrics,
    /// What is held does not grow.
    Flat,
    /// What is held gets less.
    Shrinking,
    /// It grows, and by what was seen so far it will be gone again before the volume is full.
    Drains,
    /// There are two samples, or one: two points make a line of anything.
    TwoSamples,
    /// What is known of the past is too short for what would have to be said.
    HistoryTooShort,
    /// Counters were restarted, and what is known since is too short.
    CountersRestarted,
    /// The volume was resized, and what is known since is too short.
    VolumeResized,
    /// The free bytes of the volume that holds WAL are not known.
    VolumeNotSeen,
    /// A limit (`max_slot_wal_keep_size`) ends the growth before the volume is full.
    Bounded,
}

impl NoNumber {
    /// For people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoMetrics => "no metrics of this database are known",
            Self::Flat => "what is held does not grow",
            Self::Shrinking => "what is held gets less",
            Self::Drains => "by what was seen so far it drains before the volume is full",
            Self::TwoSamples => "only two samples are known",
            Self::HistoryTooShort => "the history is too short",
            Self::CountersRestarted => "counters were restarted, and the history since is too short",
            Self::VolumeResized => "the volume was resized, and the history since is too short",
            Self::VolumeNotSeen => "the free bytes of the volume that holds WAL are not known",
            Self::Bounded => "max_slot_wal_keep_size ends the growth first",
        }
    }
}

/// A stretch of time from now on, in seconds: at the soonest, most likely, at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// At the soonest.
    pub low: f64,
    /// Half of the futures that the past shows are sooner.
    pub middle: f64,
    /// At the latest.
    pub high: f64,
}

impl fmt::Display for Within {
    /// `7–12 h`, `40–75 min`, `3–9 d`: one unit, the low end rounded down and the high end up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, word) = if self.middle < 120.0 {
            (1.0, "s")
        } else if self.middle < 2.0 * 3_600.0 {
            (60.0, "min")
        } else if self.middle < 72.0 * 3_600.0 {
            (3_600.0, "h")
        } else {
            (86_400.0, "d")
        };
        let (low, high) = ((self.low / unit).floor(), (self.high / unit).ceil());
        if (high - low).abs() < 0.5 { write!(f, "{low:.0} {word}") } else { write!(f, "{low:.0}–{high:.0} {word}") }
    }
}

/// Which volume `pg_wal` lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WalVolume {
    /// A volume of its own.
    Own,
    /// The data volume.
    Data,
}

/// A time in which nothing was archived although WAL was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// Nothing was archived from then on.
    pub from: Timestamp,
    /// Archiving worked again; `None` = it does not yet.
    pub until: Option<Timestamp>,
}

/// The clock of one database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Why WAL stays on the volume.
    pub held: Held,
    /// Seconds until the volume is full, at the rate of what the past shows.
    pub full_in: Option<Within>,
    /// Why there is no number.
    pub no_number: Option<NoNumber>,
    /// Seconds until nothing is held any more; while draining.
    pub drained_in: Option<Within>,
    /// Since when it is held.
    pub since: Option<Timestamp>,
    /// The outage that is drained.
    pub outage: Option<Outage>,
    /// Which volume.
    pub volume: Option<WalVolume>,
    /// Its free bytes.
    pub free_bytes: Option<f64>,
    /// Its size.
    pub capacity_bytes: Option<f64>,
    /// WAL that is held: what waits for the archiver, or what a slot holds.
    pub held_bytes: Option<f64>,
    /// Segments that wait for the archiver.
    pub ready: Option<f64>,
    /// WAL made, bytes per second, of late.
    pub made_per_second: Option<f64>,
    /// WAL archived (or let go by the slot), bytes per second, of late.
    pub gone_per_second: Option<f64>,
    /// Age of the oldest WAL that is held, seconds.
    pub lag_seconds: Option<f64>,
    /// Samples that the clock was computed from.
    pub samples: usize,
    /// Seconds of history that it was computed from.
    pub history_seconds: f64,
}

impl Clock {
    /// Hours to full, at the soonest and at the latest.
    pub fn hours(&self) -> Option<(f64, f64)> {
        self.full_in.map(|within| (within.low / 3_600.0, within.high / 3_600.0))
    }

    /// Whether WAL is held and gets more, or is not gone yet.
    pub const fn runs(&self) -> bool {
        matches!(self.held, Held::ArchivingFails | Held::ArchivingIsSlower | Held::Slot | Held::Draining)
    }

    /// One line of what it rests on: `579 MiB waits in 37 segments, 4.3 GiB free, 41 MiB/h made`.
    pub fn grounds(&self) -> String {
        let bytes = |value: f64| super::bytes_in_words(whole(value));
        let mut parts = Vec::new();
        if let Some(held) = self.held_bytes {
            let files = self.ready.filter(|_| self.held != Held::Slot).map(|ready| format!(" in {ready:.0} segments"));
            parts.push(format!("{} held{}", bytes(held), files.unwrap_or_default()));
        }
        if let Some(free) = self.free_bytes {
            let of = self.capacity_bytes.map(|capacity| format!(" of {}", bytes(capacity))).unwrap_or_default();
            parts.push(format!("{} free{of}", bytes(free)));
        }
        if let Some(made) = self.made_per_second {
            parts.push(format!("{}/h made", bytes(made * 3_600.0)));
        }
        if let Some(gone) = self.gone_per_second {
            let word = if self.held == Held::Slot { "let go" } else { "archived" };
            parts.push(format!("{}/h {word}", bytes(gone * 3_600.0)));
        }
        parts.join(", ")
    }
}

/// Bytes for words; what is negative or no number is nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes for people; saturates")]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

impl fmt::Display for Clock {
    /// `full 7–12 h`, `drains 2–3 h`, `no growth`, `full ?`; `-` when nothing is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.held, self.full_in, self.drained_in) {
            (Held::Draining, None, Some(within)) => write!(f, "drains {within}"),
            (Held::Draining, None, None) => f.write_str("drained"),
            (_, Some(within), _) => write!(f, "full {within}"),
            (Held::NotKnown, None, _) => f.write_str("-"),
            (Held::Not, None, _) => f.write_str("no growth"),
            (_, None, _) => match self.no_number {
                Some(NoNumber::Flat | NoNumber::Shrinking | NoNumber::Bounded) => f.write_str("no growth"),
                Some(NoNumber::Drains) => f.write_str("drains"),
                _ => f.write_str("full ?"),
            },
        }
    }
}
