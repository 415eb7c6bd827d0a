//! `dalsegno doctor`: whether each provider can be reached, with which rights, whether a drill could run here, and the fix.

use super::check::indented;
use super::failure::Failure;
use super::out::{Out, Tone};
use crate::conductor::{Examination, Examined, Reach, Readiness};
use crate::domain::{ExitCode, many};

/// For each provider: can it be reached, with which rights, and what to do if not; and what a drill would lack on this machine.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only this one: store/minio, postgres/keycloak-db, drills
    pub provider: Option<String>,
}

/// Prints the examination; answers its exit code.
pub fn show(examination: &Examination, out: &Out) -> Result<ExitCode, Failure> {
    out.show(examination, |out| table(examination, out))?;
    Ok(examination.exit)
}

/// The screen: those that need something first, then whether a drill could run here.
pub fn table(examination: &Examination, out: &Out) -> String {
    let providers = &examination.providers;
    let reached = providers.iter().filter(|provider| provider.reach == Reach::Reachable).count();
    let mut parts = vec![format!("{reached} of {} can be reached", many(providers.len(), "provider"))];
    parts.extend(examination.drills.as_ref().map(|drills| format!("drills: {}", drills.as_str())));
    let head = out.paint(Tone::Strong, &parts.join(" · "));
    let blocks = providers.iter().map(|provider| of(provider, out));
    let drills = examination.drills.iter().map(|drills| of_drills(drills, out));
    std::iter::once(head).chain(blocks).chain(drills).collect::<Vec<_>>().join("\n\n")
}

fn of(provider: &Examined, out: &Out) -> String {
    let tone = if provider.reach == Reach::Reachable { Tone::Good } else { Tone::Bad };
    let mut lines = vec![format!("{}  {}", provider.provider, out.paint(tone, provider.reach.as_str()))];
    lines.extend(provider.seen.iter().map(|line| indented("", line, out)));
    lines.extend(fixes("missing", &provider.fixes, out));
    lines.join("\n")
}

fn of_drills(drills: &Readiness, out: &Out) -> String {
    let tone = if drills.is_ready() { Tone::Good } else { Tone::Bad };
    let mut lines = vec![format!("drills on this machine  {}", out.paint(tone, drills.as_str()))];
    lines.extend(drills.seen.iter().map(|line| indented("", line, out)));
    lines.extend(fixes("missing", &drills.missing, out));
    lines.extend(fixes("unknown", &drills.not_known, out));
    lines.join("\n")
}

/// What is missing with its hint; a hint that several in a row share is said once, behind the last of them.
fn fixes(word: &str, fixes: &[(String, String)], out: &Out) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, (what, hint)) in fixes.iter().enumerate() {
        lines.push(indented(word, what, out));
        let said_next = fixes.get(index + 1).is_some_and(|(_, next)| next == hint);
        if !said_next && !hint.is_empty() {
            lines.push(indented("hint", hint, out));
        }
    }
    lines
}
