//! `make demo`: a platform in a folder, its bad days, and what dalsegno says about them. Every exit
//! code is checked; the first that is not as expected ends the demo loudly.

mod clock;
mod filling;
mod platform;
mod say;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output, Stdio};

use lab::{LabError, Tool};
use platform::Platform;
use say::Narrator;
use tokio::signal::unix::{SignalKind, signal};

/// What the story starts; nothing else is installed for it.
const TOOLS: [Tool; 5] = [Tool::Barman, Tool::Seaweed, Tool::Postgres(16), Tool::Prometheus, Tool::Alertmanager];

/// How the demo ends when it does not end well.
#[derive(Debug, thiserror::Error)]
enum Ended {
    /// The lab could not give what the story needs.
    #[error("{0}")]
    Lab(#[from] LabError),
    /// dalsegno said something else than it must.
    #[error("`{command}` ended with exit code {got}; this scene needs {want}")]
    Surprise { command: String, got: String, want: String },
    /// dalsegno said too little.
    #[error("`{command}` does not say {missing:?}")]
    Silent { command: String, missing: &'static str },
    /// dalsegno read something else than is true.
    #[error("{0}")]
    Untrue(String),
    /// Something stayed behind.
    #[error("left behind: {0}")]
    LeftBehind(String),
}

fn main() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let say = Narrator::new();
    let ended = runtime.block_on(async {
        let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
            return Some(Err(Ended::Lab(LabError::Other("signals cannot be watched".into()))));
        };
        // Dropping the story stops and removes everything in it.
        tokio::select! {
            ended = story(&say) => Some(ended),
            _ = int.recv() => None,
            _ = term.recv() => None,
        }
    });
    drop(runtime);
    match ended.map(|ended| ended.and_then(|shown| nothing_left(&say).map(|()| shown))) {
        Some(Ok(Shown::All)) => {
            say.line("demo: everything was as expected");
            ExitCode::SUCCESS
        }
        Some(Ok(Shown::AllButTheClock(why))) => {
            say.line(&format!("demo: NOT SHOWN: the disk-full clock: {why}"));
            say.line("demo: the rest was as expected");
            ExitCode::SUCCESS
        }
        Some(Err(ended)) => {
            say.line(&format!("demo: FAILED: {ended}"));
            ExitCode::FAILURE
        }
        None => {
            say.line("demo: interrupted; servers and folders are removed");
            ExitCode::from(130)
        }
    }
}

/// How much of the story could be told here.
enum Shown {
    All,
    /// No small volume can be mounted, and nothing else is taken for one.
    AllButTheClock(String),
}

async fn story(say: &Narrator) -> Result<Shown, Ended> {
    let dalsegno = dalsegno()?;
    say.scene("A platform: PostgreSQL, archived by barman-cloud into an S3 bucket");
    for tool in TOOLS {
        tool.install(&|line| say.line(line))?;
    }
    let platform = Platform::build(say).await?;
    let ask = Ask { dalsegno: &dalsegno, config: &platform.config, say };

    say.scene("A first look: nothing is broken, only the proof is missing");
    ask.expect(&["run", "--fail-on", "critical"], &[0], &["never-drilled"]).await?;

    say.scene("So restore it for real: bucket and keys are all it takes");
    platform.tick().await?;
    ask.expect(&["drill", "pg-restore", "--db", platform::DB], &[0], &["proven", "rpo"]).await?;

    say.scene("Healthy, and proven");
    platform.tick().await?;
    ask.expect(&["run"], &[0], &[]).await?;

    say.scene("Fault 1: the archive loses a segment, and no tool of PostgreSQL or barman notices");
    let lost = platform.lose_a_segment().await?;
    say.line(&format!("gone from the bucket: {lost}"));
    ask.expect(&["archive", "audit"], &[1], &["gap"]).await?;
    say.line("and such an archive is never proven:");
    ask.expect(&["drill", "pg-restore", "--db", platform::DB], &[1, 4], &[]).await?;

    say.scene("Fault 2: somebody rotated the keys and forgot the archiver");
    platform.break_the_archiver().await?;
    say.line(&format!(
        "{} s later, when neither a late upload nor a quiet hour explains it any more:",
        platform::PATIENCE.as_secs()
    ));
    ask.expect(&["run"], &[1], &["wal-gap", "wal-archive-silent"]).await?;

    drop(platform);

    let shown = clock::act(&dalsegno, say).await?;

    say.scene("Clean up");
    Ok(shown)
}

/// The program beside this one, or where `DALSEGNO` points.
fn dalsegno() -> Result<PathBuf, Ended> {
    let named = std::env::var_os("DALSEGNO").map(PathBuf::from);
    let beside = std::env::current_exe().ok().and_then(|me| Some(me.parent()?.join("dalsegno")));
    named
        .or(beside)
        .filter(|path| path.is_file())
        .ok_or_else(|| Ended::Lab(LabError::Other("no dalsegno beside the demo; `make demo` builds both".into())))
}

/// Asks the real binary, in front of the reader.
struct Ask<'a> {
    dalsegno: &'a Path,
    config: &'a Path,
    say: &'a Narrator,
}

impl Ask<'_> {
    /// Runs a command, shows what it says, and holds it to an exit code and to words.
    async fn expect(&self, args: &[&str], codes: &[i32], words: &[&'static str]) -> Result<(), Ended> {
        let command = format!("dalsegno {}", args.join(" "));
        self.say.command(&command);
        let output = self.output(args).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        self.say.answer(&text);
        let want = codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        match output.status.code() {
            Some(code) if codes.contains(&code) => self.say.line(&format!("(exit code {code})")),
            other => {
                let got = other.map_or_else(|| output.status.to_string(), |code| code.to_string());
                return Err(Ended::Surprise { command, got, want });
            }
        }
        let lower = text.to_lowercase();
        match words.iter().find(|word| !lower.contains(&word.to_lowercase())) {
            Some(missing) => Err(Ended::Silent { command, missing }),
            None => Ok(()),
        }
    }

    /// The same answer for programs, not shown.
    async fn json(&self, args: &[&str]) -> Result<serde_json::Value, Ended> {
        let output = self.output(&[&["-o", "json"], args].concat()).await?;
        serde_json::from_slice(&output.stdout)
            .map_err(|e| Ended::Untrue(format!("`dalsegno -o json {}` is no JSON: {e}", args.join(" "))))
    }

    async fn output(&self, args: &[&str]) -> Result<Output, LabError> {
        let mut child = tokio::process::Command::new(self.dalsegno);
        child.arg("--config").arg(self.config).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let child = child.spawn().map_err(|e| LabError::Other(format!("{}: {e}", self.dalsegno.display())))?;
        child.wait_with_output().await.map_err(|e| LabError::Other(format!("dalsegno {}: {e}", args.join(" "))))
    }
}

/// Nobody of the story may live on, and nothing may lie about. (The lab's folder itself goes with us.)
fn nothing_left(say: &Narrator) -> Result<(), Ended> {
    let home = lab::home::path()?;
    let alive = platform::processes_in(home);
    if !alive.is_empty() {
        return Err(Ended::LeftBehind(alive.join("; ")));
    }
    let entries = std::fs::read_dir(home).map_err(|e| LabError::Other(format!("{}: {e}", home.display())))?;
    let lying: Vec<String> =
        entries.filter_map(Result::ok).filter(|e| e.file_name() != "running").map(|e| e.path().display().to_string()).collect();
    if !lying.is_empty() {
        return Err(Ended::LeftBehind(lying.join("; ")));
    }
    say.line("no process and no folder is left");
    Ok(())
}
