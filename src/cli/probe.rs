//! `dalsegno probe`: what a store can and cannot do.

use std::path::PathBuf;

use super::failure::Failure;
use super::out::{Out, Tone};
use crate::app::{NamedStore, ProbeReport};
use crate::domain::{Dialect, ExitCode, Verdict};

/// Try a store: list, put, get, range, multipart, conditional put, delete in a prefix of our own, clock, region, checksum
/// headers, and what follows for its other clients. Writes only below the own prefix, and removes what it wrote.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Without a configuration the keys come from DALSEGNO_ACCESS_KEY_ID, DALSEGNO_SECRET_ACCESS_KEY and, for temporary \
                  ones, DALSEGNO_SESSION_TOKEN."
)]
pub struct Args {
    /// The store's name in the configuration
    #[arg(required_unless_present = "endpoint", conflicts_with = "endpoint")]
    pub store: Option<String>,
    /// Scheme, host and port of a store that is not configured
    #[arg(long, value_name = "URL", requires_all = ["bucket", "prefix"])]
    pub endpoint: Option<String>,
    /// Its bucket
    #[arg(long, requires = "endpoint")]
    pub bucket: Option<String>,
    /// The prefix to write below; nothing outside of it is touched
    #[arg(long, requires = "endpoint")]
    pub prefix: Option<String>,
    /// The region to sign with
    #[arg(long, requires = "endpoint")]
    pub region: Option<String>,
    /// The family it belongs to: aws, minio, r2, ceph, garage, seaweedfs, other
    #[arg(long, requires = "endpoint", value_parser = dialect)]
    pub dialect: Option<Dialect>,
    /// CA certificates (PEM) that vouch for it
    #[arg(long, requires = "endpoint", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Write nothing: only what listing and reading show
    #[arg(long)]
    pub read_only: bool,
}

impl Args {
    /// The store that is named by flags, if it is.
    pub fn named(&self) -> Option<NamedStore> {
        Some(NamedStore {
            endpoint: self.endpoint.clone()?,
            bucket: self.bucket.clone()?,
            prefix: self.prefix.clone()?,
            region: self.region.clone(),
            dialect: self.dialect,
            ca: self.ca.clone(),
        })
    }
}

/// Prints the report; answers its exit code.
pub fn show(report: &ProbeReport, out: &Out) -> Result<ExitCode, Failure> {
    out.show(report, |out| table(report, out))?;
    Ok(report.exit())
}

/// The screen: the answer first, then the steps, then what follows.
pub fn table(report: &ProbeReport, out: &Out) -> String {
    let (word, tone) = match report.verdict {
        Verdict::Proven => ("usable", Tone::Good),
        Verdict::Failed => ("NOT usable as it is", Tone::Bad),
        Verdict::Unknown => ("not all could be tried", Tone::Unsure),
    };
    let place = format!("{}: {} · bucket {} · region {}", report.store, report.endpoint, report.bucket, report.region);
    let mut blocks = vec![format!("{}  {place} · {}", out.paint(tone, word), report.dialect.as_str())];
    let rows = report.steps.iter().map(|step| vec![step.step.to_owned(), state(step.verdict), step.seen.clone()]);
    blocks.push(out.table(&["STEP", "STATE", "SEEN"], rows.collect()));
    let hints = report.steps.iter().filter(|step| step.verdict != Verdict::Proven || out.wide());
    let hints: Vec<String> = hints.filter_map(|step| Some(format!("hint  {}: {}", step.step, step.hint.as_ref()?))).collect();
    if !hints.is_empty() {
        blocks.push(hints.join("\n"));
    }
    if !report.left_over.is_empty() {
        let keys: Vec<String> = report.left_over.iter().map(|key| format!("  {}", super::out::visible(key))).collect();
        blocks.push(format!("left behind, because it could not be removed:\n{}", keys.join("\n")));
    }
    if !report.consequences.is_empty() {
        let rows = report.consequences.iter().map(|one| vec![one.client.to_owned(), one.set.clone(), one.because.clone()]);
        blocks.push(format!(
            "what follows for clients of this store\n{}",
            out.table(&["CLIENT", "SET", "BECAUSE"], rows.collect())
        ));
    }
    blocks.join("\n\n")
}

/// A step works, does not, or was not tried: "proven" would be too large a word for one request.
fn state(verdict: Verdict) -> String {
    match verdict {
        Verdict::Proven => "yes",
        Verdict::Failed => "NO",
        Verdict::Unknown => "UNKNOWN",
    }
    .to_owned()
}

fn dialect(word: &str) -> Result<Dialect, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| "one of aws, minio, r2, ceph, garage, seaweedfs, other".to_owned())
}
