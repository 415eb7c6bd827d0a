//! Fills a bucket with a WAL archive of many tiny objects in barman's layout, for the audit bench:
//! `lab-fill ENDPOINT BUCKET PREFIX COUNT [CONNECTIONS]`, keys from AWS_ACCESS_KEY_ID and
//! AWS_SECRET_ACCESS_KEY. Segments are numbered without a hole from 000000010000000000000001 on;
//! each is a gzip stream that begins with a true first page header of PostgreSQL 16 and then ends
//! early: enough for names and headers, and a million of them fit on a disk.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lab::LabError;
use lab::s3::{Client, Keys};

const SEGMENT: u64 = 16 * 1024 * 1024;
const SYSTEM_ID: u64 = 7_000_000_000_000_000_001;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match fill(&args) {
        Ok(count) => {
            let _ = writeln!(std::io::stdout(), "{count} objects");
            ExitCode::SUCCESS
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "lab-fill: {e}");
            ExitCode::FAILURE
        }
    }
}

fn fill(args: &[String]) -> Result<u64, Box<dyn std::error::Error>> {
    let mut args = args.iter();
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let (endpoint, bucket, prefix) = (next("ENDPOINT")?.clone(), next("BUCKET")?.clone(), next("PREFIX")?.clone());
    let count: u64 = next("COUNT")?.parse()?;
    let connections: u64 = next("CONNECTIONS").map_or(Ok(24), |text| text.parse())?;
    let keys = Keys::new(std::env::var("AWS_ACCESS_KEY_ID")?, std::env::var("AWS_SECRET_ACCESS_KEY")?);
    let client = Client::new(&endpoint, &keys);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(runtime.block_on(fill_bucket(client, bucket, prefix, count, connections))?)
}

async fn fill_bucket(client: Client, bucket: String, prefix: String, count: u64, connections: u64) -> Result<u64, LabError> {
    client.make_bucket(&bucket).await?;
    let next_number = Arc::new(AtomicU64::new(1));
    let mut tasks: tokio::task::JoinSet<Result<(), LabError>> = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (client, bucket, prefix, next_number) = (client.clone(), bucket.clone(), prefix.clone(), Arc::clone(&next_number));
        tasks.spawn(async move {
            loop {
                let n = next_number.fetch_add(1, Ordering::Relaxed);
                if n > count {
                    return Ok(());
                }
                let (log, segment) = (n / 256, n % 256);
                let key = format!("{prefix}/wals/00000001{log:08X}/00000001{log:08X}{segment:08X}.gz");
                client.put(&bucket, &key, segment_start(n)).await?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|e| LabError::Other(e.to_string()))??;
    }
    Ok(count)
}

/// The long page header at the start of segment `n` (`XLogLongPageHeaderData` in
/// <https://github.com/postgres/postgres/blob/REL_16_STABLE/src/include/access/xlog_internal.h>),
/// in one stored block of a gzip stream whose end is missing.
fn segment_start(n: u64) -> Vec<u8> {
    let mut page = Vec::with_capacity(64);
    page.extend(0xD113_u16.to_le_bytes()); // magic of PostgreSQL 16
    page.extend(0x0002_u16.to_le_bytes()); // long header
    page.extend(1_u32.to_le_bytes()); // timeline
    page.extend((n * SEGMENT).to_le_bytes()); // where in the log
    page.extend(0_u32.to_le_bytes()); // no record goes on here
    page.extend(0_u32.to_le_bytes()); // padding
    page.extend(SYSTEM_ID.to_le_bytes());
    page.extend((16 * 1024 * 1024_u32).to_le_bytes()); // segment size
    page.extend(8192_u32.to_le_bytes()); // page size
    let length = u16::try_from(page.len()).unwrap_or(0);
    let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(page);
    stream
}
