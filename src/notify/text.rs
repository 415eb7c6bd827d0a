//! The text of a message: what changed, worst first, for people on a telephone at night.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::About;
use crate::domain::{Change, Finding, Severity, Subject};

/// One field of a finding is cut after so many characters: a hostile object name must not push the remedy out.
const FIELD: usize = 280;

/// What is told of one finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    New,
    Worse,
    Eased,
    Cleared,
}

impl Told {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Worse => "worse",
            Self::Eased => "eased",
            Self::Cleared => "cleared",
        }
    }
}

/// A finding with what is told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) told: Told,
    pub(super) was: Option<Severity>,
    pub(super) finding: &'a Finding,
}

/// What a channel is told of a pass: new, worse, eased and cleared at or above its threshold. Open ones first, worst first.
pub(super) fn lines(changes: &[Change], at_least: Severity) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = changes.iter().filter_map(|change| line(change, at_least)).collect();
    let key = |line: &Line<'_>| -> (bool, Reverse<Severity>, Told, Subject, String) {
        let finding = line.finding;
        (line.told == Told::Cleared, Reverse(finding.severity), line.told, finding.subject.clone(), finding.code.clone())
    };
    lines.sort_by_cached_key(key);
    lines
}

fn line(change: &Change, at_least: Severity) -> Option<Line<'_>> {
    let (told, was, finding) = match change {
        Change::New { finding } => (Told::New, None, finding),
        Change::Cleared { finding, .. } => (Told::Cleared, None, finding),
        Change::Still { severity_was: None, .. } => return None,
        Change::Still { finding, severity_was: Some(was), .. } => {
            (if finding.severity > *was { Told::Worse } else { Told::Eased }, Some(*was), finding)
        }
    };
    let reaches = finding.severity >= at_least || was.is_some_and(|was| was >= at_least);
    reaches.then_some(Line { told, was, finding })
}

/// `dalsegno home: 2 new (1 critical), 1 cleared`.
pub(super) fn title(about: &About, lines: &[Line<'_>]) -> String {
    let counts: Vec<String> = [Told::New, Told::Worse, Told::Eased, Told::Cleared]
        .into_iter()
        .filter_map(|told| {
            let of: Vec<_> = lines.iter().filter(|line| line.told == told).collect();
            let critical = of.iter().filter(|line| line.finding.severity == Severity::Critical).count();
            match (of.len(), critical) {
                (0, _) => None,
                (n, 0) => Some(format!("{n} {}", told.as_str())),
                (n, c) => Some(format!("{n} {} ({c} critical)", told.as_str())),
            }
        })
        .collect();
    format!("dalsegno {}: {}", tame(&about.site, 60), counts.join(", "))
}

/// The whole text in at most `budget` bytes. What does not fit is counted, and where to read it is said.
pub(super) fn text(about: &About, lines: &[Line<'_>], budget: usize) -> String {
    let mut text = format!("{}\n", title(about, lines));
    for (index, line) in lines.iter().enumerate() {
        let paragraph = paragraph(line);
        let left = lines.len() - index;
        let more = format!("\n…and {left} more: dalsegno show {}\n", about.number);
        let last = left == 1;
        let room = budget.saturating_sub(text.len() + if last { 0 } else { more.len() });
        if paragraph.len() > room {
            text.push_str(&more);
            return text;
        }
        text.push_str(&paragraph);
    }
    text
}

fn paragraph(line: &Line<'_>) -> String {
    let finding = line.finding;
    let mut head = format!("\n{} {}", line.told.as_str().to_uppercase(), finding.severity.as_str());
    if let Some(was) = line.was {
        let _ = write!(head, " (was {})", was.as_str());
    }
    if finding.could_not_look {
        head.push_str(" (could not look)");
    }
    let head = format!("{head}: {}  {}\n", finding.code, tame(&finding.subject.to_string(), FIELD));
    if line.told == Told::Cleared {
        return head;
    }
    let mut paragraph = head;
    for (name, field) in [("", &finding.summary), ("cause: ", &finding.cause), ("do: ", &finding.remedy)] {
        if !field.trim().is_empty() {
            let _ = writeln!(paragraph, "  {name}{}", tame(field, FIELD));
        }
    }
    paragraph
}

/// One line without control characters, cut after `most` characters. Object names come from outside.
pub(super) fn tame(text: &str, most: usize) -> String {
    let mut tamed: String = text.chars().map(|c| if c.is_control() || is_direction(c) { ' ' } else { c }).take(most).collect();
    if text.chars().nth(most).is_some() {
        tamed.push('…');
    }
    tamed
}

/// Marks that turn the direction of what follows: they would make one name look like another.
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
