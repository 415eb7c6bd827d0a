//! The verbs of this room, as they are declared.

use crate::domain::{Makes, Risk, Undo, VerbSpec};

/// Looks into the catalogue and says what will be restored and where it must end.
pub const CHOOSE: &str = "archive.choose";
/// Makes the sandbox and its keeper.
pub const MAKE: &str = "sandbox.make";
/// Streams the base backup.
pub const BASE: &str = "pg.restore-base";
/// Starts PostgreSQL, replays, promotes.
pub const RECOVER: &str = "pg.recover";
/// Asks the questions.
pub const CHECK: &str = "pg.check";

/// All of them.
pub static VERBS: [VerbSpec; 5] = [
    VerbSpec {
        name: CHOOSE,
        about: "read the archive's catalogue, choose the base backup, say where recovery must end",
        risk: Risk::Looks,
        makes: Makes::Nothing,
        undo: Undo::None,
        required: &["subject"],
        optional: &["target", "timeline"],
        outputs: &[
            "subject",
            "place",
            "backup",
            "timeline",
            "end_segment",
            "segments",
            "base_bytes",
            "cluster_size",
            "system_id",
            "covered_until",
            "from",
            "target",
        ],
        start_seconds: 10,
        end_seconds: 600,
    },
    VerbSpec {
        name: MAKE,
        about: "make the sandbox folder and the process that removes it when we are gone",
        risk: Risk::Sandbox,
        makes: Makes::Scaffold,
        undo: Undo::Yes,
        required: &[],
        optional: &["cluster_size", "subject"],
        outputs: &["folder"],
        start_seconds: 30,
        end_seconds: 60,
    },
    VerbSpec {
        name: BASE,
        about: "stream the base backup from the store into the sandbox; WAL is fetched beside it",
        risk: Risk::Sandbox,
        makes: Makes::Nothing,
        undo: Undo::None,
        required: &["folder", "backup"],
        optional: &["subject"],
        outputs: &["files", "bytes", "stored_bytes"],
        start_seconds: 60,
        end_seconds: 43_200,
    },
    VerbSpec {
        name: RECOVER,
        about: "start PostgreSQL as a standby on the socket in the sandbox, replay to the end that was said, promote",
        risk: Risk::Sandbox,
        makes: Makes::Scaffold,
        undo: Undo::Yes,
        required: &["folder"],
        optional: &["subject", "backup", "timeline", "end_segment", "target"],
        outputs: &[
            "socket",
            "port",
            "reached_segment",
            "reached_lsn",
            "data_as_of",
            "system_id",
            "isolation",
            "isolation_facts",
            "postgres",
            "segments",
            "timeline",
        ],
        start_seconds: 60,
        end_seconds: 43_200,
    },
    VerbSpec {
        name: CHECK,
        about: "check the restored database: identity, end of replay, isolation, freshness, sizes, the user's SQL",
        risk: Risk::Looks,
        makes: Makes::Nothing,
        undo: Undo::None,
        required: &[],
        optional: &["folder", "checks", "sizes", "subject"],
        outputs: &["sizes"],
        start_seconds: 30,
        end_seconds: 7_200,
    },
];
