//! SIGTERM at any moment of a drill: it cleans up by itself, says so by its exit code, and proves nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lab::link::{Link, Shape};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::archived::{Archived, servers_are_here};
use super::moments::{Chance, wait_for};
use super::stage::{DRILL, Stage, texts};

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_is_told_to_stop_cleans_up_and_ends_with_128_and_the_signal() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let link =
        Link::start(weed.endpoint(), Shape { one_way: Duration::from_millis(25), bytes_per_second: Some(1 << 20) }).unwrap();
    let mut chance = Chance::seeded("stops");
    let mut stages = Vec::new();
    for (step, longest) in [("choose", 60), ("sandbox", 20), ("base", 300), ("base", 900), ("recover", 60), ("recover", 200)] {
        let signal = if step == "sandbox" { Signal::SIGINT } else { Signal::SIGTERM };
        stages.push((step, signal, chance.millis(longest), Stage::of(archived, &link.endpoint(), &archived.bucket).await));
    }
    let stopped = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for (step, signal, pause, stage) in &stages {
            let stopped = &stopped;
            scope.spawn(move || {
                if is_stopped(stage, step, *signal, *pause) {
                    stopped.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(stopped.into_inner() >= 4);
}

/// False when the drill was over before it was told.
fn is_stopped(stage: &Stage, step: &str, signal: Signal, pause: Duration) -> bool {
    let when = format!("{signal} {pause:?} after the intent of {step}");
    let mut child = stage.command(&DRILL).spawn().unwrap();
    assert!(wait_for(stage, &mut child, "intent", step), "{when}: {:?}", child.wait_with_output());
    std::thread::sleep(pause);
    if stage.evidence().is_some() {
        child.wait().unwrap();
        return false;
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + signal as i32), "{when}: {output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopping"), "{when}: {output:?}");
    stage.leaves_nothing(&when); // at once, without a next start
    let evidence = stage.evidence().unwrap();
    assert_eq!(evidence["verdict"], "unknown", "{when}: {evidence:#}");
    assert!(texts(&evidence["reasons"]).contains("cancelled"), "{when}: {evidence:#}");
    let swept = stage.run(&["drill", "gc", "-o", "json"]);
    assert_eq!((swept.exit(), swept.json()), (0, serde_json::json!([])), "{when}");
    true
}
