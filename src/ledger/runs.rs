//! Runs: recorded passes and drills.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::column::{Reading, ms};
use super::{Ledger, LedgerError, run_lock, sql};
use crate::domain::{ExitCode, RunId, Subject, Verdict};
use crate::process::Process;

/// What kind of run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Look, say, follow, start.
    Pass,
    /// A restore into a sandbox.
    Drill,
}

impl RunKind {
    /// The word for people and for the column.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Drill => "drill",
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Its process lives, as far as anybody looked.
    Running,
    /// It came to its end, whatever it found.
    Done,
    /// Its process was gone before it ended.
    Interrupted,
    /// It ended itself and could not do its work.
    Failed,
}

impl RunState {
    /// The word for people and for the column.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Which runs `history` lists.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Only this kind.
    pub kind: Option<RunKind>,
    /// Only this state.
    pub state: Option<RunState>,
    /// Begun at or after.
    pub since: Option<Timestamp>,
    /// Drills of this subject and passes that found something about it: the whole of it, or its end at a slash.
    pub subject: Option<String>,
    /// At most so many; 50 when not said.
    pub limit: Option<u32>,
}

/// One run, in one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// What people call it.
    pub number: i64,
    /// Its id.
    pub id: RunId,
    /// What kind it is.
    pub kind: RunKind,
    /// Where it stands.
    pub state: RunState,
    /// When it began.
    pub began: Timestamp,
    /// When it ended; of an interrupted one: when that was found out.
    pub ended: Option<Timestamp>,
    /// The exit code of its process, when it came to one.
    pub exit_code: Option<i64>,
    /// Where it ran.
    pub host: String,
    /// Findings that were new in it.
    pub new: i64,
    /// Findings that were still there.
    pub still: i64,
    /// Findings that were cleared by it.
    pub cleared: i64,
    /// Requests made of all stores.
    pub requests: i64,
    /// Of a drill: its verdict.
    pub verdict: Option<Verdict>,
    /// Of a drill: what was drilled.
    pub subject: Option<Subject>,
}

impl Ledger {
    /// Begins a run; answers its number. This process holds it until [`Ledger::end`], or until it dies.
    pub async fn begin(&self, run: RunId, kind: RunKind, now: Timestamp) -> Result<i64, LedgerError> {
        let lock = run_lock::hold(&self.folder, run).map_err(|source| LedgerError::Folder {
            folder: self.folder.clone(),
            what: "the lock file of the run cannot be made",
            source,
        })?;
        let mut transaction = self.write().await?;
        sqlx::query(sql::RUN_BEGIN)
            .bind(run.to_string())
            .bind(kind.as_str())
            .bind(ms(now))
            .bind(&self.host)
            .bind(&self.me.boot)
            .bind(&self.me.namespace)
            .bind(i64::from(self.me.pid))
            .bind(super::column::int(self.me.started))
            .execute(&mut *transaction)
            .await
            .map_err(self.sorted())?;
        let number = self.number(&mut transaction, run).await?;
        self.commit(transaction).await?;
        if let Ok(mut held) = self.held.lock() {
            held.insert(run, lock);
        }
        Ok(number)
    }

    /// Ends a run that is running; a second end changes nothing.
    pub async fn end(&self, run: RunId, now: Timestamp, state: RunState, exit: ExitCode) -> Result<(), LedgerError> {
        let mut transaction = self.write().await?;
        sqlx::query(sql::RUN_END)
            .bind(run.to_string())
            .bind(state.as_str())
            .bind(ms(now))
            .bind(i64::from(exit.number()))
            .execute(&mut *transaction)
            .await
            .map_err(self.sorted())?;
        self.commit(transaction).await?;
        run_lock::release(&self.folder, &run.to_string());
        if let Ok(mut held) = self.held.lock() {
            held.remove(&run);
        }
        Ok(())
    }

    /// Runs, newest first.
    pub async fn history(&self, filter: &HistoryFilter) -> Result<Vec<RunLine>, LedgerError> {
        self.lines(filter, None).await
    }

    /// The number of the run that a person means: its number, its id, or the end of its id (four digits or more).
    pub async fn find(&self, asked: &str) -> Result<i64, LedgerError> {
        let found: Vec<i64> = sqlx::query_scalar(sql::RUN_FIND)
            .bind(asked)
            .bind(asked.parse::<i64>().ok())
            .fetch_all(&self.reader)
            .await
            .map_err(self.sorted())?;
        match (found.as_slice(), asked.parse::<i64>()) {
            ([], _) => Err(LedgerError::NoSuchRun { asked: asked.into() }),
            ([one], _) => Ok(*one),
            // A number wins over an id that happens to end with its digits.
            (several, Ok(number)) if several.contains(&number) => Ok(number),
            _ => Err(LedgerError::Ambiguous { asked: asked.into() }),
        }
    }

    pub(super) async fn lines(&self, filter: &HistoryFilter, number: Option<i64>) -> Result<Vec<RunLine>, LedgerError> {
        let rows = sqlx::query(sql::RUNS_HISTORY)
            .bind(filter.kind.map(RunKind::as_str))
            .bind(filter.state.map(RunState::as_str))
            .bind(filter.since.map(ms))
            .bind(filter.subject.as_deref())
            .bind(number)
            .bind(filter.limit.unwrap_or(50))
            .fetch_all(&self.reader)
            .await
            .map_err(self.sorted())?;
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &SqliteRow) -> Result<RunLine, LedgerError> {
        let read = Reading { file: &self.file, table: "runs", row };
        Ok(RunLine {
            number: read.get("number")?,
            id: read.word("id")?,
            kind: read.word("kind")?,
            state: read.word("state")?,
            began: read.at("began")?,
            ended: read.at_opt("ended")?,
            exit_code: read.get("exit_code")?,
            host: read.get("host")?,
            new: read.get("new")?,
            still: read.get("still")?,
            cleared: read.get("cleared")?,
            requests: read.get("requests")?,
            verdict: read.word_opt("verdict")?,
            subject: read.word_opt("subject")?,
        })
    }

    /// Closes runs whose process is gone. A run is held to be alive when its lock file is held, or when its process is seen.
    pub(super) async fn close_interrupted(&self, now: Timestamp) -> Result<(), LedgerError> {
        let running = sqlx::query(sql::RUNS_RUNNING).fetch_all(&self.reader).await.map_err(self.sorted())?;
        for row in &running {
            let number: i64 = row.try_get("number").map_err(self.sorted())?;
            let id: String = row.try_get("id").map_err(self.sorted())?;
            if run_lock::held(&self.folder, &id) || self.process(row)?.lives() {
                continue;
            }
            let mut transaction = self.write().await?;
            sqlx::query(sql::RUN_INTERRUPTED)
                .bind(number)
                .bind(ms(now))
                .execute(&mut *transaction)
                .await
                .map_err(self.sorted())?;
            self.commit(transaction).await?;
            run_lock::release(&self.folder, &id);
            tracing::warn!(run = number, "run was interrupted: its process is gone");
        }
        Ok(())
    }

    fn process(&self, row: &SqliteRow) -> Result<Process, LedgerError> {
        let read = Reading { file: &self.file, table: "runs", row };
        let pid = u32::try_from(read.get::<i64>("pid")?).unwrap_or(u32::MAX);
        Ok(Process { pid, started: read.count("process_start")?, boot: read.get("boot")?, namespace: read.get("pid_namespace")? })
    }
}
