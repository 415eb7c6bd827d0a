//! The kill test: SIGKILL at every record of a drill's journal and at moments in between. After the next start of anything
//! nothing is left, and nobody says more than was seen.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::time::Duration;

use lab::link::{Link, Shape};
use serde_json::Value;

use super::archived::{Archived, servers_are_here};
use super::moments::{Chance, wait_for};
use super::stage::{DRILL, Stage, texts};

/// Drills at a time: each waits for a server more than it computes.
const AT_A_TIME: usize = 3;

/// One point of the list.
#[derive(Clone, Debug)]
struct Point {
    number: usize,
    /// `after-intent:3`.
    name: String,
    /// What the record is of: `choose`, `undo of recover`, or empty.
    of: String,
}

impl Point {
    /// `before`, `torn`, `after`, `half`, `made`.
    fn side(&self) -> &str {
        self.name.split('-').next().unwrap()
    }
}

/// Whether the program has kill points.
fn has_points() -> bool {
    if cfg!(feature = "lab") {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "the kill points are not compiled in: cargo test --features lab");
    eprintln!("SKIPPED: the kill points are not compiled in: cargo test --features lab");
    false
}

/// Every point that a drill of a good archive passes, and the steps that they belong to.
fn list(stage: &Stage) -> Vec<Point> {
    let file = stage.path().join("points");
    let said = stage.run_with(&DRILL, &[("DALSEGNO_KILL_LIST", file.to_str().unwrap())]);
    assert_eq!(said.exit(), 0, "{said:?}");
    let journal = stage.journal();
    let text = std::fs::read_to_string(file).unwrap();
    let points = text.lines().map(|line| {
        let (number, name) = line.split_once(' ').unwrap();
        let (kind, times) = name.split_once(':').unwrap();
        let record = kind.split_once('-').unwrap().1;
        let nth: usize = times.parse().unwrap();
        let line = journal.iter().filter(|line| line["record"] == record).nth(nth - 1);
        Point { number: number.parse().unwrap(), name: name.to_owned(), of: line.map(of).unwrap_or_default() }
    });
    points.collect()
}

fn of(line: &Value) -> String {
    let step = line["step"].as_str().or_else(|| line["intent"]["call"]["step"].as_str()).unwrap_or_default();
    if line["record"].as_str().unwrap().starts_with("und") { format!("undo of {step}") } else { step.to_owned() }
}

/// Of each record one side, before, torn or after, as chance will have it; and every point that is of no record.
fn choose(points: &[Point], chance: &mut Chance) -> Vec<Point> {
    let all = std::env::var_os("DALSEGNO_STORY_ALL").is_some();
    let mut chosen = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        let record = first.side() == "before" && rest.get(1).is_some_and(|next| next.side() == "torn");
        let (group, behind) = rest.split_at(if record { 3 } else { 1 });
        if all || !record {
            chosen.extend_from_slice(group);
        } else {
            chosen.push(group[usize::try_from(chance.below(3)).unwrap()].clone());
        }
        rest = behind;
    }
    chosen
}

fn number_of(points: &[Point], name: &str) -> usize {
    points.iter().find(|point| point.name == name).unwrap_or_else(|| panic!("no point {name}")).number
}

/// The next start of anything, in turn.
fn next_start(stage: &Stage, turn: usize, when: &str) {
    let (args, allowed): (&[&str], &[i32]) =
        if turn.is_multiple_of(2) { (&["drill", "gc", "-o", "json"], &[0]) } else { (&["run", "-o", "json"], &[0, 1, 3]) };
    let said = stage.run(args);
    assert!(allowed.contains(&said.exit()), "{when}, then {args:?}: {said:?}");
    said.json();
    stage.leaves_nothing(&format!("{when}, then {args:?}"));
}

/// What everybody knows afterwards.
fn all_is_told(stage: &Stage, when: &str) {
    let said = stage.run(&["run", "-o", "json"]);
    assert!([0, 1, 3].contains(&said.exit()), "{when}: {said:?}");
    stage.ledger_is_settled(when);
    let again = stage.run(&["drill", "gc", "-o", "json"]);
    assert_eq!((again.exit(), again.json()), (0, serde_json::json!([])), "{when}: swept once");
    stage.leaves_nothing(when);
}

/// Evidence that says what was seen and no more.
fn evidence_is(stage: &Stage, verdict: &str, when: &str) {
    let evidence = stage.evidence().unwrap_or_else(|| panic!("{when}: no evidence"));
    assert_eq!(evidence["verdict"], verdict, "{when}: {evidence:#}");
    if verdict == "unknown" {
        assert!(texts(&evidence["reasons"]).contains("interrupted"), "{when}: {evidence:#}");
        assert!(texts(&evidence["hints"]).contains("dalsegno drill"), "{when}: {evidence:#}");
    }
    let history = stage.run(&["history", "-o", "json"]).json();
    let taken_in = history.as_array().unwrap().iter().any(|run| run["kind"] == "drill" && run["verdict"] == verdict);
    assert!(taken_in, "{when}: {history:#}");
}

/// Does the same with each, some at a time.
fn each<T: Send>(things: Vec<T>, act: impl Fn(usize, T) + Sync) {
    let queue = Mutex::new(things.into_iter().enumerate().collect::<VecDeque<_>>());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some((turn, thing)) = next else { break };
                    act(turn, thing);
                }
            });
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_is_killed_at_any_record_of_its_journal_leaves_nothing_after_the_next_start() {
    if !servers_are_here() || !has_points() {
        return;
    }
    let archived = Archived::once().await;
    let endpoint = lab::seaweed::shared().await.unwrap().endpoint();
    let points = list(&Stage::of(archived, endpoint, &archived.bucket).await);
    let chosen = choose(&points, &mut Chance::seeded("kills"));
    assert!(chosen.len() >= 25, "{} of {} points", chosen.len(), points.len());
    for step in ["choose", "sandbox", "base", "recover", "checks", "undo of sandbox", "undo of recover"] {
        let of_step = chosen.iter().filter(|point| point.of == step).count();
        assert!(of_step >= 2, "{of_step} points of {step}");
    }
    eprintln!("{} of {} points", chosen.len(), points.len());
    let (begun, written) = (number_of(&points, "after-run-begun:1"), number_of(&points, "after-evidence:1"));
    let mut stages = Vec::new();
    for point in chosen {
        stages.push((point, Stage::of(archived, endpoint, &archived.bucket).await));
    }
    each(stages, |turn, (point, stage)| {
        let when = format!("killed at {} ({})", point.name, point.of);
        let output = stage.command(&DRILL).env("DALSEGNO_KILL_AT", &point.name).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{when}: {output:?}");
        next_start(&stage, turn, &when);
        all_is_told(&stage, &when);
        match point.number {
            number if number < begun => assert!(stage.drills().is_empty(), "{when}: nothing was begun"),
            number if number < written => evidence_is(&stage, "unknown", &when),
            _ => evidence_is(&stage, "proven", &when), // what was seen and written stands
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_to_be_bad_stays_failed_though_the_drill_was_killed() {
    if !servers_are_here() || !has_points() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = archived.copy().await;
    weed.client().delete(&bucket, &archived.segment_key(1)).await.unwrap();
    let mut stages = Vec::new();
    for (point, verdict) in [
        ("before-step-end:1", "unknown"),
        ("after-step-end:1", "failed"),
        ("before-evidence:1", "failed"),
        ("before-run-ended:1", "failed"),
    ] {
        stages.push((point, verdict, Stage::of(archived, weed.endpoint(), &bucket).await));
    }
    each(stages, |turn, (point, verdict, stage)| {
        let when = format!("killed at {point}");
        let output = stage.command(&DRILL).env("DALSEGNO_KILL_AT", point).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{when}: {output:?}");
        next_start(&stage, turn, &when);
        all_is_told(&stage, &when);
        evidence_is(&stage, verdict, &when);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_is_killed_while_it_restores_or_replays_leaves_nothing_after_the_next_start() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    // A far store, so that the steps take their time.
    let link =
        Link::start(weed.endpoint(), Shape { one_way: Duration::from_millis(15), bytes_per_second: Some(2 << 20) }).unwrap();
    let mut chance = Chance::seeded("kills in between");
    let mut stages = Vec::new();
    for (step, longest) in [
        ("sandbox", 20),
        ("base", 1_000),
        ("base", 1_000),
        ("base", 1_000),
        ("recover", 800),
        ("recover", 800),
        ("recover", 800),
        ("checks", 150),
    ] {
        stages.push((step, chance.millis(longest), Stage::of(archived, &link.endpoint(), &archived.bucket).await));
    }
    each(stages, |turn, (step, pause, stage)| {
        let when = format!("killed {pause:?} after the intent of {step}");
        let mut child = stage.command(&DRILL).spawn().unwrap();
        assert!(wait_for(&stage, &mut child, "intent", step), "{when}: {:?}", child.wait_with_output());
        std::thread::sleep(pause);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        // What was seen and written before the kill stands; whatever was not is unknown.
        let written = stage.evidence().is_some();
        next_start(&stage, turn, &when);
        all_is_told(&stage, &when);
        let verdict = if status.signal() == Some(9) && !written { "unknown" } else { "proven" };
        eprintln!("{when}: {verdict}");
        evidence_is(&stage, verdict, &when);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_is_killed_is_closed_as_interrupted_by_the_next() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let weed = lab::seaweed::shared().await.unwrap();
    let link = Link::start(weed.endpoint(), Shape { one_way: Duration::from_millis(20), bytes_per_second: None }).unwrap();
    let mut chance = Chance::seeded("kills of a pass");
    let mut stages = Vec::new();
    for number in 0..8 {
        let pause = Duration::from_millis(number * 40) + chance.millis(40);
        stages.push((pause, Stage::of(archived, &link.endpoint(), &archived.bucket).await));
    }
    each(stages, |_, (pause, stage)| {
        let when = format!("a pass killed after {pause:?}");
        let mut child = stage.command(&["run", "-o", "json"]).spawn().unwrap();
        std::thread::sleep(pause);
        child.kill().unwrap();
        child.wait().unwrap();
        all_is_told(&stage, &when);
    });
}
