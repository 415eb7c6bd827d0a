//! Codes about what base backups of CNPG are worth.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "recovery-window-unreliable",
        title: "what an ObjectStore says of its recovery window is not so",
        meaning: "status.serverRecoveryWindow lacks the server although Backups of it are completed; or its first point is \
                  older than retention, a backup interval and the maintenance of the plugin together: then the maintenance \
                  does not complete.",
        harm: "The window that people read is not the one that is enforced.",
        remedy: "read the RetentionPolicyFailed events and the sidecar's log on the primary; believe the bucket: dalsegno \
                  archive windows",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/blob/main/internal/cnpgi/instance/retention.go"],
    },
    CodeSpec {
        code: "base-backup-completed-without-wal",
        title: "base backups complete while no WAL is archived",
        meaning: "ContinuousArchiving is False and Backups of the plugin completed since: unlike the in-tree way it does not \
                  wait for archiving. The segments that they end in are not in the archive.",
        harm: "Every one of them looks good and cannot be restored; the real end of recovery is when archiving stopped.",
        remedy: "mend archiving; when the backlog has drained the segments arrive and the backups become good: dalsegno archive audit",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/blob/main/internal/cnpgi/instance/backup.go"],
    },
    CodeSpec {
        code: "retention-policy-conflict",
        title: "two retentions act on one prefix, and the shorter one wins",
        meaning: "Two Clusters write to the same endpoint, bucket, path and server name with different retentions: the primary \
                  of each enforces its own, the designated primary of a replica cluster too.",
        harm: "What the longer one promises is deleted by the other.",
        remedy: "give the second Cluster a server name of its own to write to, and let it read the first through an \
                  ObjectStore without retentionPolicy",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/2678"],
    },
    CodeSpec {
        code: "base-backup-not-offsite",
        title: "WAL goes to the bucket, and the only bases are volume snapshots of the same site",
        meaning: "Every schedule has the method volumeSnapshot, and the archive holds WAL without any base backup. Retention \
                  acts on base backups, so it never removes WAL either.",
        harm: "The loss of the site, or of its storage, loses everything; the WAL in the bucket grows without end and \
                  restores nothing.",
        remedy: "add a ScheduledBackup of method plugin or barmanObjectStore, and prune snapshots by a job of their own",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/3809",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/2429",
        ],
    },
    CodeSpec {
        code: "base-backup-tablespace-missing",
        title: "the newest base backup does not hold every tablespace",
        meaning: "Its backup.info names a tablespace whose tar is not in the bucket, or spec.tablespaces has one that it does not name.",
        harm: "The tables in it are lost; or replay stops at the record that creates it.",
        remedy: "take a base backup after every change of spec.tablespaces, and keep the recovery manifest's tablespaces in step",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/4407",
            "https://github.com/EnterpriseDB/barman/issues/343",
        ],
    },
    CodeSpec {
        code: "backup-temp-space-exhausted",
        title: "a backup filled the pod's temporary space",
        meaning: "An instance was evicted for its EmptyDir or ephemeral storage, or a backup failed with \"No space left on \
                  device\" in the upload. What the upload holds at once does not fit.",
        harm: "The base backup, and at backup time an instance of the database.",
        remedy: "raise or remove ephemeralVolumesSizeLimit.temporaryData, lower data.jobs, use barman 3.13.3 or newer, take \
                  backups from a standby",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/265",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/3677",
        ],
    },
];
