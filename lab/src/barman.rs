//! barman-cloud, the real one: archives, base backups, and the peer's way of restoring.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::Folder;
use crate::postgres::Postgres;
use crate::s3::{Client, Keys};
use crate::{LabError, Tool, User, process};

/// How a base backup is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the algorithms")]
pub enum BaseCompression {
    None,
    Gzip,
    Bzip2,
    Snappy,
    Lz4,
}

impl BaseCompression {
    /// Every one that barman-cloud-backup offers.
    pub const ALL: [BaseCompression; 5] =
        [BaseCompression::None, BaseCompression::Gzip, BaseCompression::Bzip2, BaseCompression::Snappy, BaseCompression::Lz4];

    fn flag(self) -> Option<&'static str> {
        match self {
            BaseCompression::None => None,
            BaseCompression::Gzip => Some("--gzip"),
            BaseCompression::Bzip2 => Some("--bzip2"),
            BaseCompression::Snappy => Some("--snappy"),
            BaseCompression::Lz4 => Some("--lz4"),
        }
    }
}

/// How WAL is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the algorithms")]
pub enum WalCompression {
    None,
    Gzip,
    Bzip2,
    Xz,
    Snappy,
    Zstd,
    Lz4,
}

impl WalCompression {
    /// Every one that barman-cloud-wal-archive offers.
    pub const ALL: [WalCompression; 7] = [
        WalCompression::None,
        WalCompression::Gzip,
        WalCompression::Bzip2,
        WalCompression::Xz,
        WalCompression::Snappy,
        WalCompression::Zstd,
        WalCompression::Lz4,
    ];

    fn flag(self) -> Option<&'static str> {
        match self {
            WalCompression::None => None,
            WalCompression::Gzip => Some("--gzip"),
            WalCompression::Bzip2 => Some("--bzip2"),
            WalCompression::Xz => Some("--xz"),
            WalCompression::Snappy => Some("--snappy"),
            WalCompression::Zstd => Some("--zstd"),
            WalCompression::Lz4 => Some("--lz4"),
        }
    }

    /// What barman puts at the end of a segment's name.
    pub fn suffix(self) -> &'static str {
        match self {
            WalCompression::None => "",
            WalCompression::Gzip => ".gz",
            WalCompression::Bzip2 => ".bz2",
            WalCompression::Xz => ".xz",
            WalCompression::Snappy => ".snappy",
            WalCompression::Zstd => ".zst",
            WalCompression::Lz4 => ".lz4",
        }
    }
}

/// barman-cloud with one destination: `s3://<bucket>/<prefix>` and a server name.
#[derive(Debug, Clone)]
pub struct Barman {
    bin: PathBuf,
    endpoint: String,
    keys: Keys,
    bucket: String,
    prefix: String,
    server: String,
}

impl Barman {
    /// Finds barman's programs. The prefix may be empty.
    pub fn new(endpoint: &str, keys: &Keys, bucket: &str, prefix: &str, server: &str) -> Result<Barman, LabError> {
        Ok(Barman {
            bin: Tool::Barman.find()?,
            endpoint: endpoint.to_owned(),
            keys: keys.clone(),
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            server: server.to_owned(),
        })
    }

    /// `s3://<bucket>/<prefix>`.
    pub fn url(&self) -> String {
        if self.prefix.is_empty() { format!("s3://{}", self.bucket) } else { format!("s3://{}/{}", self.bucket, self.prefix) }
    }

    /// The key of something below the server: `base/…`, `wals/…`.
    pub fn key(&self, below: &str) -> String {
        let prefix = if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) };
        format!("{prefix}{}/{below}", self.server)
    }

    /// The key of a segment (or history file) as barman names it.
    pub fn wal_key(&self, name: &str, compression: WalCompression) -> String {
        let below = match name.get(..16) {
            Some(folder) if name.len() >= 24 => format!("wals/{folder}/{name}{}", compression.suffix()),
            _ => format!("wals/{name}{}", compression.suffix()),
        };
        self.key(&below)
    }

    /// A client with the same keys.
    pub fn client(&self) -> Client {
        Client::new(&self.endpoint, &self.keys)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.args(["--endpoint-url", &self.endpoint, "--addressing-style", "path"]);
        command.current_dir("/").env_remove("AWS_PROFILE").env_remove("AWS_SESSION_TOKEN");
        command.env("AWS_ACCESS_KEY_ID", &self.keys.id).env("AWS_SECRET_ACCESS_KEY", &self.keys.secret);
        command.env("AWS_DEFAULT_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true").env("HOME", "/tmp");
        command
    }

    /// A base backup of a running cluster; gives its id.
    pub async fn backup(&self, pg: &Postgres, compression: BaseCompression) -> Result<String, LabError> {
        self.backup_with(pg, compression, &[]).await
    }

    /// The same with further options, e.g. `["-S", "20MB"]` for split tars or `["-n", "NAME"]`.
    pub async fn backup_with(&self, pg: &Postgres, compression: BaseCompression, options: &[&str]) -> Result<String, LabError> {
        let before = self.backups().await?;
        let mut command = self.command("barman-cloud-backup");
        command.arg("-h").arg(pg.socket()).args(["-p", &pg.port().to_string(), "-U", "postgres", "--immediate-checkpoint"]);
        command.args(compression.flag()).args(options).arg(self.url()).arg(&self.server);
        process::run(command, pg.user()).await?;
        let after = self.backups().await?;
        after
            .into_iter()
            .rfind(|id| !before.contains(id))
            .ok_or_else(|| LabError::Other("barman-cloud-backup ended well and made no backup".into()))
    }

    /// The ids of all base backups in the archive, oldest first (also of unfinished ones).
    pub async fn backups(&self) -> Result<Vec<String>, LabError> {
        let base = self.key("base/");
        let keys = self.client().keys(&self.bucket, &base).await?;
        let mut ids: Vec<String> = keys
            .iter()
            .filter_map(|key| key.strip_prefix(&base))
            .filter_map(|below| below.split_once('/'))
            .map(|(id, _)| id.to_owned())
            .collect();
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Archives one file, as an archive_command would.
    pub async fn wal_archive(&self, file: &Path, compression: WalCompression) -> Result<(), LabError> {
        let mut command = self.command("barman-cloud-wal-archive");
        command.args(compression.flag()).arg(self.url()).arg(&self.server).arg(file);
        process::run(command, User::same()).await.map(|_| ())
    }

    /// The peer's restore of a base backup into an empty folder.
    pub async fn restore(&self, id: &str, to: &Path) -> Result<(), LabError> {
        self.restore_as(User::same(), id, to).await
    }

    /// The same as another user, to whom the files then belong.
    pub async fn restore_as(&self, user: User, id: &str, to: &Path) -> Result<(), LabError> {
        let mut command = self.command("barman-cloud-restore");
        command.arg(self.url()).arg(&self.server).arg(id).arg(to);
        process::run(command, user).await.map(|_| ())
    }

    /// The peer's fetch of one segment.
    pub async fn wal_restore(&self, name: &str, to: &Path) -> Result<(), LabError> {
        let mut command = self.command("barman-cloud-wal-restore");
        command.arg(self.url()).arg(&self.server).arg(name).arg(to);
        process::run(command, User::same()).await.map(|_| ())
    }

    /// The record of a base backup: the lines of its backup.info.
    pub async fn record(&self, id: &str) -> Result<BTreeMap<String, String>, LabError> {
        let bytes = self.client().get(&self.bucket, &self.key(&format!("base/{id}/backup.info"))).await?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(text.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect())
    }

    /// A script for `archive_command` with its own credentials file, as a sidecar has them.
    pub fn archiver(&self, compression: WalCompression) -> Result<Archiver, LabError> {
        let flag = compression.flag().unwrap_or_default();
        let program = format!("barman-cloud-wal-archive' --endpoint-url '{}' --addressing-style path {flag}", self.endpoint);
        self.script(&program, "\"$1\"", "%p")
    }

    /// The same for `restore_command`.
    pub fn restorer(&self) -> Result<Archiver, LabError> {
        let program = format!("barman-cloud-wal-restore' --endpoint-url '{}' --addressing-style path", self.endpoint);
        self.script(&program, "\"$1\" \"$2\"", "%f %p")
    }

    fn script(&self, program: &str, arguments: &str, placeholders: &'static str) -> Result<Archiver, LabError> {
        let folder = Folder::new("archiver")?;
        let archiver = Archiver { folder, keys: self.keys.clone(), placeholders };
        archiver.set_credentials(&self.keys)?;
        let text = format!(
            "#!/bin/sh\n# {url}, server {server}\nset -a; . '{keys}'; set +a\n\
             export AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true HOME=/tmp\n\
             exec '{bin}/{program} '{url}' '{server}' {arguments}\n",
            url = self.url(),
            server = self.server,
            keys = archiver.keys_file().display(),
            bin = self.bin.display(),
        );
        let script = archiver.script();
        fs::write(&script, text).map_err(LabError::file(&script))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).map_err(LabError::file(&script))?;
        Ok(archiver)
    }
}

/// An archive_command (or restore_command) in a file, and the credentials that it reads at each call.
#[derive(Debug)]
pub struct Archiver {
    folder: Folder,
    keys: Keys,
    placeholders: &'static str,
}

impl Archiver {
    /// The folder of its script and credentials.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn script(&self) -> PathBuf {
        self.folder.path().join("archive.sh")
    }

    fn keys_file(&self) -> PathBuf {
        self.folder.path().join("keys.env")
    }

    /// The text for the setting.
    pub fn command(&self) -> String {
        format!("{} {}", self.script().display(), self.placeholders)
    }

    /// Gives it other credentials.
    pub fn set_credentials(&self, keys: &Keys) -> Result<(), LabError> {
        let file = self.keys_file();
        let text = format!("AWS_ACCESS_KEY_ID='{}'\nAWS_SECRET_ACCESS_KEY='{}'\n", keys.id, keys.secret);
        fs::write(&file, text).map_err(LabError::file(&file))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).map_err(LabError::file(&file))
    }

    /// As after a rotation that forgot the archiver: the secret is no longer right.
    pub fn break_credentials(&self) -> Result<(), LabError> {
        self.set_credentials(&Keys::new(self.keys.id.clone(), "rotated-away"))
    }

    /// The right credentials again.
    pub fn mend_credentials(&self) -> Result<(), LabError> {
        self.set_credentials(&self.keys)
    }
}
