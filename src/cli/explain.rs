//! `dalsegno explain`: what a finding code means.

use std::fmt::Write as _;

use serde::Serialize;

use super::failure::Failure;
use super::out::{Out, Tone};
use crate::domain::{CODES, CodeSpec, Exit, ExitCode, Explained, code, nearest_few};

/// What a finding means, what is lost if nobody acts, and what to do.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A finding code such as wal-archive-failing; all codes when left out
    pub code: Option<String>,
}

/// Why there is nothing to explain.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// No such code.
    #[error("no finding has the code \"{asked}\"")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// Codes that look like it.
        near: Vec<&'static str>,
    },
}

impl Explained for ExplainError {
    fn code(&self) -> &'static str {
        "finding-code-unknown"
    }

    fn hint(&self) -> Option<String> {
        let Self::Unknown { near, .. } = self;
        Some(match near.first() {
            Some(first) => format!("did you mean {}?  dalsegno explain {first}", near.join(", ")),
            None => "dalsegno explain  lists all of them".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// A row for machines.
#[derive(Serialize)]
struct Row {
    code: &'static str,
    title: &'static str,
    meaning: &'static str,
    harm: &'static str,
    remedy: &'static str,
    sources: &'static [&'static str],
}

impl From<&CodeSpec> for Row {
    fn from(spec: &CodeSpec) -> Self {
        let CodeSpec { code, title, meaning, harm, remedy, sources } = *spec;
        Self { code, title, meaning, harm, remedy, sources }
    }
}

/// Prints one code, or the list of all.
pub fn run(args: &Args, out: &Out) -> Result<ExitCode, Failure> {
    let Some(asked) = &args.code else {
        let rows: Vec<Row> = CODES.iter().map(Row::from).collect();
        out.show(&rows, |out| list(&CODES, out))?;
        return Ok(ExitCode::Fine);
    };
    let asked = asked.trim().to_ascii_lowercase();
    let spec = code(&asked).ok_or_else(|| ExplainError::Unknown { near: near(&asked, &CODES), asked })?;
    out.show(&Row::from(spec), |out| page(spec, out))?;
    Ok(ExitCode::Fine)
}

/// Codes that look like `asked`, the nearest first, at most three.
pub fn near(asked: &str, codes: &[CodeSpec]) -> Vec<&'static str> {
    nearest_few(asked, codes.iter().map(|row| row.code), 3)
}

/// All codes with their titles.
pub fn list(codes: &[CodeSpec], out: &Out) -> String {
    let rows = codes.iter().map(|row| vec![row.code.to_owned(), row.title.to_owned()]).collect();
    out.table(&["CODE", "WHAT IT SAYS"], rows)
}

/// One code, for people.
pub fn page(spec: &CodeSpec, out: &Out) -> String {
    let mut text = format!("{} · {}\n", out.paint(Tone::Strong, spec.code), spec.title);
    for (word, value) in [("means", spec.meaning), ("harm", spec.harm), ("remedy", spec.remedy)] {
        let indent = " ".repeat(10);
        let mut lines = wrapped(value, usize::from(out.width()).saturating_sub(indent.len()).max(30)).into_iter();
        let _ = write!(text, "\n  {word:<8}{}", lines.next().unwrap_or_default());
        for line in lines {
            let _ = write!(text, "\n{indent}{line}");
        }
    }
    for (index, source) in spec.sources.iter().enumerate() {
        let _ = write!(text, "\n  {:<8}{source}", if index == 0 { "sources" } else { "" });
    }
    text
}

/// Words in lines of at most `width` characters; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
