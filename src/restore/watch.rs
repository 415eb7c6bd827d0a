//! Watches one standby until replay is where it must be.

use std::time::{Duration, Instant};

use super::blame;
use super::conf::SourceLimits;
use super::held::{Chosen, seconds};
use super::keeper::Keeper;
use super::recover::RecoverWork;
use super::replay::{self, Replay};
use super::roles;
use super::session::{As, Session, sqlstate, words};
use super::title;
use super::trouble::Trouble;
use super::wal::WalFetch;
use crate::archive::{Lsn, RecoveryTarget, SegmentName};

/// How often it is looked. What a drill adds to base and replay is a few of these.
pub const GLANCE: Duration = Duration::from_millis(25);

/// Seconds by phase.
#[derive(Default)]
pub struct Times {
    /// Until it answers.
    pub start: f64,
    /// Until the end is reached.
    pub replay: f64,
    /// Until it is a primary.
    pub promote: f64,
}

/// How a look at the server ended.
pub enum Glance {
    /// Nothing yet.
    Again,
    /// The source's limits are larger than ours.
    LimitsTooSmall,
    /// Replay is where it must be.
    Reached {
        /// Replay stopped at the target itself: there was a commit behind it.
        at_target: bool,
    },
}

/// One running server, watched.
pub struct ReplayWatch<'a> {
    /// What it belongs to.
    pub work: &'a RecoverWork,
    /// What was chosen.
    pub chosen: &'a Chosen,
    /// WAL on its way.
    pub wal: &'a WalFetch,
    /// The process that holds the server.
    pub keeper: &'a mut Keeper,
    /// The postmaster.
    pub pid: i32,
    /// Where this server's log begins.
    pub log_from: u64,
    /// The connection, once it takes one.
    pub session: Option<Session>,
    /// How far replay is.
    pub replay: Replay,
    /// The superuser's name, once it is known.
    pub role: String,
    /// The source's limits that this server was started with.
    pub limits: SourceLimits,
}

impl ReplayWatch<'_> {
    /// Looks until the end is reached, or the server must begin again.
    pub async fn until_end(&mut self, times: &mut Times, began: Instant) -> Result<Glance, Trouble> {
        let mut answered: Option<Instant> = None;
        loop {
            if self.work.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            if let Some(end) = self.keeper.ended(GLANCE).await? {
                let log = blame::tail(&self.work.held.sandbox.log(), self.log_from);
                if blame::of_limits(&log) {
                    return Ok(Glance::LimitsTooSmall);
                }
                return Err(blame::of_an_end(&end.status, end.signal, &log));
            }
            if let Some(trouble) = self.wal.progress().trouble {
                return Err(trouble);
            }
            if Instant::now() > self.work.cx.deadline {
                return Err(Trouble::could_not(
                    format!("no time is left: {}", self.progress()),
                    "give the step a later deadline",
                ));
            }
            let title = title::of_startup(self.pid);
            if let Some(segment) = title.as_ref().and_then(|title| SegmentName::parse(&title.segment)) {
                self.wal.replay_is_in(segment);
                self.replay.is_in(title);
            }
            if self.session.is_none() {
                self.connect().await?;
                if self.session.is_some() {
                    times.start = seconds(began);
                    answered = Some(Instant::now());
                }
                continue;
            }
            self.tell();
            match self.glance().await? {
                Glance::Again => {}
                ended => {
                    times.replay += answered.map_or(0.0, seconds);
                    return Ok(ended);
                }
            }
        }
    }

    fn progress(&self) -> String {
        let progress = self.wal.progress();
        format!("{} of {} segments fetched, replay at {}", progress.placed, self.wal.total(), self.replay.words())
    }

    fn tell(&self) {
        let total = self.wal.total() as u64;
        let done = self.replay.segments_before(self.chosen).min(total);
        self.work.cx.progress.tell("replay", done, total, "segments");
        self.work.telling.progress(self.progress());
    }

    /// Connects as soon as the standby is consistent. Until then it says that it starts up.
    async fn connect(&mut self) -> Result<(), Trouble> {
        for role in roles::superusers(&self.work.held.sandbox.data()) {
            match Session::open(&(&self.work.held.sandbox).into(), As::Superuser(&role), "postgres", &[]).await {
                Ok(session) => {
                    self.session = Some(session);
                    self.role = role;
                    return Ok(());
                }
                Err(error) => match sqlstate(&error).as_deref() {
                    // No such role: the next name.
                    Some("28000" | "28P01") => {}
                    // No such database: every cluster has this one.
                    Some("3D000") => {
                        if let Ok(session) =
                            Session::open(&(&self.work.held.sandbox).into(), As::Superuser(&role), "template1", &[]).await
                        {
                            self.session = Some(session);
                            self.role = role;
                            return Ok(());
                        }
                    }
                    Some(state) if !matches!(state, "57P03" | "57P01" | "53300") => {
                        let log = blame::tail(&self.work.held.sandbox.log(), self.log_from);
                        return Err(match blame::of_an_end("refuses connections", None, &log) {
                            could_not @ Trouble::CouldNot { .. } => could_not,
                            _ => Trouble::could_not(
                                format!("PostgreSQL refuses connections: {}", words(&error)),
                                "look at the drill's log",
                            ),
                        });
                    }
                    // Starting up, or the socket is not there yet.
                    _ => return Ok(()),
                },
            }
        }
        Err(Trouble::could_not(
            "no superuser of the restored cluster is known (neither postgres nor the role with oid 10 of pg_authid)",
            "create a superuser named postgres at the source",
        ))
    }

    async fn glance(&mut self) -> Result<Glance, Trouble> {
        let Some(session) = &mut self.session else { return Ok(Glance::Again) };
        let seen = match replay::look(session).await {
            Ok(seen) => seen,
            Err(error) if error.as_database_error().is_none() => {
                // The server is going down; the keeper will say how.
                self.session = None;
                return Ok(Glance::Again);
            }
            Err(error) => return Err(lost(&error)),
        };
        if !seen.in_recovery {
            return Err(Trouble::could_not("PostgreSQL promoted before it was told to", "report this as a bug"));
        }
        let size = self.chosen.plan.segment_size;
        if let Some(segment) = seen.lsn.and_then(|lsn| SegmentName::holding(self.chosen.plan.timeline, lsn, size)) {
            self.wal.replay_is_in(segment);
        }
        self.replay.is_at(seen.lsn);
        let expected = self.chosen.end;
        let passed = seen.lsn.is_some_and(|lsn| lsn >= expected.start(size).unwrap_or(Lsn(u64::MAX)));
        if seen.paused {
            return self.paused();
        }
        if self.wal.is_complete() && passed {
            return self.at_the_end();
        }
        self.stalled()
    }

    /// Replay pauses at the target, or because the source's limits outgrew ours: both look the same over SQL, and the control file
    /// tells them apart.
    fn paused(&self) -> Result<Glance, Trouble> {
        // A page that is being written reads again in a moment.
        let Ok(control) = self.work.control() else { return Ok(Glance::Again) };
        if self.limits.fall_below(SourceLimits::of(&control)) {
            return Ok(Glance::LimitsTooSmall);
        }
        if self.chosen.plan.target != RecoveryTarget::End {
            return Ok(Glance::Reached { at_target: true });
        }
        Err(Trouble::could_not(
            format!("replay pauses at {} and nobody asked for that", self.replay.words()),
            "look at the drill's log, then run it again",
        ))
    }

    /// All of it lies there and replay is in the last segment. A promotion replays what is left there; a target in time has not
    /// been met, so replay must come to rest first. Only a commit behind the target shows that none before it is missing, and
    /// PostgreSQL itself refuses to promote without having seen one.
    fn at_the_end(&self) -> Result<Glance, Trouble> {
        let plan = &self.chosen.plan;
        if plan.target == RecoveryTarget::End {
            return Ok(Glance::Reached { at_target: false });
        }
        if !self.replay.rests_for(Duration::from_millis(500)) {
            return Ok(Glance::Again);
        }
        let why = format!("the WAL ends at {} without a commit behind the target {}", self.replay.words(), plan.target);
        match plan.broken_at {
            Some(lost) => Err(Trouble::bad(format!("{why}, and segment {lost}, which follows, is lost"))),
            None => Err(Trouble::could_not(why, "name an earlier target, or drill again when a later commit is archived")),
        }
    }

    /// All segments are there, checked, and PostgreSQL does not go on.
    fn stalled(&self) -> Result<Glance, Trouble> {
        let limit = Duration::from_secs(self.work.settings.limits.stall_seconds);
        if !self.wal.is_complete() || !self.replay.rests_for(limit) {
            return Ok(Glance::Again);
        }
        let log = blame::last_words(&blame::tail(&self.work.held.sandbox.log(), self.log_from));
        let at = self.replay.words();
        let expected = self.chosen.end;
        if self.replay.waits() {
            return Err(Trouble::bad(format!(
                "replay stopped at {at}, before segment {expected}, though all segments are there: the WAL in them does not follow on. PostgreSQL says: {log}"
            )));
        }
        Err(Trouble::could_not(
            format!("replay has not moved from {at} for {} s: {log}", limit.as_secs()),
            "look at the load of this machine, then run the drill again",
        ))
    }
}

/// The server does not answer any more.
pub fn lost(error: &sqlx::Error) -> Trouble {
    Trouble::could_not(
        format!("the restored PostgreSQL does not answer: {}", words(error)),
        "look at the drill's log, then run it again",
    )
}
