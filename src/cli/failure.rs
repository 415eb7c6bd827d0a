//! What a command ends with when it cannot do its work, and how that is said.

use std::fmt::Write as _;

use crate::domain::{ExitCode, Explained};

/// Any error that explains itself.
pub struct Failure(Box<dyn Explained + Send + Sync>);

impl<E: Explained + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl Failure {
    /// The machine word.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// The exit it leads to.
    pub fn exit(&self) -> ExitCode {
        self.0.exit()
    }

    /// `error: …`, the chain of causes, then after an empty line `hint: …`. No colour.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}", self.0);
        let mut cause = self.0.source();
        let mut said = self.0.to_string();
        while let Some(error) = cause {
            let why = error.to_string();
            // Some libraries repeat the cause in their own text.
            if !said.contains(&why) {
                let _ = write!(text, "\n  because {why}");
            }
            said = why;
            cause = error.source();
        }
        if let Some(hint) = self.0.hint() {
            text.push('\n');
            for line in hint.lines() {
                let _ = write!(text, "\nhint: {line}");
            }
        }
        text
    }

    /// Says it on stderr, in colour where that is wanted.
    pub fn print(&self) {
        let bold_red = anstyle::AnsiColor::Red.on_default().bold();
        let cyan = anstyle::AnsiColor::Cyan.on_default();
        for line in self.text().lines() {
            if let Some(rest) = line.strip_prefix("error: ") {
                say(&format!("{bold_red}error{bold_red:#}: {rest}"));
            } else if let Some(rest) = line.strip_prefix("hint: ") {
                say(&format!("{cyan}hint{cyan:#}: {rest}"));
            } else {
                say(line);
            }
        }
    }
}

/// One line of talk on stderr. A closed stderr is nobody's concern.
pub fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}
