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

    /// The same for machines, in one line: code, exit, what happened, because of what, what to do.
    pub fn json(&self) -> String {
        let mut because = Vec::new();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            because.push(error.to_string());
            cause = error.source();
        }
        let hints: Vec<String> = self.0.hint().map(|hint| hint.lines().map(ToOwned::to_owned).collect()).unwrap_or_default();
        as_json(self.code(), self.exit(), &self.0.to_string(), &because, &hints)
    }

    /// Says it on stderr: for machines as JSON, for people in colour where that is wanted.
    pub fn print(&self, for_machines: bool) {
        if for_machines {
            return say(&self.json());
        }
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

fn as_json(code: &str, exit: ExitCode, text: &str, because: &[String], hints: &[String]) -> String {
    serde_json::json!({
        "error": {"code": code, "exit": exit.number(), "text": text, "because": because, "hints": hints}
    })
    .to_string()
}

/// A mistake of usage that the parser found, for machines.
pub fn usage_as_json(told: &str) -> String {
    let told = told.trim().strip_prefix("error: ").unwrap_or(told.trim());
    as_json("usage", ExitCode::Usage, told, &[], &["dalsegno --help".to_owned()])
}

/// Whether machines read, when the command line itself could not be understood.
pub fn wants_json(argv: &[std::ffi::OsString]) -> bool {
    let words: Vec<&str> = argv.iter().filter_map(|word| word.to_str()).collect();
    let is_form = |form: &str| matches!(form, "json" | "yaml");
    words.windows(2).any(|pair| matches!(pair, ["-o" | "--output", form] if is_form(form)))
        || words.iter().any(|word| word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o")).is_some_and(is_form))
}

/// One line of talk on stderr. A closed stderr is nobody's concern.
pub fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}
