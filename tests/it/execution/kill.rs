//! SIGKILL at every journal step: this very test binary is started again, runs a drill, and is killed at a point of its list.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use dalsegno::conductor::drill::{Drillable, drill, find_evidence, ready, sweep_drills};
use dalsegno::conductor::runbook::script;
use dalsegno::domain::{Act, RunId, Verdict};

use super::bench::{Bench, cx};
use super::folder_act::{Fault, FolderAct};
use crate::drill::perfect::receipts;

const PLACE: &str = "DALSEGNO_TEST_KILL_PLACE";
const BREAK: &str = "DALSEGNO_TEST_KILL_BREAK";

fn act(bench: &Bench) -> FolderAct {
    let mut act = match std::env::var(BREAK) {
        Ok(_) => FolderAct::breaking(&bench.sandboxes, "recover", Fault::FailsInLook),
        Err(_) => FolderAct::new(&bench.sandboxes),
    };
    act.receipts = receipts();
    act
}

/// Not a test by itself: what the killed process does.
#[tokio::test]
#[ignore = "started by the kill test"]
async fn child() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let bench = Bench::at(Path::new(&place));
    let act = act(&bench);
    let acts: [&dyn Act; 1] = [&act];
    let ground = crate::drill::flow::ground(&bench, &acts);
    let cx = cx(RunId::new());
    let database: Drillable = crate::drill::flow::database();
    let ready = ready(cx.run, &ground, &database, &script("pg-restore").unwrap(), &BTreeMap::new(), None).unwrap();
    drill(&cx, &ground, &ready).await.unwrap();
}

fn run(bench: &Bench, breaks: bool, environment: &[(&str, &str)]) -> std::process::ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["execution::kill::child", "--exact", "--ignored", "--quiet"]);
    command.env(PLACE, bench.place()).envs(environment.iter().copied());
    if breaks {
        command.env(BREAK, "1");
    }
    command.output().unwrap().status
}

fn points(breaks: bool) -> Vec<String> {
    let bench = Bench::new();
    let list = bench.place().join("points");
    assert!(run(&bench, breaks, &[("DALSEGNO_KILL_LIST", list.to_str().unwrap())]).success());
    let text = std::fs::read_to_string(&list).unwrap();
    text.lines().map(|line| line.split_once(' ').unwrap().0.to_owned()).collect()
}

#[tokio::test]
async fn a_drill_that_is_killed_at_any_point_leaves_nothing_after_the_next_start() {
    for breaks in [false, true] {
        let points = points(breaks);
        assert!(points.len() >= 25, "{} points", points.len());
        for at in &points {
            let bench = Bench::new();
            let status = run(&bench, breaks, &[("DALSEGNO_KILL_AT", at)]);
            assert_eq!(status.signal(), Some(9), "killed at {at}");
            let act = FolderAct::new(&bench.sandboxes);
            let acts: [&dyn Act; 1] = [&act];
            let ground = crate::drill::flow::ground(&bench, &acts);
            let swept = sweep_drills(&cx(RunId::new()), &ground).await.unwrap();
            assert!(act.left().is_empty(), "killed at {at}: {:?} {swept:?}", act.left());
            for entry in std::fs::read_dir(&bench.drills).into_iter().flatten() {
                let folder = entry.unwrap().path();
                let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                names.sort();
                assert_eq!(names, ["evidence.json", "journal.jsonl"], "killed at {at}");
            }
            if let Ok((_, evidence)) = find_evidence(&bench.drills, None) {
                // Only evidence that was written before the kill can prove.
                let finished = evidence.reasons.iter().all(|reason| !reason.contains("interrupted"));
                assert!(evidence.verdict != Verdict::Proven || finished, "killed at {at}");
                assert!(!breaks || evidence.verdict != Verdict::Proven, "killed at {at}");
            }
            assert!(sweep_drills(&cx(RunId::new()), &ground).await.unwrap().is_empty(), "killed at {at}: swept once");
        }
    }
}
