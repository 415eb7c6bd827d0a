//! What can go wrong between a ledger and its home.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::domain::{Exit, ExitCode, Explained, Mode};
use crate::store::StoreError;

/// Why a ledger could not be brought from its home, or kept there.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The store said no.
    #[error("the ledger's home: {0}")]
    Store(#[from] StoreError),
    /// The store cannot be used at all, as it is configured here.
    #[error("the ledger is at home in store {store}, which cannot be used: {detail}")]
    Unusable {
        /// The store.
        store: String,
        /// Why.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// What lies there is not what was put there. It is left as it is.
    #[error("{place} is damaged: {said}")]
    Damaged {
        /// Bucket and key.
        place: String,
        /// What is wrong with it, both sides.
        said: String,
        /// Snapshots that are there beside it, newest first.
        others: Vec<String>,
    },
    /// A newer dalsegno wrote it.
    #[error("{place} has format {found}, this dalsegno knows up to {known}")]
    Newer {
        /// Bucket and key.
        place: String,
        /// Its format.
        found: u64,
        /// Ours.
        known: u32,
    },
    /// It belongs to another site.
    #[error("{place} is the ledger of site \"{theirs}\", this is site \"{ours}\"")]
    OtherSite {
        /// Bucket and key.
        place: String,
        /// This site.
        ours: String,
        /// The site in it.
        theirs: String,
    },
    /// Without conditional writes two writers would overwrite each other without a word.
    #[error("store {store} does not keep two writers apart: {said}")]
    NoConditions {
        /// The store.
        store: String,
        /// What was tried, and what came of it.
        said: String,
    },
    /// Somebody else wrote the ledger meanwhile.
    #[error("lost the race for the ledger: {place} was written by {winner} meanwhile, so what this pass recorded is not kept")]
    LostRace {
        /// Bucket and key.
        place: String,
        /// Who.
        winner: String,
    },
    /// The other kind of passes holds it.
    #[error("the ledger is held by the {} on {host} until {until}, and this is a {}", theirs.as_str(), ours.as_str())]
    Held {
        /// Who is kept away.
        ours: Mode,
        /// Who holds it.
        theirs: Mode,
        /// Where.
        host: String,
        /// Until when, if it does not renew.
        until: Timestamp,
    },
    /// The configuration gives passes to the other kind.
    #[error("pass.mode is {}: passes are made by {}, not by this command", mode.as_str(), if *mode == Mode::Daemon { "dalsegno daemon" } else { "dalsegno run" })]
    OtherMode {
        /// Who makes passes.
        mode: Mode,
    },
    /// Nothing to start from.
    #[error("{place} is not there: no site keeps its ledger below this prefix")]
    Nothing {
        /// Bucket and key.
        place: String,
    },
    /// The value of a secret stands in the configuration.
    #[error("the configuration holds the value of a secret, so it is not kept in the bucket")]
    SecretInside,
    /// A file of ours.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Where to start from is no address of a bucket.
    #[error("\"{given}\" is not an address of a bucket: {why}")]
    Address {
        /// As it was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// A command that belongs to the site itself.
    #[error("{command} records passes, and --from only reads what a site recorded")]
    OnlyReads {
        /// The command.
        command: &'static str,
    },
    /// The keys of the bucket are not known.
    #[error("the keys of {place} are not given: {missing}")]
    NoKeys {
        /// The bucket.
        place: String,
        /// Names of variables.
        missing: String,
    },
}

impl Explained for HomeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Unusable { .. } => "ledger-home-unusable",
            Self::Damaged { .. } => "ledger-home-damaged",
            Self::Newer { .. } => "ledger-home-newer",
            Self::OtherSite { .. } => "ledger-home-other-site",
            Self::NoConditions { .. } => "ledger-home-no-conditions",
            Self::LostRace { .. } => "ledger-race-lost",
            Self::Held { .. } => "ledger-held",
            Self::OtherMode { .. } => "pass-mode",
            Self::Nothing { .. } => "ledger-home-empty",
            Self::SecretInside => "config-holds-secret",
            Self::File { .. } => "ledger-home-file",
            Self::Address { .. } => "address-invalid",
            Self::OnlyReads { .. } => "from-only-reads",
            Self::NoKeys { .. } => "keys-missing",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Unusable { hint, .. } => hint.clone(),
            Self::Damaged { others, .. } => match others.first() {
                Some(newest) => format!(
                    "nothing was changed. Go back to a snapshot that is whole, as a person who decided to:  dalsegno ledger rewind {newest}"
                ),
                None => "nothing was changed. Restore the object from a version or a copy of the bucket; only if there is none, move \
                         head.json away by hand: the next pass begins a new ledger, drills come back from evidence/"
                    .to_owned(),
            },
            Self::Newer { .. } => "run the dalsegno that wrote it or a newer one; a ledger is never migrated back".to_owned(),
            Self::OtherSite { .. } => "give each site a prefix of its own (stores.NAME.own.prefix), or set `site:` right".to_owned(),
            Self::NoConditions { store, .. } => format!(
                "keep the ledger on a volume (ledger: {{home: volume}}) or in a store that honours If-Match and If-None-Match:  dalsegno probe {store}"
            ),
            Self::LostRace { .. } => {
                "nothing that was started is lost: the next pass looks again. If it happens often, two schedules run: concurrencyPolicy: Forbid, \
                 and one of CronJob and daemon"
                    .to_owned()
            }
            Self::Held { theirs: Mode::Cronjob, .. } => {
                "suspend the CronJob first, then:  dalsegno daemon --take-over".to_owned()
            }
            Self::Held { theirs: Mode::Daemon, .. } => {
                "stop the daemon (its mark then ends at once), or ask it; dalsegno check looks without recording".to_owned()
            }
            Self::OtherMode { .. } => "dalsegno check looks without recording; pass.mode says who makes passes".to_owned(),
            Self::Nothing { .. } => {
                "is it the prefix of `own:`?  dalsegno --from s3://BUCKET/PREFIX; a site with `ledger: {home: bucket}` writes head.json there"
                    .to_owned()
            }
            Self::SecretInside => "write secrets by reference only: {env: NAME} or {file: PATH}".to_owned(),
            Self::File { path, .. } => {
                format!("is there space, and may this user write there?  df -h {0}; ls -ld {0}", path.parent().unwrap_or(path).display())
            }
            Self::Address { .. } => "write s3://BUCKET/PREFIX, with --endpoint https://HOST when it is not AWS".to_owned(),
            Self::OnlyReads { .. } => "dalsegno --from … check looks now; status, history and drill work as well".to_owned(),
            Self::NoKeys { .. } => {
                "export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…, or run it on a terminal, where they are asked for".to_owned()
            }
        })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            Self::Unusable { .. } | Self::File { .. } => ExitCode::CouldNotLook,
            Self::Damaged { .. } => ExitCode::Stuck,
            Self::LostRace { .. } | Self::Held { .. } => ExitCode::LostRace,
            Self::Newer { .. }
            | Self::OtherSite { .. }
            | Self::NoConditions { .. }
            | Self::OtherMode { .. }
            | Self::Nothing { .. }
            | Self::SecretInside
            | Self::Address { .. }
            | Self::OnlyReads { .. }
            | Self::NoKeys { .. } => ExitCode::Usage,
        }
    }
}
