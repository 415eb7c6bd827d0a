//! `pg.check`: what came back is asked. Identity, end of replay, isolation, freshness, sizes; then the user's SQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::held::{Chosen, Held, Recovered, Server, Telling, seconds};
use super::isolation::Shown;
use super::session::{As, Door, Session, sqlstate, words};
use super::trouble::Trouble;
use super::whole;
use crate::archive::{Lsn, RecoveryTarget, SegmentName};
use crate::domain::verb_names::{ARCHIVING_OFF, ASSERTIONS, FRESH, REPLAY_END, SYSTEM_ID};
use crate::domain::{
    AssertionResult, CheckEnd, Cx, Expectation, Phase, Receipt, Refused, RunId, Secret, SqlCheck, age, bytes_in_words, sha256_hex,
};

/// A cluster that commits now and then: data may lie this far behind what is covered before it looks stale.
const FRESH_SECONDS: f64 = 3_600.0;
/// A database that lost more than half of its bytes since the last drill is not the same.
const SHRUNK: f64 = 0.5;
/// Below this nothing is said about sizes: an empty database of PostgreSQL has 7 MiB.
const SMALL_BYTES: u64 = 64 << 20;

/// Libraries that the source loads into each session by ALTER DATABASE or ALTER ROLE ALL. Our role is new, so nothing else can
/// concern it; setting it empty on the role would not do, since '' becomes a list of one empty name.
const NO_PRELOAD: &str = "do $$ declare db name; begin \
    for db in select datname from pg_catalog.pg_database loop \
        execute pg_catalog.format('alter database %I reset session_preload_libraries', db); \
    end loop; \
    alter role all reset session_preload_libraries; \
end $$";

/// What one round of checks works with.
pub struct CheckWork {
    /// Deadline, now.
    pub cx: Cx,
    /// How the server is reached.
    pub door: Door,
    /// Its superuser.
    pub role: String,
    /// What recovery showed.
    pub recovered: Recovered,
    /// Bytes of files that the base backup held, where they were counted.
    pub base_bytes: Option<u64>,
    /// What was read back of archiving.
    pub archiving: AssertionResult,
    /// Whether the server's programs cannot reach out of the sandbox.
    pub fenced: bool,
    /// What was restored.
    pub chosen: Arc<Chosen>,
    /// The user's checks.
    pub checks: Vec<SqlCheck>,
    /// Ends it.
    pub cancel: CancellationToken,
}

/// The configuration's checks, and what a runbook adds to them: it may ask for more, never for less.
pub fn with_added(configured: &[SqlCheck], added: Option<&Value>) -> Result<Vec<SqlCheck>, Refused> {
    let mut all = configured.to_vec();
    let Some(value) = added.filter(|value| !value.is_null()) else { return Ok(all) };
    let added: Vec<SqlCheck> = serde_json::from_value(value.clone()).map_err(|error| Refused {
        why: format!("checks: {error}"),
        hint: "leave them out to make those of the configuration".to_owned(),
    })?;
    for check in added {
        if ASSERTIONS.contains(&check.name.as_str()) || all.iter().any(|known| known.name == check.name) {
            return Err(Refused {
                why: format!("checks: {:?} is taken by another check", check.name),
                hint: "the configuration's checks, and our own, are always made; give it another name".to_owned(),
            });
        }
        all.push(check);
    }
    Ok(all)
}

impl CheckWork {
    /// Of a server in a sandbox of this machine.
    pub fn in_sandbox(
        cx: Cx,
        held: &Held,
        server: Server,
        chosen: Arc<Chosen>,
        checks: Vec<SqlCheck>,
        cancel: CancellationToken,
    ) -> Self {
        let shown = server.recovered.isolation.as_ref();
        Self {
            cx,
            door: (&held.sandbox).into(),
            role: server.role,
            base_bytes: Some(server.base_bytes),
            archiving: archiving_off(shown),
            fenced: shown.is_some_and(|shown| shown.fenced),
            recovered: server.recovered,
            chosen,
            checks,
            cancel,
        }
    }

    /// Does them all. A check that fails does not end the others.
    pub async fn run(self, telling: Telling) -> Result<Receipt, Trouble> {
        let began = Instant::now();
        let mut session = self.open("postgres").await?;
        let mut results = vec![self.system_id(), self.replay_end(), self.archiving.clone(), self.fresh()];
        let (sizes, measured) = self.sizes(&mut session).await?;
        results.extend(measured);
        results.extend(self.base_bytes.and_then(|bytes| whole::base_size(bytes, self.chosen.plan.info.cluster_size)));
        telling.progress("files of all relations".to_owned());
        let databases: Vec<String> = sizes.keys().filter_map(|name| name.strip_prefix("database ")).map(str::to_owned).collect();
        results.push(whole::relation_files(&self.door, &self.role, &databases).await);
        let name = reader_name(self.cx.run);
        let (door, password) = self.readers_door(&name);
        let reader = match reader(&mut session, &name, password.as_ref()).await {
            Ok(reader) => reader,
            Err(error) => {
                return Err(Trouble::could_not(
                    format!("no role for the checks could be made: {}", words(&error)),
                    "report this as a bug",
                ));
            }
        };
        session.close().await;
        for (index, check) in self.checks.iter().enumerate() {
            if self.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            telling.progress(format!("check {} of {}: {}", index + 1, self.checks.len(), check.name));
            results.push(if reader.reaches_out && !self.fenced {
                Self::not_asked(check)
            } else {
                self.ask(check, &door, &reader.name).await
            });
        }
        let mut outputs = Map::new();
        outputs.insert("sizes".to_owned(), json!(sizes));
        let phases = vec![Phase { name: "checks".to_owned(), seconds: seconds(began), bytes: None }];
        let mut notes = Vec::new();
        if reader.reaches_out && self.fenced {
            notes.push(
                "checks ran as a superuser that only reads, since this PostgreSQL has no role that reads everything; Landlock kept \
                 it inside of the sandbox"
                    .to_owned(),
            );
        }
        Ok(Receipt { outputs, assertions: results, phases, notes })
    }

    /// The readers' way in, and the password that their role is given where one is asked for: made of the superuser's, so that
    /// nobody has to keep it.
    fn readers_door(&self, name: &str) -> (Door, Option<Secret>) {
        match &self.door {
            Door::Socket(folder) => (Door::Socket(folder.clone()), None),
            Door::Port { port, password } => {
                let own = Secret::new(sha256_hex(format!("{}/{name}", password.expose())));
                (Door::Port { port: *port, password: own.clone() }, Some(own))
            }
        }
    }

    async fn open(&self, database: &str) -> Result<Session, Trouble> {
        let role = As::Superuser(&self.role);
        let opened = match Session::open(&self.door, role, database, &[]).await {
            Err(error) if sqlstate(&error).as_deref() == Some("3D000") => Session::open(&self.door, role, "template1", &[]).await,
            other => other,
        };
        opened.map_err(|error| {
            Trouble::could_not(format!("the restored PostgreSQL does not answer: {}", words(&error)), "run the drill again")
        })
    }

    fn system_id(&self) -> AssertionResult {
        let expected = self.chosen.of.system_id.unwrap_or(self.chosen.plan.system_id);
        let by = if self.chosen.of.system_id.is_some() { "configuration" } else { "backup.info" };
        let seen = self.recovered.system_id;
        let end = match seen {
            Some(seen) if seen == expected => CheckEnd::Passed,
            Some(_) => CheckEnd::Failed,
            None => CheckEnd::Undecided,
        };
        let seen = seen.map_or_else(|| "not known".to_owned(), |seen| seen.to_string());
        assertion(SYSTEM_ID, format!("{expected} ({by})"), seen, end, false)
    }

    /// Recovery ended where the catalogue said. An archive that stopped long ago passes this too, so it does not tell stale data.
    fn replay_end(&self) -> AssertionResult {
        let recovered = &self.recovered;
        let plan = &self.chosen.plan;
        let reached: Option<Lsn> = recovered.reached_lsn.as_deref().and_then(|text| text.parse().ok());
        let start = SegmentName::parse(&recovered.expected_segment).and_then(|name| name.start(plan.segment_size));
        let seen = format!("{} on timeline {}", recovered.reached_lsn.as_deref().unwrap_or("no position"), recovered.timeline);
        match plan.target {
            RecoveryTarget::End => {
                let end = match (reached, start) {
                    (Some(reached), Some(start)) if reached >= start && recovered.timeline == plan.timeline => CheckEnd::Passed,
                    (Some(_), Some(_)) => CheckEnd::Failed,
                    _ => CheckEnd::Undecided,
                };
                let expected = format!("into segment {} of timeline {}", recovered.expected_segment, plan.timeline);
                assertion(REPLAY_END, expected, seen, end, false)
            }
            RecoveryTarget::Time(moment) => {
                let end = time_reached(recovered, plan.timeline, moment, plan.broken_at.is_some());
                let mut as_of =
                    recovered.data_as_of.map_or_else(|| "no commit replayed".to_owned(), |as_of| format!("data as of {as_of}"));
                if !recovered.target_reached {
                    as_of.push_str(", and the WAL ends without a commit behind the target");
                    if let Some(lost) = plan.broken_at {
                        as_of = format!("{as_of}: segment {lost} is lost");
                    }
                }
                assertion(REPLAY_END, format!("{moment} on timeline {}", plan.timeline), format!("{as_of}, {seen}"), end, true)
            }
        }
    }

    /// Newest replayed commit against what the archive covers.
    fn fresh(&self) -> AssertionResult {
        let began = Instant::now();
        let until = match self.chosen.plan.target {
            RecoveryTarget::End => self.chosen.plan.covered_until,
            RecoveryTarget::Time(moment) => Some(moment),
        };
        let tolerance = self.chosen.of.archive_timeout_seconds.unwrap_or(0.0) + FRESH_SECONDS;
        let expected = until.map_or_else(
            || "not known what the archive covers".to_owned(),
            |until| format!("data of at most {tolerance:.0} s before {until}"),
        );
        let (end, seen) = freshness(self.recovered.data_as_of, until, tolerance, self.chosen.plan.from, self.cx.now);
        AssertionResult { seconds: seconds(began), ..assertion(FRESH, expected, seen, end, true) }
    }

    /// Sizes of the databases; against the last drill when there was one.
    async fn sizes(&self, session: &mut Session) -> Result<(BTreeMap<String, u64>, Vec<AssertionResult>), Trouble> {
        let rows = session
            .rows("select datname, pg_catalog.pg_database_size(oid) from pg_catalog.pg_database where datallowconn and not datistemplate order by datname")
            .await
            .map_err(|error| Trouble::could_not(format!("sizes could not be read: {}", words(&error)), "run the drill again"))?;
        let mut sizes = BTreeMap::new();
        for row in rows {
            let mut columns = row.into_iter();
            let name = columns.next().flatten();
            let size = columns.next().flatten().and_then(|text| text.parse().ok());
            if let Some((name, size)) = name.zip(size) {
                sizes.insert(format!("database {name}"), size);
            }
        }
        let results = compare_sizes(&self.chosen.of.last_sizes, &sizes);
        Ok((sizes, results))
    }

    /// Before PostgreSQL 14 only a superuser reads everything, and one can reach programs and files of the server.
    fn not_asked(check: &SqlCheck) -> AssertionResult {
        let tells_stale = check.tells_stale || matches!(check.expect, Expectation::NewerThanSeconds(_));
        let seen = "not asked: this PostgreSQL has no role that reads everything, and a superuser is not kept inside of the \
                    sandbox here (no Landlock)";
        assertion(&check.name, expectation_in_words(&check.expect), seen.to_owned(), CheckEnd::Undecided, tells_stale)
    }

    async fn ask(&self, check: &SqlCheck, door: &Door, role: &str) -> AssertionResult {
        let began = Instant::now();
        let tells_stale = check.tells_stale || matches!(check.expect, Expectation::NewerThanSeconds(_));
        let limit = check.time_limit_seconds.max(1);
        let extra = [
            ("statement_timeout", format!("{limit}s")),
            ("default_transaction_read_only", "on".to_owned()),
            ("lock_timeout", "5s".to_owned()),
        ];
        let asked = async {
            let mut session = Session::open(door, As::Reader(role), &check.database, &extra).await?;
            let answer = session.ask(&check.sql).await;
            session.close().await;
            answer
        };
        let expected = expectation_in_words(&check.expect);
        let grace = Duration::from_secs(limit.saturating_add(15));
        let (end, seen) = tokio::select! {
            () = self.cancel.cancelled() => (CheckEnd::Undecided, "cancelled".to_owned()),
            answer = tokio::time::timeout(grace, asked) => match answer {
                Err(_) => (CheckEnd::Undecided, format!("no answer in {} s", grace.as_secs())),
                Ok(Err(error)) => of_error(&error),
                Ok(Ok(answer)) => {
                    let now = self.reference();
                    judge(&check.expect, answer.rows, answer.columns, answer.first.as_deref(), now)
                }
            },
        };
        AssertionResult { seconds: seconds(began), ..assertion(&check.name, expected, seen, end, tells_stale) }
    }

    /// What "new" is measured against: what the archive covers, else the time of the drill.
    fn reference(&self) -> Timestamp {
        match self.chosen.plan.target {
            RecoveryTarget::Time(moment) => moment,
            RecoveryTarget::End => self.chosen.plan.covered_until.unwrap_or(self.cx.now),
        }
    }
}

/// That it is not shown is our sandbox's fault and never the archive's.
fn archiving_off(shown: Option<&Shown>) -> AssertionResult {
    let (end, seen) = match shown {
        Some(shown) if shown.against.is_empty() => (CheckEnd::Passed, shown.facts.join("; ")),
        Some(shown) => (CheckEnd::Undecided, shown.against.join("; ")),
        None => (CheckEnd::Undecided, "not looked at".to_owned()),
    };
    assertion(ARCHIVING_OFF, "archiving, preloaded libraries and TCP off, read back".to_owned(), seen, end, false)
}

/// Who asks the user's checks.
struct Reader {
    name: String,
    /// It is a superuser, read-only by its settings alone.
    reaches_out: bool,
}

/// A name that the source cannot have given to a role of its own, and that is used once.
fn reader_name(run: RunId) -> String {
    static ROUND: AtomicU32 = AtomicU32::new(1);
    format!("dalsegno_{}_{}", run.short(), ROUND.fetch_add(1, Ordering::Relaxed))
}

/// Makes a role that may read everything and write nothing: no superuser, so that no check reaches programs or files of the server.
async fn reader(session: &mut Session, name: &str, password: Option<&Secret>) -> Result<Reader, sqlx::Error> {
    // Hex digits: nothing in it needs quoting.
    let password = password.map(|password| format!(" password '{}'", password.expose())).unwrap_or_default();
    session.run_made(format!("create role \"{name}\" login nosuperuser nocreatedb nocreaterole noreplication{password}")).await?;
    session.run(NO_PRELOAD).await?;
    let readers = session.row("select count(*) from pg_catalog.pg_roles where rolname = 'pg_read_all_data'").await?;
    if readers.first().and_then(Option::as_deref) == Some("1") {
        let grant = format!("grant pg_read_all_data, pg_read_all_settings, pg_read_all_stats to \"{name}\"");
        session.run_made(grant).await?;
        session.run_made(format!("alter role \"{name}\" bypassrls")).await?;
        return Ok(Reader { name: name.to_owned(), reaches_out: false });
    }
    // PostgreSQL 13 has no role that reads everything: a superuser in name is needed, read-only by its settings.
    session.run_made(format!("alter role \"{name}\" superuser")).await?;
    session.run_made(format!("alter role \"{name}\" set default_transaction_read_only = on")).await?;
    Ok(Reader { name: name.to_owned(), reaches_out: true })
}

/// Replay must have stopped *at* a moment: only a commit behind it shows that none before it is missing. When the WAL ends before
/// that, commits may be lost, and are when the chain is known to have a hole there.
pub fn time_reached(recovered: &Recovered, timeline: u32, moment: Timestamp, broken: bool) -> CheckEnd {
    if recovered.timeline != timeline || recovered.data_as_of.is_some_and(|as_of| as_of > moment) {
        return CheckEnd::Failed;
    }
    match (recovered.target_reached, broken) {
        (true, _) => CheckEnd::Passed,
        (false, true) => CheckEnd::Failed,
        (false, false) => CheckEnd::Undecided,
    }
}

/// A result that took no time of its own.
pub fn assertion(name: &str, expected: String, seen: String, end: CheckEnd, tells_stale: bool) -> AssertionResult {
    AssertionResult { name: name.to_owned(), expected, seen, end, tells_stale, seconds: 0.0 }
}

/// Undecided when no commit was replayed and the base backup is too old to tell.
pub fn freshness(
    as_of: Option<Timestamp>,
    until: Option<Timestamp>,
    tolerance: f64,
    base_end: Timestamp,
    now: Timestamp,
) -> (CheckEnd, String) {
    let Some(until) = until else { return (CheckEnd::Undecided, "not known what the archive covers".to_owned()) };
    let behind = |then: Timestamp| until.duration_since(then).as_secs_f64();
    match as_of {
        Some(as_of) if behind(as_of) <= tolerance => (CheckEnd::Passed, format!("data as of {as_of} ({})", age(as_of, now))),
        // A quiet cluster archives segments without commits: that is no proof of staleness.
        Some(as_of) => {
            (CheckEnd::Undecided, format!("data as of {as_of}, {:.0} s before what the archive covers", behind(as_of)))
        }
        None if behind(base_end) <= tolerance => (CheckEnd::Passed, format!("no commit replayed, base backup of {base_end}")),
        None => (CheckEnd::Undecided, format!("no commit replayed, base backup of {base_end}")),
    }
}

/// One result per database that the last drill saw and that was not tiny.
pub fn compare_sizes(last: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Vec<AssertionResult> {
    last.iter()
        .filter(|(name, size)| name.starts_with("database ") && **size >= SMALL_BYTES)
        .map(|(name, before)| {
            let seen = now.get(name).copied();
            let enough = seen.is_some_and(|seen| seen as f64 >= *before as f64 * SHRUNK);
            let end = if enough { CheckEnd::Passed } else { CheckEnd::Failed };
            let seen = seen.map_or_else(|| "not there".to_owned(), bytes_in_words);
            let expected = format!("at least half of {} (the last drill's)", bytes_in_words(*before));
            assertion(&format!("size of {name}"), expected, seen, end, false)
        })
        .collect()
}

fn expectation_in_words(expect: &Expectation) -> String {
    match expect {
        Expectation::Runs(_) => "runs".to_owned(),
        Expectation::Rows(rows) => format!("{rows} rows"),
        Expectation::RowsAtLeast(rows) => format!("at least {rows} rows"),
        Expectation::Value(text) => format!("the value {text:?}"),
        Expectation::AtLeast(number) => format!("at least {number}"),
        Expectation::AtMost(number) => format!("at most {number}"),
        Expectation::NewerThanSeconds(seconds) => format!("at most {seconds} s before what the archive covers"),
    }
}

/// A connection that breaks (08), resources (53), an operator or a time limit (57), the system (58), a lock that is held, a right
/// that our reader lacks and a statement that would write: not the data's fault. A missing table is.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
pub fn of_state(state: Option<&str>) -> CheckEnd {
    let Some(state) = state else { return CheckEnd::Undecided };
    let ours = ["08", "53", "57", "58"].iter().any(|class| state.starts_with(class));
    if ours || matches!(state, "42501" | "25006" | "55P03") { CheckEnd::Undecided } else { CheckEnd::Failed }
}

fn of_error(error: &sqlx::Error) -> (CheckEnd, String) {
    (of_state(sqlstate(error).as_deref()), words(error))
}

/// Holds an answer against the expectation.
pub fn judge(expect: &Expectation, rows: u64, columns: usize, first: Option<&str>, reference: Timestamp) -> (CheckEnd, String) {
    let verdict = |good: bool| if good { CheckEnd::Passed } else { CheckEnd::Failed };
    let value = first.map_or_else(|| if rows == 0 { "no row".to_owned() } else { "NULL".to_owned() }, ToOwned::to_owned);
    let single = rows == 1 && columns == 1;
    let as_number = || first.and_then(|text| text.trim().parse::<f64>().ok()).filter(|number| number.is_finite());
    let shape = || (CheckEnd::Failed, format!("{rows} rows of {columns} columns, expected is a single value"));
    match expect {
        Expectation::Runs(wanted) => (verdict(*wanted), format!("ran, {rows} rows")),
        Expectation::Rows(wanted) => (verdict(rows == *wanted), format!("{rows} rows")),
        Expectation::RowsAtLeast(wanted) => (verdict(rows >= *wanted), format!("{rows} rows")),
        _ if !single => shape(),
        Expectation::Value(wanted) => (verdict(first == Some(wanted.as_str())), value),
        Expectation::AtLeast(wanted) => (verdict(as_number().is_some_and(|number| number >= *wanted)), value),
        Expectation::AtMost(wanted) => (verdict(as_number().is_some_and(|number| number <= *wanted)), value),
        Expectation::NewerThanSeconds(limit) => match first.and_then(timestamp) {
            Some(then) => (verdict(reference.duration_since(then).as_secs_f64() <= *limit), value),
            None => (CheckEnd::Failed, format!("{value} is no timestamp")),
        },
    }
}

/// `2026-11-30 12:39:00.123+00`, as PostgreSQL prints with time zone UTC; without a zone (type timestamp) UTC is meant.
fn timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let text = if text.len() == 10 { format!("{text} 00:00:00") } else { text.to_owned() };
    if let Ok(crate::archive::RecoveryTarget::Time(moment)) = RecoveryTarget::parse(&text) {
        return Some(moment);
    }
    match RecoveryTarget::parse(&format!("{text}+00")) {
        Ok(RecoveryTarget::Time(moment)) => Some(moment),
        _ => None,
    }
}
