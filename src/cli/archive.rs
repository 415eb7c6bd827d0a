//! `dalsegno archive`: what lies in a PostgreSQL archive.

/// What lies in a PostgreSQL archive, and what could be restored from it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    /// What to show.
    pub command: Command,
}

/// What to show of an archive.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Base backups and the range of WAL, per database
    List(Which),
    /// Recovery windows: from when until when, on which timeline
    Windows(Which),
    /// Look for gaps and damage: every name, and the header bytes of first, last and boundary segments
    Audit(Which),
}

/// Which database.
#[derive(Clone, Debug, clap::Args)]
pub struct Which {
    /// A database or the end of its subject; all when left out
    pub subject: Option<String>,
}
