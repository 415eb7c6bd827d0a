//! What the last pass saw, from the ledger alone. Nothing is looked at; what was not seen by the newest pass is unknown, never fine.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::clock;
use super::discovered;
use super::look::LOOK_SECONDS;
use super::outcome::Counted;
use crate::domain::{Clock, Evidence, Expected, Finding, Held, NoNumber, RecoveryPoint, Severity, Subject, SubjectKind};
use crate::ledger::{HistoryFilter, KnownPoint, Ledger, LedgerError, OpenFinding, RunKind, RunLine, RunState};
use crate::policy::Proof;

/// A pass that is so many intervals old says nothing of now.
const PASSES: i32 = 3;
/// The interval between passes, while fewer than two are known.
const DEFAULT_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// Passes that the interval is learnt from.
const LEARNT_FROM: u32 = 20;
/// Raw samples are kept this long; what was seen earlier counts as never.
const SEEN_WITHIN: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The state of a subject, nearest harm first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Hurts now.
    Critical,
    /// Will hurt.
    Warning,
    /// Could not be looked at, or was not.
    Unknown,
    /// Worth knowing.
    Info,
    /// Seen by the newest pass, and nothing is wrong.
    Fine,
}

impl State {
    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "CRITICAL",
            Self::Warning => "WARNING",
            Self::Unknown => "UNKNOWN",
            Self::Info => "INFO",
            Self::Fine => "fine",
        }
    }

    fn of(finding: &Finding) -> Self {
        match (finding.could_not_look, finding.severity) {
            (true, _) => Self::Unknown,
            (false, Severity::Critical) => Self::Critical,
            (false, Severity::Warning) => Self::Warning,
            (false, Severity::Info) => Self::Info,
        }
    }
}

/// One subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The subject.
    pub subject: Subject,
    /// How it is covered and where: `base+wal → minio`.
    pub mechanism: Option<String>,
    /// The latest moment that it can be restored to.
    pub restorable_to: Option<Timestamp>,
    /// Allowed RPO in seconds; `None` = nothing says how old is too old.
    pub rpo_budget_seconds: Option<f64>,
    /// When a restore from where it lies was last proven, to the end and with all checks.
    pub proven: Option<Timestamp>,
    /// When the volume that holds its WAL is full.
    pub clock: Option<ClockLine>,
    /// When it was last seen.
    pub seen: Option<Timestamp>,
    /// Its state.
    pub state: State,
    /// Why: the code of the nearest finding, or the words of what is unknown.
    pub why: String,
    /// Open findings, nearest harm first.
    pub findings: Vec<OpenFinding>,
}

/// The disk-full clock of a database, as the newest pass read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockLine {
    /// Hours until the volume is full, at the soonest; `null` when that cannot be said.
    pub hours_low: Option<f64>,
    /// At the latest.
    pub hours_high: Option<f64>,
    /// Why WAL stays on the volume: `not`, `archiving-fails`, `archiving-is-slower`, `slot`, `draining`, `not-known`.
    pub held: Held,
    /// Why there are no hours.
    pub why: Option<NoNumber>,
    /// For people: `full 7–12 h`, `no growth`, `drains 2–3 h`, `-`.
    pub words: String,
}

impl From<&Clock> for ClockLine {
    fn from(clock: &Clock) -> Self {
        let hours = clock.hours();
        Self {
            hours_low: hours.map(|(low, _)| low),
            hours_high: hours.map(|(_, high)| high),
            held: clock.held,
            why: clock.no_number,
            words: clock.to_string(),
        }
    }
}

/// The screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The site.
    pub site: String,
    /// Now.
    pub now: Timestamp,
    /// The newest pass that came to its end.
    pub pass: Option<RunLine>,
    /// The newest pass is too old to say anything of now.
    pub stale: bool,
    /// How many of what is open.
    pub counted: Counted,
    /// Subjects, nearest harm first.
    pub lines: Vec<Line>,
}

/// Reads the ledger. `expected` names the subjects of the configuration, so that one that was never seen is shown too.
pub async fn status(ledger: &Ledger, expected: &Expected, site: &str, now: Timestamp) -> Result<Status, LedgerError> {
    let passes = done_passes(ledger).await?;
    let stale = passes.first().is_none_or(|newest| now.duration_since(newest.began) > interval(&passes) * PASSES);
    let open = ledger.open_findings().await?;
    let points = ledger.points().await?;
    let (expected, discovered) = discovered::with_last(ledger, expected).await?;
    let expected = &expected;
    let subjects: BTreeSet<Subject> = expected
        .covers
        .iter()
        .map(|(subject, _)| subject)
        .chain(expected.placeholders.iter().map(|placeholder| &placeholder.subject))
        .chain(open.iter().map(|open| &open.finding.subject))
        .chain(&discovered)
        .cloned()
        .collect();
    // A clock that was read long ago tells the wrong hour.
    let clocks = if stale { BTreeMap::new() } else { clock::last(ledger).await? };
    let remembered = Remembered { open: &open, points: &points, clocks: &clocks, pass: passes.first(), stale };
    let mut lines = Vec::new();
    for subject in subjects {
        lines.push(line(ledger, subject, &remembered, expected, now).await?);
    }
    lines.sort_by(|a, b| a.state.cmp(&b.state).then_with(|| a.subject.cmp(&b.subject)));
    let counted = Counted::of(open.iter().map(|open| &open.finding));
    Ok(Status { site: site.to_owned(), now, pass: passes.into_iter().next(), stale, counted, lines })
}

/// The usual time between two passes, learnt from the ledger; an hour while it cannot be.
pub async fn usual_interval(ledger: &Ledger) -> Result<SignedDuration, LedgerError> {
    Ok(interval(&done_passes(ledger).await?))
}

/// The newest passes that came to their end, newest first.
pub(super) async fn done_passes(ledger: &Ledger) -> Result<Vec<RunLine>, LedgerError> {
    let filter = HistoryFilter { kind: Some(RunKind::Pass), limit: Some(LEARNT_FROM), ..HistoryFilter::default() };
    Ok(ledger.history(&filter).await?.into_iter().filter(|run| run.state == RunState::Done).collect())
}

/// The usual time between two passes: the median, so that one long pause does not hide the next.
pub(super) fn interval(passes: &[RunLine]) -> SignedDuration {
    let mut between: Vec<SignedDuration> =
        passes.iter().zip(passes.iter().skip(1)).map(|(later, earlier)| later.began.duration_since(earlier.began)).collect();
    between.sort();
    between.get(between.len() / 2).copied().unwrap_or(DEFAULT_INTERVAL).max(SignedDuration::from_secs(60))
}

/// What the ledger told of all subjects.
struct Remembered<'a> {
    open: &'a [OpenFinding],
    points: &'a [KnownPoint],
    clocks: &'a BTreeMap<Subject, Clock>,
    pass: Option<&'a RunLine>,
    stale: bool,
}

async fn line(
    ledger: &Ledger,
    subject: Subject,
    remembered: &Remembered<'_>,
    expected: &Expected,
    now: Timestamp,
) -> Result<Line, LedgerError> {
    let Remembered { open, points, clocks, pass, stale } = *remembered;
    let mut findings: Vec<OpenFinding> = open.iter().filter(|open| open.finding.subject == subject).cloned().collect();
    findings.sort_by_key(|open| (State::of(&open.finding), open.finding.code.clone()));
    let own: Vec<&KnownPoint> = points.iter().filter(|known| known.point.subject == subject).collect();
    let newest = own.iter().max_by_key(|known| known.point.covered_until);
    let counts = |evidence: &Evidence| Proof::from(evidence).counts(expected.isolation);
    let proven = match newest {
        Some(known) => ledger.last_proof(&subject, Some(&known.point.place), &counts).await?.map(|proof| proof.ended),
        None => None,
    };
    let seen = last_seen(ledger, &subject, now).await?;
    let (standing, why) = state(&subject, &findings, seen, pass, stale);
    Ok(Line {
        mechanism: newest.map(|known| mechanism(&known.point)),
        restorable_to: newest.and_then(|known| known.point.covered_until),
        rpo_budget_seconds: expected.policies.get(&subject).and_then(|policy| policy.rpo_seconds),
        proven,
        clock: clocks.get(&subject).map(ClockLine::from),
        seen,
        state: standing,
        why,
        findings,
        subject,
    })
}

async fn last_seen(ledger: &Ledger, subject: &Subject, now: Timestamp) -> Result<Option<Timestamp>, LedgerError> {
    let from = now.checked_sub(SEEN_WITHIN).unwrap_or(Timestamp::MIN);
    let until = now.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    Ok(ledger.samples(subject, LOOK_SECONDS, from, until).await?.last().map(|(at, _)| *at))
}

/// `base+wal → minio`.
fn mechanism(point: &RecoveryPoint) -> String {
    let word = point.mechanism.as_str();
    point.place.store().map_or_else(|| word.to_owned(), |store| format!("{word} → {store}"))
}

/// The nearest finding decides, unless nobody looked: what was not seen by the newest pass is at best unknown.
fn state(
    subject: &Subject,
    findings: &[OpenFinding],
    seen: Option<Timestamp>,
    pass: Option<&RunLine>,
    stale: bool,
) -> (State, String) {
    let nearest = findings.first().map(|open| (State::of(&open.finding), open.finding.code.clone()));
    // dalsegno itself has findings and no looks.
    let unseen = match (pass, seen) {
        _ if subject.kind() == SubjectKind::Dalsegno => None,
        (None, _) => Some("no pass yet".to_owned()),
        (_, None) => Some("never seen".to_owned()),
        (Some(_), Some(_)) if stale => Some("no pass since".to_owned()),
        (Some(pass), Some(seen)) if seen < pass.began => Some("not seen by the last pass".to_owned()),
        _ => None,
    };
    match (nearest, unseen) {
        (Some(nearest), None) => nearest,
        (Some(nearest), Some(_)) if nearest.0 <= State::Unknown => nearest,
        (_, Some(unseen)) => (State::Unknown, unseen),
        (None, None) => (State::Fine, String::new()),
    }
}
