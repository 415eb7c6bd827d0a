//! `dalsegno doctor`: whether each provider can be reached, with which rights, and the fix.

/// For each provider: can it be reached, with which rights, and what to do if not.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only this one: store/minio, postgres/keycloak-db
    pub provider: Option<String>,
}
