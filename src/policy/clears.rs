//! Whether what was seen in a pass is enough to say that an earlier finding is gone.
//!
//! A rule that does not fire says "fine" only when everything it reads was there: a setting that the key may no longer ask for, or
//! an archive that could not be listed, makes it silent without anything having become better.

use crate::domain::{Setting, StoreFact};

/// Findings about a store that are gone as soon as its listing is answered, whatever else of it was not seen.
const GONE_WITH_AN_ANSWER: &[&str] = &[
    "config-placeholder-unresolved",
    "object-store-outage",
    "s3-auth-failed",
    "s3-bucket-missing",
    "s3-name-unresolved",
    "s3-tls-failed",
    "secret-missing",
    "store-request-budget-used",
];
/// Findings about a store whose rules read the archives on it.
const READ_ARCHIVES: &[&str] = &["lifecycle-conflicts-with-retention", "r2-multipart-nonuniform", "s3-endpoint-has-path"];
/// Findings about an archive whose rules read the settings of its store.
const READ_THE_STORE: &[&str] = &["base-backup-metadata-locked"];

/// Findings of the disk-full clock: gone only when its numbers were seen again.
const READ_THE_NUMBERS: &[&str] =
    &["wal-archive-draining", "wal-archive-lag-growing", "wal-archiving-failing-disk-clock", "wal-held-by-slot"];

/// Whether a finding of this code can be cleared, as far as numbers of its database are concerned: `measured` = some of this pass are
/// known.
pub fn clock_clears(code: &str, measured: bool) -> bool {
    measured || !READ_THE_NUMBERS.contains(&code)
}

/// Whether a look at `store` that is whole but for single parts (`parts_unseen`: at least one got no answer) can clear a finding of
/// this code about it.
pub fn store_clears(code: &str, store: &StoreFact, parts_unseen: bool) -> bool {
    if GONE_WITH_AN_ANSWER.contains(&code) {
        return true;
    }
    if parts_unseen {
        return false;
    }
    match code {
        "lifecycle-conflicts-with-retention" => known(&store.lifecycle),
        "s3-stale-multipart-uploads" | "r2-multipart-nonuniform" => known(&store.uploads),
        "store-immutability-not-proven" => known(&store.object_lock) || store.claimed_immutability.is_none(),
        "s3-noncurrent-versions-unbounded" => match &store.versioning {
            Setting::Set(_) => known(&store.lifecycle) && known(&store.object_lock) && store.version_bytes.is_some(),
            versioning => known(versioning),
        },
        "s3-certificate-expiring" => store.certificate.is_some() || !store.endpoint.starts_with("https://"),
        _ => true,
    }
}

/// Whether a finding of this code about a store is judged by the archives on it too.
pub fn reads_archives(code: &str) -> bool {
    READ_ARCHIVES.contains(&code)
}

/// Whether a whole look at an archive can clear a finding of this code about it, as far as its store is concerned: `None` = the store
/// was not seen.
pub fn archive_clears(code: &str, store: Option<&StoreFact>, parts_unseen: bool) -> bool {
    !READ_THE_STORE.contains(&code) || store.is_some_and(|store| !parts_unseen && known(&store.object_lock))
}

/// The store answered: set, not set, or not offered at all.
const fn known<T>(setting: &Setting<T>) -> bool {
    matches!(setting, Setting::Set(_) | Setting::Absent | Setting::NotImplemented)
}
