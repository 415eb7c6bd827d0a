//! What can go wrong in the lab itself. Texts are for the reader of a failed test.

use std::path::PathBuf;

/// Why the lab could not do what a test asked of it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A server or tool that is neither in the cache nor on this machine.
    #[error("{tool} is absent (looked in {looked}); `make lab-tools` installs it")]
    Absent {
        /// Which tool.
        tool: String,
        /// Where it was looked for.
        looked: String,
    },
    /// A command that ended with an error.
    #[error("{command} ended with {status}: {output}")]
    Command {
        /// The command line, without secrets.
        command: String,
        /// Its exit status.
        status: String,
        /// The end of what it printed.
        output: String,
    },
    /// A server that did not become ready in time.
    #[error("{server} was not ready after {seconds} s; its log ends with: {log}")]
    NotReady {
        /// Which server.
        server: String,
        /// How long it was waited for.
        seconds: u64,
        /// The end of its log.
        log: String,
    },
    /// An answer of an S3 server that is not a success.
    #[error("{method} {path} was answered {status}: {body}")]
    Answer {
        /// The request's method.
        method: String,
        /// The request's path and query.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The body, cut.
        body: String,
    },
    /// A file operation that failed.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A statement that PostgreSQL refused, or a connection that failed.
    #[error("postgres: {0}")]
    Sql(#[from] sqlx::Error),
    /// A request to a Kubernetes API server that failed.
    #[error("kubernetes: {0}")]
    Kube(#[source] Box<kube::Error>),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<kube::Error> for LabError {
    fn from(error: kube::Error) -> LabError {
        LabError::Kube(Box::new(error))
    }
}

impl LabError {
    /// Whether an API server said that there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, LabError::Kube(error) if matches!(error.as_ref(), kube::Error::Api(status) if status.code == 404))
    }

    /// A file error with its path.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { path, source }
    }
}
