//! A real S3 server: SeaweedFS's `weed mini` on loopback, in a folder of the lab.
//!
//! It takes any region and any checksum header, and lists in directory order: it is no judge of
//! R2's behaviour (that is [`crate::gateway`]).

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::sys::signal::Signal;

use crate::home::Folder;
use crate::s3::{Client, Keys};
use crate::{LabError, Process, Tool, User, ports};

const READY: Duration = Duration::from_mins(1);

/// The identities that the server knows.
#[derive(Debug, Clone)]
pub struct Identities {
    admin: Keys,
    read_only: Keys,
    write_only: Keys,
    other: Keys,
}

impl Identities {
    fn new() -> Identities {
        let pair = |name: &str| Keys::new(format!("LABKEY{}", name.to_uppercase()), format!("lab-secret-of-{name}"));
        Identities { admin: pair("admin"), read_only: pair("reader"), write_only: pair("writer"), other: pair("other") }
    }

    /// May everything.
    pub fn admin(&self) -> &Keys {
        &self.admin
    }

    /// May read and list.
    pub fn read_only(&self) -> &Keys {
        &self.read_only
    }

    /// May write, and neither read nor list.
    pub fn write_only(&self) -> &Keys {
        &self.write_only
    }

    /// May everything, until a test takes it away ([`Seaweed::revoke`]).
    pub fn other(&self) -> &Keys {
        &self.other
    }

    /// Right id, wrong secret.
    pub fn wrong_secret(&self) -> Keys {
        Keys::new(self.admin.id.clone(), "not-the-secret")
    }

    /// A key that no server knows.
    pub fn unknown() -> Keys {
        Keys::new("LABKEYNOBODY", "lab-secret-of-nobody")
    }

    fn json(&self, with_other: bool) -> String {
        let mut all = vec![
            ("admin", &self.admin, "\"Admin\",\"Read\",\"List\",\"Tagging\",\"Write\""),
            ("reader", &self.read_only, "\"Read\",\"List\""),
            ("writer", &self.write_only, "\"Write\""),
        ];
        if with_other {
            all.push(("other", &self.other, "\"Read\",\"List\",\"Tagging\",\"Write\""));
        }
        let mut text = String::from("{\"identities\":[");
        for (i, (name, keys, actions)) in all.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(
                text,
                "{comma}{{\"name\":\"{name}\",\"credentials\":[{{\"accessKey\":\"{}\",\"secretKey\":\"{}\"}}],\"actions\":[{actions}]}}",
                keys.id, keys.secret
            );
        }
        text.push_str("]}");
        text
    }
}

/// A running server. Stopped when dropped; its data is then gone.
#[derive(Debug)]
pub struct Seaweed {
    process: Process,
    folder: Folder,
    program: PathBuf,
    ports: Vec<u16>,
    endpoint: String,
    identities: Identities,
}

static NEXT_BUCKET: AtomicU32 = AtomicU32::new(1);

impl Seaweed {
    /// Starts an own server and waits until it takes objects (1 to 4 s).
    pub async fn start() -> Result<Seaweed, LabError> {
        let program = Tool::Seaweed.find()?;
        let mut last = None;
        // Another process may take a port between our look and the server's bind.
        for _ in 0..3 {
            match Seaweed::try_start(program.clone()).await {
                Ok(weed) => return Ok(weed),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| LabError::Other("weed did not start".into())))
    }

    async fn try_start(program: PathBuf) -> Result<Seaweed, LabError> {
        let folder = Folder::new("weed")?;
        let identities = Identities::new();
        let file = folder.path().join("s3.json");
        fs::write(&file, identities.json(true)).map_err(LabError::file(&file))?;
        let data = folder.path().join("data");
        fs::create_dir_all(&data).map_err(LabError::file(&data))?;
        let ports = ports::free(10)?;
        let endpoint = format!("http://127.0.0.1:{}", ports.first().copied().unwrap_or_default());
        let process = spawn(&program, &folder, &ports)?;
        let mut weed = Seaweed { process, folder, program, ports, endpoint, identities };
        weed.wait_ready().await?;
        Ok(weed)
    }

    async fn wait_ready(&mut self) -> Result<(), LabError> {
        let client = self.client();
        let until = Instant::now() + READY;
        while Instant::now() < until && self.process.is_running() {
            if client.make_bucket("lab-ready").await.is_ok()
                && client.put("lab-ready", "ready", Bytes::from_static(b"yes")).await.is_ok()
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(LabError::NotReady { server: "weed".into(), seconds: READY.as_secs(), log: self.process.log_end() })
    }

    /// `http://127.0.0.1:<port>`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The keys it knows.
    pub fn keys(&self) -> &Identities {
        &self.identities
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        Client::new(&self.endpoint, &self.identities.admin)
    }

    /// Makes a bucket with a name that no other test uses.
    pub async fn fresh_bucket(&self) -> Result<String, LabError> {
        let name = format!("lab-{}", NEXT_BUCKET.fetch_add(1, Ordering::Relaxed));
        self.client().make_bucket(&name).await?;
        Ok(name)
    }

    /// Stops the server and keeps its data; [`Seaweed::resume`] starts it again on the same ports.
    pub fn stop(&mut self) {
        self.process.stop(Duration::from_secs(10));
    }

    /// Starts it again after [`Seaweed::stop`].
    pub async fn resume(&mut self) -> Result<(), LabError> {
        self.process = spawn(&self.program, &self.folder, &self.ports)?;
        self.wait_ready().await
    }

    /// Takes the key [`Identities::other`] away (a restart, a few seconds).
    pub async fn revoke(&mut self) -> Result<(), LabError> {
        let file = self.folder.path().join("s3.json");
        fs::write(&file, self.identities.json(false)).map_err(LabError::file(&file))?;
        self.stop();
        self.resume().await
    }
}

fn spawn(program: &PathBuf, folder: &Folder, ports: &[u16]) -> Result<Process, LabError> {
    let mut command = Command::new(program);
    command.arg("mini").arg(format!("-dir={}", folder.path().join("data").display()));
    command.arg(format!("-s3.config={}", folder.path().join("s3.json").display()));
    let names = [
        "s3.port",
        "s3.port.grpc",
        "filer.port",
        "filer.port.grpc",
        "master.port",
        "master.port.grpc",
        "volume.port",
        "volume.port.grpc",
        "admin.port",
        "admin.port.grpc",
    ];
    for (name, port) in names.iter().zip(ports) {
        command.arg(format!("-{name}={port}"));
    }
    // A typo in a bucket's name must fail as on AWS or R2, hence no bucket is made by a PUT. Small
    // volumes and many of them: each bucket reserves seven.
    command.args([
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",
        "-webdav=false",
        "-admin.ui=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-s3.autoCreateBucket=false",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=2000",
        "-volume.preStopSeconds=0",
    ]);
    command
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY");
    command.env("WEED_S3_SSE_KEY", "for the lab only");
    Process::spawn(command, &folder.path().join("weed.log"), Signal::SIGTERM, User::same())
}

/// One server for all tests of this process (each takes a [`Seaweed::fresh_bucket`]). Don't use it
/// where a test stops the server.
pub async fn shared() -> Result<&'static Seaweed, LabError> {
    static SHARED: tokio::sync::OnceCell<Seaweed> = tokio::sync::OnceCell::const_new();
    SHARED.get_or_try_init(Seaweed::start).await
}
