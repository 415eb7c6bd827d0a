//! What can go wrong between settings and objects.

use crate::domain::{Exit, ExitCode, Explained, nearest_few};
use crate::ledger::LedgerError;
use crate::store::StoreError;
use crate::tap::CallError;

/// Why an object could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The operating system does not say who we are.
    #[error("cannot read our own process from /proc")]
    Process(#[source] std::io::Error),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger's home.
    #[error(transparent)]
    Home(Box<super::HomeError>),
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration of a recording.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigErrors),
    /// The files of a recording.
    #[error(transparent)]
    Recording(Box<crate::tap::RecordingError>),
    /// What a recording says of the ledger.
    #[error(transparent)]
    Replay(Box<crate::conductor::ReplayError>),
    /// A recording is files, and a replay needs a folder for its ledger.
    #[error("cannot write a file of a recording or a replay")]
    Scratch(#[source] std::io::Error),
    /// The configuration has no text form.
    #[error("cannot write the configuration into the recording: {0}")]
    Written(String),
    /// A recording without passes.
    #[error("the recording holds no pass")]
    NoPass,
    /// No HTTP client.
    #[error("cannot make an HTTP client")]
    Http(#[source] CallError),
    /// The path of our own program is not known.
    #[error("cannot find our own program")]
    Executable(#[source] std::io::Error),
    /// A configuration that names nothing must not read as "nothing is wrong".
    #[error("the configuration names no store and no database: there is nothing to look at")]
    NothingConfigured,
    /// It is named, and cannot be used as it is.
    #[error("{subject} cannot be used: {detail}")]
    Unusable {
        /// What was asked for.
        subject: crate::domain::Subject,
        /// Why.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// Nothing by that name in the configuration.
    #[error("no {what} \"{name}\" in the configuration (known: {known})")]
    NotConfigured {
        /// `store`, `database`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// What was most likely meant.
        near: Vec<String>,
    },
}

impl AppError {
    /// Nothing by that name, among those that there are.
    pub(super) fn not_configured(what: &'static str, name: &str, known: &[String]) -> Self {
        let ends = known.iter().filter_map(|known| known.rsplit('/').next()).filter(|end| *end != name);
        let near = nearest_few(name, known.iter().map(String::as_str).chain(ends), MOST_NEAR);
        Self::NotConfigured {
            what,
            name: name.to_owned(),
            near: near.into_iter().map(ToOwned::to_owned).collect(),
            known: known.join(", "),
        }
    }
}

/// So many near names are offered.
const MOST_NEAR: usize = 3;

impl From<crate::tap::RecordingError> for AppError {
    fn from(error: crate::tap::RecordingError) -> Self {
        Self::Recording(Box::new(error))
    }
}

impl From<crate::conductor::ReplayError> for AppError {
    fn from(error: crate::conductor::ReplayError) -> Self {
        Self::Replay(Box::new(error))
    }
}

impl Explained for AppError {
    fn code(&self) -> &'static str {
        match self {
            Self::Process(_) | Self::Executable(_) => "process-unreadable",
            Self::Ledger(error) => error.code(),
            Self::Home(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Recording(error) => error.code(),
            Self::Replay(error) => error.code(),
            Self::Written(_) | Self::Scratch(_) => "recording-file",
            Self::NoPass => "recording-empty",
            Self::Http(_) => "http-client",
            Self::NothingConfigured => "nothing-configured",
            Self::Unusable { .. } => "not-usable",
            Self::NotConfigured { .. } => "not-configured",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Process(_) | Self::Executable(_) => Some("is /proc mounted?  ls -l /proc/self/exe".to_owned()),
            Self::Ledger(error) => error.hint(),
            Self::Home(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Config(error) => error.hint(),
            Self::Recording(error) => error.hint(),
            Self::Replay(error) => error.hint(),
            Self::Written(_) | Self::Scratch(_) => Some("are the folder and $TMPDIR writable, and have they space?".to_owned()),
            Self::NoPass => Some("make it anew: dalsegno check --record DIR".to_owned()),
            Self::Http(_) => Some("are there trusted authorities on this machine?  ls /etc/ssl/certs".to_owned()),
            Self::NothingConfigured => {
                Some("is it the right file or folder?  dalsegno config show; dalsegno init writes one to start from".to_owned())
            }
            Self::Unusable { hint, .. } => Some(hint.clone()),
            Self::NotConfigured { near, .. } if near.is_empty() => Some("dalsegno config show".to_owned()),
            Self::NotConfigured { near, .. } => Some(format!("did you mean {}?", near.join(" or "))),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Process(_) | Self::Executable(_) | Self::Http(_) | Self::Written(_) | Self::Scratch(_) => {
                ExitCode::CouldNotLook
            }
            Self::Config(_) | Self::Recording(_) | Self::NoPass | Self::NothingConfigured | Self::NotConfigured { .. } => {
                ExitCode::Usage
            }
            Self::Unusable { .. } => ExitCode::CouldNotLook,
            Self::Replay(error) => error.exit(),
            Self::Ledger(error) => error.exit(),
            Self::Home(error) => error.exit(),
            Self::Store(error) => error.exit(),
        }
    }
}
