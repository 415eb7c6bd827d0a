//! Codes about recovery: how much would be lost, how long ago it was proven.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "base-backup-too-old",
        title: "the newest good base backup is older than policy or schedule allow",
        meaning: "No base backup has been done within policy.base-backup-every, with an hour's grace; or runs of an active schedule passed since \
                  the newest one without another. The age is that of the bucket, not that of a condition.",
        harm: "A restore takes longer with every day, and the window ends when retention removes the last one.",
        remedy: "take a base backup, and see why the schedule did not",
        sources: &["https://github.com/cloudnative-pg/cloudnative-pg/issues/6152"],
    },
    CodeSpec {
        code: "drill-failed",
        title: "the last drill of this place failed",
        meaning: "A drill restored from this place and found it bad, and no later drill proved the whole of it: to the end, in a sandbox closed as configured, with all configured checks.",
        harm: "A restore today would fail the same way.",
        remedy: "dalsegno drill report, mend what it names, then: dalsegno drill RUNBOOK --db NAME",
        sources: &[],
    },
    CodeSpec {
        code: "drill-undecided",
        title: "the last drill of this place could not decide",
        meaning: "The newest drill ended as unknown for a lack on our side: space, time, rights, a missing PostgreSQL.",
        harm: "Nothing bad was seen, and nothing was proven.",
        remedy: "dalsegno drill report names what was missing; then: dalsegno drill RUNBOOK --db NAME",
        sources: &[],
    },
    CodeSpec {
        code: "never-drilled",
        title: "no restore from this place was ever proven",
        meaning: "policy.drill-every is set and the ledger has no proven drill of this subject at this place. A proof holds for one place, and only one of the whole counts: target end, a sandbox at least as closed as configured, all configured checks.",
        harm: "Whether it restores is a belief.",
        remedy: "dalsegno drill RUNBOOK --db NAME",
        sources: &[],
    },
    CodeSpec {
        code: "proof-too-old",
        title: "the last proof is older than the policy allows",
        meaning: "The newest proven drill of this place ended longer ago than policy.drill-every.",
        harm: "What changed since then is unproven.",
        remedy: "dalsegno drill RUNBOOK --db NAME",
        sources: &[],
    },
    CodeSpec {
        code: "recovery-window-overstated",
        title: "the catalogue seems to reach further back than recovery really does",
        meaning: "Done base backups are older than the oldest moment from which WAL is unbroken to the present, and the promised retention lies between the two. \
                  From those older backups only single moments can be restored, or nothing.",
        harm: "A promise of months where weeks are true.",
        remedy: "count on the unbroken window only; take base backups more often, or keep WAL as long as the oldest base backup",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/2940",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6944",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/948",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7392",
        ],
    },
    CodeSpec {
        code: "wal-archive-silent",
        title: "nothing was archived for longer than the RPO",
        meaning: "The newest unbroken segment is older than policy.rpo. From the bucket alone an idle database (which archives nothing and is healthy) \
                  cannot be told from a stuck archiver; either way nobody can show that less than this would be lost.",
        harm: "If the archiver is stuck: everything since then, and a volume that fills until the primary stops.",
        remedy: "on the primary: select * from pg_stat_archiver; if it is idle, a heartbeat table written every RPO settles the question",
        sources: &["https://www.postgresql.org/docs/current/continuous-archiving.html"],
    },
];
