//! Real servers, simulators and faults on demand, for the tests, the demo and the benches.
//!
//! The lab does not know `dalsegno`: it gives what a platform would have. Everything listens on
//! 127.0.0.1 on free ports, lives below one folder per process (`$TMPDIR/dalsegno-lab-<pid>/`),
//! and is gone when the process is, however it ended (see [`home`]).
//!
//! | what | where |
//! | --- | --- |
//! | installing and finding servers (`make lab-tools`) | [`tools`] |
//! | "this suite needs that server" | [`need`] |
//! | an S3 server (SeaweedFS) with several keys | [`seaweed::Seaweed`] |
//! | a PostgreSQL cluster run as an unprivileged user | [`postgres::Postgres`] |
//! | barman-cloud: archive, back up, restore | [`barman::Barman`] |
//! | objects put, read, lost and damaged behind everybody's back | [`s3::Client`] |
//! | R2's refusals, a wrong clock, throttling, locks, half bodies | [`gateway::Gateway`] |
//! | a slow, cut, hanging or refusing network; TLS with any certificate | [`link::Link`], [`link::tls::TlsFront`] |
//! | a webhook that records, fails or hangs | [`webhook::Webhook`] |
//! | strict stand-ins: mail with STARTTLS, ntfy, Pushgateway | [`smtp::Smtp`], [`ntfy::Ntfy`], [`pushgateway::Pushgateway`] |
//! | Prometheus and Alertmanager, the real ones | [`prometheus::Prometheus`], [`alertmanager::Alertmanager`] |
//! | a Kubernetes control plane with RBAC, controllers, kwok; an API server that is down, slow or rude | [`kube::Cluster`] |
//! | CNPG's exporter; Clusters, Backups and recoveries as its operator does them | [`cnpg::exporter::Exporter`], [`cnpg::Actor`] |
//! | a small volume that can really be full (root) | [`volume::Volume`] |
//!
//! ```no_run
//! # async fn story() -> Result<(), lab::LabError> {
//! use lab::{barman::*, postgres::*, seaweed::Seaweed};
//! let weed = Seaweed::start().await?;                      // or `lab::seaweed::shared().await?`
//! let bucket = weed.fresh_bucket().await?;                 // a name nobody else uses
//! let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, "cnpg", "keycloak-db")?;
//! let archiver = barman.archiver(WalCompression::Gzip)?;   // a wrapper script with a credentials file
//! let pg = Postgres::start(Options::new(16).archive_command(archiver.command())).await?;
//! pg.write_accounts(10_000).await?;
//! let id = barman.backup(&pg, BaseCompression::Gzip).await?;
//! pg.switch_and_wait_archived().await?;
//! weed.client().delete(&bucket, "cnpg/keycloak-db/wals/…").await?;   // the archive loses a segment
//! archiver.break_credentials()?;                           // from now on archiving fails
//! # let _ = id; Ok(()) }
//! ```

pub mod alertmanager;
pub mod authority;
pub mod barman;
pub mod cnpg;
mod error;
pub mod exposition;
mod front;
pub mod gateway;
pub mod home;
pub mod kube;
pub mod link;
pub mod ntfy;
mod ports;
pub mod postgres;
mod process;
pub mod prometheus;
pub mod pushgateway;
pub mod s3;
pub mod seaweed;
pub mod smtp;
pub mod tools;
pub mod volume;
pub mod webhook;

pub use error::LabError;
pub use process::{Process, User};
pub use tools::{Tool, need};

use std::sync::OnceLock;

/// The runtime on which gateways, links and webhooks live, apart from the caller's own: a test may
/// block its thread on a child process and the servers between them still answer.
pub(crate) fn background() -> Result<&'static tokio::runtime::Runtime, LabError> {
    static RUNTIME: OnceLock<Result<tokio::runtime::Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("lab")
                .enable_all()
                .build()
                .map_err(|e| e.to_string())
        })
        .as_ref()
        .map_err(|e| LabError::Other(format!("the lab's runtime did not start: {e}")))
}
