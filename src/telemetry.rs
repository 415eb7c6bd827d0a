//! Logs: text or JSON lines on stderr. Values from outside are escaped by the formatter.

use std::io::{IsTerminal, Write};

use indicatif::MultiProgress;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// In which form logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Whether a log line of another crate may hold an access key: the S3 client shows identities when it resolves endpoints (debug)
/// and when it signs (trace). Kept quiet whatever is asked for.
fn may_tell_keys(line: &Metadata<'_>) -> bool {
    let finest = if line.target() == "aws_smithy_runtime::client::orchestrator::endpoints" { Level::INFO } else { Level::DEBUG };
    line.target().starts_with("aws_") && *line.level() > finest
}

/// Starts logging. `DALSEGNO_LOG` (a tracing filter) wins over `verbose` (0 = info of ours and warnings of others,
/// 1 = debug of ours, 2 = debug of all, 3 = everything). A second call does nothing.
pub fn start(format: LogFormat, verbose: u8, bars: Option<MultiProgress>) {
    let level = match verbose {
        0 => "warn,dalsegno=info",
        1 => "info,dalsegno=debug",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("DALSEGNO_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Stderr { bars }).with_target(verbose > 0);
    let discreet = filter_fn(|line| !may_tell_keys(line));
    // Fails only when a logger is there already.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(colour).compact().finish().with(discreet).try_init(),
        LogFormat::Json => builder.with_ansi(false).json().flatten_event(true).finish().with(discreet).try_init(),
    };
}

/// Stderr that steps aside for the bars.
struct Stderr {
    bars: Option<MultiProgress>,
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { bars: self.bars.clone(), bytes: Vec::new() }
    }
}

/// One log line, written whole when it is dropped.
struct Line {
    bars: Option<MultiProgress>,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let write = || {
            // A closed stderr must not end the work.
            let _ = std::io::stderr().lock().write_all(&self.bytes);
        };
        match &self.bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }
}
