//! `dalsegno doctor`: whether each provider can be reached, with which rights, and the fix.

use super::check::indented;
use super::failure::Failure;
use super::out::{Out, Tone};
use crate::conductor::{Examination, Examined, Reach};
use crate::domain::ExitCode;

/// For each provider: can it be reached, with which rights, and what to do if not.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only this one: store/minio, postgres/keycloak-db
    pub provider: Option<String>,
}

/// Prints the examination; answers its exit code.
pub fn show(examination: &Examination, out: &Out) -> Result<ExitCode, Failure> {
    out.show(examination, |out| table(examination, out))?;
    Ok(examination.exit)
}

/// The screen: those that need something first.
pub fn table(examination: &Examination, out: &Out) -> String {
    if examination.providers.is_empty() {
        return "no provider is configured; dalsegno init writes a configuration to start from".to_owned();
    }
    let reached = examination.providers.iter().filter(|provider| provider.reach == Reach::Reachable).count();
    let head = format!("{reached} of {} providers can be reached", examination.providers.len());
    let blocks = examination.providers.iter().map(|provider| of(provider, out));
    std::iter::once(out.paint(Tone::Strong, &head)).chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn of(provider: &Examined, out: &Out) -> String {
    let tone = if provider.reach == Reach::Reachable { Tone::Good } else { Tone::Bad };
    let mut lines = vec![format!("{}  {}", provider.provider, out.paint(tone, provider.reach.as_str()))];
    lines.extend(provider.seen.iter().map(|line| indented("", line, out)));
    for (what, hint) in &provider.fixes {
        lines.push(indented("missing", what, out));
        lines.push(indented("hint", hint, out));
    }
    lines.join("\n")
}
