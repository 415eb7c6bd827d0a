//! `dalsegno check`: look now, record nothing.

use super::at_least::AtLeast;

/// Look now at one subject or at all, and judge. Nothing is recorded, sent or started.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A subject or the end of one: pg/home/prod/keycloak-db, keycloak-db, store/home/minio
    pub subject: Option<String>,
    /// The least severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub fail_on: AtLeast,
}
