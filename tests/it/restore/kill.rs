//! SIGKILL of the drill, of the keeper, of both: nothing is left, at once or after the next sweep.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dalsegno::domain::{Act, ArchivePlace, Dialect, Prefix, RunId, Secret, State, StoreId, Subject, SubjectKind, Undone};
use dalsegno::restore::process::ProcessMark;
use dalsegno::restore::sandbox::{Marker, Sandbox};
use dalsegno::restore::{Limits, RestoreSubject};
use dalsegno::store::{Store, StoreConfig};
use lab::barman::{BaseCompression, WalCompression};
use lab::home::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::drill::{Archive, Drill, PREFIX, SERVER, processes_in, servers_are_here};
use super::passing::taken_back;

const POINTS: [&str; 8] = ["choose", "making", "sandbox", "basing", "base", "recovering", "recover", "checks"];

/// Run by the tests below in a process of its own; says where it is and waits to be killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "the tests of this file start it"]
async fn a_drill_to_be_killed() {
    let Ok(point) = std::env::var("DRILL_KILLED_AT") else { return };
    let var = |name: &str| std::env::var(name).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = StoreConfig::new(
        StoreId("lab".to_owned()),
        var("DRILL_ENDPOINT"),
        var("DRILL_BUCKET"),
        Secret::new(var("DRILL_KEY")),
        Secret::new(var("DRILL_SECRET")),
    );
    config.dialect = Dialect::Seaweedfs;
    let subject = RestoreSubject {
        subject: Subject::new(SubjectKind::Pg, &["home", "prod", SERVER]),
        place: ArchivePlace {
            store: StoreId("lab".to_owned()),
            bucket: var("DRILL_BUCKET"),
            prefix: Prefix::new(PREFIX),
            server: SERVER.to_owned(),
        },
        store: Store::open(config).unwrap(),
        system_id: None,
        checks: Vec::new(),
        archive_timeout_seconds: None,
        last_sizes: std::collections::BTreeMap::new(),
    };
    let folder = var("DRILL_FOLDER");
    let mut drill = Drill::at(Path::new(&folder), subject, Limits { reserve_bytes: 1 << 20, ..Limits::default() });
    drill.run = RunId::try_from(var("DRILL_RUN")).unwrap();
    drill.cx.run = drill.run;
    let steps = [
        ("choose", "", "archive.choose"),
        ("sandbox", "making", "sandbox.make"),
        ("base", "basing", "pg.restore-base"),
        ("recover", "recovering", "pg.recover"),
        ("checks", "", "pg.check"),
    ];
    for (step, during, verb) in steps {
        let args =
            json!({"subject": SERVER, "folder": drill.output("sandbox", "folder"), "backup": drill.output("choose", "backup")});
        if point == during {
            let seed: u64 = var("DRILL_SEED").parse().unwrap();
            let begun = drill.step(step, verb, args.clone());
            let _ = tokio::time::timeout(Duration::from_millis(seed % 60), begun).await;
            wait_to_be_killed(&point);
        }
        let state = drill.step(step, verb, args).await;
        println!("{step}: {state:?}");
        if point == step {
            wait_to_be_killed(&point);
        }
    }
}

fn wait_to_be_killed(point: &str) {
    println!("AT {point}");
    std::thread::sleep(Duration::from_mins(1));
}

/// The process, and the run that it makes.
fn begin(archive: &Archive, folder: &Path, point: &str, seed: u64) -> (Child, RunId) {
    let run = RunId::new();
    (begin_as(archive, folder, point, seed, run, None).0, run)
}

/// Also gives what it said.
fn begin_as(
    archive: &Archive,
    folder: &Path,
    point: &str,
    seed: u64,
    run: RunId,
    user: Option<(u32, u32)>,
) -> (Child, Vec<String>) {
    let keys = archive.weed.keys().admin();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "restore::kill::a_drill_to_be_killed"]);
    command
        .env("DRILL_RUN", run.to_string())
        .env("DRILL_KILLED_AT", point)
        .env("DRILL_SEED", seed.to_string())
        .env("DRILL_FOLDER", folder);
    command.env("DRILL_ENDPOINT", archive.weed.endpoint()).env("DRILL_BUCKET", &archive.bucket);
    command.env("DRILL_KEY", &keys.id).env("DRILL_SECRET", &keys.secret);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The runner prints the test's name on the same line.
    let mut said = Vec::new();
    let there = lines.by_ref().map_while(Result::ok).any(|line| {
        said.push(line.clone());
        line.contains(&format!("AT {point}"))
    });
    assert!(there, "the drill ended before it came to {point}: {said:?}");
    (child, said)
}

fn empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none() && processes_in(folder).is_empty()
}

fn soon(mut good: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if good() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    good()
}

#[tokio::test(flavor = "multi_thread")]
async fn sigkill_of_the_drill_at_any_point_leaves_no_process_and_no_folder() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    for (number, point) in POINTS.into_iter().chain(["making", "basing", "recovering", "recovering"]).enumerate() {
        let folder = Folder::new("drills").unwrap();
        let seed = 7 + 13 * number as u64;
        let (mut child, run) = begin(&archive, folder.path(), point, seed);
        child.kill().unwrap();
        child.wait().unwrap();
        // The keeper does it at once; what was killed before the keeper was there is left to the next start.
        let at_once = soon(|| empty(folder.path()));
        if !at_once {
            assert_eq!(point, "making", "left over after a kill at {point}");
            assert_eq!(taken_back(folder.path(), run).await, Undone::Removed);
        }
        assert!(empty(folder.path()), "left over after a kill at {point} and a sweep");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigkill_of_drill_and_keeper_stops_postgres_and_the_sweep_removes_the_rest() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let folder = Folder::new("drills").unwrap();
    let (mut child, run) = begin(&archive, folder.path(), "recover", 1);
    let sandbox = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let undone = taken_back(folder.path(), run).await;
    assert!(matches!(&undone, Undone::Stuck { why } if why.contains("goes on")), "{undone:?}");
    assert!(sandbox.join("postmaster.json").exists(), "what lives is left alone");
    let keeper: serde_json::Value = serde_json::from_slice(&std::fs::read(sandbox.join("keeper.json")).unwrap()).unwrap();
    let keeper = i32::try_from(keeper["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(soon(|| processes_in(folder.path()).is_empty()), "PostgreSQL outlived its keeper");
    assert!(sandbox.exists(), "nobody was there to remove it");
    let foreign = folder.path().join("dalsegno-of-somebody-else");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("file"), "precious").unwrap();
    assert_eq!(taken_back(folder.path(), run).await, Undone::Removed);
    assert!(!sandbox.exists() && foreign.join("file").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_is_killed_ends_the_drill_as_unknown_and_leaves_nothing() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let mut drill = Drill::new(archive.subject().await);
    drill.choose_and_make().await;
    let folder = drill.output("sandbox", "folder");
    let keeper = std::fs::read(Path::new(folder.as_str().unwrap()).join("keeper.json")).unwrap();
    let keeper: serde_json::Value = serde_json::from_slice(&keeper).unwrap();
    kill(Pid::from_raw(i32::try_from(keeper["pid"].as_i64().unwrap()).unwrap()), Signal::SIGKILL).unwrap();
    let state = drill.rest().await;
    assert!(matches!(&state, dalsegno::domain::State::CouldNot { why, .. } if why.contains("killed")), "{state:?}");
    drill.finally().await;
    drill.leaves_nothing();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_root_all_is_done_as_the_same_user_and_still_sealed() {
    if !servers_are_here() {
        return;
    }
    let Some(user) = lab::User::unprivileged().unwrap().ids() else {
        return eprintln!("SKIPPED: the other tests run without root already");
    };
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let folder = Folder::new("drills").unwrap();
    std::os::unix::fs::chown(folder.path(), Some(user.0), Some(user.1)).unwrap();
    let (mut child, said) = begin_as(&archive, folder.path(), "checks", 1, RunId::new(), Some(user));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = said.join("\n");
    assert!(said.contains("checks: Done") && said.contains("sealed"), "{said}");
    assert!(soon(|| empty(folder.path())));
}

/// The most memory that a process has had in RAM, in KiB, without the pages of its own program: those of a debug test binary are
/// 34 MiB and say nothing of the restore. The bench holds the whole of a release build below 96 MiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    eprintln!(
        "{}",
        status.lines().filter(|line| line.starts_with("Rss") || line.starts_with("VmHWM")).collect::<Vec<_>>().join("; ")
    );
    let of = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    of("VmHWM:") - of("RssFile:")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_of_whole_segments_stays_below_80_mib_of_memory_of_its_own() {
    if !servers_are_here() {
        return;
    }
    for (wal, base) in [(WalCompression::Lz4, BaseCompression::Lz4), (WalCompression::None, BaseCompression::None)] {
        let archive = Archive::of(wal, |options| options.segment_mib(16)).await;
        archive.pg.write_accounts(300_000).await.unwrap();
        archive.barman.backup(&archive.pg, base).await.unwrap();
        archive.pg.churn(8).await.unwrap();
        archive.pg.switch_and_wait_archived().await.unwrap();
        let folder = Folder::new("drills").unwrap();
        let began = Instant::now();
        let (mut child, _) = begin(&archive, folder.path(), "checks", 1);
        let (took, peak) = (began.elapsed().as_secs_f64(), peak(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        eprintln!("{wal:?}: drill in {took:.1} s, peak {} MiB", peak / 1024);
        assert!(peak < 80 * 1024, "{wal:?}: {} MiB", peak / 1024);
        assert!(soon(|| empty(folder.path())));
    }
}

/// 64 MiB a segment: four of them would be more than the whole process may have.
#[tokio::test(flavor = "multi_thread")]
async fn large_segments_are_streamed_and_stay_below_96_mib_of_memory() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::of(WalCompression::None, |options| options.segment_mib(64)).await;
    archive.pg.write_accounts(100_000).await.unwrap();
    archive.barman.backup(&archive.pg, BaseCompression::Lz4).await.unwrap();
    for _ in 0..3 {
        archive.pg.switch_and_wait_archived().await.unwrap();
    }
    let folder = Folder::new("drills").unwrap();
    let (mut child, _) = begin(&archive, folder.path(), "checks", 1);
    let peak = peak(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(peak < 80 * 1024, "{} MiB", peak / 1024);
    assert!(soon(|| empty(folder.path())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_found_by_its_mark_after_the_drill_folder_was_configured_elsewhere() {
    if !servers_are_here() {
        return;
    }
    let archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
    let mut drill = Drill::new(archive.subject().await);
    drill.choose_and_make().await;
    let elsewhere = Drill::new(archive.subject().await);
    let intent = drill.intents.iter().find(|intent| intent.call.verb == "sandbox.make").unwrap().clone();
    let mut foreign = intent.clone();
    foreign.mark["folder"] = json!(drill.folder.join("dalsegno-of-somebody-else").display().to_string());
    let state = elsewhere.restorer.look(&elsewhere.cx, &foreign, None).await.unwrap();
    assert!(matches!(state, State::Absent), "{state:?}");
    let state = elsewhere.restorer.look(&elsewhere.cx, &intent, None).await.unwrap();
    assert!(matches!(state, State::CouldNot { .. }), "{state:?}");
    assert_eq!(elsewhere.restorer.undo(&elsewhere.cx, &intent, &state).await.unwrap(), Undone::Removed);
    drill.leaves_nothing();
}

#[test]
fn a_sandbox_whose_marker_somebody_holds_is_not_removed_and_one_that_nobody_holds_is() {
    let folder = Folder::new("drills").unwrap();
    let run = RunId::new();
    let sandbox = Sandbox::of(folder.path(), run, "sandbox");
    let marker = Marker {
        run,
        step: "sandbox".to_owned(),
        maker: ProcessMark::of(std::process::id()).unwrap(),
        made_by: "test".to_owned(),
    };
    sandbox.make(&marker, None).unwrap();
    let lock = sandbox.lock().unwrap().unwrap();
    let error = sandbox.remove().unwrap_err();
    assert!(error.to_string().contains("held by a process") && sandbox.data().exists(), "{error}");
    drop(lock);
    assert!(sandbox.remove().unwrap() && !sandbox.folder().exists());
}
