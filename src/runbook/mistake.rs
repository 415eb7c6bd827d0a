//! A mistake in a runbook, with its place and what would be right.

use std::fmt;

use crate::domain::{Exit, ExitCode, Explained, nearest};

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// Line, from 1; 0 when the mistake has no place in the text (an argument that was not given).
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// `steps[2].with.folder`.
    pub path: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Mistake {
    /// `pg-restore.yaml:12:5  steps[0].verbb: unknown key, did you mean "verb"?`
    pub fn in_file(&self, file: &str) -> String {
        let path = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
        if self.line == 0 {
            format!("{file}  {path}{}", self.what)
        } else {
            format!("{file}:{}:{}  {path}{}", self.line, self.column, self.what)
        }
    }
}

/// All mistakes of one runbook, as an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The file, or `built in: NAME`.
    pub file: String,
    /// At least one, in the order of the text.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.mistakes.len();
        write!(f, "runbook error: {count} mistake{} in {}", if count == 1 { "" } else { "s" }, self.file)?;
        for mistake in &self.mistakes {
            write!(f, "\n  {}", mistake.in_file(&self.file))?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

impl Explained for Mistakes {
    fn code(&self) -> &'static str {
        "runbook-mistakes"
    }

    fn hint(&self) -> Option<String> {
        Some(format!("mend the text, then:  dalsegno runbook check {}", self.file.trim_start_matches("built in: ")))
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// `did you mean "x"?`, or the list of what is known.
pub(super) fn instead<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(name) = nearest(wrong, known.clone()) {
        return format!("did you mean \"{name}\"?");
    }
    let all: Vec<&str> = known.into_iter().collect();
    if all.is_empty() { "there is none to choose from".to_owned() } else { format!("known: {}", all.join(", ")) }
}
