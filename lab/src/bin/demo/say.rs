//! The narrator: plain text on stdout.

use std::io::{IsTerminal, Stdout, Write};
use std::time::Instant;

/// Tells the story; bold only on a terminal that wants colours.
pub(crate) struct Narrator {
    begin: Instant,
    bold: bool,
    out: Stdout,
}

impl Narrator {
    pub(crate) fn new() -> Narrator {
        let bold = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Narrator { begin: Instant::now(), bold, out: std::io::stdout() }
    }

    /// A new scene.
    pub(crate) fn scene(&self, title: &str) {
        let seconds = self.begin.elapsed().as_secs();
        self.write(&format!("\n{}\n", self.strong(&format!("== {title}  [{seconds} s]"))));
    }

    /// A sentence of the narrator.
    pub(crate) fn line(&self, text: &str) {
        self.write(&format!("   {text}\n"));
    }

    /// A command that the reader could type.
    pub(crate) fn command(&self, text: &str) {
        self.write(&format!("\n{}\n", self.strong(&format!("$ {text}"))));
    }

    /// What a command answered.
    pub(crate) fn answer(&self, text: &str) {
        self.write(text);
    }

    fn strong(&self, text: &str) -> String {
        if self.bold { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn write(&self, text: &str) {
        let mut out = self.out.lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
