//! `dalsegno archive`: what lies in a PostgreSQL archive.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Serialize;

use super::{Failure, Out};
use crate::domain::{
    ArchiveFact, BackupStatus, BaseBackup, Control, ExitCode, Fact, Gap, Observation, Window, age, bytes_in_words,
    duration_in_words, many,
};

/// What lies in a PostgreSQL archive, and what could be restored from it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to show.
    pub command: Command,
}

/// What to show of an archive.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Base backups and the range of WAL, per database
    List(Which),
    /// Recovery windows: from when until when, on which timeline
    Windows(Which),
    /// Look for gaps and damage: every name, and the header bytes of first, last and boundary segments
    Audit(Which),
}

/// Which database.
#[derive(Clone, Debug, clap::Args)]
pub struct Which {
    /// A database or the end of its subject; all when left out
    pub subject: Option<String>,
}

impl Command {
    /// Which database is meant.
    pub const fn which(&self) -> &Which {
        match self {
            Self::List(which) | Self::Windows(which) | Self::Audit(which) => which,
        }
    }

    /// Whether segments' first bytes must be read for it.
    pub const fn needs_headers(&self) -> bool {
        matches!(self, Self::Audit(_))
    }
}

/// What was looked at for a command, and what could not be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Looked {
    /// One per archive.
    pub archives: Vec<ArchiveFact>,
    /// What could not be looked at.
    pub gaps: Vec<Gap>,
    /// Of places with nothing in them: what lies beside.
    pub controls: Vec<Control>,
}

impl Looked {
    /// What was seen.
    pub fn of(seen: Observation) -> Self {
        let archive = |fact| match fact {
            Fact::Archive(archive) => Some(*archive),
            _ => None,
        };
        Self { archives: seen.facts.into_iter().filter_map(archive).collect(), gaps: seen.gaps, controls: seen.controls }
    }
}

/// One thing that an audit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The database.
    pub subject: String,
    /// What kind: `gap`, `empty`, `partial`, `system`, `orphan`, `framed`, `malformed`, `backup`, `nothing`.
    pub kind: &'static str,
    /// Which object or segment.
    pub what: String,
    /// What is wrong with it.
    pub why: String,
}

/// Answer of `archive audit` for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Audited<'a> {
    /// What was found.
    pub damage: Vec<Damage>,
    /// What was looked at.
    #[serde(flatten)]
    pub looked: &'a Looked,
}

/// Shows what was looked at. The exit code: 1 when an audit found damage, 3 when something could not be looked at.
pub fn show(command: &Command, looked: &Looked, now: Timestamp, out: &Out) -> Result<ExitCode, Failure> {
    let mut exit = if looked.gaps.is_empty() { ExitCode::Fine } else { ExitCode::CouldNotLook };
    if let Command::Audit(_) = command {
        let audited = Audited { damage: looked.archives.iter().flat_map(damage).collect(), looked };
        if !audited.damage.is_empty() {
            exit = exit.worse(ExitCode::Findings);
        }
        out.show(&audited, |out| text(command, looked, now, out))?;
    } else {
        out.show(looked, |out| text(command, looked, now, out))?;
    }
    Ok(exit)
}

/// The screen of a command.
pub fn text(command: &Command, looked: &Looked, now: Timestamp, out: &Out) -> String {
    let archives = &looked.archives;
    let text = match command {
        Command::List(_) => list(archives, now, out),
        Command::Windows(_) => windows(archives, now, out),
        Command::Audit(_) => audit(&Audited { damage: archives.iter().flat_map(damage).collect(), looked }, out),
    };
    with_rest(text, looked)
}

/// What nothing was found in, and what could not be looked at, each with what to do.
fn with_rest(mut text: String, looked: &Looked) -> String {
    for archive in looked.archives.iter().filter(|archive| archive.objects == 0) {
        let beside = looked.controls.iter().find(|control| control.subject == archive.subject);
        let shown =
            beside.map_or_else(|| format!("nothing lies under {}", archive.place.root()), |control| control.shown.clone());
        let name = archive.subject.name();
        let _ = write!(
            text,
            "\n\n{}: {shown}\n  hint  is it the right place? objects are looked for at bucket/prefix/server/base/ and …/wals/: check \
             archive.store, archive.prefix and archive.server of postgres.{name}",
            archive.subject
        );
    }
    for gap in &looked.gaps {
        let _ = write!(text, "\n\n{}: UNKNOWN, could not look: {}\n  hint  {}", gap.subject, gap.detail, gap.hint);
    }
    text.trim_start_matches('\n').to_owned()
}

fn when(moment: Option<Timestamp>, now: Timestamp) -> String {
    moment.map_or_else(|| "?".to_owned(), |moment| age(moment, now))
}

/// Base backups, oldest first, and the range of WAL below them.
pub fn list(archives: &[ArchiveFact], now: Timestamp, out: &Out) -> String {
    let blocks = archives.iter().map(|archive| {
        let header = ["BACKUP", "STATE", "ENDED", "TIMELINE", "STORED", "CLUSTER", "WAL", "REMARK"];
        let rows = archive.backups.iter().map(|backup| backup_row(backup, now)).collect();
        let head = format!("{} · {}", archive.subject, archive.place);
        let table = if archive.backups.is_empty() { "no base backup".to_owned() } else { out.table(&header, rows) };
        format!("{head}\n\n{table}\n\n{}", wal_line(archive, now))
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn backup_row(backup: &BaseBackup, now: Timestamp) -> Vec<String> {
    let dash = || "-".to_owned();
    let wal = match (&backup.begin_wal, &backup.end_wal) {
        (Some(begin), Some(end)) if begin == end => begin.clone(),
        (Some(begin), Some(end)) => format!("{begin}..{}", end.get(16..).unwrap_or(end)),
        (Some(begin), None) => format!("{begin}.."),
        _ => dash(),
    };
    vec![
        backup.id.clone(),
        state(&backup.status).to_owned(),
        backup.end_time.map_or_else(dash, |end| age(end, now)),
        backup.timeline.map_or_else(dash, |timeline| timeline.to_string()),
        bytes_in_words(backup.stored_bytes),
        backup.cluster_size.map_or_else(dash, bytes_in_words),
        wal,
        remark(backup),
    ]
}

const fn state(status: &BackupStatus) -> &'static str {
    match status {
        BackupStatus::Done => "done",
        BackupStatus::Started => "started",
        BackupStatus::Failed { .. } => "failed",
        BackupStatus::Unreadable { .. } => "unreadable",
        BackupStatus::NoRecord => "no record",
    }
}

fn remark(backup: &BaseBackup) -> String {
    let mut words = Vec::new();
    match &backup.status {
        BackupStatus::Failed { error } if !error.is_empty() => words.push(error.clone()),
        BackupStatus::Unreadable { why } => words.push(why.clone()),
        _ => {}
    }
    if !backup.missing.is_empty() {
        words.push(format!("missing {}", backup.missing.join(", ")));
    }
    if let Some(first) = backup.missing_wal.first() {
        words.push(format!("WAL {first} missing"));
    }
    if let Some(keep) = backup.keep {
        words.push(keep.as_str().to_owned());
    }
    words.join("; ")
}

fn wal_line(archive: &ArchiveFact, now: Timestamp) -> String {
    let (Some(oldest), Some(newest)) = (&archive.oldest_segment, &archive.newest_segment) else { return "no WAL".to_owned() };
    format!(
        "{}, {} to {} (written {}); {}, {}",
        many(archive.segments, "WAL segment"),
        oldest.name,
        newest.name,
        when(newest.written, now),
        many(archive.objects, "object"),
        bytes_in_words(archive.bytes)
    )
}

/// What a window's end is not.
const COMMITS: &str = "covered until: nothing up to then is missing (when the last segment was written). The last commit in it may be \
                       earlier: a restore to that moment ends with the last commit before it.";

/// One row per window: from when until when a restore is possible.
pub fn windows(archives: &[ArchiveFact], now: Timestamp, out: &Out) -> String {
    let header = ["SUBJECT", "BACKUP", "TIMELINE", "FROM", "COVERED UNTIL", "LENGTH", "LAST SEGMENT", "REMARK"];
    let rows: Vec<Vec<String>> =
        archives.iter().flat_map(|archive| archive.windows.iter().map(|window| window_row(archive, window, now))).collect();
    let none = archives.iter().filter(|archive| archive.windows.is_empty());
    let nothing: Vec<String> = none.map(|archive| format!("{}: nothing can be restored", archive.subject)).collect();
    let table = if rows.is_empty() { String::new() } else { format!("{}\n\n{COMMITS}", out.table(&header, rows)) };
    [table, nothing.join("\n")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn window_row(archive: &ArchiveFact, window: &Window, now: Timestamp) -> Vec<String> {
    // As `drill --target` takes it, with the age beside.
    let moment = |moment: Timestamp| format!("{moment:.0} ({})", age(moment, now));
    let length = window.covered_until.map(|until| until.duration_since(window.from).as_secs_f64().max(0.0));
    vec![
        archive.subject.to_string(),
        window.backup.clone(),
        window.timeline.to_string(),
        moment(window.from),
        window.covered_until.map_or_else(|| "?".to_owned(), moment),
        length.map_or_else(|| "?".to_owned(), duration_in_words),
        window.last_segment.clone().unwrap_or_else(|| "-".to_owned()),
        window.broken_at.as_ref().map(|at| format!("broken: {at} missing")).unwrap_or_default(),
    ]
}

/// Everything in an archive that is not as it must be.
pub fn damage(archive: &ArchiveFact) -> Vec<Damage> {
    let subject = archive.subject.to_string();
    let mut found = Vec::new();
    let mut note =
        |kind: &'static str, what: String, why: String| found.push(Damage { subject: subject.clone(), kind, what, why });
    if archive.segments == 0 && archive.backups.is_empty() {
        let why = "no base backup and no WAL: are store, prefix and server the right ones?";
        note("nothing", archive.place.to_string(), why.to_owned());
    }
    for gap in &archive.gaps {
        let what = if gap.first == gap.last { gap.first.clone() } else { format!("{}..{}", gap.first, gap.last) };
        let cut = if gap.cuts_newest { "; the newest base backup cannot be rolled forward over it" } else { "" };
        let missing = if gap.count == 1 { "it is missing".to_owned() } else { format!("{} segments are missing", gap.count) };
        note("gap", what, format!("{missing}{cut}"));
    }
    for object in &archive.empty_objects {
        note("empty", object.key.clone(), "has no bytes".to_owned());
    }
    for partial in &archive.partials_inside {
        note("partial", partial.key.clone(), format!("stands where the whole {} should", partial.segment));
    }
    for key in &archive.framed_objects {
        note("framed", key.clone(), "carries aws-chunked framing: the upload's envelope was stored as content".to_owned());
    }
    for (key, why) in &archive.malformed_objects {
        note("malformed", key.clone(), why.clone());
    }
    for orphan in &archive.orphan_histories {
        let why = format!("a default restore would follow timeline {}, which the cluster did not", orphan.timeline);
        note("orphan", orphan.key.clone(), why);
    }
    let expected = archive.expected_system.or_else(|| {
        // Without an expectation the system of the newest backup is the right one, and any other is foreign.
        archive.backups.iter().rev().find(|backup| backup.status == BackupStatus::Done).and_then(|backup| backup.system_id)
    });
    for system in archive.systems.iter().filter(|system| expected.is_some_and(|expected| expected != system.system_id)) {
        let expected = expected.map(|expected| expected.to_string()).unwrap_or_default();
        note("system", system.seen_in.join(", "), format!("is of system {}, expected is {expected}", system.system_id));
    }
    for backup in &archive.backups {
        let bad = match &backup.status {
            BackupStatus::Unreadable { .. } => true,
            BackupStatus::Done => !backup.missing.is_empty() || !backup.missing_wal.is_empty(),
            _ => false,
        };
        if bad {
            note("backup", format!("base/{}/", backup.id), remark(backup));
        }
    }
    found
}

/// What an audit found, or that it found nothing, and over how much.
pub fn audit(audited: &Audited<'_>, out: &Out) -> String {
    let mut blocks = Vec::new();
    if !audited.damage.is_empty() {
        let rows = audited.damage.iter();
        let rows = rows.map(|one| vec![one.subject.clone(), one.kind.to_owned(), one.what.clone(), one.why.clone()]).collect();
        blocks.push(out.table(&["SUBJECT", "KIND", "WHAT", "WHY"], rows));
    }
    for archive in &audited.looked.archives {
        let bad = audited.damage.iter().filter(|one| one.subject == archive.subject.to_string()).count();
        let word = match bad {
            0 => "no damage found".to_owned(),
            1 => "1 thing is not as it must be".to_owned(),
            several => format!("{several} things are not as they must be"),
        };
        let depth = "all names; first bytes of the first, last and boundary segments";
        blocks.push(format!(
            "{}: {word} in {}, {}, {} ({depth})",
            archive.subject,
            many(archive.objects, "object"),
            many(archive.segments, "WAL segment"),
            many(archive.backups.len(), "base backup")
        ));
    }
    blocks.join("\n\n")
}
