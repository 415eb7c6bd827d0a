//! Recordings: what a pass saw, judged again without any network. The form is docs/reference/recording.md; the seams themselves are
//! recorded and replayed by the room `tap`, here are the files around them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::{Evidence, Exit, ExitCode, Explained, RunId, Sample, Severity, Subject};
use crate::ledger::{Ledger, LedgerError, RunKind, RunState};

/// The version of the form. A reader refuses a newer one.
pub const RECORDING_FORMAT: u32 = 1;

/// `recording.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// [`RECORDING_FORMAT`].
    pub format: u32,
    /// The site; may be empty.
    #[serde(default)]
    pub site: String,
    /// Which dalsegno made it.
    #[serde(default)]
    pub made_by: String,
    /// Oldest first. Earlier ones are played into an empty ledger; the last one is judged.
    pub passes: Vec<PassOfRecording>,
}

/// One recorded pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassOfRecording {
    /// Its folder: `000`.
    pub dir: String,
    /// When it looked.
    pub now: Timestamp,
}

/// `expect.yaml`: what judging a recording must come to. A healthy twin has `findings: []`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// All of the findings.
    pub findings: Vec<ExpectedFinding>,
    /// Codes that must not be there.
    #[serde(default)]
    pub absent: Vec<String>,
}

/// One expected finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFinding {
    /// Its code.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// Its subject.
    pub subject: Subject,
    /// By which means it shows.
    #[serde(default)]
    pub via: Via,
}

/// By which means a fault shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A pass or a check sees it.
    #[default]
    Check,
    /// Only the answer to an act shows it.
    Receipt,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file cannot be read or written.
    #[error("cannot {what} {path}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {why}")]
    Malformed {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Made by a newer dalsegno.
    #[error("{path} has form {found}, this dalsegno reads up to {RECORDING_FORMAT}")]
    Newer {
        /// Where.
        path: PathBuf,
        /// Its form.
        found: u32,
    },
    /// The folder is not empty.
    #[error("{path} is not empty; a recording gets a folder of its own")]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// The ledger that it is played into failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Explained for ReplayError {
    fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "recording-file",
            Self::Malformed { .. } => "recording-malformed",
            Self::Newer { .. } => "recording-newer",
            Self::Occupied { .. } => "recording-folder-occupied",
            Self::Ledger(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } => Some("is it the folder that check --record was given?".to_owned()),
            Self::Malformed { .. } => None,
            Self::Newer { .. } => Some("replay it with a dalsegno at least as new as the one that made it".to_owned()),
            Self::Occupied { .. } => Some("name a folder that does not exist yet".to_owned()),
            Self::Ledger(error) => error.hint(),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Ledger(error) => error.exit(),
            _ => ExitCode::Usage,
        }
    }
}

impl Recording {
    /// Reads `recording.yaml` of a folder.
    pub fn read(folder: &Path) -> Result<Self, ReplayError> {
        let path = folder.join("recording.yaml");
        let recording: Self = yaml(&path)?;
        if recording.format > RECORDING_FORMAT {
            return Err(ReplayError::Newer { path, found: recording.format });
        }
        if recording.passes.is_empty() {
            return Err(ReplayError::Malformed { path, why: "it names no pass".to_owned() });
        }
        let plain = |dir: &str| !dir.is_empty() && dir.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if let Some(bad) = recording.passes.iter().find(|pass| !plain(&pass.dir)) {
            return Err(ReplayError::Malformed { path, why: format!("\"{}\" is no name of a pass's folder", bad.dir) });
        }
        Ok(recording)
    }

    /// Begins a recording of one pass in a folder that must be empty or absent: writes `recording.yaml` and `config.yaml`, makes the
    /// pass's folder and answers it. `config` is the configuration as it was written, secrets as references.
    pub fn begin(folder: &Path, site: &str, now: Timestamp, config: &str) -> Result<PathBuf, ReplayError> {
        let io = |what, path: &Path| {
            let path = path.to_owned();
            move |source| ReplayError::Io { what, path, source }
        };
        std::fs::create_dir_all(folder).map_err(io("make", folder))?;
        if std::fs::read_dir(folder).map_err(io("read", folder))?.next().is_some() {
            return Err(ReplayError::Occupied { path: folder.to_owned() });
        }
        let recording = Self {
            format: RECORDING_FORMAT,
            site: site.to_owned(),
            made_by: concat!("dalsegno ", env!("CARGO_PKG_VERSION")).to_owned(),
            passes: vec![PassOfRecording { dir: "000".to_owned(), now }],
        };
        let path = folder.join("recording.yaml");
        let text = serde_saphyr::to_string(&recording)
            .map_err(|error| ReplayError::Malformed { path: path.clone(), why: error.to_string() })?;
        std::fs::write(&path, text).map_err(io("write", &path))?;
        let path = folder.join("config.yaml");
        std::fs::write(&path, config).map_err(io("write", &path))?;
        let pass = folder.join("000");
        std::fs::create_dir(&pass).map_err(io("make", &pass))?;
        Ok(pass)
    }

    /// All passes but the last with their folders, and the last.
    pub fn split<'r>(&'r self, folder: &Path) -> Option<(Vec<(PathBuf, &'r PassOfRecording)>, (PathBuf, &'r PassOfRecording))> {
        let mut passes: Vec<_> = self.passes.iter().map(|pass| (folder.join(&pass.dir), pass)).collect();
        let last = passes.pop()?;
        Some((passes, last))
    }
}

impl Expectation {
    /// Reads `expect.yaml` of a folder; `None` when there is none, as in a recording of a user.
    pub fn read(folder: &Path) -> Result<Option<Self>, ReplayError> {
        let path = folder.join("expect.yaml");
        if path.exists() { yaml(&path).map(Some) } else { Ok(None) }
    }
}

/// A line of `ledger.jsonl`.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Remembered {
    /// A drill, whatever its verdict.
    Drill {
        /// Its evidence.
        evidence: Box<Evidence>,
    },
}

/// Fills an empty ledger with what `ledger.jsonl` and `samples.jsonl` of a recording say, before its first pass.
pub async fn remember(folder: &Path, ledger: &Ledger, before: Timestamp) -> Result<(), ReplayError> {
    let path = folder.join("ledger.jsonl");
    for (number, line) in lines(&path)?.into_iter().enumerate() {
        let Remembered::Drill { evidence } = json(&path, number, &line)?;
        let digest: String = Sha256::digest(line.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        ledger.take_in(&evidence, &digest, before).await?;
    }
    let path = folder.join("samples.jsonl");
    let mut samples = Vec::new();
    for (number, line) in lines(&path)?.into_iter().enumerate() {
        samples.push(json::<Sample>(&path, number, &line)?);
    }
    // A ledger keeps one sample per run: each old one gets a run of its own.
    for sample in samples {
        let run = RunId::new();
        ledger.begin(run, RunKind::Pass, sample.at).await?;
        ledger.commit_samples(run, before, std::slice::from_ref(&sample)).await?;
        ledger.end(run, sample.at, RunState::Done, ExitCode::Fine).await?;
    }
    Ok(())
}

fn lines(path: &Path) -> Result<Vec<String>, ReplayError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(ReplayError::Io { what: "read", path: path.to_owned(), source }),
    }
}

fn json<T: serde::de::DeserializeOwned>(path: &Path, number: usize, line: &str) -> Result<T, ReplayError> {
    serde_json::from_str(line)
        .map_err(|error| ReplayError::Malformed { path: path.to_owned(), why: format!("line {}: {error}", number + 1) })
}

fn yaml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReplayError> {
    let text = std::fs::read_to_string(path).map_err(|source| ReplayError::Io { what: "read", path: path.to_owned(), source })?;
    serde_saphyr::from_str(&text).map_err(|error| ReplayError::Malformed { path: path.to_owned(), why: error.to_string() })
}
