//! Codes of the disk-full clock.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "metrics-absent",
        title: "the server of metrics has no series of a database",
        meaning: "Prometheus answers, and nothing that it holds belongs to the pods of this database: no PodMonitor, other labels, or a \
                  scrape that fails. No other source tells its numbers either.",
        harm: "A failing archiver is seen by the bucket alone, and the hours until its volume is full cannot be said.",
        remedy: "enable the PodMonitor of the Cluster (spec.monitoring), or name the labels below prometheus.NAME.labels",
        sources: &["https://cloudnative-pg.io/documentation/current/monitoring/"],
    },
    CodeSpec {
        code: "wal-archive-draining",
        title: "archiving works again after an outage, and what it left behind is not behind us yet",
        meaning: "Nothing was archived for a while; now segments leave faster than they are made. Critical while less is free than waits, \
                  a warning until the backlog is archived and a base backup that was begun after the outage lies in an unbroken chain.",
        harm: "A volume that is lost now loses what still waits; a chain that broke in the outage is found by nobody until a restore.",
        remedy: "let it drain (wal.maxParallel helps); then take a base backup and look: dalsegno check",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/519",
            "https://www.postgresql.org/docs/current/continuous-archiving.html",
        ],
    },
    CodeSpec {
        code: "wal-archive-lag-growing",
        title: "archiving succeeds and is slower than WAL is made",
        meaning: "Segments are archived and none is counted as failed, but more wait each time. The backlog has grown for at least \
                  24 times archive_timeout (two hours), and by what the days before show it will not be gone within a day.",
        harm: "What waits is the real RPO; a switchover waits for all of it; the volume fills if it never catches up.",
        remedy: "set wal.maxParallel (for example 8) and a cheaper compression (lz4, zstd), and look at the round-trip time to the endpoint",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/656",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/260",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/8846",
        ],
    },
    CodeSpec {
        code: "wal-held-by-slot",
        title: "a replication slot holds WAL, and more and more of it",
        meaning: "A slot whose reader is gone or too slow keeps WAL on the volume although it is archived. It has grown for at least \
                  24 times archive_timeout.",
        harm: "The volume fills as if archiving failed; with max_slot_wal_keep_size the slot is lost instead, and its reader must be made anew.",
        remedy: "find the reader: select slot_name, active, restart_lsn from pg_replication_slots; start it, or drop the slot; \
                 and bound it: max_slot_wal_keep_size",
        sources: &[
            "https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS",
            "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-MAX-SLOT-WAL-KEEP-SIZE",
        ],
    },
];
