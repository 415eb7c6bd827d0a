//! The closed table of metrics that are not samples: docs/reference/metrics.md, the shipped rules and the dashboard are held against it.

/// Name without `dalsegno_`, what it says, and its labels beside `site`.
pub const MEASURES: &[(&str, &str, &[&str])] = &[
    ("build_info", "the version that wrote this; always 1", &["version"]),
    ("pass_last_end_timestamp_seconds", "when the newest pass that came through ended", &[]),
    ("pass_last_duration_seconds", "how long it took", &[]),
    ("pass_last_exit_code", "its exit code", &[]),
    ("pass_interval_seconds", "the usual time between two passes", &[]),
    ("finding", "an open finding; always 1", &["code", "subject", "severity", "could_not_look", "quiet"]),
    ("findings", "open findings by severity; unknown = could not be looked at", &["severity"]),
    ("finding_since_timestamp_seconds", "when an open finding was first seen", &["code", "subject"]),
    ("subject_last_seen_timestamp_seconds", "when the subject was last seen", &["subject"]),
    (
        "recovery_covered_until_timestamp_seconds",
        "the latest moment that it can be restored to",
        &["subject", "place", "mechanism"],
    ),
    ("recovery_points", "recovery points at a place", &["subject", "place", "mechanism"]),
    ("drill_last_proven_timestamp_seconds", "when a restore from where it lies now was last proven", &["subject"]),
    ("drill_last_end_timestamp_seconds", "when it was last drilled, whatever came of it", &["subject"]),
    ("drill_last_verdict", "1 for the verdict of the last drill, 0 for the others", &["subject", "verdict"]),
    ("drill_last_rto_seconds", "how long the last drill took until the database answered", &["subject"]),
    ("drill_last_rpo_seconds", "how much the last drill would have lost", &["subject"]),
    ("policy_rpo_seconds", "most data that may be lost", &["subject"]),
    ("policy_rto_seconds", "longest time until it answers again", &["subject"]),
    ("policy_drill_every_seconds", "a proof at least this often", &["subject"]),
    ("policy_base_backup_every_seconds", "a base backup at least this often", &["subject"]),
    ("ack_until_timestamp_seconds", "until when a finding is acknowledged", &["code", "subject"]),
    ("channel_waiting_messages", "messages that wait for a channel", &["channel"]),
    ("channel_last_delivered_timestamp_seconds", "when a channel last took a message", &["channel"]),
];
