//! Names that who restores and who judges share: verbs of runbooks, and the assertions that are judged by their name.
//!
//! They stand in journals, runbooks and evidence, so none is ever renamed.

/// Looks into the catalogue of an archive and says what will be restored and where it must end.
pub const ARCHIVE_CHOOSE: &str = "archive.choose";
/// Makes the sandbox and its keeper.
pub const SANDBOX_MAKE: &str = "sandbox.make";
/// Streams the base backup.
pub const PG_RESTORE_BASE: &str = "pg.restore-base";
/// Starts PostgreSQL, replays, promotes.
pub const PG_RECOVER: &str = "pg.recover";
/// Makes a namespace to restore into.
pub const KUBE_NAMESPACE: &str = "kube.namespace";
/// Lets CNPG's operator restore an archive into a Cluster.
pub const CNPG_RECOVER: &str = "cnpg.recover";
/// Asks the questions of such a Cluster.
pub const CNPG_CHECK: &str = "cnpg.check";
/// Asks the questions.
pub const PG_CHECK: &str = "pg.check";

/// The assertion that the system that came back is the expected one.
pub const SYSTEM_ID: &str = "system-id";
/// The assertion that shows where replay ended.
pub const REPLAY_END: &str = "replay-end";
/// The assertion that nothing is archived from the sandbox.
pub const ARCHIVING_OFF: &str = "archiving-off";
/// The assertion that holds the newest data against what is covered. Every mechanism has one under this name.
pub const FRESH: &str = "fresh";

/// Names of assertions that are ours: no check of a user bears one.
pub const ASSERTIONS: [&str; 4] = [SYSTEM_ID, REPLAY_END, ARCHIVING_OFF, FRESH];
