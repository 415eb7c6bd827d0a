//! The pass in a loop, for a process that stays: when the next one is due, what it may tell while it waits, and how it ends.
//!
//! `/healthz` says whether passes come to their end, not what they found: a finding must not have the process restarted. `/metrics` is
//! rendered at each scrape from the ledger by whoever is given.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::domain::{Exit, ExitCode, Explained, duration_in_words};

/// The content type of the text format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// So many intervals without a pass that came to its end, and the process is not well.
const INTERVALS: u32 = 3;

/// What `/metrics` answers, or why it cannot.
pub type Metrics = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Why no daemon was started.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Somebody else listens there, or nobody may.
    #[error("cannot listen on {listen}")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Passes without a pause would be a denial of service of our own.
    #[error("a pass every {} is too often, 10 s is the least", duration_in_words(*.0))]
    TooOften(f64),
}

impl Explained for DaemonError {
    fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "daemon-listen",
            Self::TooOften(_) => "daemon-too-often",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Listen { listen, .. } => {
                format!("does another daemon run here?  ss -ltnp 'sport = :{}'; --listen names another place", listen.port())
            }
            Self::TooOften(_) => "dalsegno daemon --every 5m".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// The least time between two passes.
const LEAST: Duration = Duration::from_secs(10);

/// How the last pass went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// It did its work, whatever it found.
    Worked,
    /// It could not do its work this time; the next one is tried.
    Failed(String),
    /// The daemon must end.
    Ends(ExitCode),
}

/// What `/healthz` is told.
#[derive(Debug)]
struct Pulse {
    /// When the last pass that worked came to its end; at first, when the process began.
    worked: Instant,
    passes: u64,
    /// Why the newest pass could not do its work.
    trouble: Option<String>,
    patience: Duration,
}

/// A daemon that is ready to begin.
pub struct Daemon {
    every: Duration,
    pulse: Arc<Mutex<Pulse>>,
    listener: TcpListener,
    listens: SocketAddr,
}

#[derive(Clone)]
struct Shown {
    pulse: Arc<Mutex<Pulse>>,
    metrics: Metrics,
}

impl Daemon {
    /// Takes its port. `longest` is how long one pass may take.
    pub async fn prepare(every: Duration, longest: Duration, listen: SocketAddr) -> Result<Self, DaemonError> {
        if every < LEAST {
            return Err(DaemonError::TooOften(every.as_secs_f64()));
        }
        let listener = TcpListener::bind(listen).await.map_err(|source| DaemonError::Listen { listen, source })?;
        let listens = listener.local_addr().map_err(|source| DaemonError::Listen { listen, source })?;
        let patience = every.saturating_mul(INTERVALS).saturating_add(longest);
        let pulse = Pulse { worked: Instant::now(), passes: 0, trouble: None, patience };
        Ok(Self { every, pulse: Arc::new(Mutex::new(pulse)), listener, listens })
    }

    /// Where it listens: with port 0 the system chose one.
    pub const fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// A pass now, and then at each interval from its begin; one that takes longer is followed by the next at once, never overtaken.
    /// Ends when `cancel` is cancelled between two passes (a pass itself asks the same token), or when a pass says so.
    pub async fn run(self, metrics: Metrics, cancel: CancellationToken, mut pass: impl AsyncFnMut() -> Beat) -> ExitCode {
        let stop = CancellationToken::new();
        let serving = serve(self.listener, Shown { pulse: Arc::clone(&self.pulse), metrics }, stop.clone());
        let mut exit = ExitCode::Fine;
        while !cancel.is_cancelled() {
            let begun = Instant::now();
            let beat = pass().await;
            note(&self.pulse, &beat);
            if let Beat::Ends(with) = beat {
                exit = with;
                break;
            }
            let rest = self.every.saturating_sub(begun.elapsed());
            tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
        stop.cancel();
        if let Err(error) = serving.await {
            tracing::debug!(%error, "the listener ended badly");
        }
        exit
    }
}

fn note(pulse: &Mutex<Pulse>, beat: &Beat) {
    let mut pulse = pulse.lock().unwrap_or_else(PoisonError::into_inner);
    pulse.passes = pulse.passes.saturating_add(1);
    match beat {
        Beat::Worked => {
            pulse.worked = Instant::now();
            pulse.trouble = None;
        }
        Beat::Failed(why) => pulse.trouble = Some(why.clone()),
        Beat::Ends(_) => {}
    }
}

fn serve(listener: TcpListener, shown: Shown, stop: CancellationToken) -> JoinHandle<()> {
    let router = Router::new().route("/healthz", get(health)).route("/metrics", get(scrape)).with_state(shown);
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::warn!(%error, "nobody can ask for health and metrics any more");
        }
    })
}

async fn health(State(shown): State<Shown>) -> impl IntoResponse {
    let pulse = shown.pulse.lock().unwrap_or_else(PoisonError::into_inner);
    let since = pulse.worked.elapsed();
    let trouble = pulse.trouble.as_ref().map(|why| format!("\nthe newest could not do its work: {why}")).unwrap_or_default();
    let words = duration_in_words(since.as_secs_f64());
    if since > pulse.patience {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("no pass came to its end for {words}{trouble}\n"));
    }
    (StatusCode::OK, format!("{} passes, the last that worked ended {words} ago{trouble}\n", pulse.passes))
}

async fn scrape(State(shown): State<Shown>) -> impl IntoResponse {
    match (shown.metrics)().await {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, TEXT_FORMAT)], text),
        // Half a page of numbers would read as "the rest is absent".
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{why}\n")),
    }
}
