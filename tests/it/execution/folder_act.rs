//! An act that is honest though small: it makes folders with a mark on a real disk, under names derived from run and step, and
//! can be told to break at any place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use dalsegno::domain::{
    Act, ActError, Call, Cx, Handle, Intent, Makes, Receipt, Refused, Risk, State, Touch, Undo, Undone, VerbSpec,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Where and how a step breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    RefusesOnPaper,
    NotStarted,
    Denied,
    BadArchive,
    /// Nothing was done, and the answer was lost.
    LosesAnswerBefore,
    /// It was done, and the answer was lost.
    LosesAnswerAfter,
    /// `start` comes back only when it is cancelled.
    HangsInStart,
    PanicsInStart,
    PanicsInLook,
    PanicsInUndo,
    /// Runs until it is cancelled, then says so.
    NeverEnds,
    FailsInLook,
    CouldNotInLook,
    UnclearInLook,
    /// Three looks err in passing, then it is seen.
    LooksErrInPassing,
    Vanishes,
    /// The first undo errs, the second works.
    UndoErrsOnce,
    UndoIsStuck,
}

const fn spec(name: &'static str, risk: Risk, makes: Makes, undo: Undo) -> VerbSpec {
    VerbSpec {
        name,
        about: "a folder with a mark",
        risk,
        makes,
        undo,
        required: &[],
        optional: &["subject", "target", "timeline", "folder", "backup", "cluster_size", "end_segment", "checks", "text"],
        outputs: &["folder"],
        start_seconds: 5,
        end_seconds: 20,
    }
}

const CHOSEN: &[&str] = &[
    "backup",
    "timeline",
    "end_segment",
    "segments",
    "base_bytes",
    "cluster_size",
    "system_id",
    "covered_until",
    "from",
    "target",
];
const RECOVERED: &[&str] =
    &["socket", "port", "reached_segment", "reached_lsn", "data_as_of", "system_id", "isolation", "isolation_facts", "postgres"];

/// The names of the restore's verbs, so that the shipped runbook runs on it, and some for what it does not have.
pub(crate) static VERBS: [VerbSpec; 8] = [
    VerbSpec { outputs: CHOSEN, required: &["subject"], ..spec("archive.choose", Risk::Looks, Makes::Nothing, Undo::None) },
    spec("sandbox.make", Risk::Sandbox, Makes::Scaffold, Undo::Yes),
    VerbSpec {
        outputs: &["files", "bytes"],
        required: &["folder", "backup"],
        ..spec("pg.restore-base", Risk::Sandbox, Makes::Nothing, Undo::None)
    },
    VerbSpec { outputs: RECOVERED, required: &["folder"], ..spec("pg.recover", Risk::Sandbox, Makes::Scaffold, Undo::Yes) },
    VerbSpec { outputs: &["sizes"], ..spec("pg.check", Risk::Looks, Makes::Nothing, Undo::None) },
    spec("backup.start", Risk::Changes, Makes::Product, Undo::Yes),
    spec("schedule.pause", Risk::Changes, Makes::Nothing, Undo::Yes),
    spec("volume.wipe", Risk::Destroys, Makes::Nothing, Undo::None),
];

/// The act.
pub(crate) struct FolderAct {
    pub(crate) root: PathBuf,
    faults: BTreeMap<String, Fault>,
    /// Outputs and assertions of each verb's receipt.
    pub(crate) receipts: BTreeMap<String, Receipt>,
    happened: Mutex<Happened>,
}

#[derive(Default)]
struct Happened {
    /// `start sandbox`, `undo sandbox`, in order.
    log: Vec<String>,
    looks: BTreeMap<String, u32>,
    undos: BTreeMap<String, u32>,
    tokens: BTreeMap<String, CancellationToken>,
}

impl FolderAct {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), faults: BTreeMap::new(), receipts: BTreeMap::new(), happened: Mutex::default() }
    }

    /// Breaks a step.
    pub(crate) fn breaking(root: &Path, step: &str, fault: Fault) -> Self {
        let mut act = Self::new(root);
        act.faults.insert(step.to_owned(), fault);
        act
    }

    /// What was done, in order.
    pub(crate) fn log(&self) -> Vec<String> {
        self.happened.lock().unwrap().log.clone()
    }

    /// Folders that are there now.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn path(intent: &Intent) -> PathBuf {
        PathBuf::from(intent.mark["path"].as_str().unwrap())
    }

    fn fault(&self, step: &str) -> Option<Fault> {
        self.faults.get(step).copied()
    }

    fn note(&self, what: &str, step: &str) {
        self.happened.lock().unwrap().log.push(format!("{what} {step}"));
    }

    fn makes(intent: &Intent) -> bool {
        let spec = VERBS.iter().find(|spec| spec.name == intent.call.verb).unwrap();
        spec.undo == Undo::Yes
    }

    fn mark(intent: &Intent) -> String {
        json!({"run": intent.call.run, "step": intent.call.step}).to_string()
    }

    /// `Some(true)` = ours, `Some(false)` = somebody else's, `None` = nothing there.
    fn ours(intent: &Intent) -> Option<bool> {
        let path = Self::path(intent);
        if !path.exists() {
            return None;
        }
        Some(fs::read_to_string(path.join(".mark")).is_ok_and(|text| text == Self::mark(intent)))
    }

    fn make(intent: &Intent) -> Result<(), ActError> {
        match Self::ours(intent) {
            Some(true) => return Ok(()),
            Some(false) => {
                return Err(ActError::Refused { why: "the name is taken by somebody else".into(), hint: "look there".into() });
            }
            None => {}
        }
        // Made under a passing name and renamed, so that a folder without a mark is never ours.
        let path = Self::path(intent);
        let half = path.with_extension("new");
        let _ = fs::remove_dir_all(&half);
        fs::create_dir(&half).unwrap();
        fs::write(half.join(".mark"), Self::mark(intent)).unwrap();
        fs::rename(&half, &path).unwrap();
        Ok(())
    }

    fn receipt(&self, intent: &Intent) -> Receipt {
        let mut receipt = self.receipts.get(&intent.call.verb).cloned().unwrap_or_default();
        if Self::makes(intent) {
            receipt.outputs.insert("folder".into(), Value::String(Self::path(intent).display().to_string()));
        }
        receipt.outputs.entry("seen_args").or_insert_with(|| Value::Object(intent.call.args.clone()));
        receipt
    }
}

#[async_trait]
impl Act for FolderAct {
    fn verbs(&self) -> &'static [VerbSpec] {
        &VERBS
    }

    fn intend(&self, call: &Call) -> Result<Intent, Refused> {
        if self.fault(&call.step) == Some(Fault::RefusesOnPaper) {
            return Err(Refused { why: "the target lies before the first base backup".into(), hint: "take a later one".into() });
        }
        let path = self.root.join(format!("dalsegno-{}-{}", call.run.short(), call.step));
        let mut intent = Intent { call: call.clone(), touches: Vec::new(), mark: json!({ "path": path }) };
        if Self::makes(&intent) {
            intent.touches.push(Touch::make(path.display().to_string()));
        }
        Ok(intent)
    }

    async fn start(&self, cx: &Cx, intent: &Intent) -> Result<Handle, ActError> {
        let step = &intent.call.step;
        self.note("start", step);
        self.happened.lock().unwrap().tokens.insert(step.clone(), cx.cancel.clone());
        match self.fault(step) {
            Some(Fault::NotStarted) => {
                return Err(ActError::NotStarted { why: "no connection".into(), hint: "see the network".into() });
            }
            Some(Fault::Denied) => return Err(ActError::Denied { verb: "MakeFolder".into(), hint: "grant it".into() }),
            Some(Fault::BadArchive) => return Err(ActError::Bad { why: "backup.info is cut off".into() }),
            Some(Fault::LosesAnswerBefore) => return Err(ActError::MayHaveStarted { why: "connection cut".into() }),
            Some(Fault::HangsInStart) => {
                cx.cancel.cancelled().await;
                return Err(ActError::NotStarted { why: "cancelled".into(), hint: String::new() });
            }
            Some(Fault::PanicsInStart) => {
                if Self::makes(intent) {
                    Self::make(intent)?;
                }
                panic!("a bug in start");
            }
            _ => {}
        }
        if Self::makes(intent) {
            Self::make(intent)?;
        }
        if self.fault(step) == Some(Fault::LosesAnswerAfter) {
            return Err(ActError::MayHaveStarted { why: "connection cut".into() });
        }
        Ok(Handle(intent.mark["path"].clone()))
    }

    async fn look(&self, _cx: &Cx, intent: &Intent, _handle: Option<&Handle>) -> Result<State, ActError> {
        let step = &intent.call.step;
        let looks = {
            let mut happened = self.happened.lock().unwrap();
            let looks = happened.looks.entry(step.clone()).or_insert(0);
            *looks += 1;
            *looks
        };
        tokio::time::sleep(Duration::from_millis(1)).await;
        match self.fault(step) {
            Some(Fault::PanicsInLook) => panic!("a bug in look"),
            Some(Fault::NeverEnds) => {
                let cancelled = self.happened.lock().unwrap().tokens.get(step).is_some_and(CancellationToken::is_cancelled);
                return Ok(if cancelled {
                    State::CouldNot { why: "was told to stop".into(), hint: String::new() }
                } else {
                    State::Running { progress: format!("{looks} of many") }
                });
            }
            Some(Fault::FailsInLook) => return Ok(State::Failed { why: "segment 7 is short".into() }),
            Some(Fault::CouldNotInLook) => return Ok(State::CouldNot { why: "no space".into(), hint: "free 2 GiB".into() }),
            Some(Fault::UnclearInLook) => return Ok(State::Unclear { why: "two candidates".into() }),
            Some(Fault::Vanishes) => return Ok(State::Absent),
            Some(Fault::LooksErrInPassing) if looks <= 3 => {
                return Err(ActError::NotStarted { why: "no connection".into(), hint: String::new() });
            }
            Some(Fault::LosesAnswerBefore) if !Self::makes(intent) => return Ok(State::Absent),
            _ => {}
        }
        if !Self::makes(intent) {
            return Ok(State::Done { receipt: Box::new(self.receipt(intent)) });
        }
        Ok(match Self::ours(intent) {
            None => State::Absent,
            Some(false) => State::Unclear { why: "the folder is not ours".into() },
            Some(true) => State::Done { receipt: Box::new(self.receipt(intent)) },
        })
    }

    async fn undo(&self, _cx: &Cx, intent: &Intent, _state: &State) -> Result<Undone, ActError> {
        let step = &intent.call.step;
        self.note("undo", step);
        let undos = {
            let mut happened = self.happened.lock().unwrap();
            let undos = happened.undos.entry(step.clone()).or_insert(0);
            *undos += 1;
            *undos
        };
        match self.fault(step) {
            Some(Fault::PanicsInUndo) => panic!("a bug in undo"),
            Some(Fault::UndoIsStuck) => return Ok(Undone::Stuck { why: "the folder is busy".into() }),
            Some(Fault::UndoErrsOnce) if undos == 1 => {
                return Err(ActError::NotStarted { why: "no connection".into(), hint: String::new() });
            }
            _ => {}
        }
        let _ = fs::remove_dir_all(Self::path(intent).with_extension("new"));
        match Self::ours(intent) {
            None => Ok(Undone::NothingToDo),
            Some(false) => Ok(Undone::Stuck { why: "the folder is not ours".into() }),
            Some(true) => {
                fs::remove_dir_all(Self::path(intent)).unwrap();
                Ok(Undone::Removed)
            }
        }
    }
}
