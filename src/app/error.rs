//! What can go wrong between settings and objects.

use crate::domain::{Exit, ExitCode, Explained};
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
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No HTTP client.
    #[error("cannot make an HTTP client")]
    Http(#[source] CallError),
    /// The path of our own program is not known.
    #[error("cannot find our own program")]
    Executable(#[source] std::io::Error),
    /// Nothing by that name in the configuration.
    #[error("no {what} \"{name}\" in the configuration (known: {known})")]
    NotConfigured {
        /// `store`, `database`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

impl Explained for AppError {
    fn code(&self) -> &'static str {
        match self {
            Self::Process(_) | Self::Executable(_) => "process-unreadable",
            Self::Ledger(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Http(_) => "http-client",
            Self::NotConfigured { .. } => "not-configured",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Process(_) | Self::Executable(_) => Some("is /proc mounted?  ls -l /proc/self/exe".to_owned()),
            Self::Ledger(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Http(_) => Some("are there trusted authorities on this machine?  ls /etc/ssl/certs".to_owned()),
            Self::NotConfigured { .. } => Some("dalsegno config show".to_owned()),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Process(_) | Self::Executable(_) | Self::Http(_) => ExitCode::CouldNotLook,
            Self::Ledger(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::NotConfigured { .. } => ExitCode::Usage,
        }
    }
}
