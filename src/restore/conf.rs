//! Our own configuration of the restored PostgreSQL. Nothing of the restored one is trusted: not its main file, not its
//! include files, not `postgresql.auto.conf`, not its host rules.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::path::Path;

use nix::fcntl::OFlag;

use super::sandbox::Sandbox;
use super::tree::Owner;
use crate::archive::ControlFile;

/// Values of the source that a hot standby must not go below.
/// <https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-ADMIN>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLimits {
    /// `max_connections`
    pub max_connections: u32,
    /// `max_worker_processes`
    pub max_worker_processes: u32,
    /// `max_wal_senders`
    pub max_wal_senders: u32,
    /// `max_prepared_transactions`
    pub max_prepared_transactions: u32,
    /// `max_locks_per_transaction`
    pub max_locks_per_transaction: u32,
}

impl SourceLimits {
    /// What the control file says now: replay of a change of these writes it there before it pauses.
    pub fn of(control: &ControlFile) -> Self {
        Self {
            max_connections: control.max_connections,
            max_worker_processes: control.max_worker_processes,
            max_wal_senders: control.max_wal_senders,
            max_prepared_transactions: control.max_prepared_xacts,
            max_locks_per_transaction: control.max_locks_per_xact,
        }
    }

    /// What the standby is given for them.
    #[must_use]
    pub fn given(self) -> Self {
        Self {
            max_connections: self.max_connections.max(20),
            max_worker_processes: self.max_worker_processes.max(8),
            max_locks_per_transaction: self.max_locks_per_transaction.max(64),
            ..self
        }
    }

    /// Whether a standby that was given for these would pause at those.
    pub fn fall_below(self, now: Self) -> bool {
        let given = self.given();
        given.max_connections < now.max_connections
            || given.max_worker_processes < now.max_worker_processes
            || given.max_wal_senders < now.max_wal_senders
            || given.max_prepared_transactions < now.max_prepared_transactions
            || given.max_locks_per_transaction < now.max_locks_per_transaction
    }
}

/// Everything that differs between two drills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conf<'a> {
    /// Where.
    pub sandbox: &'a Sandbox,
    /// PostgreSQL's major version.
    pub major: u32,
    /// The timeline that recovery must end on.
    pub timeline: u32,
    /// `recovery_target_time` in PostgreSQL's own form, when a moment was asked for.
    pub target_time: Option<&'a str>,
    /// The source's limits.
    pub limits: SourceLimits,
    /// `shared_buffers`.
    pub shared_buffers_bytes: u64,
}

impl Conf<'_> {
    /// Settings that decide about safety; they go to the command line too, where no file can override them.
    pub fn firm(&self) -> Vec<(&'static str, String)> {
        let conf = self.sandbox.conf();
        let file = |name: &str| conf.join(name).display().to_string();
        let mut firm = vec![
            ("config_file", file("postgresql.conf")),
            ("hba_file", file("pg_hba.conf")),
            ("ident_file", file("pg_ident.conf")),
            ("external_pid_file", String::new()),
            ("listen_addresses", String::new()),
            ("unix_socket_directories", self.sandbox.socket().display().to_string()),
            ("unix_socket_permissions", "0700".to_owned()),
            ("port", "5432".to_owned()),
            ("ssl", "off".to_owned()),
            ("bonjour", "off".to_owned()),
            ("archive_mode", "off".to_owned()),
            ("archive_command", String::new()),
            ("archive_cleanup_command", String::new()),
            ("recovery_end_command", String::new()),
            ("restore_command", String::new()),
            ("primary_conninfo", String::new()),
            ("primary_slot_name", String::new()),
            ("shared_preload_libraries", String::new()),
            ("session_preload_libraries", String::new()),
            ("local_preload_libraries", String::new()),
            ("jit", "off".to_owned()),
            ("autovacuum", "off".to_owned()),
            ("max_logical_replication_workers", "0".to_owned()),
            ("logging_collector", "off".to_owned()),
            ("log_destination", "stderr".to_owned()),
            ("recovery_target_timeline", self.timeline.to_string()),
        ];
        if self.major >= 15 {
            firm.push(("archive_library", String::new()));
        }
        if self.major >= 17 {
            firm.push(("event_triggers", "off".to_owned()));
            firm.push(("sync_replication_slots", "off".to_owned()));
        }
        if let Some(time) = self.target_time {
            firm.push(("recovery_target_time", time.to_owned()));
            firm.push(("recovery_target_action", "pause".to_owned()));
        }
        firm
    }

    fn soft(&self) -> Vec<(&'static str, String)> {
        let limits = self.limits.given();
        vec![
            ("hot_standby", "on".to_owned()),
            ("hot_standby_feedback", "off".to_owned()),
            ("max_standby_archive_delay", "-1".to_owned()),
            ("max_standby_streaming_delay", "-1".to_owned()),
            // How long a standby sleeps before it looks into pg_wal again.
            ("wal_retrieve_retry_interval", "20ms".to_owned()),
            ("max_connections", limits.max_connections.to_string()),
            ("max_worker_processes", limits.max_worker_processes.to_string()),
            ("max_wal_senders", limits.max_wal_senders.to_string()),
            ("max_prepared_transactions", limits.max_prepared_transactions.to_string()),
            ("max_locks_per_transaction", limits.max_locks_per_transaction.to_string()),
            ("superuser_reserved_connections", "3".to_owned()),
            ("wal_level", "replica".to_owned()),
            // Thrown away in a few minutes: nothing has to survive a crash.
            ("fsync", "off".to_owned()),
            ("full_page_writes", "off".to_owned()),
            ("synchronous_commit", "off".to_owned()),
            ("restart_after_crash", "off".to_owned()),
            ("checkpoint_timeout", "1d".to_owned()),
            ("max_wal_size", "1TB".to_owned()),
            ("wal_recycle", "off".to_owned()),
            ("wal_init_zero", "off".to_owned()),
            ("shared_buffers", format!("{}kB", self.shared_buffers_bytes / 1024)),
            ("huge_pages", "off".to_owned()),
            // A container's /dev/shm is often 64 MiB.
            ("dynamic_shared_memory_type", "mmap".to_owned()),
            ("log_min_messages", "warning".to_owned()),
            ("log_checkpoints", "off".to_owned()),
            ("log_line_prefix", String::new()),
            ("lc_messages", "C".to_owned()),
            ("timezone", "UTC".to_owned()),
            ("log_timezone", "UTC".to_owned()),
            ("cluster_name", "dalsegno drill".to_owned()),
        ]
    }

    /// Arguments of the server program.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["-D".to_owned(), self.sandbox.data().display().to_string()];
        for (name, value) in self.firm() {
            arguments.push("-c".to_owned());
            arguments.push(format!("{name}={value}"));
        }
        arguments
    }

    /// The text of `postgresql.conf`.
    pub fn text(&self) -> String {
        let mut text = "# Written by dalsegno for one drill. Nothing here comes from the backup.\n".to_owned();
        for (name, value) in self.firm().into_iter().filter(|(name, _)| !name.ends_with("_file")).chain(self.soft()) {
            let _ = writeln!(text, "{name} = '{}'", value.replace('\\', "\\\\").replace('\'', "''"));
        }
        text
    }

    /// Writes the three files. They belong to us and PostgreSQL may read them.
    pub fn write(&self) -> io::Result<()> {
        let folder = self.sandbox.conf();
        write(&folder, "postgresql.conf", &self.text())?;
        write(&folder, "pg_hba.conf", "local all all trust\n")?;
        write(&folder, "pg_ident.conf", "")
    }
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    use io::Write as _;
    let path = folder.join(name);
    // The folder belongs to PostgreSQL's user, and a server may have run already: never through a link of its making.
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o644).custom_flags(OFlag::O_NOFOLLOW.bits());
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())
}

/// Moves what a restored data directory must not bring to life out of PostgreSQL's sight, and asks for a standby.
pub fn disarm(data: &Path, owner: Owner) -> io::Result<Vec<String>> {
    let mut moved = Vec::new();
    for name in [
        "postgresql.auto.conf",
        "postmaster.pid",
        "postmaster.opts",
        "recovery.conf",
        "recovery.signal",
        "standby.signal",
        "tablespace_map",
    ] {
        match fs::rename(data.join(name), data.join(format!("{name}.restored"))) {
            Ok(()) => moved.push(name.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let signal = data.join("standby.signal");
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&signal)?;
    if let Some((uid, gid)) = owner {
        chown(&signal, Some(uid.as_raw()), Some(gid.as_raw()))?;
    }
    Ok(moved)
}
