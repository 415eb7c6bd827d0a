//! Whether what was seen in a pass is enough to say that an earlier finding is gone.
//!
//! A rule that does not fire says "fine" only when everything it reads was there: a setting that the key may no longer ask for, or
//! an archive that could not be listed, makes it silent without anything having become better.

use crate::domain::{CnpgFact, Condition, Setting, StoreFact};

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
const READ_THE_NUMBERS: &[&str] = &[
    "archiver-old-failure-recorded",
    "archiver-unobservable",
    "wal-archive-draining",
    "wal-archive-lag-growing",
    "wal-archiver-stalled-uncounted",
    "wal-archiving-failing-disk-clock",
    "wal-held-by-slot",
];

/// Whether a finding of this code can be cleared, as far as numbers of its database are concerned: `measured` = some of this pass are
/// known.
///
/// Where no numbers come at all, the operator's word ends what it began: its condition turns True only after a segment got out.
pub fn clock_clears(code: &str, measured: bool, cluster: Option<&CnpgFact>) -> bool {
    let said_well = || cluster.and_then(|cluster| cluster.condition("ContinuousArchiving")).is_some_and(Condition::is_true);
    measured || !READ_THE_NUMBERS.contains(&code) || (code == "wal-archiving-failing-disk-clock" && said_well())
}

/// Findings whose rules read a Cluster of CNPG, and no more of it than the object itself.
const READ_THE_CLUSTER: &[&str] = &[
    "archive-location-differs",
    "archive-not-offsite",
    "archiver-old-failure-recorded",
    "archiver-unobservable",
    "barman-tools-missing-in-image",
    "base-backup-tablespace-missing",
    "bootstrap-source-missing",
    "objectstore-reference-dangling",
    "recovery-window-unreliable",
    "replica-source-stale",
    "restore-app-credentials-missing",
    "restore-ignores-wal-archive",
    "restore-overwrites-source-archive",
    "restore-source-server-mismatch",
    "restore-target-implicit-latest",
    "restore-version-mismatch",
    "restore-volume-too-small",
    "restored-cluster-unprotected",
    "retention-policy-conflict",
    "wal-archiver-stalled-uncounted",
    "wal-archiving-disabled-by-annotation",
    "wal-freshness-unproven",
    "wal-headroom-too-small",
    "wal-plugin-socket-unreachable",
    "wal-prefix-reused-after-snapshot-restore",
    "wal-prefix-shared-by-two-writers",
    "wal-tail-not-archived-at-shutdown",
];
/// Findings whose rules read the Cluster's pods too.
const READ_PODS: &[&str] = &[
    "backup-running-stale",
    "backup-temp-space-exhausted",
    "plugin-migration-stuck",
    "restore-parallel-race",
    "restore-retrying-bad-backup",
    "sidecar-config-drift",
    "wal-plugin-not-loaded",
    "wal-volume-full",
];
/// Findings whose rules read the Cluster's volume claims too.
const READ_CLAIMS: &[&str] = &["volume-resize-not-applied"];
/// Findings whose rules read the Cluster's jobs too.
const READ_JOBS: &[&str] = &["restore-job-failed", "restore-parallel-race", "restore-retrying-bad-backup"];
/// Findings whose rules read the Cluster's Backups too.
const READ_BACKUPS: &[&str] = &[
    "backup-objects-unbounded",
    "backup-pending-overdue",
    "backup-queue-blocked",
    "backup-running-stale",
    "backup-temp-space-exhausted",
    "base-backup-completed-without-wal",
    "schedule-never-fired",
];
/// Findings whose rules read the Cluster's schedules too.
const READ_SCHEDULES: &[&str] =
    &["base-backup-not-offsite", "schedule-cron-field-count", "schedule-never-fired", "schedule-suspended-overdue"];

/// Whether a finding of this code can be cleared, as far as its Cluster is concerned: `None` = the API server did not show it in this
/// pass, which is no news of it.
pub fn cluster_clears(code: &str, cluster: Option<&CnpgFact>) -> bool {
    let reads = |codes: &[&str]| codes.contains(&code);
    let lists = [READ_PODS, READ_CLAIMS, READ_JOBS, READ_BACKUPS, READ_SCHEDULES];
    if !reads(READ_THE_CLUSTER) && !lists.into_iter().any(reads) {
        return true;
    }
    cluster.is_some_and(|cluster| {
        (!reads(READ_PODS) || cluster.pods.is_some())
            && (!reads(READ_CLAIMS) || cluster.claims.is_some())
            && (!reads(READ_JOBS) || cluster.jobs.is_some())
            && (!reads(READ_BACKUPS) || cluster.backups.is_some())
            && (!reads(READ_SCHEDULES) || cluster.schedules.is_some())
    })
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
