//! Sets the stage of the benches and keeps it up until its stdin ends:
//! `lab-stage ENV_FILE [ROWS SEGMENTS]`. With rows: a PostgreSQL cluster of that many accounts, a
//! gzip base backup and that many segments of real changes archived after it, all by barman-cloud;
//! the cluster is then stopped. ENV_FILE is written last, for a shell to read.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use lab::barman::{Barman, BaseCompression, WalCompression};
use lab::postgres::{Options, Postgres};
use lab::seaweed::Seaweed;
use lab::{LabError, Tool, User};

const BUCKET: &str = "bench";
const PREFIX: &str = "cnpg";
const SERVER: &str = "bench-db";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() else {
        return ExitCode::FAILURE;
    };
    match runtime.block_on(set(&args)) {
        Ok(weed) => {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            drop(weed);
            ExitCode::SUCCESS
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "lab-stage: {e}");
            ExitCode::FAILURE
        }
    }
}

async fn set(args: &[String]) -> Result<Seaweed, LabError> {
    let number = |at: usize| args.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let file = args.first().ok_or_else(|| LabError::Other("usage: lab-stage ENV_FILE [ROWS SEGMENTS]".into()))?;
    let (rows, segments) = (number(1), number(2));
    for tool in [Tool::Barman, Tool::Seaweed, Tool::Postgres(16)] {
        tool.install(&say)?;
    }
    let weed = Seaweed::start().await?;
    weed.client().make_bucket(BUCKET).await?;
    let mut lines = vec![
        ("LAB_ENDPOINT", weed.endpoint().to_owned()),
        ("AWS_ACCESS_KEY_ID", weed.keys().admin().id.clone()),
        ("AWS_SECRET_ACCESS_KEY", weed.keys().admin().secret.clone()),
        ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
        ("LAB_BUCKET", BUCKET.to_owned()),
        ("LAB_PREFIX", PREFIX.to_owned()),
        ("LAB_SERVER", SERVER.to_owned()),
        ("LAB_BARMAN", Tool::Barman.find()?.display().to_string()),
        ("LAB_PGBIN", Tool::Postgres(16).find()?.display().to_string()),
        ("LAB_USER", User::unprivileged()?.name().unwrap_or_default().to_owned()),
    ];
    if rows > 0 {
        lines.extend(archive(&weed, rows, segments).await?);
    }
    let text = lines.iter().map(|(name, value)| format!("export {name}='{value}'")).collect::<Vec<_>>().join("\n");
    write(Path::new(file), &format!("{text}\n"))?;
    Ok(weed)
}

async fn archive(weed: &Seaweed, rows: u64, segments: u64) -> Result<Vec<(&'static str, String)>, LabError> {
    let barman = Barman::new(weed.endpoint(), weed.keys().admin(), BUCKET, PREFIX, SERVER)?;
    let archiver = barman.archiver(WalCompression::Gzip)?;
    // WAL is kept out of the way of the checkpointer: the bench is about reading it back.
    let options =
        Options::new(16).archive_command(archiver.command()).setting("max_wal_size", "8GB").setting("synchronous_commit", "off");
    let mut pg = Postgres::start(options).await?;
    pg.write_accounts(rows).await?;
    pg.switch_and_wait_archived().await?;
    say(&format!("{rows} accounts"));
    let id = barman.backup(&pg, BaseCompression::Gzip).await?;
    say(&format!("base backup {id}"));
    pg.churn(segments).await?;
    let last = pg.switch_and_wait_archived().await?;
    say(&format!("WAL archived up to {last}"));
    let facts = vec![
        ("LAB_SYSTEM_ID", pg.system_id().await?),
        ("LAB_BACKUP", id),
        ("LAB_LAST_SEGMENT", last),
        ("LAB_EXPECT", pg.value("select (sum(balance)::text || ' ' || count(*)::text) from accounts").await?),
    ];
    pg.crash(); // a polite stop would archive one more, half empty segment
    Ok(facts)
}

fn write(file: &Path, text: &str) -> Result<(), LabError> {
    let half = file.with_extension("half");
    let all = std::fs::write(&half, text).and_then(|()| std::fs::rename(&half, file));
    all.map_err(|e| LabError::Other(format!("{}: {e}", file.display())))
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "lab-stage: {line}");
}
