//! Codes about Clusters that are made by a recovery.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "restore-target-implicit-latest",
        title: "a recovery names a base backup and no end",
        meaning: "recoveryTarget has backupID only, or bootstrap.recovery names a Backup, and nothing says where to stop. The \
                  base backup is where recovery begins; without a target it replays everything behind it.",
        harm: "The newest state comes back, with the damage that was to be undone; and a drill that only checks that it \
                  starts is green.",
        remedy: "add targetImmediate: true for the state at the end of the base backup, or a targetTime",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/667",
            "https://github.com/EnterpriseDB/barman/issues/922",
        ],
    },
    CodeSpec {
        code: "restore-parallel-race",
        title: "a parallel restore hands half-written segments to PostgreSQL",
        meaning: "The recovery fails with an invalid or missing checkpoint record, more than one segment is fetched at a time, \
                  and the archive is whole. Versions before barman-cloud 0.5.0 do that.",
        harm: "A good backup seems bad: hours, and the trust in it.",
        remedy: "set wal.maxParallel to 1 where the recovery reads from; upgrade",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10092",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/10285",
        ],
    },
    CodeSpec {
        code: "restore-retrying-bad-backup",
        title: "the recovery job takes the same unusable base backup again and again",
        meaning: "The job failed twice or more, and its first pod says that WAL ends before the end of the online backup. Each \
                  try unpacks the base again; the last pod's error is often only a volume that is full of that.",
        harm: "Days; and whoever reads only the last pod enlarges the disk in vain.",
        remedy: "delete the Cluster with its volumes, and pin recoveryTarget.backupID to a base backup whose begin_wal to \
                  end_wal are in the bucket",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/11475"],
    },
    CodeSpec {
        code: "restore-job-failed",
        title: "a recovery has failed for good and the Cluster goes on saying that it sets up",
        meaning: "The recovery job has the condition Failed, nothing of it runs, and no instance was ever ready.",
        harm: "Everybody waits for something that ended long ago.",
        remedy: "read the log of the first failed pod, correct the cause, delete the Cluster and its volumes, apply again",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/11044",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/3654",
        ],
    },
    CodeSpec {
        code: "restore-version-mismatch",
        title: "the recovery starts another major version than the backup is of",
        meaning: "The version in backup.info (or the Backup's majorVersion) and the major version of the recovering Cluster's \
                  image differ.",
        harm: "\"database files are incompatible with server\": no restore in the emergency.",
        remedy: "set spec.imageName in the recovery manifest to the major version of the backup",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/9631"],
    },
    CodeSpec {
        code: "restore-app-credentials-missing",
        title: "the database comes back and its application cannot log in",
        meaning: "bootstrap.recovery has no database, owner and secret, and the source's are not the default ones: the roles \
                  keep the passwords of the source and no Secret of the new Cluster holds one.",
        harm: "The restore \"succeeded\" and the service stays down.",
        remedy: "set database, owner and secret in bootstrap.recovery; log in as the application's role in the drill",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/545",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/5004",
        ],
    },
    CodeSpec {
        code: "restore-volume-too-small",
        title: "the recovering Cluster's volume cannot hold data and WAL",
        meaning: "spec.storage is smaller than the base backup's cluster_size and the WAL to replay. While the plugin \
                  restores, WAL lands on the data volume even when there is a walStorage.",
        harm: "The restore, after hours of replay.",
        remedy: "make the volume cluster_size times 1.2 plus the WAL to replay, or take base backups more often",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/11125"],
    },
    CodeSpec {
        code: "bootstrap-source-missing",
        title: "what the Cluster was made from is gone",
        meaning: "bootstrap.recovery names a Backup, a VolumeSnapshot or an external cluster that is not there, or an archive \
                  without a finished base backup.",
        harm: "Nothing happens until a replica is rebuilt or the manifest is applied to an empty namespace: in the disaster.",
        remedy: "keep a recovery manifest that points at the present archive, and drill from it",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/4390"],
    },
    CodeSpec {
        code: "restore-ignores-wal-archive",
        title: "a recovery from a volume snapshot does not replay the archive",
        meaning: "bootstrap.recovery names volume snapshots and no source, so that recovery ends with the snapshot; the \
                  archive has newer segments.",
        harm: "What was committed after the snapshot, although it lies safely in the bucket.",
        remedy: "add a source and its externalClusters entry",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/5056",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/7284",
        ],
    },
];
