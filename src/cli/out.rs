//! Data on stdout: as a table for people, as JSON or YAML for machines. Talk goes to stderr.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use super::failure::Failure;
use crate::domain::{Exit, ExitCode, Explained};

/// Width when nothing tells how wide the terminal is.
const DEFAULT_WIDTH: u16 = 100;

/// Words that are painted, and how. They read as well without colour.
const PAINTED: [(&str, Tone); 7] = [
    ("CRITICAL", Tone::Bad),
    ("FAILED", Tone::Bad),
    ("WARNING", Tone::Careful),
    ("UNKNOWN", Tone::Unsure),
    ("INFO", Tone::Quiet),
    ("PROVEN", Tone::Good),
    ("fine", Tone::Good),
];

/// In which form data is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table that fits the terminal.
    #[default]
    Table,
    /// A table with everything in it.
    Wide,
    /// JSON, times in RFC 3339 UTC.
    Json,
    /// YAML.
    Yaml,
}

/// What a word says, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Proven, fine.
    Good,
    /// Hurts now.
    Bad,
    /// Will hurt.
    Careful,
    /// Could not look.
    Unsure,
    /// Beside the point.
    Quiet,
    /// Headline.
    Strong,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Careful => AnsiColor::Yellow.on_default(),
            Self::Unsure => AnsiColor::Magenta.on_default(),
            Self::Quiet => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
        }
    }
}

/// Why nothing could be printed.
#[derive(Debug, thiserror::Error)]
pub enum OutError {
    /// Stdout does not take it.
    #[error("cannot write to stdout")]
    Stdout(#[source] std::io::Error),
    /// A value has no JSON form.
    #[error("cannot write the result as JSON")]
    Json(#[source] serde_json::Error),
    /// A value has no YAML form.
    #[error("cannot write the result as YAML: {0}")]
    Yaml(String),
}

impl Explained for OutError {
    fn code(&self) -> &'static str {
        match self {
            Self::Stdout(_) => "stdout-failed",
            Self::Json(_) | Self::Yaml(_) => "output-form",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Stdout(_) => "is the file system that stdout goes to full?".to_owned(),
            Self::Json(_) | Self::Yaml(_) => "this is a bug; -o table shows the same data".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Stdout(_) => ExitCode::CouldNotLook,
            Self::Json(_) | Self::Yaml(_) => ExitCode::Bug,
        }
    }
}

/// Where a command's data goes, and in which form.
#[derive(Clone, Debug)]
pub struct Out {
    format: Format,
    width: u16,
    colour: bool,
    /// Tables are folded to the width. Off where no terminal reads: grep and awk want one line per row.
    folds: bool,
}

impl Out {
    /// As the terminal and the environment say: width, and colour unless NO_COLOR or no terminal.
    pub fn of_terminal(format: Format) -> Self {
        let colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let folds = std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some();
        Self { format, width: terminal_width(), colour, folds }
    }

    /// Without a terminal: fixed width, no colour.
    pub const fn plain(format: Format, width: u16) -> Self {
        Self { format, width, colour: false, folds: true }
    }

    /// The chosen form.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Whether everything is to be shown.
    pub fn wide(&self) -> bool {
        self.format == Format::Wide
    }

    /// Whether a machine reads: no talk between the data.
    pub fn for_machines(&self) -> bool {
        matches!(self.format, Format::Json | Format::Yaml)
    }

    /// Columns of the terminal.
    pub const fn width(&self) -> u16 {
        self.width
    }

    /// Prints `value` for machines, or what `table` makes for people.
    pub fn show<T: Serialize>(&self, value: &T, table: impl FnOnce(&Self) -> String) -> Result<(), Failure> {
        let text = match self.format {
            Format::Json => serde_json::to_string_pretty(value).map_err(OutError::Json)?,
            Format::Yaml => serde_saphyr::to_string(value).map_err(|error| OutError::Yaml(error.to_string()))?,
            Format::Table | Format::Wide => table(self),
        };
        self.text(&text)
    }

    /// Prints text as it is, with a newline at its end.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        let written = stdout
            .write_all(text.trim_end_matches('\n').as_bytes())
            .and_then(|()| writeln!(stdout))
            .and_then(|()| stdout.flush());
        match written {
            // Whoever reads has seen enough (`| head`): no reason to shout.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| OutError::Stdout(error).into()),
        }
    }

    /// A table without lines, as kubectl prints it. Words of state in it are painted after the layout.
    pub fn table(&self, header: &[&str], rows: Vec<Vec<String>>) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if self.wide() || !self.folds {
            table.set_content_arrangement(ContentArrangement::Disabled);
        } else {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        }
        table.set_header(header.to_vec());
        for row in rows {
            table.add_row(row.into_iter().map(|cell| visible(&cell)).collect::<Vec<_>>());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 3));
        }
        let text = table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
        self.paint_words(&text)
    }

    /// Paints a text, when colours are wanted.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// Paints the words of state (CRITICAL, UNKNOWN, …) in a finished text, one a line.
    pub fn paint_words(&self, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        text.lines().map(|line| self.paint_line(line)).collect::<Vec<_>>().join("\n")
    }

    fn paint_line(&self, line: &str) -> String {
        let whole_word = |at: usize, word: &str| {
            let before = line.get(..at).and_then(|text| text.chars().next_back());
            let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
            before.is_none_or(char::is_whitespace) && after.is_none_or(char::is_whitespace)
        };
        for (word, tone) in PAINTED {
            if let Some((at, _)) = line.match_indices(word).filter(|(at, _)| whole_word(*at, word)).last() {
                let (head, rest) = line.split_at(at);
                let tail = rest.strip_prefix(word).unwrap_or_default();
                return format!("{head}{}{tail}", self.paint(tone, word));
            }
        }
        line.to_owned()
    }
}

/// Control characters of outside names made visible, so that an object's key cannot move the cursor.
pub fn visible(text: &str) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// `COLUMNS` when set, else what the terminal says, else 100.
fn terminal_width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| width.0);
    told.or_else(seen).filter(|width| *width >= 40).unwrap_or(DEFAULT_WIDTH)
}
