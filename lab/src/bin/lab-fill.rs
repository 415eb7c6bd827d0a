//! Fills a bucket with a WAL archive of many tiny objects in barman's layout, for the audit bench:
//! `lab-fill ENDPOINT BUCKET PREFIX COUNT [CONNECTIONS]`, keys from AWS_ACCESS_KEY_ID and
//! AWS_SECRET_ACCESS_KEY. Segments are numbered without a hole from 000000010000000000000001 on;
//! each holds 64 bytes, which is enough for an audit by names.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lab::s3::{Client, Keys};

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
    let next_number = Arc::new(AtomicU64::new(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime
        .block_on(async {
            client.make_bucket(&bucket).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..connections {
                let (client, bucket, prefix, next_number) =
                    (client.clone(), bucket.clone(), prefix.clone(), Arc::clone(&next_number));
                tasks.spawn(async move {
                    loop {
                        let n = next_number.fetch_add(1, Ordering::Relaxed);
                        if n > count {
                            return Ok(());
                        }
                        let (log, segment) = (n / 256, n % 256);
                        let key = format!("{prefix}/wals/00000001{log:08X}/00000001{log:08X}{segment:08X}.gz");
                        client.put(&bucket, &key, vec![0x1f_u8; 64]).await?;
                    }
                });
            }
            while let Some(done) = tasks.join_next().await {
                done.map_err(|e| lab::LabError::Other(e.to_string()))??;
            }
            Ok::<u64, lab::LabError>(count)
        })
        .map_err(Into::into)
}
