//! Codes about where CNPG Clusters write, and what they were restored from.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "archive-location-differs",
        title: "a Cluster writes to another place than the one that we are told to look at",
        meaning: "The configuration names an archive for this database, and the live object spells another endpoint, \
                  bucket, path or server name. Both are shown. Two names of one store are no difference once the archive \
                  shows the same database.",
        harm: "What is watched and drilled is not what is written: green, and old.",
        remedy: "correct the configuration, or remove the archive from it so that it is discovered; then: dalsegno check",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/issues/337"],
    },
    CodeSpec {
        code: "archive-not-offsite",
        title: "the only archive lies inside the cluster that it protects",
        meaning: "The endpoint is a name of the same Kubernetes cluster, and no other store that is known holds the same \
                  database with a newest segment as new.",
        harm: "Database and backups together, when the cluster, its storage or its site is lost.",
        remedy: "replicate the bucket to another site, and name the copy in the configuration so that it is watched",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/519",
            "https://github.com/cloudnative-pg/cloudnative-pg/blob/main/docs/src/backup.md",
        ],
    },
    CodeSpec {
        code: "objectstore-reference-dangling",
        title: "a Cluster names an ObjectStore that does not exist",
        meaning: "spec.plugins or an entry of externalClusters (also one of a restore of years ago) names an ObjectStore \
                  that is not in the namespace: the plugin waits for it, and nothing is reconciled meanwhile. The phase \
                  stays as it was.",
        harm: "Self-healing: the next pod that fails stays away, without an event.",
        remedy: "make the ObjectStore again, or remove the entry that nobody uses",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/504",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/337",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7867",
        ],
    },
    CodeSpec {
        code: "replica-source-stale",
        title: "a replica cluster follows an archive that nobody writes any more",
        meaning: "No Cluster writes to the place that the replica reads, and the database that it should follow (the same \
                  system identifier, or the same name) writes to another server name beside it.",
        harm: "A promotion brings up the state of the day on which the name was changed.",
        remedy: "make the replica anew from the server name that is written now; repoint it only when the system \
                 identifiers agree",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7499",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/2678",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/pull/965",
        ],
    },
    CodeSpec {
        code: "restore-overwrites-source-archive",
        title: "a Cluster writes to the place it is restored from",
        meaning: "Endpoint, bucket, path and server name of the recovery source and of the writer are the same.",
        harm: "At best the restore does not start in the emergency; with cnpg.io/skipEmptyWalArchiveCheck the only good \
               archive gets a second branch written into it.",
        remedy: "give the writer a serverName that nobody has used, the source read-only keys, and remove the annotation",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7344",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6470",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/594",
        ],
    },
    CodeSpec {
        code: "restore-source-server-mismatch",
        title: "the recovery source resolves to a server name under which nothing lies",
        meaning: "Without serverName the plugin looks under the new Cluster's own name, the in-tree method under the name \
                  of the entry. The path holds other servers, and the restore finds no base backup.",
        harm: "Restore time; and if an earlier drill left a folder of that name, its old data come back and look right.",
        remedy: "set serverName in externalClusters to the name that the archive has",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/319",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/4025",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/1313",
        ],
    },
    CodeSpec {
        code: "restored-cluster-unprotected",
        title: "a restored Cluster is in use and has no archiver",
        meaning: "bootstrap.recovery, older than a day, and neither a plugin that archives nor barmanObjectStore. \
                  ContinuousArchiving is True all the same, since there is nothing to do.",
        harm: "Everything since the restore; a second disaster finds no backup at all.",
        remedy: "add spec.plugins with a new serverName and a ScheduledBackup, and take a backup now",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/blob/main/web/docs/usage.md",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/2678",
        ],
    },
    CodeSpec {
        code: "wal-prefix-reused-after-snapshot-restore",
        title: "a Cluster restored from a volume snapshot writes over the WAL of its origin",
        meaning: "bootstrap.recovery.volumeSnapshots, and the place that it writes to holds segments or base backups from \
                  before it was made: no check for an empty archive stood in the way.",
        harm: "The WAL after the snapshot is overwritten: the state between snapshot and disaster cannot be recovered any \
               more.",
        remedy: "stop archiving, bring overwritten objects back from the bucket's versions, give the new Cluster a \
                 serverName of its own",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/pull/9306"],
    },
    CodeSpec {
        code: "wal-prefix-shared-by-two-writers",
        title: "two Clusters archive to one place",
        meaning: "Two live Clusters resolve to the same endpoint, bucket, path and server name; or an archive goes on on a \
                  later timeline than the healthy Cluster that it belongs to, which means that a restored copy writes \
                  there.",
        harm: "Each overwrites segments of the same name of the other without any error; neither chain restores.",
        remedy: "stop archiving of the younger one, give it another serverName, take a base backup of both, and drill the \
                 older one",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/2678",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/11126",
            "https://github.com/EnterpriseDB/barman/pull/442",
        ],
    },
];
