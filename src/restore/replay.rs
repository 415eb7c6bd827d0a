//! Where replay is, and where it ended.

use std::fs;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::held::Chosen;
use super::recover::moment;
use super::sandbox::Sandbox;
use super::session::{Session, words};
use super::title::StartupTitle;
use super::trouble::Trouble;
use crate::archive::{History, Lsn, SegmentName};

/// One look over SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether it is a standby.
    pub in_recovery: bool,
    /// Behind the last replayed record.
    pub lsn: Option<Lsn>,
    /// Whether replay pauses: at the target, or because our limits are smaller than the source's.
    pub paused: bool,
}

/// Looks.
pub async fn look(session: &mut Session) -> Result<Seen, sqlx::Error> {
    let row = session
        .row(
            "select pg_catalog.pg_is_in_recovery(), pg_catalog.pg_last_wal_replay_lsn(), \
             case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_is_wal_replay_paused() else false end",
        )
        .await?;
    let text = |at: usize| row.get(at).and_then(Option::as_deref);
    Ok(Seen { in_recovery: text(0) == Some("t"), lsn: text(1).and_then(|text| text.parse().ok()), paused: text(2) == Some("t") })
}

/// Progress of replay as time goes by.
#[derive(Debug)]
pub struct Replay {
    lsn: Option<Lsn>,
    title: Option<StartupTitle>,
    moved: Instant,
}

impl Default for Replay {
    /// Nothing is known yet.
    fn default() -> Self {
        Self { lsn: None, title: None, moved: Instant::now() }
    }
}

impl Replay {
    /// What the title of the startup process says.
    pub fn is_in(&mut self, title: Option<StartupTitle>) {
        let segment = |title: &Option<StartupTitle>| title.as_ref().map(|title| title.segment.clone());
        if segment(&title) != segment(&self.title) {
            self.moved = Instant::now();
        }
        self.title = title;
    }

    /// What SQL says.
    pub fn is_at(&mut self, lsn: Option<Lsn>) {
        if lsn != self.lsn {
            self.lsn = lsn;
            self.moved = Instant::now();
        }
    }

    /// Whether it has not moved for so long.
    pub fn rests_for(&self, limit: Duration) -> bool {
        self.moved.elapsed() >= limit
    }

    /// Whether the startup process says that it waits for WAL.
    pub fn waits(&self) -> bool {
        self.title.as_ref().is_some_and(|title| title.waits)
    }

    /// For people.
    pub fn words(&self) -> String {
        match (&self.lsn, &self.title) {
            (Some(lsn), _) => lsn.to_string(),
            (None, Some(title)) => title.segment.clone(),
            (None, None) => "its beginning".to_owned(),
        }
    }

    /// Segments of the plan that lie behind replay.
    pub fn segments_before(&self, chosen: &Chosen) -> u64 {
        let size = chosen.plan.segment_size;
        let first = chosen.first.number(size);
        let now = match self.lsn {
            Some(lsn) => Some(size.number_of(lsn)),
            None => self.title.as_ref().and_then(|title| SegmentName::parse(&title.segment)).and_then(|name| name.number(size)),
        };
        now.unwrap_or(0).saturating_sub(first.unwrap_or(u64::MAX))
    }
}

/// Where recovery ended, read after the promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The timeline that was left.
    pub parent: u32,
    /// The position at which it was left.
    pub switch: Lsn,
    /// Newest replayed commit.
    pub data_as_of: Option<Timestamp>,
}

/// Reads it from the history file that the promotion wrote: the server's own record of where it stopped.
pub async fn read_end(session: &mut Session, sandbox: &Sandbox) -> Result<End, Trouble> {
    let unclear =
        |what: String| Trouble::could_not(format!("the end of recovery could not be read: {what}"), "report this as a bug");
    let row = session
        .row(
            "select pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), \
             extract(epoch from pg_catalog.pg_last_xact_replay_timestamp())",
        )
        .await
        .map_err(|error| unclear(words(&error)))?;
    let text = |at: usize| row.get(at).and_then(Option::as_deref);
    let name = text(0).and_then(SegmentName::parse).ok_or_else(|| unclear("no segment name".to_owned()))?;
    let path = sandbox.wal().join(format!("{:08X}.history", name.timeline));
    let bytes = fs::read(&path).map_err(|error| Trouble::disk("read", &path, &error))?;
    let history = History::parse(name.timeline, &bytes).map_err(|error| unclear(error.to_string()))?;
    let parent = history.parent().ok_or_else(|| unclear("the new timeline has no parent".to_owned()))?;
    Ok(End { parent: parent.timeline, switch: parent.switch, data_as_of: text(1).and_then(moment) })
}
