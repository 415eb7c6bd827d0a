//! `cnpg.recover`: the operator recovers, we look on; then the server is asked where replay ended.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::blame::of_job;
use super::bridge::Bridge;
use super::objects::{self, Aim, Form, Reached, clusters, is_of, jobs, namespaces, object_stores, pods, secrets, text};
use super::settings::{DrillCluster, DrillSource, Shape};
use crate::archive::{History, Lsn, SegmentName};
use crate::domain::{Cx, Isolation, Phase, Receipt, Secret, SystemId, sha256_hex};
use crate::restore::Trouble;
use crate::restore::held::{Chosen, Recovered, Telling, seconds};
use crate::restore::recover::moment;
use crate::restore::session::{As, Door, Session, words};

const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A Ready server must take statements within this.
const ANSWERS: Duration = Duration::from_mins(2);
/// CNPG's superuser.
pub(super) const SUPERUSER: &str = "postgres";
const HEALTHY: &str = "Cluster in healthy state";
/// Phases that no waiting mends: <https://github.com/cloudnative-pg/cloudnative-pg/blob/main/api/v1/cluster_types.go>.
const UNRECOVERABLE: &str = "Cluster is unrecoverable";
const UNKNOWN_PLUGIN: &str = "unknown plugin";

/// A recovered server and the way to it.
pub(super) struct ClusterServer {
    /// The Kubernetes cluster.
    pub(super) target: DrillCluster,
    /// The namespace.
    pub(super) namespace: String,
    /// The Cluster.
    pub(super) name: String,
    /// The way to it; kept open as long as this is.
    pub(super) bridge: Bridge,
    /// The superuser's password.
    pub(super) password: Secret,
    /// What recovery showed.
    pub(super) recovered: Recovered,
    /// The timeline that it writes now.
    pub(super) timeline: u32,
}

impl ClusterServer {
    /// How sessions reach it.
    pub(super) fn door(&self) -> Door {
        Door::Port { port: self.bridge.port(), password: self.password.clone() }
    }
}

/// What one recovery works with.
pub(super) struct RecoverWork {
    pub(super) cx: Cx,
    pub(super) target: DrillCluster,
    pub(super) source: DrillSource,
    pub(super) chosen: Arc<Chosen>,
    pub(super) namespace: String,
    pub(super) step: String,
    /// What the call says of the Cluster's shape.
    pub(super) asked: Shape,
    pub(super) cancel: CancellationToken,
    pub(super) telling: Telling,
}

/// What was read of the server once it answered.
struct Answer {
    system: Option<SystemId>,
    version: String,
    timeline: u32,
    parent: u32,
    switch: Lsn,
    reason: String,
    as_of: Option<jiff::Timestamp>,
}

impl RecoverWork {
    fn api(&self) -> Api<'_> {
        Api { kube: &*self.target.kube, cancel: &self.cancel, until: self.cx.deadline }
    }

    /// Makes the objects, looks on until the server is Ready, asks it.
    pub(super) async fn run(self) -> Result<(ClusterServer, Receipt), Trouble> {
        let api = self.api();
        self.must_be_ours(&api).await?;
        let began = Instant::now();
        let password = password()?;
        let (name, by_plugin, form, mut notes) = self.make(&api, &password).await?;
        let mut phases = vec![Phase { name: "objects".to_owned(), seconds: seconds(began), bytes: None }];
        let pod = self.wait_ready(&api, &name, &mut phases).await?;
        let began = Instant::now();
        let io = |error: std::io::Error| Trouble::could_not(format!("no port of this machine: {error}"), "drill again");
        let bridge = Bridge::open(Arc::clone(&self.target.kube), self.namespace.clone(), pod).await.map_err(io)?;
        self.telling.progress("asks the server through the API server".to_owned());
        let read = self.read(&bridge, &password).await?;
        phases.push(Phase { name: "connect".to_owned(), seconds: seconds(began), bytes: None });
        let recovered = self.recovered(&read);
        notes.push(form.whence.clone());
        let receipt = self.receipt(&name, by_plugin, &recovered, &read, phases, notes);
        let server = ClusterServer {
            target: self.target.clone(),
            namespace: self.namespace.clone(),
            name,
            bridge,
            password,
            recovered,
            timeline: read.timeline,
        };
        Ok((server, receipt))
    }

    /// Nothing is ever made in a namespace that this drill did not make.
    async fn must_be_ours(&self, api: &Api<'_>) -> Result<(), Trouble> {
        let refused = |what: &str| {
            let why = format!("refused: namespace {} {what}", self.namespace);
            Trouble::could_not(why, "namespace must be the output of kube.namespace")
        };
        let object = api.get(&namespaces(), None, &self.namespace).await?.ok_or_else(|| refused("is not there"))?;
        let of_run = objects::label(&object, objects::RUN) == Some(self.cx.run.to_string().as_str());
        if !of_run || text(&object, "/metadata/deletionTimestamp").is_some() {
            return Err(refused("is not of this drill, or is being deleted"));
        }
        Ok(())
    }

    /// Everything is tried dry before the first object is made.
    async fn make(&self, api: &Api<'_>, password: &Secret) -> Result<(String, bool, Form, Vec<String>), Trouble> {
        let (run, step, namespace) = (self.cx.run, self.step.as_str(), self.namespace.as_str());
        if !api.serves(objects::CNPG).await? {
            let hint = "install CNPG's operator there, or drill without it:  dalsegno drill pg-restore";
            return Err(Trouble::could_not(format!("{} serves no {}", self.target.id, objects::CNPG), hint));
        }
        let by_plugin = api.serves(objects::BARMAN).await?;
        let (form, notes) = self.form(api).await?;
        self.right_major(&form)?;
        let name = objects::cluster_name(run, step);
        let keys = &self.source.keys;
        let from = Reached {
            place: &self.chosen.of.place,
            endpoint: &self.source.endpoint,
            token: keys.token.is_some(),
            ca: self.source.ca_pem.is_some(),
        };
        let plan = &self.chosen.plan;
        let aim = Aim { backup: &plan.backup, timeline: plan.timeline, target: plan.target };
        let mut all = vec![
            (secrets(), objects::keys(namespace, run, step, keys, self.source.ca_pem.as_deref())),
            (secrets(), objects::superuser(namespace, run, step, password)),
        ];
        if by_plugin {
            all.push((object_stores(), from.object_store(namespace, run, step)));
        }
        let cluster = objects::cluster(namespace, &name, (run, step), &form, &from, aim, by_plugin);
        all.push((clusters(), cluster));
        for dry in [true, false] {
            for (of, object) in &all {
                // A taken name is an earlier try of ours whose answer was lost: the namespace is this drill's alone.
                let made = api.create(of, Some(namespace), object, dry).await?;
                if *of == clusters() && !dry {
                    let kept = match made {
                        Some(kept) => kept,
                        None => api.get(of, Some(namespace), &name).await?.unwrap_or_default(),
                    };
                    self.must_not_archive(&kept)?;
                }
            }
        }
        Ok((name, by_plugin, form, notes))
    }

    /// As the server keeps it: an admission webhook may have added what we did not write.
    fn must_not_archive(&self, kept: &Value) -> Result<(), Trouble> {
        if !is_of(kept, self.cx.run, &self.step) {
            return Err(Trouble::Unclear { why: format!("a Cluster in {} is not of this drill", self.namespace) });
        }
        let found = objects::could_archive(kept);
        if found.is_empty() {
            return Ok(());
        }
        let hint = "see which admission webhook adds it, and exempt namespaces with the label dalsegno.io/run";
        Err(Trouble::could_not(format!("the Cluster could archive: {}; nothing is recovered", found.join(", ")), hint))
    }

    /// What the call says, else the live source, else the configuration.
    async fn form(&self, api: &Api<'_>) -> Result<(Form, Vec<String>), Trouble> {
        let live = match &self.source.cluster {
            Some(source) => api.get(&clusters(), Some(&source.namespace), &source.name).await?,
            None => None,
        };
        let of_live = |pointers: &[&str]| pointers.iter().find_map(|pointer| text(live.as_ref()?, pointer)).map(str::to_owned);
        let (asked, shape) = (&self.asked, &self.target.shape);
        let either = |asked: &Option<String>, live: Option<String>, shape: &Option<String>| {
            asked.clone().or(live).or_else(|| shape.clone())
        };
        let image = either(&asked.image, of_live(&["/spec/imageName", "/status/image"]), &shape.image);
        let storage = either(
            &asked.storage,
            of_live(&["/spec/storage/size", "/spec/storage/pvcTemplate/resources/requests/storage"]),
            &shape.storage,
        );
        let (Some(image), Some(storage)) = (image, storage) else {
            let which = self.source.cluster.as_ref().map_or_else(
                || "no source Cluster is named".to_owned(),
                |source| format!("the source Cluster {source} is not in {}", self.target.id),
            );
            let hint = format!(
                "give both:  --set image=… --set storage=…  or  cnpg.{}.drill: {{image: …, storage: …}}; or name the source:  \
                 postgres.{}.cluster: NAMESPACE/NAME",
                self.target.id,
                self.chosen.of.subject.name()
            );
            return Err(Trouble::could_not(format!("{which}, and neither image nor size is given"), hint));
        };
        let parameters = live.as_ref().and_then(|live| live.pointer("/spec/postgresql/parameters")?.as_object());
        let of_source =
            parameters.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let mut parameters = shape.parameters.clone();
        parameters.extend(of_source);
        let tablespaces = live.as_ref().and_then(|live| live.pointer("/spec/tablespaces")).filter(|all| all.is_array()).cloned();
        let preloads = live.as_ref().and_then(|live| live.pointer("/spec/postgresql/shared_preload_libraries")?.as_array());
        let mut notes = Vec::new();
        if preloads.is_some_and(|all| !all.is_empty()) {
            notes.push("shared_preload_libraries of the source are not loaded here".to_owned());
        }
        let whence = match (&live, &self.source.cluster) {
            (Some(_), Some(source)) => format!("image {image}, size {storage}, settings as of Cluster {source}"),
            _ => format!("image {image} and size {storage} as given: the source Cluster is not there"),
        };
        let form = Form {
            wal_storage: either(&asked.wal_storage, of_live(&["/spec/walStorage/size"]), &shape.wal_storage),
            storage_class: either(&asked.storage_class, of_live(&["/spec/storage/storageClass"]), &shape.storage_class),
            image,
            storage,
            parameters,
            tablespaces,
            whence,
        };
        Ok((form, notes))
    }

    /// Data of another major version cannot be started: seen before anything is fetched.
    fn right_major(&self, form: &Form) -> Result<(), Trouble> {
        let of_backup = self.chosen.plan.info.server_version.map(|version| version / 10_000);
        match (objects::major_of(&form.image), of_backup) {
            (Some(image), Some(backup)) if image != backup => Err(Trouble::could_not(
                format!("image {} is of PostgreSQL {image}, the base backup of {backup}", form.image),
                "give an image of the backup's major version:  --set image=…",
            )),
            _ => Ok(()),
        }
    }

    /// Looks on until the Cluster is Ready; gives its primary's pod.
    async fn wait_ready(&self, api: &Api<'_>, name: &str, phases: &mut Vec<Phase>) -> Result<String, Trouble> {
        let job = format!("{name}-1-full-recovery");
        let began = Instant::now();
        let mut restored: Option<Instant> = None;
        loop {
            let object = api.get(&clusters(), Some(&self.namespace), name).await?;
            let object = object.filter(|object| text(object, "/metadata/deletionTimestamp").is_none()).ok_or_else(|| {
                Trouble::could_not(format!("Cluster {name} was removed by somebody else"), "see who removes it, then drill again")
            })?;
            let phase = text(&object, "/status/phase").unwrap_or("not seen by the operator yet");
            if phase == HEALTHY && condition(&object, "Ready") == Some("True") {
                let ready = Instant::now();
                let until = restored.unwrap_or(ready);
                let span = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
                phases.push(Phase { name: "restore".to_owned(), seconds: span(began, until), bytes: None });
                phases.push(Phase { name: "start".to_owned(), seconds: span(until, ready), bytes: None });
                return Ok(text(&object, "/status/currentPrimary").map_or_else(|| format!("{name}-1"), str::to_owned));
            }
            let reason = text(&object, "/status/phaseReason").unwrap_or_default();
            if phase.contains(UNKNOWN_PLUGIN) {
                let hint = "install the barman-cloud plugin beside the operator:  kubectl get pods -A | grep barman-cloud";
                return Err(Trouble::could_not(format!("{phase}: {reason}"), hint));
            }
            let found = api.get(&jobs(), Some(&self.namespace), &job).await?;
            let state = found.as_ref().map_or(JobState::Absent, JobState::of);
            if state == JobState::GaveUp || phase.starts_with(UNRECOVERABLE) {
                let said = self.said(api, &job).await?;
                let said = if said.is_empty() && state != JobState::GaveUp { format!("{phase}: {reason}") } else { said };
                return Err(of_job(&format!("Job {job}"), &said));
            }
            if state == JobState::Complete {
                restored.get_or_insert_with(Instant::now);
            }
            self.telling.progress(format!("waits for the operator: {phase} {reason} ({})", state.words()));
            api.rest(LOOK_AGAIN).await?;
        }
    }

    /// What the pods of the recovery said last.
    async fn said(&self, api: &Api<'_>, job: &str) -> Result<String, Trouble> {
        let mut all = String::new();
        for pod in api.list(&pods(), Some(&self.namespace), &format!("job-name={job}")).await? {
            let Some(name) = text(&pod, "/metadata/name") else { continue };
            let reason = text(&pod, "/status/reason").unwrap_or_default();
            all.push_str(reason);
            let states = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
            for container in states.into_iter().flatten() {
                for at in ["/state/terminated/reason", "/state/terminated/message"] {
                    let told = text(container, at).filter(|told| !matches!(*told, "Error" | "Completed"));
                    all.extend(told.into_iter().flat_map(|told| ["\n", told]));
                }
                if text(container, "/state/terminated/message").is_none() {
                    let container = text(container, "/name").unwrap_or_default();
                    all.push('\n');
                    all.push_str(&api.log(&self.namespace, name, container).await);
                }
            }
        }
        Ok(all.trim().to_owned())
    }

    async fn read(&self, bridge: &Bridge, password: &Secret) -> Result<Answer, Trouble> {
        let door = Door::Port { port: bridge.port(), password: password.clone() };
        let until = Instant::now() + ANSWERS;
        loop {
            let why = match ask(&door).await {
                Ok(read) => return Ok(read),
                Err(why) => why,
            };
            if Instant::now() >= until.min(self.cx.deadline) {
                let by = bridge.last_error().map(|error| format!(" ({error})")).unwrap_or_default();
                let hint = "create on pods/portforward must be allowed (feature drill); then drill again";
                return Err(Trouble::could_not(format!("the recovered server does not answer: {why}{by}"), hint));
            }
            self.api().rest(LOOK_AGAIN).await?;
        }
    }

    fn recovered(&self, read: &Answer) -> Recovered {
        // The position behind the last record may be the first byte of a segment that does not exist.
        let last_byte = Lsn(read.switch.0.saturating_sub(1));
        Recovered {
            system_id: read.system,
            reached_segment: SegmentName::holding(read.parent, last_byte, self.chosen.plan.segment_size)
                .map(|name| name.to_string()),
            reached_lsn: Some(read.switch.to_string()),
            expected_segment: self.chosen.end.to_string(),
            timeline: read.parent,
            data_as_of: read.as_of,
            // PostgreSQL writes what it stopped at beside the switch: "before 2026-…" when a target was reached.
            target_reached: read.reason.starts_with("before") || read.reason.starts_with("after"),
            isolation: None,
        }
    }

    fn receipt(
        &self,
        name: &str,
        by_plugin: bool,
        recovered: &Recovered,
        read: &Answer,
        phases: Vec<Phase>,
        notes: Vec<String>,
    ) -> Receipt {
        let mut outputs = Map::new();
        let mut put = |name: &str, value: Value| outputs.insert(name.to_owned(), value);
        put("cluster", json!(format!("{}/{name}", self.namespace)));
        put("form", json!(if by_plugin { "barman-cloud plugin" } else { "in the tree" }));
        put("reached_segment", json!(recovered.reached_segment));
        put("reached_lsn", json!(recovered.reached_lsn));
        put("data_as_of", json!(recovered.data_as_of));
        put("system_id", json!(recovered.system_id));
        put("postgres", json!(format!("{} in {}", read.version, self.target.id)));
        put("timeline", json!(read.timeline));
        put("isolation", json!(Isolation::Declared));
        put(
            "isolation_facts",
            json!([
                format!("a namespace of its own: {}", self.namespace),
                format!(
                    "NetworkPolicy {} is there: in to port 8000 only, out to names, HTTPS, the API server and the store",
                    objects::POLICY
                ),
                "whether the network enforces it was not shown",
            ]),
        );
        Receipt { outputs, assertions: Vec::new(), phases, notes }
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let rows = object.pointer("/status/conditions")?.as_array()?;
    text(rows.iter().find(|row| text(row, "/type") == Some(kind))?, "/status")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JobState {
    Absent,
    Works { failed: u64 },
    Complete,
    GaveUp,
}

impl JobState {
    fn of(job: &Value) -> Self {
        if condition(job, "Failed") == Some("True") {
            return Self::GaveUp;
        }
        if condition(job, "Complete") == Some("True") {
            return Self::Complete;
        }
        Self::Works { failed: job.pointer("/status/failed").and_then(Value::as_u64).unwrap_or(0) }
    }

    fn words(self) -> String {
        match self {
            Self::Absent => "no recovery Job".to_owned(),
            Self::Works { failed: 0 } => "the recovery Job works".to_owned(),
            Self::Works { failed } => format!("the recovery Job works, {failed} tries failed"),
            Self::Complete => "recovered".to_owned(),
            Self::GaveUp => "the recovery Job has given up".to_owned(),
        }
    }
}

const ASK: &str = "select pg_catalog.pg_is_in_recovery(), \
    (select system_identifier from pg_catalog.pg_control_system()), \
    pg_catalog.current_setting('server_version'), \
    pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), \
    pg_catalog.pg_read_file('pg_wal/' || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) || '.history'), \
    extract(epoch from pg_catalog.pg_last_xact_replay_timestamp())";

/// Where recovery ended, by the history file that the promotion wrote: it stays true over a restart of the server, which CNPG makes.
async fn ask(door: &Door) -> Result<Answer, String> {
    let mut session = Session::open(door, As::Superuser(SUPERUSER), "postgres", &[]).await.map_err(|error| words(&error))?;
    let row = session.row(ASK).await.map_err(|error| words(&error));
    session.close().await;
    let row = row?;
    let text = |at: usize| row.get(at).and_then(Option::as_deref);
    if text(0) != Some("f") {
        return Err("it is still in recovery".to_owned());
    }
    let name = text(3).and_then(SegmentName::parse).ok_or("no segment name")?;
    let history = text(4).unwrap_or_default();
    let parsed = History::parse(name.timeline, history.as_bytes()).map_err(|error| error.to_string())?;
    let parent = parsed.parent().ok_or("the new timeline has no parent")?;
    let last = history.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(Answer {
        system: text(1).and_then(|text| SystemId::try_from(text.to_owned()).ok()),
        version: format!("PostgreSQL {}", text(2).unwrap_or("?")),
        timeline: name.timeline,
        parent: parent.timeline,
        switch: parent.switch,
        reason: last.splitn(3, '\t').nth(2).unwrap_or_default().trim().to_owned(),
        as_of: text(5).and_then(moment),
    })
}

/// A password of 64 hex digits.
fn password() -> Result<Secret, Trouble> {
    let mut bytes = [0_u8; 32];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| Trouble::could_not(format!("no randomness: {error}"), "look at the system's log"))?;
    Ok(Secret::new(sha256_hex(bytes)))
}
