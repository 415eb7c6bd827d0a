//! A real SeaweedFS, one for the whole test binary; each test takes a bucket of its own.

use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dalsegno::domain::Secret;
use dalsegno::store::StoreConfig;

struct Weed {
    _hold: Child,
    port: u16,
}

static WEED: OnceLock<Option<std::sync::Mutex<Weed>>> = OnceLock::new();
static BUCKETS: AtomicU32 = AtomicU32::new(0);

/// Endpoint of the server and a fresh bucket, or nothing (and a visible line) when there is no SeaweedFS here.
pub async fn bucket(test: &str) -> Option<StoreConfig> {
    let Some(port) = port().await else {
        assert!(std::env::var_os("CI").is_none(), "SeaweedFS is absent");
        eprintln!("SKIPPED {test}: no SeaweedFS (weed) on this machine");
        return None;
    };
    let name = format!("t{}-{}", std::process::id(), BUCKETS.fetch_add(1, Ordering::Relaxed));
    let mut config = super::mock::config(&format!("http://127.0.0.1:{port}"), &name);
    config.access_key_id = Secret::new("admin".into());
    config.secret_access_key = Secret::new("adminsecret".into());
    config.read_timeout = std::time::Duration::from_secs(20);
    config.attempts = 5;
    // SeaweedFS makes a bucket by the first PUT of an admin key; the tool itself never does.
    let calls = dalsegno::store::s3::S3::new(&config).unwrap();
    use dalsegno::tap::ObjectCalls as _;
    calls.put(&dalsegno::tap::objects::PutAsk { key: "first".into(), ..Default::default() }).await.unwrap();
    calls.delete("first").await.unwrap();
    Some(config)
}

/// Keys that may only read and list.
pub fn reader(config: &StoreConfig) -> StoreConfig {
    let mut config = config.clone();
    config.access_key_id = Secret::new("reader".into());
    config.secret_access_key = Secret::new("readersecret".into());
    config
}

async fn port() -> Option<u16> {
    let port = tokio::task::spawn_blocking(|| {
        WEED.get_or_init(|| start().map(std::sync::Mutex::new)).as_ref().map(|weed| weed.lock().unwrap().port)
    });
    port.await.unwrap()
}

fn binary() -> Option<std::path::PathBuf> {
    let mut folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    folders.extend(std::env::var_os("DALSEGNO_LAB_WEED").map(std::path::PathBuf::from));
    folders.into_iter().map(|folder| folder.join("weed")).find(|path| path.is_file())
}

fn start() -> Option<Weed> {
    let weed = binary()?;
    let folder = tempfile::tempdir().unwrap().keep();
    let identities = folder.join("s3.json");
    std::fs::write(
        &identities,
        r#"{"identities":[
          {"name":"admin","credentials":[{"accessKey":"admin","secretKey":"adminsecret"}],"actions":["Admin","Read","List","Tagging","Write"]},
          {"name":"reader","credentials":[{"accessKey":"reader","secretKey":"readersecret"}],"actions":["Read","List"]}]}"#,
    )
    .unwrap();
    let [s3, filer, master, volume] = free_ports();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    // A static is never dropped, so the server hangs on a pipe: when this process ends, however it ends, the shell reads the end
    // of its input, stops the server and removes the folder.
    let hold = r#"weed="$1"; folder="$2"; shift 2; "$weed" "$@" </dev/null & child=$!; cat >/dev/null; kill $child; wait $child; rm -rf "$folder""#;
    let child = Command::new("sh")
        .args(["-c", hold, "hold"])
        .arg(weed)
        .arg(&folder)
        .arg("mini")
        .arg(format!("-dir={}", folder.display()))
        .args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-webdav=false", "-admin.ui=false"])
        .args(["-s3.port.iceberg=0", "-s3.port.lance=0"])
        .arg(format!("-s3.config={}", identities.display()))
        .arg(format!("-s3.port={s3}"))
        .arg(format!("-filer.port={filer}"))
        .arg(format!("-master.port={master}"))
        .arg(format!("-volume.port={volume}"))
        .stdout(Stdio::null())
        .stderr(log)
        .stdin(Stdio::piped())
        .spawn()
        .ok()?;
    for _ in 0..200 {
        if std::net::TcpStream::connect(("127.0.0.1", s3)).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            return Some(Weed { _hold: child, port: s3 });
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("SeaweedFS did not start: {}", std::fs::read_to_string(folder.join("log")).unwrap());
}

/// SeaweedFS listens on each port and on the port + 10000.
fn free_ports() -> [u16; 4] {
    let base = 20_000 + u16::try_from(std::process::id() % 5_000).unwrap() * 4;
    [base, base + 1, base + 2, base + 3]
}
