//! Codes about dalsegno itself: its ledger, its runs, what its drills left behind.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "drill-left-over",
        title: "an interrupted drill left something that could not be removed",
        meaning: "The sweep found a sandbox or a process under our name and either could not remove it or could not be sure that it is ours.",
        harm: "Space, and copies of production data outside of production.",
        remedy: "dalsegno drill gc, then look at what it names",
        sources: &[],
    },
    CodeSpec {
        code: "evidence-unreadable",
        title: "an evidence file of a drill cannot be taken in",
        meaning: "The file in the state folder is not evidence of a form that this version reads.",
        harm: "That drill does not count, whatever it said: a failure stays unknown too. No success is signalled to the heartbeat meanwhile.",
        remedy: "dalsegno drill report RUN shows what is wrong with the file; a newer form needs a newer dalsegno",
        sources: &[],
    },
    CodeSpec {
        code: "expected-overdue",
        title: "something that was planned is not there",
        meaning: "The configuration says under expected: that it would be there by now, or that it is not adopted until a date that is over, and nothing of it is seen.",
        harm: "What it was to protect is not protected, and nobody decided that it stays so.",
        remedy: "configure it, or decide again in expected: a later date, or not-adopted with a reason",
        sources: &[],
    },
    CodeSpec {
        code: "ledger-damaged",
        title: "the ledger is damaged",
        meaning: "SQLite's own check, or our check of the sums, failed. It is never replaced silently.",
        harm: "What was known before (ages, proofs, since when) cannot be trusted.",
        remedy: "dalsegno ledger verify, then restore the file from a copy, or move it away and start a new one",
        sources: &["https://www.sqlite.org/howtocorrupt.html"],
    },
    CodeSpec {
        code: "notification-undeliverable",
        title: "a channel takes no messages",
        meaning: "The receiver refused a message for good, did not take it for three days, or has taken none for an hour. Other channels are told.",
        harm: "Findings reach nobody through this channel.",
        remedy: "dalsegno notify test CHANNEL says what it answers; renew its address or key in the configuration",
        sources: &[],
    },
    CodeSpec {
        code: "notify-test",
        title: "a test of a channel",
        meaning: "Somebody ran dalsegno notify test. It is sent, and never recorded as a finding.",
        harm: "None.",
        remedy: "nothing",
        sources: &[],
    },
];
