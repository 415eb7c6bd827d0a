//! Codes about schedules of CNPG, and about the Backup objects that they make.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "schedule-cron-field-count",
        title: "a schedule of CNPG has five fields, and the first is read as seconds",
        meaning: "ScheduledBackup.spec.schedule has the seconds first. A text of five fields is taken too: its first field is \
                  then the seconds and the day of the week is any. Admission only warns, and GitOps swallows the warning.",
        harm: "\"0 3 * * *\" makes a base backup every hour instead of every night; with other fields one that never comes \
                  when everybody believes it does.",
        remedy: "write six fields, the seconds first: \"0 0 3 * * *\"; dalsegno shows the next runs of both",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/883",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/2593",
        ],
    },
    CodeSpec {
        code: "schedule-suspended-overdue",
        title: "a suspended schedule was forgotten, and nothing else takes base backups",
        meaning: "Every schedule of the Cluster is suspended, and at least two of its runs passed since the newest base \
                  backup. No condition, event or metric of CNPG says so.",
        harm: "The newest base backup gets older without end: a restore replays all WAL since, and one missing segment on \
                  that way ends it.",
        remedy: "kubectl patch scheduledbackup NAME --type merge -p '{\"spec\":{\"suspend\":false}}', and take one base backup now",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/blob/main/internal/controller/scheduledbackup_controller.go",
        ],
    },
    CodeSpec {
        code: "schedule-never-fired",
        title: "a schedule exists and has never produced a base backup",
        meaning: "The first run was due more than an hour ago and no Backup came of it; or no date satisfies the expression \
                  within five years; or CNPG cannot read it; or it names a Cluster that is not there.",
        harm: "There was never a base backup from it: WAL that is archived cannot be restored onto anything.",
        remedy: "kubectl describe scheduledbackup NAME; correct it, take a base backup by hand, and see that backup.info \
                  appears in the bucket",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/pull/5109"],
    },
    CodeSpec {
        code: "backup-objects-unbounded",
        title: "far more Backup objects exist than backups",
        meaning: "Beyond a hundred objects: more than three times as many as there are base backups in the bucket, or four \
                  hundred more. CNPG only removes completed ones whose base backup is gone; failed ones stay for ever.",
        harm: "The operator holds them all in memory and is killed: failover, backups and archiving of every Cluster it owns stop.",
        remedy: "correct the schedule first, then delete the failed ones in batches",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/7623"],
    },
    CodeSpec {
        code: "backup-queue-blocked",
        title: "a Backup holds up every later one",
        meaning: "A Backup stands in walArchivingFailing for more than an hour although archiving works again, or in \"invalid \
                  backup definition\". CNPG takes only completed and failed for an end, so no later Backup of the schedule \
                  starts.",
        harm: "No base backup any more, from an outage that may have lasted minutes.",
        remedy: "kubectl delete backup NAME, and those that wait behind it but the newest",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10385",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/4361",
        ],
    },
    CodeSpec {
        code: "backup-pending-overdue",
        title: "a Backup waits for longer than a period of its schedule",
        meaning: "Its phase is pending, or it has none, and nothing runs in front of it. It waits for a pod, a plugin or a \
                  Cluster that never comes; pending is no end, so it blocks its schedule.",
        harm: "No base backup since.",
        remedy: "kubectl describe backup NAME: mend what it waits for (often a misspelt cluster name), then delete it",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10778",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6090",
        ],
    },
    CodeSpec {
        code: "backup-running-stale",
        title: "a Backup says that it runs, and nobody runs it",
        meaning: "The pod that took it is gone or its container was replaced since; or it runs three times as long as any \
                  before, and for more than a day.",
        harm: "Nobody will finish it and the queue is blocked: no base backup since.",
        remedy: "kubectl delete backup NAME; after the next good backup remove what it left below base/",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7905",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/5420",
        ],
    },
];
