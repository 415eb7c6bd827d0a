//! `dalsegno config`: check, show and describe the configuration.

use super::failure::{Failure, say};
use super::out::{Format, Out};
use super::rbac;
use crate::app::Source;
use crate::app::config::{self, Loaded, Mistake, Schema};
use crate::domain::{ExitCode, many};

/// Check, show or describe the configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do with the configuration.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Say all mistakes at once, each with its place and what would be right
    Check(Check),
    /// What came out of files and environment; secrets are stars
    Show,
    /// The JSON Schema, for editors
    Schema,
    /// The rights that dalsegno needs in a Kubernetes cluster, at least: per feature, with the reason
    Rbac(rbac::Args),
}

/// How to check.
#[derive(Clone, Debug, clap::Args)]
pub struct Check {
    /// Do not read secrets: for a machine that has the files only
    #[arg(long)]
    pub without_secrets: bool,
}

/// Runs `config`.
pub fn run(args: &Args, source: &Source, out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Check(check) => run_check(check, source, out),
        Command::Show => {
            let loaded = config::load(&source.sources()?, source.env())?;
            tell(&loaded.warnings);
            show(&config::shown(&loaded), out, Format::Yaml)
        }
        Command::Rbac(args) => rbac::run(args, source, out),
        Command::Schema => show(Schema::new().root(), out, Format::Json),
    }
}

fn run_check(args: &Check, source: &Source, out: &Out) -> Result<ExitCode, Failure> {
    let sources = source.sources()?;
    let check = if args.without_secrets { config::check_without_secrets } else { config::check };
    let loaded = check(&sources, source.env())?;
    if !out.for_machines() {
        tell(&loaded.warnings);
    }
    let result = serde_json::json!({
        "stores": loaded.settings.stores.len(),
        "databases": loaded.settings.postgres.len(),
        "warnings": loaded.warnings,
    });
    out.show(&result, |_| verdict(&loaded, &sources))?;
    Ok(ExitCode::Fine)
}

fn verdict(loaded: &Loaded, sources: &[std::path::PathBuf]) -> String {
    let sources: Vec<String> = sources.iter().map(|source| source.display().to_string()).collect();
    let mut text = format!(
        "{}: no mistakes · {} · {} · {}",
        sources.join(", "),
        many(loaded.settings.stores.len(), "store"),
        many(loaded.settings.postgres.len(), "database"),
        many(loaded.warnings.len(), "warning"),
    );
    if loaded.settings.stores.is_empty() && loaded.settings.postgres.is_empty() {
        text.push_str("\nnothing is configured: there is nothing to look at, and a pass refuses to\n\nhint: dalsegno init writes one to start from");
    }
    text
}

fn tell(warnings: &[Mistake]) {
    for warning in warnings {
        say(&format!("warning: {warning}"));
        if let Some(hint) = &warning.hint {
            say(&format!("  hint: {hint}"));
        }
    }
}

/// Data without a table of its own: `form` stands in for it.
fn show(value: &serde_json::Value, out: &Out, form: Format) -> Result<ExitCode, Failure> {
    let out = if out.for_machines() { out.clone() } else { Out::plain(form, out.width()) };
    out.show(value, |_| String::new())?;
    Ok(ExitCode::Fine)
}
