//! A real PostgreSQL cluster in a folder of the lab, on a unix socket (and on loopback, when asked), run as an
//! unprivileged user (PostgreSQL refuses root).

mod data;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::home::Folder;
use crate::{LabError, Process, Tool, User, ports, process};

const READY: Duration = Duration::from_mins(1);
/// Where nothing listens on TCP, the port only names the socket file.
const PORT: u16 = 5432;

/// How a cluster is made.
#[derive(Debug, Clone)]
pub struct Options {
    major: u32,
    archive_command: Option<String>,
    segment_mib: u32,
    checksums: bool,
    settings: Vec<(String, String)>,
    wal: Option<PathBuf>,
    listen: bool,
}

impl Options {
    /// A cluster of this major version: no archiving, segments of 16 MiB, data checksums on.
    pub fn new(major: u32) -> Options {
        Options { major, archive_command: None, segment_mib: 16, checksums: true, settings: Vec::new(), wal: None, listen: false }
    }

    /// Archives with this command (see [`crate::barman::Archiver::command`]).
    #[must_use]
    pub fn archive_command(mut self, command: impl Into<String>) -> Options {
        self.archive_command = Some(command.into());
        self
    }

    /// Another segment size (a power of two from 1 to 1024): small ones make quick tests.
    #[must_use]
    pub fn segment_mib(mut self, mib: u32) -> Options {
        self.segment_mib = mib;
        self
    }

    /// With or without data checksums.
    #[must_use]
    pub fn checksums(mut self, on: bool) -> Options {
        self.checksums = on;
        self
    }

    /// pg_wal lies in a folder below this one (a [`crate::volume::Volume`]), as with a volume of its own.
    #[must_use]
    pub fn wal_in(mut self, folder: &Path) -> Options {
        self.wal = Some(folder.to_path_buf());
        self
    }

    /// Listens on a free port of 127.0.0.1 too, and wants a password there.
    #[must_use]
    pub fn listen(mut self) -> Options {
        self.listen = true;
        self
    }

    /// Any setting of postgresql.conf; text is quoted for it.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Options {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A running cluster (or a stopped one that can be started again). Gone when dropped.
#[derive(Debug)]
pub struct Postgres {
    process: Option<Process>,
    pool: PgPool,
    folder: Folder,
    bin: PathBuf,
    user: User,
    major: u32,
    port: u16,
    segment_bytes: u64,
}

impl Postgres {
    /// initdb, settings, start; ready when it takes statements.
    pub async fn start(options: Options) -> Result<Postgres, LabError> {
        let bin = Tool::Postgres(options.major).find()?;
        let user = User::unprivileged()?;
        let folder = Folder::new("pg")?;
        user.own(folder.path())?;
        let data = folder.path().join("data");
        let mut initdb = Command::new(bin.join("initdb"));
        initdb.arg("-D").arg(&data).args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]);
        initdb.arg(format!("--wal-segsize={}", options.segment_mib)).current_dir(folder.path());
        if options.checksums {
            initdb.arg("--data-checksums");
        }
        if let Some(folder) = &options.wal {
            initdb.arg("--waldir").arg(folder.join("pg_wal"));
        }
        process::run(initdb, user).await?;
        let mut pg = Postgres::on(folder, bin, user, &options)?;
        pg.resume().await?;
        Ok(pg)
    }

    /// Starts on a data directory that came from elsewhere: `<folder>/data`, restored. It archives nothing unless told to.
    pub async fn adopt(folder: Folder, options: Options) -> Result<Postgres, LabError> {
        let bin = Tool::Postgres(options.major).find()?;
        let user = User::unprivileged()?;
        let options = if options.archive_command.is_some() { options } else { options.setting("archive_mode", "off") };
        let mut pg = Postgres::on(folder, bin, user, &options)?;
        pg.resume().await?;
        Ok(pg)
    }

    /// Settings written, nothing started.
    fn on(folder: Folder, bin: PathBuf, user: User, options: &Options) -> Result<Postgres, LabError> {
        let port = if options.listen { ports::free(1)?.first().copied().unwrap_or(PORT) } else { PORT };
        configure(options, folder.path(), &folder.path().join("data"), port)?;
        let connect =
            PgConnectOptions::new_without_pgpass().socket(folder.path()).port(port).username("postgres").database("postgres");
        let pool = PgPoolOptions::new().max_connections(4).acquire_timeout(Duration::from_secs(10)).connect_lazy_with(connect);
        let segment_bytes = u64::from(options.segment_mib) * 1024 * 1024;
        Ok(Postgres { process: None, pool, folder, bin, user, major: options.major, port, segment_bytes })
    }

    /// Starts it (again) and waits until it takes statements.
    pub async fn resume(&mut self) -> Result<(), LabError> {
        let log = self.folder.path().join("server.log");
        let mut command = Command::new(self.bin.join("postgres"));
        command.arg("-D").arg(self.data()).current_dir(self.folder.path());
        let mut process = Process::spawn(command, &log, Signal::SIGQUIT, self.user)?;
        let until = Instant::now() + READY;
        while Instant::now() < until && process.is_running() {
            if sqlx::query("select 1").execute(&self.pool).await.is_ok() {
                self.process = Some(process);
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(LabError::NotReady { server: format!("PostgreSQL {}", self.major), seconds: READY.as_secs(), log: process.log_end() })
    }

    /// A fast shutdown (checkpoint, the archiver gets its last chance); the data stays.
    pub fn stop(&mut self) {
        if let Some(process) = &mut self.process {
            process.signal(Signal::SIGINT);
            let until = Instant::now() + Duration::from_mins(1);
            while process.is_running() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        self.process = None;
    }

    /// An immediate stop, as a crash: no checkpoint, nothing more is archived.
    pub fn crash(&mut self) {
        self.process = None;
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder of its socket: `-h` of libpq.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// The port in the socket's name, and on loopback with [`Options::listen`]: `-p` of libpq.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether its server still runs (one whose pg_wal is full has ended itself).
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(Process::is_running)
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// The folder of its programs.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Its major version.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The user it is run as.
    pub fn user(&self) -> User {
        self.user
    }

    /// Connections to database `postgres` as `postgres`.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Its whole log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join("server.log")).unwrap_or_default()).into_owned()
    }

    /// The end of its log.
    pub fn log_end(&self) -> String {
        process::end_of(&self.log())
    }
}

fn configure(options: &Options, socket: &Path, data: &Path, port: u16) -> Result<(), LabError> {
    let mut lines = vec![
        ("listen_addresses".to_owned(), if options.listen { "127.0.0.1".to_owned() } else { String::new() }),
        ("port".to_owned(), port.to_string()),
        ("unix_socket_directories".to_owned(), socket.display().to_string()),
        ("fsync".to_owned(), "off".to_owned()), // the lab survives no power cut
        ("max_wal_senders".to_owned(), "2".to_owned()),
        ("wal_level".to_owned(), "replica".to_owned()),
        ("log_timezone".to_owned(), "UTC".to_owned()),
    ];
    if let Some(command) = &options.archive_command {
        lines.push(("archive_mode".to_owned(), "on".to_owned()));
        lines.push(("archive_command".to_owned(), command.clone()));
    }
    lines.extend(options.settings.iter().cloned());
    let quoted = |(name, value): &(String, String)| format!("{name} = '{}'", value.replace('\'', "''"));
    let text = lines.iter().map(quoted).collect::<Vec<_>>().join("\n");
    let file = data.join("postgresql.conf");
    let mut whole = fs::read_to_string(&file).map_err(LabError::file(&file))?;
    whole.push_str("\n# the lab's\n");
    whole.push_str(&text);
    whole.push('\n');
    fs::write(&file, whole).map_err(LabError::file(&file))?;
    if options.listen {
        let file = data.join("pg_hba.conf");
        let text = "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(&file, text).map_err(LabError::file(&file))?;
    }
    // The socket's folder is open to all: pg_hba says trust, and the folder is ours alone anyway.
    fs::set_permissions(socket, fs::Permissions::from_mode(0o755)).map_err(LabError::file(socket))
}
