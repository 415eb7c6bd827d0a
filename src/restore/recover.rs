//! `pg.recover`: starts PostgreSQL as a standby, watches replay, promotes when the end that the catalogue said was reached.
//!
//! The server has neither `restore_command` nor `primary_conninfo`: it looks into pg_wal again and again and never decides by itself
//! that recovery is over (<https://www.postgresql.org/docs/current/warm-standby.html#STANDBY-SERVER-OPERATION>).

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::binaries::{self, Postgres};
use super::blame;
use super::conf::{Conf, SourceLimits};
use super::held::{Chosen, Held, Recovered, Restore, Server, Telling, seconds};
use super::hold::StartOrder;
use super::isolation;
use super::keeper::Keeper;
use super::replay::{self, Replay};
use super::roles;
use super::session::{As, Session, sqlstate, words};
use super::settings::RestoreSettings;
use super::title;
use super::tree::Owner;
use super::trouble::Trouble;
use super::wal::WalFetch;
use crate::archive::{ControlFile, Lsn, RecoveryTarget, SegmentName};
use crate::domain::{Cx, Isolation, Phase, Receipt};

/// How often it is looked. What a drill adds to base and replay is a few of these.
const GLANCE: Duration = Duration::from_millis(25);
/// A promotion writes one record and a history file.
const PROMOTION: Duration = Duration::from_secs(120);
/// Restarts with larger limits, when the source raised them along the way.
const MOST_STARTS: u32 = 5;

/// What one recovery works with.
pub struct RecoverWork {
    /// Deadline, progress.
    pub cx: Cx,
    /// Bounds.
    pub settings: Arc<RestoreSettings>,
    /// The sandbox.
    pub held: Arc<Held>,
    /// The user that PostgreSQL runs as.
    pub owner: Owner,
    /// Ends this step.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub telling: Telling,
}

/// Seconds by phase.
#[derive(Default)]
struct Times {
    start: f64,
    replay: f64,
    promote: f64,
}

/// How a look at the server ended.
enum Glance {
    Again,
    LimitsTooSmall,
    Reached { note: Option<String> },
}

impl RecoverWork {
    /// Does it all.
    pub async fn run(self) -> Result<Receipt, Trouble> {
        let mut restore = self.held.restore.lock().await;
        let Some(Restore { chosen, wal }) = restore.as_mut() else {
            return Err(Trouble::could_not("no base backup was restored in this sandbox", "run the whole runbook"));
        };
        let mut keeper = self.held.keeper.lock().await;
        let Some(keeper) = keeper.as_mut() else {
            return Err(Trouble::could_not("the sandbox has no keeper any more", "run the drill again"));
        };
        let recovered = self.recover(chosen, wal, keeper).await;
        if recovered.is_err() {
            // Nothing fetches any more once this step has ended.
            wal.stop().await;
        }
        self.cx.progress.done("replay");
        recovered
    }

    async fn recover(&self, chosen: &Chosen, wal: &mut WalFetch, keeper: &mut Keeper) -> Result<Receipt, Trouble> {
        let mut control = self.control()?;
        let expected = chosen.of.system_id.unwrap_or(chosen.plan.system_id);
        if expected != control.system_id {
            return Err(Trouble::bad(format!(
                "the restored cluster has system identifier {}, expected is {expected}: another cluster's backup lies in this place",
                control.system_id
            )));
        }
        let major = chosen.plan.info.major().or(control.major).unwrap_or_default();
        let postgres = binaries::find(major, &self.settings.postgres_folders).await?;
        let mut times = Times::default();
        let mut notes = Vec::new();
        for attempt in 1..=MOST_STARTS {
            let began = Instant::now();
            let log_from = fs::metadata(self.held.sandbox.log()).map_or(0, |log| log.len());
            let pid = self.start(&postgres, &control, chosen, keeper).await?;
            let mut watch = Watch {
                work: self,
                chosen,
                wal,
                keeper,
                pid,
                log_from,
                session: None,
                replay: Replay::new(),
                role: String::new(),
            };
            let ended = watch.until_end(&mut times, began).await?;
            match ended {
                Glance::Reached { note } => {
                    notes.extend(note);
                    let Some(mut session) = watch.session.take() else {
                        return Err(Trouble::could_not("the connection was lost at the end of replay", "run the drill again"));
                    };
                    let role = watch.role.clone();
                    let recovered = self.promote(chosen, keeper, &mut session, log_from, pid, &control, &mut times).await?;
                    session.close().await;
                    self.held.set_server(Some(Server { role, recovered: recovered.clone() }));
                    // A target in time needs no more of it.
                    wal.stop().await;
                    return Ok(self.receipt(chosen, &recovered, &postgres, &times, notes, wal));
                }
                _ => {
                    drop(watch);
                    keeper.stop_postgres().await?;
                    control = self.control()?;
                    notes.push(format!("started again with the source's larger limits (attempt {attempt})"));
                    if let Some(segment) = SegmentName::holding(control.timeline, control.redo, chosen.plan.segment_size) {
                        wal.begin_again_from(segment);
                    }
                }
            }
        }
        Err(Trouble::could_not(
            "the source's limits (max_connections and the like) keep growing in the WAL",
            "report this as a bug",
        ))
    }

    fn control(&self) -> Result<ControlFile, Trouble> {
        let path = self.held.sandbox.data().join("global/pg_control");
        let bytes = fs::read(&path).map_err(|error| Trouble::disk("read", &path, &error))?;
        ControlFile::parse(&bytes).map_err(|error| Trouble::bad(format!("global/pg_control of the backup: {error}")))
    }

    async fn start(
        &self,
        postgres: &Postgres,
        control: &ControlFile,
        chosen: &Chosen,
        keeper: &mut Keeper,
    ) -> Result<i32, Trouble> {
        let target_time = chosen.plan.target.for_postgres();
        let conf = Conf {
            sandbox: &self.held.sandbox,
            major: postgres.major,
            timeline: chosen.plan.timeline,
            target_time: target_time.as_deref(),
            limits: SourceLimits {
                max_connections: control.max_connections,
                max_worker_processes: control.max_worker_processes,
                max_wal_senders: control.max_wal_senders,
                max_prepared_transactions: control.max_prepared_xacts,
                max_locks_per_transaction: control.max_locks_per_xact,
            },
            shared_buffers_bytes: self.settings.limits.shared_buffers_bytes,
        };
        conf.write().map_err(|error| Trouble::disk("write", &self.held.sandbox.conf(), &error))?;
        let order = StartOrder {
            postgres: postgres.program.clone(),
            arguments: conf.arguments(),
            user: self.owner.map(|(uid, gid)| (uid.as_raw(), gid.as_raw())),
            seal: true,
        };
        keeper.start_postgres(order).await
    }

    async fn promote(
        &self,
        chosen: &Chosen,
        keeper: &mut Keeper,
        session: &mut Session,
        log_from: u64,
        pid: i32,
        control: &ControlFile,
        times: &mut Times,
    ) -> Result<Recovered, Trouble> {
        let began = Instant::now();
        self.telling.progress("promoting".to_owned());
        session.run("select pg_promote(false)").await.map_err(|error| lost(&error))?;
        loop {
            if self.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            if let Some(end) = keeper.ended(GLANCE).await? {
                return Err(blame::of_an_end(&end.status, end.signal, &blame::tail(&self.held.sandbox.log(), log_from)));
            }
            let row = session.row("select pg_is_in_recovery()").await.map_err(|error| lost(&error))?;
            if row.first().and_then(Option::as_deref) == Some("f") {
                break;
            }
            if began.elapsed() > PROMOTION || Instant::now() > self.cx.deadline {
                return Err(Trouble::could_not(
                    "PostgreSQL was told to promote and has not in two minutes",
                    "run the drill again",
                ));
            }
        }
        times.promote = seconds(began);
        let end = replay::read_end(session, &self.held.sandbox).await?;
        if end.parent != chosen.plan.timeline {
            return Err(Trouble::bad(format!("recovery ended on timeline {}, expected is {}", end.parent, chosen.plan.timeline)));
        }
        let size = chosen.plan.segment_size;
        let expected = chosen.end;
        let start = expected.start(size).unwrap_or(Lsn(0));
        if chosen.plan.target == RecoveryTarget::End && end.switch < start {
            return Err(Trouble::bad(format!(
                "recovery ended at {}, before {start}, the start of segment {expected}",
                end.switch
            )));
        }
        let isolation = isolation::show(session, pid).await.map_err(|error| lost(&error))?;
        // The position behind the last record may be the first byte of a segment that does not exist.
        let last_byte = Lsn(end.switch.0.saturating_sub(1));
        Ok(Recovered {
            system_id: Some(control.system_id),
            reached_segment: SegmentName::holding(end.parent, last_byte, size).map(|name| name.to_string()),
            reached_lsn: Some(end.switch.to_string()),
            expected_segment: expected.to_string(),
            timeline: end.parent,
            data_as_of: end.data_as_of,
            isolation: Some(isolation),
        })
    }

    fn receipt(
        &self,
        chosen: &Chosen,
        recovered: &Recovered,
        postgres: &Postgres,
        times: &Times,
        notes: Vec<String>,
        wal: &WalFetch,
    ) -> Receipt {
        let isolation = recovered.isolation.as_ref().map_or(Isolation::None, |shown| shown.isolation);
        let facts: Vec<&String> = recovered.isolation.iter().flat_map(|shown| shown.facts.iter().chain(&shown.against)).collect();
        let mut outputs = Map::new();
        let mut put = |name: &str, value: serde_json::Value| outputs.insert(name.to_owned(), value);
        put("socket", json!(self.held.sandbox.socket().display().to_string()));
        put("port", json!(5432));
        put("reached_segment", json!(recovered.reached_segment));
        put("reached_lsn", json!(recovered.reached_lsn));
        put("data_as_of", json!(recovered.data_as_of));
        put("system_id", json!(recovered.system_id));
        put("isolation", json!(isolation));
        put("isolation_facts", json!(facts));
        put("postgres", json!(format!("{} at {}", postgres.version, postgres.program.display())));
        put("segments", json!(wal.total()));
        put("timeline", json!(chosen.plan.timeline));
        let bytes = Some(wal.progress().bytes);
        let phases = vec![
            Phase { name: "start".to_owned(), seconds: times.start, bytes: None },
            Phase { name: "replay".to_owned(), seconds: times.replay, bytes },
            Phase { name: "promote".to_owned(), seconds: times.promote, bytes: None },
        ];
        Receipt { outputs, assertions: Vec::new(), phases, notes }
    }
}

fn lost(error: &sqlx::Error) -> Trouble {
    Trouble::could_not(
        format!("the restored PostgreSQL does not answer: {}", words(error)),
        "look at the drill's log, then run it again",
    )
}

/// One running server, watched.
struct Watch<'a> {
    work: &'a RecoverWork,
    chosen: &'a Chosen,
    wal: &'a WalFetch,
    keeper: &'a mut Keeper,
    pid: i32,
    log_from: u64,
    session: Option<Session>,
    replay: Replay,
    role: String,
}

impl Watch<'_> {
    async fn until_end(&mut self, times: &mut Times, began: Instant) -> Result<Glance, Trouble> {
        let mut answered: Option<Instant> = None;
        loop {
            if self.work.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            if let Some(end) = self.keeper.ended(GLANCE).await? {
                let log = blame::tail(&self.work.held.sandbox.log(), self.log_from);
                if log.contains("insufficient parameter settings") || log.contains("is a lower setting than on the") {
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
                self.replay.is_in(&title);
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
            match Session::open(&self.work.held.sandbox, As::Superuser(&role), "postgres", &[]).await {
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
                        if let Ok(session) = Session::open(&self.work.held.sandbox, As::Superuser(&role), "template1", &[]).await
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
        if self.chosen.plan.target != RecoveryTarget::End && seen.paused {
            return Ok(Glance::Reached { note: None });
        }
        if seen.paused {
            return Ok(Glance::LimitsTooSmall);
        }
        if self.wal.is_complete() && passed {
            return self.at_the_end();
        }
        self.stalled()
    }

    /// All of it lies there and replay is in the last segment. A promotion replays what is left there; a target in time has not
    /// been met, so replay must come to rest first.
    fn at_the_end(&self) -> Result<Glance, Trouble> {
        if self.chosen.plan.target == RecoveryTarget::End {
            return Ok(Glance::Reached { note: None });
        }
        if self.replay.rests_for(Duration::from_millis(500)) {
            let note = format!("no commit after {} lies in the archive; replayed to its end", self.chosen.plan.target);
            return Ok(Glance::Reached { note: Some(note) });
        }
        Ok(Glance::Again)
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

/// A moment as PostgreSQL prints seconds since the epoch.
pub fn moment(text: &str) -> Option<Timestamp> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let micros: i64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    Timestamp::from_microsecond(whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)?).ok()
}
