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
use super::ending;
use super::held::{Chosen, Held, Recovered, Restore, Server, Telling, seconds};
use super::hold::StartOrder;
use super::isolation;
use super::keeper::Keeper;
use super::memory;
use super::replay::{self, Replay};
use super::settings::RestoreSettings;
use super::tree::Owner;
use super::trouble::Trouble;
use super::wal::WalFetch;
use super::watch::{GLANCE, Glance, ReplayWatch, Times, lost};
use crate::archive::{ControlError, ControlFile, Lsn, RecoveryTarget, SegmentName};
use crate::domain::{Cx, Isolation, Phase, Receipt};

/// A promotion writes one record and a history file.
const PROMOTION: Duration = Duration::from_mins(2);
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

impl RecoverWork {
    /// Does it all.
    pub async fn run(self) -> Result<Receipt, Trouble> {
        let mut restore = self.held.restore.lock().await;
        let Some(Restore { chosen, wal, base_bytes }) = restore.as_mut() else {
            return Err(Trouble::could_not("no base backup was restored in this sandbox", "run the whole runbook"));
        };
        let mut keeper = self.held.keeper.lock().await;
        let Some(keeper) = keeper.as_mut() else {
            return Err(Trouble::could_not("the sandbox has no keeper any more", "run the drill again"));
        };
        let recovered = self.recover(chosen, wal, *base_bytes, keeper).await;
        if recovered.is_err() {
            // Nothing fetches any more once this step has ended.
            wal.stop().await;
        }
        self.cx.progress.done("replay");
        recovered
    }

    async fn recover(
        &self,
        chosen: &Chosen,
        wal: &mut WalFetch,
        base_bytes: u64,
        keeper: &mut Keeper,
    ) -> Result<Receipt, Trouble> {
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
            let mut watch = ReplayWatch {
                work: self,
                chosen,
                wal,
                keeper,
                pid,
                log_from,
                session: None,
                replay: Replay::default(),
                role: String::new(),
                limits: SourceLimits::of(&control),
            };
            let glance = watch.until_end(&mut times, began).await?;
            let promoted = match glance {
                Glance::Reached { at_target } => self.promote(&mut watch, &control, at_target, &mut times).await?,
                Glance::Again | Glance::LimitsTooSmall => None,
            };
            if let Some(recovered) = promoted {
                let role = watch.role;
                if let Some(session) = watch.session {
                    session.close().await;
                }
                self.held.set_server(Some(Server { role, recovered: recovered.clone(), base_bytes }));
                // A target in time needs no more of it.
                wal.stop().await;
                return Ok(self.receipt(chosen, &recovered, &postgres, &times, notes, wal));
            }
            keeper.stop_postgres().await?;
            control = self.control()?;
            notes.push(format!("started again with the source's larger limits (attempt {attempt})"));
            if let Some(segment) = SegmentName::holding(control.timeline, control.redo, chosen.plan.segment_size) {
                wal.begin_again_from(segment);
            }
        }
        Err(Trouble::could_not(
            "the source's limits (max_connections and the like) keep growing in the WAL",
            "report this as a bug",
        ))
    }

    /// What the control file says now.
    pub fn control(&self) -> Result<ControlFile, Trouble> {
        let path = self.held.sandbox.data().join("global/pg_control");
        let bytes = fs::read(&path).map_err(|error| Trouble::disk("read", &path, &error))?;
        control_of(&bytes)
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
            limits: SourceLimits::of(control),
            shared_buffers_bytes: memory::shared_buffers(self.settings.limits.shared_buffers_bytes),
        };
        conf.write().map_err(|error| Trouble::disk("write", &self.held.sandbox.conf(), &error))?;
        let order = StartOrder {
            postgres: postgres.program.clone(),
            arguments: conf.arguments(),
            user: self.owner.map(|(uid, gid)| (uid.as_raw(), gid.as_raw())),
            seal: true,
            fence: self.settings.fence,
        };
        keeper.start_postgres(order).await
    }

    /// Promotes and says where recovery ended; nothing when the rest of the WAL raised the source's limits above ours.
    async fn promote(
        &self,
        watch: &mut ReplayWatch<'_>,
        control: &ControlFile,
        at_target: bool,
        times: &mut Times,
    ) -> Result<Option<Recovered>, Trouble> {
        let (chosen, log_from, pid) = (watch.chosen, watch.log_from, watch.pid);
        let Some(session) = &mut watch.session else {
            return Err(Trouble::could_not("the connection was lost at the end of replay", "run the drill again"));
        };
        let began = Instant::now();
        self.telling.progress("promoting".to_owned());
        let last = ending::keep(&self.held.sandbox, chosen)?;
        session.run("select pg_catalog.pg_promote(false)").await.map_err(|error| lost(&error))?;
        loop {
            if self.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            if let Some(end) = watch.keeper.ended(GLANCE).await? {
                let log = blame::tail(&self.held.sandbox.log(), log_from);
                if blame::of_limits(&log) {
                    return Ok(None);
                }
                return Err(blame::of_an_end(&end.status, end.signal, &log));
            }
            let row = match session.row("select pg_catalog.pg_is_in_recovery()").await {
                Ok(row) => row,
                // It goes down; the keeper will say how.
                Err(error) if error.as_database_error().is_none() && began.elapsed() < PROMOTION => continue,
                Err(error) => return Err(lost(&error)),
            };
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
        if chosen.plan.target == RecoveryTarget::End {
            ending::check(&self.held.sandbox, chosen, last.as_deref(), end.switch)?;
        }
        let isolation = isolation::show(session, pid).await.map_err(|error| lost(&error))?;
        // The position behind the last record may be the first byte of a segment that does not exist.
        let last_byte = Lsn(end.switch.0.saturating_sub(1));
        Ok(Some(Recovered {
            system_id: Some(control.system_id),
            reached_segment: SegmentName::holding(end.parent, last_byte, size).map(|name| name.to_string()),
            reached_lsn: Some(end.switch.to_string()),
            expected_segment: expected.to_string(),
            timeline: end.parent,
            data_as_of: end.data_as_of,
            isolation: Some(isolation),
            target_reached: at_target,
        }))
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
        let mut notes = notes;
        if isolation < self.settings.isolation {
            notes.push(format!(
                "isolation is {}, at least {} was asked for",
                isolation.as_str(),
                self.settings.isolation.as_str()
            ));
        }
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

/// Reads a restored control file. A version that we do not know is our own lack and not the archive's.
pub fn control_of(bytes: &[u8]) -> Result<ControlFile, Trouble> {
    ControlFile::parse(bytes).map_err(|error| match error {
        ControlError::UnknownVersion { .. } => Trouble::could_not(
            format!("global/pg_control of the backup: {error}"),
            "drills take PostgreSQL 13 to 18; restore this one by hand",
        ),
        error => Trouble::bad(format!("global/pg_control of the backup: {error}")),
    })
}

/// A moment as PostgreSQL prints seconds since the epoch.
pub fn moment(text: &str) -> Option<Timestamp> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let micros: i64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    Timestamp::from_microsecond(whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)?).ok()
}
