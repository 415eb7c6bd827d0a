//! The faults that are owned so far, and the table that is printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::run::Outcome;

/// One fault.
pub(crate) struct Entry {
    /// The name of its folder; the twin's ends in `.twin`.
    pub(crate) name: &'static str,
    /// The system it happens in.
    pub(crate) system: &'static str,
    /// What of it these means do not show, if anything.
    pub(crate) unseen: &'static str,
}

const fn entry(system: &'static str, name: &'static str) -> Entry {
    Entry { name, system, unseen: "" }
}

const fn partly(system: &'static str, name: &'static str, unseen: &'static str) -> Entry {
    Entry { name, system, unseen }
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("archive", "wal-overwritten-by-foreign-system"),
    entry("archive", "orphan-future-timeline-history"),
    entry("archive", "wal-object-zero-bytes"),
    entry("archive", "aws-chunked-framing-stored-in-objects"),
    entry("archive", "retention-blocked-by-unreadable-backup-info"),
    entry("archive", "backup-from-the-future"),
    entry("archive", "destination-changed-no-base-backup"),
    entry("archive", "object-lock-refuses-second-write"),
    entry("archive", "backup-end-wal-never-archived"),
    partly(
        "archive",
        "backup-objects-vanish-with-bucket-objects",
        "that the Backup objects vanish from the Kubernetes API as well needs the API",
    ),
    entry("archive", "partial-segment-in-middle"),
    partly(
        "archive",
        "first-recoverability-point-overstated",
        "the operator's own claim (firstRecoverabilityPoint, with volume snapshots) needs the Cluster's status",
    ),
    entry("restore", "pitr-target-outside-window"),
    entry("restore", "pitr-target-inside-backup"),
    entry("restore", "pitr-target-without-timezone"),
    entry("restore", "pitr-target-format-refused"),
    partly("store", "placeholder-in-destination", "placeholders in somebody else's manifests need those manifests"),
    partly("store", "endpoint-url-contains-bucket", "the archiver's own endpoint needs its manifest; ours is judged"),
    entry("store", "region-wrong-or-missing"),
    entry("store", "endpoint-certificate-expiring"),
    partly("store", "credentials-cannot-delete-or-list", "a missing DeleteObject is only shown by a probe with that key"),
    entry("store", "clock-skew-request-refused"),
    partly("store", "object-store-unreachable-or-full", "the archivers' own errors need the Clusters' conditions"),
    entry("store", "incomplete-multipart-uploads"),
    entry("store", "lifecycle-rule-expires-archive"),
    entry("store", "versioned-bucket-hidden-growth"),
    partly(
        "store",
        "sse-encryption-rejected-or-key-gone",
        "a refused upload leaves nothing in the bucket; only a probe shows it",
    ),
    entry("store", "r2-multipart-parts-not-uniform"),
    entry("store", "r2-assumed-object-lock-or-versioning"),
    entry("store", "s3-clock-skew"),
    partly("store", "s3-credentials-revoked", "that another consumer's key still works needs that key"),
    entry("cnpg", "scheduledbackup-five-field-cron"),
    partly("cnpg", "backup-object-flood-operator-oom", "that the operator was killed for it needs the operator's own pod"),
    entry("cnpg", "scheduledbackup-suspended"),
    entry("cnpg", "scheduledbackup-never-fired"),
    entry("cnpg", "walarchivingfailing-backup-blocks-schedule"),
    entry("cnpg", "backup-pending-forever"),
    entry("cnpg", "backup-running-on-dead-instance"),
    entry("cnpg", "last-backup-succeeded-stale"),
    entry("cnpg", "objectstore-recovery-window-missing"),
    entry("cnpg", "plugin-backup-completes-while-archiving-broken"),
    entry("cnpg", "retention-conflict-on-one-prefix"),
    entry("cnpg", "volumesnapshot-only-retention-never-runs"),
    entry("cnpg", "tablespace-missing-in-backup"),
    entry("cnpg", "backup-temp-space-exhausted"),
    entry("cnpg", "restore-backupid-replays-to-latest"),
    entry("cnpg", "parallel-restore-race"),
    entry("cnpg", "restore-job-pinned-to-bad-backup"),
    entry("cnpg", "restore-failed-but-setting-up-primary"),
    entry("cnpg", "restore-major-version-mismatch"),
    partly(
        "cnpg",
        "restore-app-credentials-mismatch",
        "whether a Secret is there is not asked: that needs the right to read Secrets",
    ),
    entry("cnpg", "restore-wal-fills-data-volume"),
    entry("cnpg", "bootstrap-recovery-source-gone"),
    entry("cnpg", "snapshot-restore-without-wal-source"),
    entry("cnpg", "archive-backlog-slower-than-wal"),
];

type Row<'a> = (&'a Entry, Outcome, Outcome);

/// The table per system, and the line that counts.
pub(crate) fn report(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    let mut by_system: BTreeMap<&str, Vec<&Row<'_>>> = BTreeMap::new();
    for row in rows {
        by_system.entry(row.0.system).or_default().push(row);
    }
    let named = |rows: &[&Row<'_>]| rows.iter().filter(|(_, fault, _)| *fault == Outcome::AsExpected).count();
    let alarms = |rows: &[&Row<'_>]| rows.iter().filter(|(.., twin)| *twin != Outcome::AsExpected).count();
    writeln!(text, "\n{:<10} {:>7} {:>7} {:>13} {:>16}", "SYSTEM", "ENTRIES", "NAMED", "WRONGLY NAMED", "ALARMS ON TWINS")
        .unwrap();
    for (system, rows) in &by_system {
        let named = named(rows);
        writeln!(text, "{system:<10} {:>7} {named:>7} {:>13} {:>16}", rows.len(), rows.len() - named, alarms(rows)).unwrap();
    }
    for (entry, fault, twin) in rows {
        if *fault != Outcome::AsExpected {
            writeln!(text, "  wrongly named  {}: {fault:?}", entry.name).unwrap();
        }
        if *twin != Outcome::AsExpected {
            writeln!(text, "  alarm on twin  {}: {twin:?}", entry.name).unwrap();
        }
    }
    for (entry, ..) in rows.iter().filter(|(entry, ..)| !entry.unseen.is_empty()) {
        writeln!(text, "  seen in part   {}: {}", entry.name, entry.unseen).unwrap();
    }
    let all: Vec<&Row<'_>> = rows.iter().collect();
    write!(text, "CORPUS {} {} {}", named(&all), rows.len(), alarms(&all)).unwrap();
    text
}
