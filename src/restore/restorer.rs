//! [`Restorer`]: the verbs of this room behind the contract [`Act`].

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::base::BaseWork;
use super::check::CheckWork;
use super::choose::ChooseWork;
use super::held::{Bounds, Held, Memory, Telling};
use super::make;
use super::readiness::{self, Candidate, Need};
use super::recover::RecoverWork;
use super::remove;
use super::retry::Patience;
use super::sandbox::Sandbox;
use super::settings::{RestoreSettings, RestoreSubject};
use super::trouble::Trouble;
use super::verbs::VERBS;
use crate::archive::RecoveryTarget;
use crate::domain::verb_names::{ARCHIVE_CHOOSE, PG_CHECK, PG_RECOVER, PG_RESTORE_BASE, SANDBOX_MAKE};
use crate::domain::{
    Act, ActError, Call, Cx, Explained, Handle, Intent, Refused, RunId, State, Subject, Touch, Undone, VerbSpec,
};
use crate::store::Store;

/// From then on a store's silence is worth a word.
const SILENCE: Duration = Duration::from_millis(1500);

/// Restores archives into sandboxes and asks what came back.
pub struct Restorer {
    settings: Arc<RestoreSettings>,
    subjects: Vec<RestoreSubject>,
    memory: Arc<Memory>,
}

impl Restorer {
    /// For these databases.
    pub fn new(settings: RestoreSettings, subjects: Vec<RestoreSubject>) -> Self {
        Self { settings: Arc::new(settings), subjects, memory: Arc::new(Memory::default()) }
    }

    /// What this process knows of its drills, for another actor that goes on from the same choice.
    pub fn memory(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    fn patience(&self, cancel: &CancellationToken, store: &Store) -> Patience {
        let limit = Duration::from_secs(self.settings.limits.retry_seconds);
        Patience { cancel: cancel.clone(), limit, store: store.clone() }
    }

    fn subject(&self, text: &str) -> Result<&RestoreSubject, Refused> {
        let named: Vec<&RestoreSubject> = self.subjects.iter().filter(|of| of.subject.answers_to(text)).collect();
        let whole = named.iter().find(|of| of.subject.to_string() == text);
        match (whole, named.as_slice()) {
            (Some(of), _) | (None, [of]) => Ok(of),
            (None, several) => {
                let what = if several.is_empty() { "no database" } else { "more than one database" };
                let known: Vec<String> = self.subjects.iter().map(|of| of.subject.to_string()).collect();
                let hint = format!("one of: {}", known.join(", "));
                Err(refuse(format!("{what} that can be restored is called {text:?}"), hint))
            }
        }
    }

    fn sandbox_of(&self, call: &Call) -> Sandbox {
        match call.verb.as_str() {
            SANDBOX_MAKE => Sandbox::of(&self.settings.folder, call.run, &call.step),
            _ => Sandbox::at(Path::new(call.text("folder").unwrap_or_default())),
        }
    }

    /// The sandbox of an intent that was written down: where it was made, even when the configuration names another folder by now.
    /// A mark that is not of this run's form is not believed.
    fn sandbox_meant(&self, intent: &Intent) -> Sandbox {
        let call = &intent.call;
        let marked = intent.mark.get("folder").and_then(Value::as_str).map(Path::new).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.is_absolute() && name.starts_with(&format!("{}{}-", super::sandbox::NAME, call.run.short()))
        });
        marked.map_or_else(|| self.sandbox_of(call), Sandbox::at)
    }

    /// The sandbox that a call names must be one of ours in our folder: nothing else is ever written to or removed.
    fn must_be_ours(&self, folder: &str, run: RunId) -> Result<(), Refused> {
        let path = PathBuf::from(folder);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wanted = format!("{}{}-", super::sandbox::NAME, run.short());
        if path.parent() == Some(self.settings.folder.as_path()) && name.starts_with(&wanted) {
            return Ok(());
        }
        Err(refuse(
            format!("{folder} is no sandbox of this run"),
            format!("folder must be the output of {SANDBOX_MAKE}: {}/{wanted}…", self.settings.folder.display()),
        ))
    }

    fn held(&self, sandbox: &Sandbox) -> Result<Arc<Held>, ActError> {
        self.memory.held(sandbox.folder()).ok_or_else(|| ActError::NotStarted {
            why: format!("{} was not made by this process", sandbox.folder().display()),
            hint: "a drill is never resumed: run it again".to_owned(),
        })
    }

    fn start_choose(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let of = self.subject(call.text("subject").unwrap_or_default()).map_err(refused)?.clone();
        let cancel = cx.cancel.child_token();
        let patience = self.patience(&cancel, &of.store);
        let work = ChooseWork {
            cx: cx.clone(),
            of,
            target: target(call).map_err(refused)?,
            timeline: timeline(call).map_err(refused)?,
            patience,
            cancel: cancel.clone(),
        };
        let (memory, run) = (Arc::clone(&self.memory), call.run);
        self.memory.start(key(call), bounds(cx, None, cancel), |telling| async move {
            let store = work.of.store.clone();
            let (chosen, receipt) = tokio::select! {
                done = work.run() => done?,
                never = tell_of_silence(&store, &telling) => match never {},
            };
            memory.choose(run, Arc::new(chosen));
            Ok(receipt)
        });
        Ok(())
    }

    /// Everything that must be there is looked at before the folder is made.
    fn start_make(&self, cx: &Cx, call: &Call) {
        let sandbox = self.sandbox_of(call);
        let cancel = cx.cancel.child_token();
        let chosen = self.memory.chosen(call.run, None, call.text("subject"));
        let cluster = call.args.get("cluster_size").and_then(number);
        let (memory, settings, call) = (Arc::clone(&self.memory), Arc::clone(&self.settings), call.clone());
        let token = cancel.clone();
        // Without a folder: the folder's own undo waits for it by its step.
        self.memory.start(key(&call), bounds(cx, None, cancel), |_| async move {
            make::look_before(&settings, &sandbox, chosen.as_deref(), cluster).await?;
            if token.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            let held = make::make(&settings, sandbox.clone(), call.run, &call.step, token).await?;
            memory.hold(held);
            Ok(make::receipt(&sandbox))
        });
    }

    fn start_base(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let sandbox = self.sandbox_of(call);
        let held = self.held(&sandbox)?;
        let backup = call.text("backup");
        let chosen = self.memory.chosen(call.run, backup, call.text("subject")).ok_or_else(|| ActError::Refused {
            why: format!("base backup {} was not chosen in this run", backup.unwrap_or_default()),
            hint: format!("begin the runbook with {ARCHIVE_CHOOSE}"),
        })?;
        let owner = make::owner(&self.settings.user).map_err(Trouble::into_not_started)?;
        let bounds = bounds(cx, Some(sandbox.folder().to_owned()), held.cancel.clone());
        let (cx, settings) = (cx.clone(), Arc::clone(&self.settings));
        self.memory.start(key(call), bounds, |telling| BaseWork { cx, settings, held, chosen, owner, telling }.run());
        Ok(())
    }

    fn start_recover(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let sandbox = self.sandbox_of(call);
        let held = self.held(&sandbox)?;
        if let Some(chosen) = self.memory.chosen(call.run, call.text("backup"), call.text("subject")) {
            agrees(call, &chosen).map_err(refused)?;
        }
        let owner = make::owner(&self.settings.user).map_err(Trouble::into_not_started)?;
        let token = held.cancel.child_token();
        let bounds = bounds(cx, Some(sandbox.folder().to_owned()), token.clone());
        let (cx, settings) = (cx.clone(), Arc::clone(&self.settings));
        self.memory.start(key(call), bounds, |telling| RecoverWork { cx, settings, held, owner, cancel: token, telling }.run());
        Ok(())
    }

    fn start_check(&self, cx: &Cx, call: &Call) -> Result<(), ActError> {
        let held = match call.text("folder") {
            Some(folder) => self.memory.held(Path::new(folder)),
            None => self.memory.only_server(),
        };
        let Some((held, server)) = held.and_then(|held| held.server().map(|server| (held, server))) else {
            return Err(ActError::NotStarted {
                why: "no restored PostgreSQL of this process runs".to_owned(),
                hint: format!("{PG_CHECK} comes after {PG_RECOVER}"),
            });
        };
        let chosen = self.memory.chosen(call.run, None, call.text("subject")).ok_or_else(|| ActError::NotStarted {
            why: "nothing was chosen in this run".to_owned(),
            hint: format!("begin the runbook with {ARCHIVE_CHOOSE}"),
        })?;
        let checks = super::check::with_added(&chosen.of.checks, call.args.get("checks")).map_err(refused)?;
        let cancel = held.cancel.child_token();
        let folder = held.sandbox.folder().to_owned();
        let work = CheckWork::in_sandbox(cx.clone(), &held, server, chosen, checks, cancel.clone());
        self.memory.start(key(call), bounds(cx, Some(folder), cancel), |telling| work.run(telling));
        Ok(())
    }
}

#[async_trait]
impl Act for Restorer {
    fn verbs(&self) -> &'static [VerbSpec] {
        &VERBS
    }

    fn intend(&self, call: &Call) -> Result<Intent, Refused> {
        let spec = VERBS.iter().find(|spec| spec.name == call.verb);
        let spec = spec.ok_or_else(|| refuse(format!("no verb {}", call.verb), "see `dalsegno runbook verbs`".to_owned()))?;
        if let Some(missing) = spec.required.iter().find(|name| call.args.get(**name).is_none_or(Value::is_null)) {
            return Err(refuse(
                format!("{} needs the argument {missing}", call.verb),
                format!("give it under `with:` of step {}", call.step),
            ));
        }
        let sandbox = self.sandbox_of(call);
        let folder = sandbox.folder().display().to_string();
        let mut touches = Vec::new();
        match call.verb.as_str() {
            ARCHIVE_CHOOSE => {
                self.subject(call.text("subject").unwrap_or_default())?;
                target(call)?;
                timeline(call)?;
            }
            SANDBOX_MAKE => touches.push(Touch::make(folder.clone())),
            PG_RESTORE_BASE => touches.push(Touch::make(format!("{folder}/data"))),
            PG_RECOVER => touches.push(Touch::make(format!("PostgreSQL on the socket {folder}/s/.s.PGSQL.5432"))),
            _ => {}
        }
        // On paper (`--plan`) the folder is a reference to an earlier output, and stays one.
        let given = call.text("folder");
        if let Some(given) = given.filter(|text| !text.starts_with("$(")) {
            self.must_be_ours(given, call.run)?;
        }
        Ok(Intent { call: call.clone(), touches, mark: json!({"folder": folder, "run": call.run, "step": call.step}) })
    }

    async fn start(&self, cx: &Cx, intent: &Intent) -> Result<Handle, ActError> {
        let call = &intent.call;
        if self.memory.look(&key(call)).is_none() {
            match call.verb.as_str() {
                ARCHIVE_CHOOSE => self.start_choose(cx, call)?,
                SANDBOX_MAKE => self.start_make(cx, call),
                PG_RESTORE_BASE => self.start_base(cx, call)?,
                PG_RECOVER => self.start_recover(cx, call)?,
                _ => self.start_check(cx, call)?,
            }
        }
        Ok(Handle(intent.mark.clone()))
    }

    async fn look(&self, _cx: &Cx, intent: &Intent, _handle: Option<&Handle>) -> Result<State, ActError> {
        let call = &intent.call;
        if let Some(state) = self.memory.look(&key(call)) {
            return Ok(state);
        }
        // Another process's work, or none: only the marks on disk can tell.
        let sandbox = self.sandbox_meant(intent);
        Ok(match call.verb.as_str() {
            SANDBOX_MAKE | PG_RECOVER | PG_RESTORE_BASE if sandbox.folder().exists() => match sandbox.marker() {
                Some(marker) if marker.run == call.run => State::CouldNot {
                    why: format!("{} was made by a process that is gone", sandbox.folder().display()),
                    hint: "a drill is never resumed: `dalsegno drill gc` removes it".to_owned(),
                },
                Some(_) => State::Unclear { why: format!("{} belongs to another run", sandbox.folder().display()) },
                None => State::Unclear { why: format!("{} bears no marker of ours", sandbox.folder().display()) },
            },
            _ => State::Absent,
        })
    }

    async fn undo(&self, _cx: &Cx, intent: &Intent, _state: &State) -> Result<Undone, ActError> {
        let call = &intent.call;
        self.memory.end(&key(call)).await;
        let sandbox = self.sandbox_meant(intent);
        match call.verb.as_str() {
            SANDBOX_MAKE => Ok(self.undo_make(call, &sandbox).await),
            PG_RECOVER => Ok(self.undo_recover(call, &sandbox).await),
            _ => Ok(Undone::NothingToDo),
        }
    }
}

impl Restorer {
    async fn undo_make(&self, call: &Call, sandbox: &Sandbox) -> Undone {
        let Some(held) = self.memory.let_go(sandbox.folder()) else {
            let (sandbox, run) = (sandbox.clone(), call.run);
            return blocking(move || remove::remove_found(&sandbox, run)).await;
        };
        held.cancel.cancel();
        self.memory.end_all_in(sandbox.folder()).await;
        if let Some(mut restore) = held.restore.lock().await.take() {
            restore.wal.stop().await;
        }
        remove::remove_held(&held, call.run).await
    }

    async fn undo_recover(&self, call: &Call, sandbox: &Sandbox) -> Undone {
        let Some(held) = self.memory.held(sandbox.folder()) else {
            let (sandbox, run) = (sandbox.clone(), call.run);
            return blocking(move || remove::stop_found(&sandbox, run)).await;
        };
        let ran = held.server().is_some();
        held.set_server(None);
        let mut keeper = held.keeper.lock().await;
        let Some(keeper) = keeper.as_mut() else { return Undone::NothingToDo };
        match keeper.stop_postgres().await {
            Ok(end) if !end.ran && !ran => Undone::NothingToDo,
            Ok(_) => Undone::Removed,
            // The keeper is gone, and with it, by the parent-death signal, the postmaster.
            Err(_) => {
                let (sandbox, run) = (sandbox.clone(), call.run);
                blocking(move || remove::stop_found(&sandbox, run)).await
            }
        }
    }
}

/// A store that says nothing at all for a moment is told of, so that nobody thinks that the drill hangs.
async fn tell_of_silence(store: &Store, telling: &Telling) -> Infallible {
    tokio::time::sleep(SILENCE).await;
    if !store.has_answered() {
        telling.progress(format!("waits for the first answer of {}", store.identity().endpoint));
    }
    std::future::pending().await
}

async fn blocking(work: impl FnOnce() -> Undone + Send + 'static) -> Undone {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Undone::Stuck { why: "a bug of ours ended the clean-up".to_owned() })
}

fn bounds(cx: &Cx, folder: Option<PathBuf>, cancel: CancellationToken) -> Bounds {
    Bounds { folder, cancel, deadline: cx.deadline }
}

fn key(call: &Call) -> (RunId, String) {
    (call.run, call.step.clone())
}

fn refuse(why: String, hint: String) -> Refused {
    Refused { why, hint }
}

fn refused(refused: Refused) -> ActError {
    ActError::Refused { why: refused.why, hint: refused.hint }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

fn target(call: &Call) -> Result<RecoveryTarget, Refused> {
    let text = call.text("target").unwrap_or("end");
    if text.starts_with("$(") {
        return Ok(RecoveryTarget::End);
    }
    RecoveryTarget::parse(text).map_err(|error| refuse(error.to_string(), error.hint().unwrap_or_default()))
}

fn timeline(call: &Call) -> Result<Option<u32>, Refused> {
    match call.args.get("timeline") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() || text.starts_with("$(") => Ok(None),
        Some(value) => {
            let found = number(value).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
            let why = || refuse(format!("{value} is no timeline"), "give its number, for example 2; never `latest`".to_owned());
            found.map(Some).ok_or_else(why)
        }
    }
}

/// What a runbook passes on from the choice must be what was chosen: a drill that recovers elsewhere proves nothing.
fn agrees(call: &Call, chosen: &super::held::Chosen) -> Result<(), Refused> {
    let plan = &chosen.plan;
    let differs = |what: &str, given: &str, wanted: &str| {
        refuse(format!("{what} {given} was asked for, {wanted} was chosen"), format!("pass on the outputs of {ARCHIVE_CHOOSE}"))
    };
    if let Some(given) = call.text("end_segment").filter(|given| *given != plan.end.segment) {
        return Err(differs("end segment", given, &plan.end.segment));
    }
    if let Some(given) = timeline(call)?.filter(|given| *given != plan.timeline) {
        return Err(differs("timeline", &given.to_string(), &plan.timeline.to_string()));
    }
    if call.text("target").is_some() && target(call)? != plan.target {
        return Err(differs("target", call.text("target").unwrap_or_default(), &plan.target.to_string()));
    }
    Ok(())
}

/// Which databases it can restore, and whether this machine can.
impl Restorer {
    /// Their subjects.
    pub fn subjects(&self) -> Vec<Subject> {
        self.subjects.iter().map(|of| of.subject.clone()).collect()
    }

    /// What a drill needs of this machine, looked at without making one.
    pub async fn readiness(&self, databases: &[Candidate]) -> Vec<Need> {
        readiness::look(&self.settings, databases).await
    }
}
