//! `dalsegno runbook`: runbooks on paper.

use std::fmt::Write as _;

use super::{Failure, Out};
use crate::conductor::drill::DrillError;
use crate::conductor::runbook::{Runbook, check_script, script};
use crate::domain::{ExitCode, VerbSpec, many};

/// Runbooks on paper: nothing is contacted.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do with a runbook.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Check a runbook's text: verbs, arguments, parameters, outputs, risks
    Check(Check),
    /// List the verbs that steps can call
    Verbs,
}

/// Which one.
#[derive(Clone, Debug, clap::Args)]
pub struct Check {
    /// A shipped runbook (pg-restore) or a file
    pub runbook: String,
}

/// Does what was asked for. `verbs` are all that this program has.
pub fn run(args: &Args, verbs: &[VerbSpec], out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Check(check) => {
            let script = script(&check.runbook)?;
            let checked = check_script(&script, verbs).map_err(DrillError::from)?;
            out.show(&checked.runbook, |_| checked_text(&script.file, &checked.runbook))?;
        }
        Command::Verbs => {
            let rows: Vec<serde_json::Value> = verbs.iter().map(verb_json).collect();
            out.show(&rows, |out| verbs_text(verbs, out))?;
        }
    }
    Ok(ExitCode::Fine)
}

fn checked_text(file: &str, book: &Runbook) -> String {
    let mut text =
        format!("{file} is right: {}, isolation at least {}\n", many(book.steps.len(), "step"), book.isolation_at_least.as_str());
    for parameter in &book.parameters {
        let how = if parameter.required { "required".to_owned() } else { default_text(parameter.default.as_ref()) };
        let _ = writeln!(text, "  {:<12} {:<9} {how:<14} {}", parameter.name, parameter.kind.as_str(), parameter.about);
    }
    text
}

fn default_text(default: Option<&serde_json::Value>) -> String {
    default.map_or_else(|| "optional".to_owned(), |value| format!("default {value}"))
}

fn verb_json(spec: &VerbSpec) -> serde_json::Value {
    serde_json::json!({
        "name": spec.name,
        "about": spec.about,
        "risk": spec.risk,
        "makes": spec.makes,
        "undo": spec.undo,
        "required": spec.required,
        "optional": spec.optional,
        "outputs": spec.outputs,
        "start-seconds": spec.start_seconds,
        "end-seconds": spec.end_seconds,
    })
}

fn verbs_text(verbs: &[VerbSpec], out: &Out) -> String {
    let optional = |names: &[&str]| names.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>();
    let row = |spec: &VerbSpec| {
        let arguments = spec.required.iter().map(|name| (*name).to_owned()).chain(optional(spec.optional));
        vec![
            spec.name.to_owned(),
            spec.risk.as_str().to_owned(),
            arguments.collect::<Vec<_>>().join(" "),
            spec.outputs.join(" "),
            spec.about.to_owned(),
        ]
    };
    out.table(&["VERB", "RISK", "ARGUMENTS", "OUTPUTS", "WHAT IT DOES"], verbs.iter().map(row).collect())
}
