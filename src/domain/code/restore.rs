//! Codes about where a restore is asked to go. They show in the answer of `archive.choose` and in a drill, before anything is made.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "restore-target-format-invalid",
        title: "the recovery target has a form that PostgreSQL refuses",
        meaning: "recovery_target_time takes no Z suffix and no abbreviations such as CEST; it takes a blank and a numeric offset. dalsegno reads RFC 3339 and writes the form that PostgreSQL takes.",
        harm: "With other tools: the whole base is downloaded before the start fails.",
        remedy: "write the time as 2026-11-30 12:39:00+00",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10819",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/9333",
            "https://github.com/gotempsh/temps/pull/894",
        ],
    },
    CodeSpec {
        code: "restore-target-inside-backup",
        title: "the recovery target lies before the backup is consistent",
        meaning: "The target is later than the base backup's begin and earlier than its end: PostgreSQL must replay to the end of the backup first.",
        harm: "The restore ends with an error after the whole download.",
        remedy: "use the base backup before it, or a target after the backup's end",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/264",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/265",
            "https://github.com/EnterpriseDB/barman/issues/323",
        ],
    },
    CodeSpec {
        code: "restore-target-unreachable",
        title: "the recovery target lies outside of what the archive holds",
        meaning: "The target is before the end of the oldest usable base backup, after the last archived commit, or behind a hole.",
        harm: "Hours of download and replay before the error.",
        remedy: "dalsegno archive windows shows what can be reached; or leave the target away to recover to the end",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/5177",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/5571",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/11320",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/10416",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/10820",
        ],
    },
    CodeSpec {
        code: "restore-target-without-timezone",
        title: "the recovery target has no time zone",
        meaning: "A time without an offset is read as UTC by some tools and in the server's zone by others.",
        harm: "The restore lands hours away from what was meant, for example after the accident.",
        remedy: "write a numeric offset: 2026-11-30 13:39:00+01",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/2701",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/8937",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/699",
            "https://github.com/EnterpriseDB/barman/pull/945",
        ],
    },
];
