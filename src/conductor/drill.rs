//! A drill from its text to its evidence: sweep, check, plan, run, judge, evidence.
//!
//! A drill is a process of its own with a journal of its own; it needs no ledger. The next pass takes its evidence in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use crate::drill::{Course, Declared, headline, report, step_line};
pub use crate::execution::{
    EVIDENCE_FILE, EvidenceError, JournalError, Outlook, Swept, SweptHow, Unwatched, Watch, list_evidence, outlook, read_evidence,
};
pub use crate::runbook::{Mistakes, Plan};

use crate::domain::{
    Act, Cx, Evidence, Exit, ExitCode, Expects, Explained, Guard, Isolation, Place, Placeholder, Policy, Requests, RunId, Subject,
};
use crate::execution::{Hands, How, Interrupted, Journal, recorded, run, sweep, unclosed, write_evidence};
use crate::runbook::{Mistake, check, plan};
use crate::{drill, runbook};

/// Runbooks that the program brings along: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("pg-restore", include_str!("../../runbooks/pg-restore.yaml")),
    ("cnpg-restore", include_str!("../../runbooks/cnpg-restore.yaml")),
];

/// The ground that drills stand on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The site that drills.
    pub site: &'a str,
    /// The host that drills.
    pub host: &'a str,
    /// Journals and evidence lie in here, a folder per run.
    pub drills: &'a Path,
    /// Who can act.
    pub acts: &'a [&'a dyn Act],
    /// Policy's word before each act.
    pub guard: Guard<'a>,
    /// Who is told.
    pub watch: &'a dyn Watch,
    /// Requests made of stores by this process so far.
    pub requests: &'a (dyn Fn() -> Requests + Sync),
}

/// A database that can be drilled.
#[derive(Clone, Debug, PartialEq)]
pub struct Drillable {
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// Where its archive lies.
    pub place: Place,
    /// By which mechanism it is drilled, and what of it must come back.
    pub expects: Expects,
    /// How good its backups must be: RPO and RTO are the drill's budgets.
    pub policy: Policy,
    /// Names of the checks that the configuration asks for.
    pub checks: Vec<String>,
    /// Placeholders that stand where something of it should.
    pub placeholders: Vec<Placeholder>,
}

/// A runbook's text and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The file, or `built in: NAME`.
    pub file: String,
    /// The text.
    pub text: String,
}

/// A drill that is ready to run: nothing was done yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// The plan.
    pub plan: Plan,
    /// What it shall show.
    pub declared: Declared,
}

/// A drill that is over.
#[derive(Clone, Debug)]
pub struct Over {
    /// Its evidence.
    pub evidence: Evidence,
    /// Where the evidence lies.
    pub path: PathBuf,
    /// The exit code.
    pub exit: ExitCode,
}

/// Why there was no drill, or no evidence of one.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// No such runbook.
    #[error("no runbook \"{name}\": it is neither shipped ({shipped}) nor a file that can be read{why}")]
    NoRunbook {
        /// What was asked for.
        name: String,
        /// Names of shipped ones.
        shipped: String,
        /// The operating system's answer, when it was a file.
        why: String,
    },
    /// The text is wrong.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// What was given on the command line does not fit.
    #[error("{}", said_of_options(.wrong))]
    Options {
        /// The option as it is written, and what is wrong: at least one.
        wrong: Vec<(String, String)>,
        /// The runbook.
        runbook: String,
    },
    /// Nothing to drill by that name.
    #[error("{why}")]
    NoDatabase {
        /// What is wrong.
        why: String,
        /// What is right.
        hint: String,
    },
    /// The journal could not be made: without it nothing is done.
    #[error("the drill was not begun")]
    Journal(#[from] JournalError),
    /// The drill ran and was cleaned up; its evidence could not be written. The next start writes it, as interrupted.
    #[error("the drill ended as {verdict}, but its evidence could not be written")]
    Evidence {
        /// The verdict.
        verdict: &'static str,
        /// Why.
        source: EvidenceError,
    },
    /// No drill was recorded under that id.
    #[error("no drill {wanted} in {}", drills.display())]
    NoEvidence {
        /// What was asked for.
        wanted: String,
        /// Where.
        drills: PathBuf,
    },
    /// An evidence file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] EvidenceError),
}

impl Explained for DrillError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoRunbook { .. } => "runbook-missing",
            Self::Mistakes(mistakes) => mistakes.code(),
            Self::Options { .. } => "drill-option",
            Self::NoDatabase { .. } => "drill-no-database",
            Self::Journal(error) => error.code(),
            Self::Evidence { source, .. } => source.code(),
            Self::NoEvidence { .. } => "drill-not-recorded",
            Self::Unreadable(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoRunbook { shipped, .. } => {
                let first = shipped.split(',').next().unwrap_or_default();
                Some(format!("dalsegno drill {first} --db NAME"))
            }
            Self::Mistakes(mistakes) => mistakes.hint(),
            Self::Options { wrong, runbook } => Some(right_option(wrong, runbook)),
            Self::NoDatabase { hint, .. } => Some(hint.clone()),
            Self::Journal(error) => error.hint(),
            Self::Evidence { source, .. } => source.hint(),
            Self::NoEvidence { .. } => Some("see which there are:  dalsegno history".to_owned()),
            Self::Unreadable(error) => error.hint(),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::NoRunbook { .. } | Self::NoDatabase { .. } | Self::NoEvidence { .. } | Self::Options { .. } => ExitCode::Usage,
            Self::Mistakes(mistakes) => mistakes.exit(),
            Self::Journal(error) => error.exit(),
            Self::Evidence { source, .. } => source.exit(),
            Self::Unreadable(error) => error.exit(),
        }
    }
}

/// Parameters with an option of their own; every other is given by `--set NAME=VALUE`.
const OPTIONS: [(&str, &str, &str); 2] =
    [("target", "--target", "--target end, or --target 2026-09-30T14:00:00Z"), ("timeline", "--timeline", "--timeline 2")];

fn said_of_options(wrong: &[(String, String)]) -> String {
    wrong.iter().map(|(option, what)| format!("{option}: {what}")).collect::<Vec<_>>().join("\n  ")
}

fn right_option(wrong: &[(String, String)], runbook: &str) -> String {
    let first = wrong.first().map(|(option, _)| option.as_str()).unwrap_or_default();
    match OPTIONS.iter().find(|(_, option, _)| *option == first) {
        Some((_, _, example)) => format!("for example: dalsegno drill {runbook} {example}"),
        None => format!("what can be set, and what it means: dalsegno runbook check {runbook}"),
    }
}

/// Mistakes in what was given, by the option that gave it.
fn of_options(mistakes: Vec<Mistake>, script: &Script) -> DrillError {
    let option = |name: &str| {
        let own = OPTIONS.iter().find(|(parameter, _, _)| *parameter == name);
        own.map_or_else(|| format!("--set {name}"), |(_, option, _)| (*option).to_owned())
    };
    let wrong = mistakes.into_iter().map(|mistake| (option(mistake.path.trim_start_matches("parameter ")), mistake.what));
    DrillError::Options { wrong: wrong.collect(), runbook: script.file.trim_start_matches("built in: ").to_owned() }
}

/// The database that a person means: its name, the end of its subject, or the only one there is. `runbook` is what shall be run on it.
pub fn choose<'a>(databases: &'a [Drillable], wanted: Option<&str>, runbook: &str) -> Result<&'a Drillable, DrillError> {
    let names = || databases.iter().map(|database| database.subject.to_string()).collect::<Vec<_>>().join(", ");
    let refused = |why: String, hint: String| Err(DrillError::NoDatabase { why, hint });
    let first = databases.first().map_or("NAME", |database| database.subject.name());
    let again = || format!("dalsegno drill {runbook} --db {first}");
    let found: Vec<&Drillable> = match wanted {
        None => databases.iter().collect(),
        Some(wanted) => databases.iter().filter(|database| database.subject.answers_to(wanted)).collect(),
    };
    match (found.as_slice(), wanted) {
        ([only], _) => Ok(only),
        ([], None) => refused("the configuration names no database to drill".to_owned(), "write one:  dalsegno init".to_owned()),
        ([], Some(wanted)) => refused(format!("no database \"{wanted}\" (known: {})", names()), again()),
        (_, None) => refused(format!("there are several databases: {}", names()), again()),
        (_, Some(wanted)) => {
            refused(format!("\"{wanted}\" can mean several of: {}", names()), "name it by its whole subject".to_owned())
        }
    }
}

/// Parameters that only the configuration gives, and where it does.
const CONFIGURED: &[(&str, &str)] = &[
    ("subject", "the database is chosen by --db NAME"),
    ("rto", "it is policy.rto of the database in the configuration"),
    ("rpo", "it is policy.rpo of the database in the configuration"),
];

/// Checks the text and binds the parameters. `given` comes from the command line; subject and budgets come from the configuration
/// alone, so that no drill can be of another database, or easier, than its evidence says. Isolation is never less than the runbook
/// says.
pub fn ready(
    run: RunId,
    ground: &Ground<'_>,
    database: &Drillable,
    script: &Script,
    given: &BTreeMap<String, Value>,
    isolation: Option<Isolation>,
) -> Result<Ready, DrillError> {
    let mistakes = |mistakes: Vec<Mistake>| Mistakes { file: script.file.clone(), mistakes };
    let verbs: Vec<_> = ground.acts.iter().flat_map(|act| act.verbs().iter().copied()).collect();
    let checked = check(&script.text, &verbs).map_err(mistakes)?;
    let not_theirs = CONFIGURED.iter().filter(|(name, _)| given.contains_key(*name));
    let not_theirs: Vec<Mistake> = not_theirs
        .map(|(name, whence)| Mistake {
            line: 0,
            column: 0,
            path: format!("parameter {name}"),
            what: format!("cannot be set: {whence}"),
        })
        .collect();
    if !not_theirs.is_empty() {
        return Err(of_options(not_theirs, script));
    }
    let policy = &database.policy;
    let mut given = given.clone();
    for parameter in &checked.runbook.parameters {
        let value = match (parameter.name.as_str(), parameter.kind) {
            ("subject", _) => Some(database.subject.to_string()),
            ("rto", runbook::Kind::Duration) => policy.rto_seconds.map(|seconds| format!("{seconds}s")),
            ("rpo", runbook::Kind::Duration) => policy.rpo_seconds.map(|seconds| format!("{seconds}s")),
            _ => None,
        };
        if let Some(value) = value {
            given.insert(parameter.name.clone(), Value::String(value));
        }
    }
    let plan = plan(&checked, run, &given).map_err(|mistakes| of_options(mistakes, script))?;
    let declared = Declared {
        site: ground.site.to_owned(),
        host: ground.host.to_owned(),
        subject: database.subject.clone(),
        place: database.place.clone(),
        runbook: plan.runbook.clone(),
        runbook_sha256: plan.runbook_sha256.clone(),
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        isolation: plan.isolation_at_least.max(isolation.unwrap_or(Isolation::None)),
        rpo_budget_seconds: tighter(plan.rpo_seconds, policy.rpo_seconds),
        rto_budget_seconds: tighter(plan.rto_seconds, policy.rto_seconds),
        expects: database.expects.clone(),
        checks: database.checks.clone(),
        placeholders: database.placeholders.clone(),
    };
    Ok(Ready { plan, declared })
}

/// A runbook may ask for more than the configuration, never for less.
fn tighter(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Runs a drill, cleans up, judges, and leaves one evidence file. Stopped through `cx.cancel`; must be awaited to its end.
pub async fn drill(cx: &Cx, ground: &Ground<'_>, ready: &Ready) -> Result<Over, DrillError> {
    let context = serde_json::to_value(&ready.declared).map_err(|error| DrillError::Journal(JournalError::Json(error)))?;
    let requests_before = (ground.requests)();
    let mut journal = Journal::begin(ground.drills, &ready.plan, context, cx.now)?;
    let hands = Hands { acts: ground.acts, guard: ground.guard, watch: ground.watch };
    let outcome = run(cx, &ready.plan, &hands, &mut journal).await;
    let course = Course {
        began: cx.now,
        ended: journal.now(),
        cancelled: outcome.cancelled,
        interrupted: false,
        clean_up_seconds: Some(outcome.clean_up_seconds),
        left_over: outcome.left_over.clone(),
        requests: (ground.requests)() - requests_before,
    };
    let judgement = drill::judge(&outcome.steps, &ready.declared, &course);
    let evidence = drill::evidence(ready.plan.run, &outcome.steps, &ready.declared, &course, &judgement);
    let written = write_evidence(journal.folder(), &evidence);
    let path = written.map_err(|source| DrillError::Evidence { verdict: evidence.verdict.as_str(), source })?;
    if let Err(error) = journal.close(How::Finished, Some(evidence.verdict), &outcome.left_over) {
        // The evidence stands; the next start closes the journal.
        tracing::warn!(%error, "the journal could not be closed");
    }
    Ok(Over { exit: judgement.exit, evidence, path })
}

/// Closes drills whose process is gone: takes back what they left and writes their evidence, never `proven`.
pub async fn sweep_drills(cx: &Cx, ground: &Ground<'_>) -> Result<Vec<Swept>, JournalError> {
    let now = cx.now;
    let mut swept = sweep(cx, ground.drills, ground.acts, ground.watch, &mut |interrupted| {
        let path = interrupted.folder.join(EVIDENCE_FILE);
        let explained = |error: &EvidenceError| (error.to_string(), error.hint().unwrap_or_default());
        if path.exists() {
            // It was killed between evidence and the journal's last line: what was seen stands.
            return read_evidence(&path).map(|evidence| evidence.verdict).map_err(|error| explained(&error));
        }
        let evidence = interrupted_evidence(interrupted, now)?;
        write_evidence(&interrupted.folder, &evidence).map_err(|error| explained(&error))?;
        Ok(evidence.verdict)
    })
    .await?;
    sweep_strays(cx, ground, &mut swept).await?;
    Ok(swept)
}

/// What no journal leads to any more: found by label where the act can find it so.
async fn sweep_strays(cx: &Cx, ground: &Ground<'_>, swept: &mut Vec<Swept>) -> Result<(), JournalError> {
    let known = recorded(ground.drills)?;
    let living: Vec<RunId> = swept.iter().filter(|one| one.how == SweptHow::Living).map(|one| one.run).collect();
    for act in ground.acts {
        for stray in act.strays(cx, &known, &living).await {
            // A run whose left-over is told by its journal is not told twice.
            if swept.iter().all(|one| one.run != stray.run) {
                swept.push(Swept { run: stray.run, how: SweptHow::Closed { left_over: stray.left_over.into_iter().collect() } });
            }
        }
    }
    Ok(())
}

fn interrupted_evidence(interrupted: &Interrupted, now: jiff::Timestamp) -> Result<Evidence, (String, String)> {
    let declared: Declared = serde_json::from_value(interrupted.context.clone()).map_err(|error| {
        let why = format!("the journal in {} does not say what was drilled: {error}", interrupted.folder.display());
        (why, format!("everything was taken back; move the folder away:  mv {} /tmp", interrupted.folder.display()))
    })?;
    let course = Course {
        began: interrupted.began,
        ended: now.max(interrupted.last),
        cancelled: false,
        interrupted: true,
        clean_up_seconds: None,
        left_over: interrupted.left_over.clone(),
        requests: Requests::default(), // counted by a process that is gone
    };
    let judgement = drill::judge(&interrupted.steps, &declared, &course);
    Ok(drill::evidence(interrupted.plan.run, &interrupted.steps, &declared, &course, &judgement))
}

/// The exit code of a sweep: 5 when something is left over or stuck.
pub fn swept_exit(swept: &[Swept]) -> ExitCode {
    let stuck = |swept: &Swept| match &swept.how {
        SweptHow::Closed { left_over } => !left_over.is_empty(),
        SweptHow::Stuck { .. } => true,
        SweptHow::Living | SweptHow::Discarded => false,
    };
    if swept.iter().any(stuck) { ExitCode::Stuck } else { ExitCode::Fine }
}

/// Folders of drills that a sweep would look into, without doing anything.
pub fn open_drills(drills: &Path) -> Result<Vec<String>, JournalError> {
    Ok(unclosed(drills)?
        .into_iter()
        .map(|(run, living)| format!("{run}  {}", if living { "runs" } else { "would be closed" }))
        .collect())
}

/// The evidence that a person means: a run's id or the end of it; the newest when none is named.
pub fn find_evidence(drills: &Path, wanted: Option<&str>) -> Result<(PathBuf, Evidence), DrillError> {
    let all = list_evidence(drills)?;
    let meant = |run: &RunId| wanted.is_none_or(|wanted| run.to_string().ends_with(wanted));
    let found = all.into_iter().rev().find(|(run, _)| meant(run));
    let (_, path) = found
        .ok_or_else(|| DrillError::NoEvidence { wanted: wanted.unwrap_or("at all").to_owned(), drills: drills.to_owned() })?;
    let evidence = read_evidence(&path)?;
    Ok((path, evidence))
}
