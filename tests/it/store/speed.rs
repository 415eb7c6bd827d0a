//! How fast a listing goes. Not run by default: `cargo test --test it store::speed -- --ignored --nocapture`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use dalsegno::store::Store;
use dalsegno::tap::ObjectCalls as _;
use dalsegno::tap::objects::PutAsk;

use super::real;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "puts tens of thousands of objects; measures, and is run by hand with --ignored"]
async fn a_listing_is_fast() {
    let Some(config) = real::bucket("speed").await else { return };
    let count: u64 = std::env::var("DALSEGNO_SPEED_KEYS").ok().map_or(60_000, |text| text.parse().unwrap());
    let calls = Arc::new(dalsegno::store::s3::S3::new(&config).unwrap());
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..24 {
        let calls = calls.clone();
        tasks.spawn(async move {
            for n in (worker..count).step_by(24) {
                let key = format!("wals/{:016X}/{:024X}.gz", n / 256 + (1 << 32), n + (1 << 40));
                calls.put(&PutAsk { key, bytes: "x".into(), ..PutAsk::default() }).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    eprintln!("put {count} in {:?}", began.elapsed());
    let store = Store::open(config).unwrap();
    for _ in 0..3 {
        let (mut seen, began) = (0, Instant::now());
        store
            .list("wals/", None, &mut |_| {
                seen += 1;
                ControlFlow::Continue(())
            })
            .await
            .unwrap();
        eprintln!("one walk: {seen} in {:?}", began.elapsed());
        for concurrency in [4, 8] {
            let (mut seen, began) = (0, Instant::now());
            store
                .list_by_folder("wals/", concurrency, &mut |_| {
                    seen += 1;
                    ControlFlow::Continue(())
                })
                .await
                .unwrap();
            eprintln!("by folder x{concurrency}: {seen} in {:?}, {:?}", began.elapsed(), memory());
            assert_eq!(seen, count);
        }
    }
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned()
}
