//! A kill in the middle of making or removing a sandbox: what is left bears a passing name, and the undo of the next start finds it.

use std::path::{Path, PathBuf};

use dalsegno::domain::{Act, Call, Intent, Isolation, RunId, Undone};
use dalsegno::restore::process::ProcessMark;
use dalsegno::restore::sandbox::{GONE, MARKER, Marker, NEW, Sandbox, passing_name, write_json};
use dalsegno::restore::{Limits, RestoreSettings, Restorer};
use serde_json::{Map, Value};

const STEP: &str = "sandbox";

/// What the next start does with an intent that it reads in a journal.
pub(super) async fn taken_back(folder: &Path, run: RunId) -> Undone {
    let settings = RestoreSettings {
        folder: folder.to_owned(),
        user: String::new(),
        postgres_folders: Vec::new(),
        isolation: Isolation::Closed,
        fence: true,
        executable: PathBuf::from("/bin/false"),
        limits: Limits::default(),
    };
    let call = Call { run, step: STEP.to_owned(), verb: "sandbox.make".to_owned(), args: Map::new() };
    let intent = Intent { call, touches: Vec::new(), mark: Value::Null };
    let restorer = Restorer::new(settings, Vec::new());
    let cx = crate::execution::bench::cx(run);
    let state = restorer.look(&cx, &intent, None).await.unwrap();
    restorer.undo(&cx, &intent, &state).await.unwrap()
}

/// The mark of a run whose process is gone.
fn mark(run: RunId) -> Marker {
    let mut maker = ProcessMark::of(std::process::id()).unwrap();
    maker.process.boot = "another boot".to_owned();
    Marker { run, step: STEP.to_owned(), maker, made_by: "0".to_owned() }
}

fn left(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A passing folder of `run`, filled by `fill`; gives the drill folder and the passing one.
fn passing(run: RunId, word: &str, fill: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let passing = passing_name(Sandbox::of(folder.path(), run, STEP).folder(), word);
    std::fs::create_dir(&passing).unwrap();
    fill(&passing);
    (folder, passing)
}

#[tokio::test]
async fn what_a_kill_leaves_under_a_passing_name_is_taken_back() {
    let run = RunId::new();
    let marked = |folder: &Path| write_json(&folder.join(MARKER), &mark(run)).unwrap();
    let half = |folder: &Path| std::fs::write(folder.join(format!("{MARKER}.new")), "{\"ru").unwrap();
    let filled = |folder: &Path| {
        marked(folder);
        std::fs::create_dir(folder.join("data")).unwrap();
    };
    let fills: [(&str, &dyn Fn(&Path)); 6] =
        [(NEW, &|_| {}), (NEW, &half), (NEW, &marked), (NEW, &filled), (GONE, &marked), (GONE, &|_| {})];
    for (number, (word, fill)) in fills.into_iter().enumerate() {
        let (folder, _) = passing(run, word, fill);
        assert_eq!(taken_back(folder.path(), run).await, Undone::Removed, "{number}");
        assert_eq!(left(folder.path()), Vec::<PathBuf>::new(), "{number}");
        assert_eq!(taken_back(folder.path(), run).await, Undone::NothingToDo, "{number}: twice");
    }
}

#[tokio::test]
async fn what_is_not_shown_to_be_ours_under_a_passing_name_stays() {
    let run = RunId::new();
    let of_another = |folder: &Path| write_json(&folder.join(MARKER), &mark(RunId::new())).unwrap();
    let living = |folder: &Path| {
        let parent = nix::unistd::getppid().as_raw().unsigned_abs();
        let maker = ProcessMark::of(parent).unwrap_or_else(|| ProcessMark::of(1).unwrap());
        write_json(&folder.join(MARKER), &Marker { maker, ..mark(run) }).unwrap();
    };
    let precious = |folder: &Path| std::fs::write(folder.join("file"), "precious").unwrap();
    let marked_and_precious = |folder: &Path| {
        write_json(&folder.join(MARKER), &mark(run)).unwrap();
        std::fs::create_dir(folder.join("data")).unwrap();
        std::fs::write(folder.join("data/file"), "precious").unwrap();
    };
    let fills: [&dyn Fn(&Path); 4] = [&of_another, &living, &precious, &marked_and_precious];
    for (number, fill) in fills.into_iter().enumerate() {
        for word in [NEW, GONE] {
            let (folder, passing) = passing(run, word, fill);
            let before = left(&passing).len();
            let undone = taken_back(folder.path(), run).await;
            assert!(matches!(&undone, Undone::Stuck { why } if why.contains(word)), "{number}: {undone:?}");
            assert_eq!(left(&passing).len(), before, "{number}: {word}");
        }
    }
    let (folder, passing) = passing(RunId::new(), NEW, |_| {});
    assert_eq!(taken_back(folder.path(), run).await, Undone::NothingToDo, "another run's name is another name");
    assert!(passing.exists());
}

#[cfg(feature = "lab")]
mod killed {
    use std::os::unix::process::ExitStatusExt as _;
    use std::path::Path;
    use std::process::{Command, ExitStatus};

    use dalsegno::domain::{RunId, Undone};
    use dalsegno::restore::process::ProcessMark;
    use dalsegno::restore::sandbox::{Marker, Sandbox};

    const PLACE: &str = "DALSEGNO_TEST_SANDBOX_PLACE";
    const RUN: &str = "DALSEGNO_TEST_SANDBOX_RUN";

    /// Not a test by itself: what the killed process does.
    #[test]
    #[ignore = "started by the kill test"]
    fn child() {
        let (Ok(place), Ok(run)) = (std::env::var(PLACE), std::env::var(RUN)) else { return };
        let run = RunId::try_from(run).unwrap();
        let sandbox = Sandbox::of(Path::new(&place), run, super::STEP);
        let maker = ProcessMark::of(std::process::id()).unwrap();
        sandbox.make(&Marker { run, step: super::STEP.to_owned(), maker, made_by: "0".to_owned() }, None).unwrap();
        assert!(sandbox.remove().unwrap());
    }

    fn begin(folder: &Path, run: RunId, name: &str, value: &std::ffi::OsStr) -> ExitStatus {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["restore::passing::killed::child", "--exact", "--ignored", "--quiet"]);
        command.env(PLACE, folder).env(RUN, run.to_string()).env(name, value);
        command.output().unwrap().status
    }

    #[tokio::test]
    async fn a_kill_at_any_point_of_making_and_removing_leaves_nothing_after_the_undo() {
        let list = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert!(begin(folder.path(), RunId::new(), "DALSEGNO_KILL_LIST", list.path().join("points").as_os_str()).success());
        let points = std::fs::read_to_string(list.path().join("points")).unwrap();
        assert!(points.lines().count() >= 8, "{points}");
        for line in points.lines() {
            let (at, name) = line.split_once(' ').unwrap();
            let run = RunId::new();
            let status = begin(folder.path(), run, "DALSEGNO_KILL_AT", at.as_ref());
            assert_eq!(status.signal(), Some(9), "killed at {name}");
            assert_eq!(super::left(folder.path()).len(), 1, "killed at {name}: something was left");
            assert_eq!(super::taken_back(folder.path(), run).await, Undone::Removed, "killed at {name}");
            assert!(super::left(folder.path()).is_empty(), "killed at {name}: {:?}", super::left(folder.path()));
        }
    }
}
