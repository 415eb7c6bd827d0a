//! `dalsegno check`: look now, record nothing.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::at_least::AtLeast;
use super::failure::Failure;
use super::junit;
use super::out::{Out, Tone, visible};
use crate::app::Manifests;
use crate::conductor::{Checked, Counted, ExitRule, State};
use crate::domain::{ExitCode, Finding, Subject, duration_in_words, many};

/// Lines of evidence that are shown of one finding, unless `-o wide`.
const EVIDENCE_LINES: usize = 4;

/// Look now at one subject or at all, and judge. Nothing is recorded, sent or started.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A subject or the end of one: pg/home/prod/keycloak-db, keycloak-db, store/home/minio
    pub subject: Option<String>,
    /// The least severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub fail_on: AtLeast,
    /// Write down what is seen, into a new folder: for a bug report, or to judge again without any network
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["replay", "subject"])]
    pub record: Option<PathBuf>,
    /// Judge a recording instead of looking
    #[arg(long, value_name = "FOLDER", conflicts_with = "subject")]
    pub replay: Option<PathBuf>,
    /// Judge rendered manifests instead of looking: a file or a folder, with the environment's name before it; may be given again
    #[arg(long, value_name = "[ENVIRONMENT=]PATH", conflicts_with_all = ["subject", "record", "replay"])]
    pub manifests: Vec<Manifests>,
    /// Write a JUnit report there, too
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub junit: Option<PathBuf>,
}

impl Args {
    /// What decides the exit code.
    pub fn rule(&self) -> ExitRule {
        ExitRule { threshold: self.fail_on.into(), by_work: false }
    }

    /// Prints what was found, and writes the report that was asked for; answers the exit code.
    pub fn show(&self, checked: &Checked, site: &str, out: &Out) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.junit {
            junit::write(file, checked, self.fail_on.into())?;
        }
        show(checked, site, out)
    }
}

/// Prints what a check came to; answers its exit code.
pub fn show(checked: &Checked, site: &str, out: &Out) -> Result<ExitCode, Failure> {
    out.show(checked, |out| table(checked, site, out))?;
    Ok(checked.exit)
}

/// The screen: the answer first, then each finding with its evidence and what to do.
pub fn table(checked: &Checked, site: &str, out: &Out) -> String {
    let seen = match checked.seen.as_slice() {
        [] => "nothing was seen".to_owned(),
        [one] => format!("looked at {one}"),
        several => format!("looked at {} subjects", several.len()),
    };
    let head = headline(site, &[&format!("{seen} in {}", duration_in_words(checked.seconds)), &counted(checked.counted)]);
    let mut blocks = vec![out.paint(Tone::Strong, &head)];
    blocks.extend(bugs(&checked.bugs));
    blocks.extend(checked.findings.iter().map(|finding| block(finding, "", out)));
    if checked.findings.is_empty() && checked.bugs.is_empty() && !checked.seen.is_empty() {
        blocks.push("nothing is wrong with what was seen".to_owned());
    }
    blocks.join("\n\n")
}

/// `home · a · b`, without the parts that are empty.
pub(super) fn headline(site: &str, parts: &[&str]) -> String {
    std::iter::once(site).chain(parts.iter().copied()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// `2 findings, 1 unknown`.
pub(super) fn counted(counted: Counted) -> String {
    let found = counted.critical + counted.warnings + counted.infos;
    let findings = match found {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        several => format!("{several} findings"),
    };
    match counted.unknown {
        0 => findings,
        unknown => format!("{findings}, {unknown} unknown"),
    }
}

/// Subjects with neither fact nor gap.
pub(super) fn bugs(bugs: &[(Subject, crate::domain::FactKind)]) -> Option<String> {
    if bugs.is_empty() {
        return None;
    }
    let mut text = format!("BUG  {} came back with neither fact nor gap; please report this:", many(bugs.len(), "subject"));
    for (subject, kind) in bugs {
        let _ = write!(text, "\n  {subject} ({kind:?})");
    }
    Some(text)
}

/// The word of a finding's state.
pub(super) fn word(finding: &Finding) -> &'static str {
    match (finding.could_not_look, finding.severity) {
        (true, _) => State::Unknown.as_str(),
        (false, crate::domain::Severity::Critical) => State::Critical.as_str(),
        (false, crate::domain::Severity::Warning) => State::Warning.as_str(),
        (false, crate::domain::Severity::Info) => State::Info.as_str(),
    }
}

/// One finding: state, subject and code in one line that grep finds; then what was seen, why, and what to do.
pub(super) fn block(finding: &Finding, note: &str, out: &Out) -> String {
    let note = if note.is_empty() { String::new() } else { format!("  ({note})") };
    let head = out.paint_words(&format!("{}  {}  {}{note}", word(finding), finding.subject, finding.code));
    let mut lines = vec![head, indented("", &finding.summary, out)];
    if !finding.cause.is_empty() && finding.cause != finding.summary {
        lines.push(indented("because", &finding.cause, out));
    }
    let shown = if out.wide() { usize::MAX } else { EVIDENCE_LINES };
    let told = |line: &&String| **line != finding.cause && **line != finding.summary;
    let evidence: Vec<&String> = finding.evidence.iter().filter(told).collect();
    for (index, line) in evidence.iter().take(shown).enumerate() {
        lines.push(indented(if index == 0 { "seen" } else { "" }, line, out));
    }
    if evidence.len() > shown {
        lines.push(indented("", &format!("…and {} more (-o wide shows all)", evidence.len() - shown), out));
    }
    if !finding.remedy.is_empty() {
        lines.push(indented("hint", &finding.remedy, out));
    }
    lines.push(indented("more", &format!("dalsegno explain {}", finding.code), out));
    lines.join("\n")
}

/// `  because  text`, wrapped to the terminal; control characters of outside names are made visible.
pub(super) fn indented(word: &str, text: &str, out: &Out) -> String {
    const INDENT: usize = 11;
    let width = usize::from(out.width()).saturating_sub(INDENT).max(30);
    let mut lines: Vec<String> = vec![String::new()];
    for part in visible(&text.replace('\n', " ")).split_whitespace() {
        let fits = |line: &String| line.is_empty() || line.chars().count() + 1 + part.chars().count() <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) if line.is_empty() => line.push_str(part),
            Some(line) => {
                line.push(' ');
                line.push_str(part);
            }
            None => lines.push(part.to_owned()),
        }
    }
    let joined = lines.join(&format!("\n{}", " ".repeat(INDENT)));
    format!("  {word:<9}{joined}").trim_end().to_owned()
}
