//! Codes about archiving of CNPG Clusters: who does it, and whether it works.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "archive-alerts-insufficient",
        title: "the alert rules do not see an archive that stands still",
        meaning: "Prometheus rules watch archiving, and none looks at segments that wait, or none says when the metrics \
                  are missing. The sample rule of CNPG (last_failed_time later than last_archived_time) is blind to a \
                  command that is killed or hangs.",
        harm: "The days of warning between the first failed segment and the full volume.",
        remedy: "add rules for cnpg_collector_pg_wal_archive_status{value=\"ready\"} and absent(), or apply those that are \
                 shipped",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/blob/main/docs/src/samples/monitoring/prometheusrule.yaml"],
    },
    CodeSpec {
        code: "archiver-old-failure-recorded",
        title: "a failure of long ago is still shown although archiving works",
        meaning: "pg_stat_archiver keeps the last failure until its statistics are reset: it is older than the last \
                  success, no failure came since, and nothing waits.",
        harm: "None, except attention.",
        remedy: "nothing has to be done; if it disturbs: SELECT pg_stat_reset_shared('archiver')",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/3674"],
    },
    CodeSpec {
        code: "archiver-unobservable",
        title: "the archiver's numbers are not exported",
        meaning: "The exporter of the primary answers, and no series cnpg_pg_stat_archiver_* is among what it says: the \
                  default queries are disabled, or not loaded.",
        harm: "The warning time between the first failed segment and the full volume: no rule can fire on a series that is \
               not there.",
        remedy: "remove disableDefaultQueries, or add the pg_stat_archiver query to your own; alert on absent() of the \
                 series",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9824",
            "https://github.com/cloudnative-pg/cloudnative-pg/blob/main/docs/src/monitoring.md",
        ],
    },
    CodeSpec {
        code: "barman-tools-missing-in-image",
        title: "the in-tree method is configured, and the image has no barman-cloud tools",
        meaning: "barmanObjectStore is set, no plugin is, and the image is of a flavour without barman-cloud-* (standard, \
                  minimal), or its log says that the executable is not found.",
        harm: "Archiving stops with an image update, and the volume begins to fill.",
        remedy: "use the image in the flavour system now, and migrate to the barman-cloud plugin next",
        sources: &["https://github.com/cloudnative-pg/postgres-containers/issues/276"],
    },
    CodeSpec {
        code: "plugin-migration-stuck",
        title: "a switchover waits for a primary that cannot archive",
        meaning: "targetPrimary differs from currentPrimary for more than 15 minutes, and the pod of the old primary has \
                  no sidecar although the plugin is declared: it must archive before it steps down.",
        harm: "No writable primary, or no archive, until somebody deletes the pod.",
        remedy: "kubectl delete pod OLD-PRIMARY (it comes back with the sidecar); see that what waits is archived; take a \
                 base backup",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/901",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10981",
        ],
    },
    CodeSpec {
        code: "sidecar-config-drift",
        title: "running sidecars do not have the settings of their ObjectStore",
        meaning: "A variable of instanceSidecarConfiguration.env is missing or different in the sidecar of a pod that is \
                  older than the setting, for longer than a rolling update takes.",
        harm: "The archive stays as broken as it was while everyone believes it repaired.",
        remedy: "kubectl cnpg restart CLUSTER, or let the rolling update end",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/blob/main/web/docs/usage.md"],
    },
    CodeSpec {
        code: "wal-archiver-stalled-uncounted",
        title: "segments wait, none goes out, and no failure is counted",
        meaning: "More than a few segments wait, none was archived for longer than archiving takes, what waits does not \
                  get less, and failed_count stays: PostgreSQL counts exit codes 1 to 125 only, so a command that is \
                  killed, hangs or cannot be executed leaves no trace.",
        harm: "The same as a failing archive, while every usual alert stays green until the volume is full.",
        remedy: "raise the memory limit of the instance and the sidecar; look for OOMKilled and for a missing binary; see \
                 the number of waiting segments fall",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/814",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9824",
        ],
    },
    CodeSpec {
        code: "wal-archiving-disabled-by-annotation",
        title: "archiving is switched off by an annotation",
        meaning: "cnpg.io/skipWalArchiving is \"enabled\" (archive_mode off) although a destination or a schedule is \
                  configured.",
        harm: "Recovery to a point in time; base backups without the WAL of their own time cannot be opened.",
        remedy: "kubectl annotate cluster CLUSTER cnpg.io/skipWalArchiving- (restarts instances), wait for True, take a \
                 base backup",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9692",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10745",
        ],
    },
    CodeSpec {
        code: "wal-archiving-failing-disk-clock",
        title: "archiving fails, and PostgreSQL keeps every segment until the volume is full",
        meaning: "The condition ContinuousArchiving is False for longer than a switchover or an upload takes and nothing \
                  shows that the word is stale, or failures are counted again and again. What waits and the room that is \
                  left tell how long it lasts.",
        harm: "Now: everything after the last archived segment, if the node dies. Then: the primary stops with a full \
               volume, and every application on it.",
        remedy: "read the ERROR line of the sidecar (kubectl logs POD -c plugin-barman-cloud) and repair what it names; \
                 enlarge the volume first if little room is left; never delete from pg_wal",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9824",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7570",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/519",
        ],
    },
    CodeSpec {
        code: "wal-freshness-unproven",
        title: "the condition says True, PostgreSQL is down, and nothing was archived for long",
        meaning: "ContinuousArchiving has no heartbeat: it keeps its last value. The Cluster should be running and is not, \
                  and the newest segment in the bucket is older than allowed.",
        harm: "An RPO that is believed to be minutes and is days.",
        remedy: "bring the primary back or fail over, then SELECT pg_switch_wal() and see the segment arrive in the bucket",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/9963"],
    },
    CodeSpec {
        code: "wal-plugin-not-loaded",
        title: "the plugin is declared, and the primary runs without it",
        meaning: "spec.plugins names the barman plugin, and the pod of the primary has no sidecar: without isWALArchiver \
                  nothing errs and every segment is thrown away; with it every call of the archive command fails.",
        harm: "All WAL from then until the pod is replaced.",
        remedy: "set isWALArchiver: true, end the rolling update (kubectl cnpg restart CLUSTER), then take a base backup",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/606",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/184",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/901",
        ],
    },
    CodeSpec {
        code: "wal-plugin-socket-unreachable",
        title: "the sidecar's socket refuses connections",
        meaning: "ContinuousArchiving is False with \"dial unix /plugins/…\" for minutes, and the pod is not just \
                  starting: no barman command was started and the store was never asked.",
        harm: "The same as every archive outage; looking at credentials leads astray.",
        remedy: "read the sidecar's log; after a switchover if it is the primary, delete the pod",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/814",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/707",
        ],
    },
    CodeSpec {
        code: "wal-tail-not-archived-at-shutdown",
        title: "a database was stopped before its last segment was archived",
        meaning: "A Cluster is hibernated or deleted, and the newest segment in the bucket lies before the position that \
                  it was last seen at.",
        harm: "The last minutes of data, if the volume is deleted and the Cluster is made anew from the store.",
        remedy: "keep the volumes; wake it, SELECT pg_switch_wal(), CHECKPOINT, see the segment in the bucket, and only \
                 then stop or delete it",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/10341"],
    },
];
