//! Codes about the volume that holds pg_wal.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "volume-resize-not-applied",
        title: "a volume was told to grow and does not",
        meaning: "The size in the Cluster is larger than what the claim asks for, or the claim asks for more than it has, \
                  for longer than a resize takes. With the phase \"Not enough disk space\" the operator waits for room \
                  before it resizes: a deadlock.",
        harm: "The time of the person who believes that the enlargement is under way.",
        remedy: "kubectl patch pvc CLAIM with the new size; look at the storage class (allowVolumeExpansion) and at \
                 conditions of the claim",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/11341",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6152",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9301",
        ],
    },
    CodeSpec {
        code: "wal-headroom-too-small",
        title: "the settings permit more WAL than the volume can hold",
        meaning: "max_wal_size, wal_keep_size, max_slot_wal_keep_size and an hour of WAL are together more than \
                  walStorage, or than what is free on the data volume where there is none.",
        harm: "The first outage of the archive, or a bulk load, fills the volume without further warning.",
        remedy: "give WAL a volume of its own of at least max_wal_size + wal_keep_size + 24 h of WAL",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/blob/main/internal/webhook/v1/cluster_webhook.go"],
    },
    CodeSpec {
        code: "wal-volume-full",
        title: "the volume that holds pg_wal is full",
        meaning: "Less than one segment is free: PostgreSQL preallocates one, panics, and the instance manager refuses to \
                  start it (exit code 4, phase \"Not enough disk space\"). df may still say 92 percent on a small volume.",
        harm: "The database is down, and there is no failover.",
        remedy: "enlarge the claim itself (kubectl patch pvc), then the size in the Cluster; repair archiving; never \
                 delete from pg_wal; take a base backup afterwards",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7150",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/8791",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6986",
        ],
    },
];
