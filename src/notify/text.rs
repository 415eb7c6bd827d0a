//! The text of a message: what changed, worst first, for people on a telephone at night. One cause is one paragraph.

use std::fmt::Write as _;

use super::About;
use crate::domain::{Ended, Notice, Severity, Told, alert_key};

/// One field of a finding is cut after so many characters: a hostile object name must not push the remedy out.
const FIELD: usize = 280;
/// Subjects named in a paragraph about several.
const NAMED: usize = 6;

/// Notices that say the same of several subjects.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    /// The first, which speaks for all.
    pub(super) lead: &'a Notice,
    /// All, the first included.
    pub(super) all: Vec<&'a Notice>,
}

/// Groups notices by what is said and by cause; the order of the first ones stays.
pub(super) fn groups<'a>(notices: &[&'a Notice]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for notice in notices {
        match groups.iter_mut().find(|group| same(group.lead, notice)) {
            Some(group) => group.all.push(notice),
            None => groups.push(Group { lead: notice, all: vec![notice] }),
        }
    }
    groups
}

/// Whether two notices have one cause. What depends on a subject is told with it, so it is no part of a group.
fn same(one: &Notice, other: &Notice) -> bool {
    let said = |notice: &Notice| {
        let finding = &notice.alert.finding;
        (notice.told, notice.was, notice.because.clone(), finding.severity, finding.could_not_look, notice.alert.ended)
    };
    let text = |notice: &Notice| {
        let finding = &notice.alert.finding;
        (finding.code.clone(), finding.cause.clone(), notice.alert.dependents.clone())
    };
    said(one) == said(other) && text(one) == text(other)
}

/// `dalsegno home: 2 new (1 critical), 1 cleared`.
pub(super) fn title(about: &About, notices: &[&Notice]) -> String {
    let counts: Vec<String> = [Told::New, Told::Worse, Told::Back, Told::Still, Told::Eased, Told::Cleared]
        .into_iter()
        .filter_map(|told| {
            let of: Vec<_> = notices.iter().filter(|notice| notice.told == told).collect();
            let critical = of.iter().filter(|notice| notice.alert.finding.severity == Severity::Critical).count();
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
pub(super) fn text(about: &About, notices: &[&Notice], budget: usize) -> String {
    let mut text = format!("{}\n", title(about, notices));
    let groups = groups(notices);
    let mut left = notices.len();
    for (index, group) in groups.iter().enumerate() {
        let paragraph = paragraph(about, group);
        let more = format!("\n…and {left} more: dalsegno show {}\n", about.number);
        let last = index + 1 == groups.len();
        let room = budget.saturating_sub(text.len() + if last { 0 } else { more.len() });
        if paragraph.len() > room {
            text.push_str(&more);
            return text;
        }
        text.push_str(&paragraph);
        left -= group.all.len();
    }
    text
}

fn paragraph(about: &About, group: &Group<'_>) -> String {
    let notice = group.lead;
    let finding = &notice.alert.finding;
    let mut head = format!("\n{} {}", notice.told.as_str().to_uppercase(), finding.severity.as_str());
    if let Some(was) = notice.was {
        let _ = write!(head, " (was {})", was.as_str());
    }
    if finding.could_not_look {
        head.push_str(" (could not look)");
    }
    if group.all.len() > 1 {
        let _ = write!(head, " ×{}", group.all.len());
    }
    let subjects = named(group.all.iter().map(|notice| notice.alert.finding.subject.to_string()));
    let mut paragraph = format!("{head}: {}  {}\n", finding.code, tame(&subjects, FIELD));
    let mut field = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            let _ = writeln!(paragraph, "  {name}{}", tame(value, FIELD));
        }
    };
    if notice.told == Told::Cleared {
        if notice.alert.ended == Some(Ended::NotConfigured) {
            field("", Ended::NotConfigured.words());
        }
    } else {
        field("", &finding.summary);
        field("", notice.because.as_deref().unwrap_or_default());
        field("depends on it: ", &notice.alert.dependents.join(", "));
        field("cause: ", &finding.cause);
        field("explains: ", &named(notice.explains.iter().map(|key| format!("{} of {}", key.code, key.subject))));
        field("do: ", &finding.remedy);
    }
    field("key: ", &key(about, group));
    paragraph
}

/// The key of each, or their common part.
fn key(about: &About, group: &Group<'_>) -> String {
    let lead = &group.lead.alert.finding;
    if group.all.len() == 1 {
        return alert_key(&about.site, lead);
    }
    let whole = alert_key(&about.site, lead);
    let head = whole.strip_suffix(&lead.subject.to_string()).unwrap_or(&whole);
    format!("{head}… of each")
}

fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let head = names.take(NAMED).collect::<Vec<_>>().join(", ");
    match count.saturating_sub(NAMED) {
        0 => head,
        more => format!("{head} and {more} more"),
    }
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
