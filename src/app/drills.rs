//! Settings → who can restore what.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;

use super::{App, AppError};
use crate::conductor::drill::{Drillable, Ground, Unwatched, Watch, list_evidence, read_evidence};
use crate::conductor::{Swept, drill_guard, sweep_for_pass};
use crate::domain::{Act, Cx, Expects, Placeholder, Requests, Subject, Verdict};
use crate::providers::cnpg::config::{CnpgDrill, CnpgSettings};
use crate::providers::postgres::config::PostgresSettings;
use crate::restore::cnpg::{ArchiveKeys, CnpgRestorer, DrillCluster, DrillSource, Shape};
use crate::restore::{Limits, RestoreSettings, RestoreSubject, Restorer};
use crate::store::Store;
use crate::tap::kube_live::{KubeLimits, LiveKube};

/// What a drill works with.
pub struct Drills {
    /// Journals and evidence, a folder per run.
    pub folder: PathBuf,
    /// Who can act.
    pub restorer: Restorer,
    /// Who restores into Kubernetes clusters.
    pub cnpg: CnpgRestorer,
    /// What can be drilled.
    pub databases: Vec<Drillable>,
    stores: Vec<Store>,
    host: String,
}

impl App {
    /// Everything for drills. A database whose store could not be opened is left out; `checked_database` says why.
    pub fn drills(&self) -> Result<Drills, AppError> {
        let settings = self.settings();
        let folder = self.drills_folder();
        let restore = RestoreSettings {
            folder: settings.drill.folder.clone(),
            user: settings.drill.user.clone().unwrap_or_default(),
            postgres_folders: settings.drill.postgres.clone(),
            isolation: settings.drill.isolation,
            fence: true,
            executable: std::env::current_exe().map_err(AppError::Executable)?,
            limits: Limits::default(),
        };
        let mut subjects = Vec::new();
        let mut stores: Vec<Store> = Vec::new();
        for of in &settings.postgres {
            let Some(Ok(store)) = self.store(&of.place.store) else { continue };
            if stores.iter().all(|known| known.id() != store.id()) {
                stores.push(store.clone());
            }
            subjects.push(RestoreSubject {
                subject: of.subject.clone(),
                place: of.place.clone(),
                store: store.clone(),
                system_id: of.system_id,
                checks: of.checks.clone(),
                archive_timeout_seconds: of.policy.archive_timeout_seconds,
                last_sizes: last_sizes(&folder, &of.subject),
            });
        }
        let databases = settings.postgres.iter().map(|of| Drillable {
            subject: of.subject.clone(),
            place: of.place.clone().into(),
            expects: Expects::BaseAndWal { system: of.system_id },
            policy: of.policy,
            checks: of.checks.iter().map(|check| check.name.clone()).collect(),
            placeholders: self.placeholders_of(&of.subject),
        });
        // For people: without a name the evidence is as good.
        let host = crate::process::host().unwrap_or_default();
        let restorer = Restorer::new(restore, subjects);
        let cnpg = CnpgRestorer::new(self.drill_clusters(), restorer.memory());
        Ok(Drills { databases: databases.collect(), restorer, cnpg, folder, stores, host })
    }

    /// Clusters that drills may restore into: that of the databases' own environment first.
    fn drill_clusters(&self) -> Vec<DrillCluster> {
        let settings = self.settings();
        let mut clusters: Vec<(bool, DrillCluster)> = Vec::new();
        for of in &settings.cnpg {
            let Some(shape) = &of.drill else { continue };
            let home = of.kubernetes.environment == settings.environment;
            let sources = settings.postgres.iter().filter_map(|database| {
                let source = self.drill_source(of, database)?;
                // A Cluster of that name elsewhere is another one.
                let cluster = database.cluster.clone().filter(|_| home);
                Some((database.subject.clone(), DrillSource { cluster, ..source }))
            });
            let kube = Arc::new(LiveKube::new(super::clusters::access(&of.kubernetes), KubeLimits::default()));
            let id = of.kubernetes.id.clone();
            clusters.push((home, DrillCluster { id, kube, shape: shape.clone().into(), sources: sources.collect() }));
        }
        clusters.sort_by_key(|(home, _)| !*home);
        clusters.into_iter().map(|(_, cluster)| cluster).collect()
    }

    /// The archive of a database as pods reach it, with our read-only keys.
    fn drill_source(&self, of: &CnpgSettings, database: &PostgresSettings) -> Option<DrillSource> {
        let store = self.settings().stores.iter().find(|store| store.id == database.place.store)?;
        let inside = of.same_stores.iter().find(|(_, same)| same == &store.id).map(|(endpoint, _)| endpoint.clone());
        let ca_pem = match &store.ca_file {
            // A file that cannot be read was told when the store was opened.
            Some(file) => Some(std::fs::read_to_string(file).ok()?),
            None => None,
        };
        let keys = ArchiveKeys {
            id: store.read.access_key_id.clone(),
            secret: store.read.secret_access_key.clone(),
            token: store.read.session_token.clone(),
            region: store.region.clone(),
        };
        Some(DrillSource { cluster: None, endpoint: inside.unwrap_or_else(|| store.endpoint.clone()), keys, ca_pem })
    }

    fn placeholders_of(&self, subject: &Subject) -> Vec<Placeholder> {
        self.loaded.placeholders.iter().filter(|placeholder| &placeholder.subject == subject).cloned().collect()
    }
}

/// Who acts in drills, in the form that the ground of a drill wants.
pub struct Actors<'a> {
    drills: &'a Drills,
    acts: [&'a dyn Act; 2],
    requests: Box<dyn Fn() -> Requests + Send + Sync + 'a>,
}

impl Actors<'_> {
    /// The ground that drills of this site stand on.
    pub fn ground<'b>(&'b self, site: &'b str, watch: &'b dyn Watch) -> Ground<'b> {
        Ground {
            site,
            host: &self.drills.host,
            drills: &self.drills.folder,
            acts: &self.acts,
            guard: &drill_guard,
            watch,
            requests: &*self.requests,
        }
    }
}

impl Drills {
    /// Who acts.
    pub fn actors(&self) -> Actors<'_> {
        Actors { drills: self, acts: [&self.restorer, &self.cnpg], requests: Box::new(|| self.requests()) }
    }

    /// Sweeps drills whose process is gone, for a pass.
    pub fn sweep<'a>(&'a self, site: &'a str, cx: Cx) -> BoxFuture<'a, Swept> {
        Box::pin(async move {
            let actors = self.actors();
            sweep_for_pass(&cx, &actors.ground(site, &Unwatched)).await
        })
    }

    /// Requests that were made of all stores so far.
    pub fn requests(&self) -> Requests {
        let mut sum = Requests::default();
        for store in &self.stores {
            sum += store.requests();
        }
        sum
    }
}

impl From<CnpgDrill> for Shape {
    fn from(drill: CnpgDrill) -> Self {
        let CnpgDrill { image, storage, wal_storage, storage_class, parameters } = drill;
        Self { image, storage, wal_storage, storage_class, parameters }
    }
}

/// Sizes that the last proven drill of a database saw. A drill needs no ledger, so its evidence is asked, newest first.
fn last_sizes(folder: &Path, subject: &Subject) -> BTreeMap<String, u64> {
    let runs = list_evidence(folder).unwrap_or_default();
    let readable = runs.iter().rev().filter_map(|(_, path)| read_evidence(path).ok());
    let mut proven = readable.filter(|evidence| &evidence.subject == subject && evidence.verdict == Verdict::Proven);
    proven.next().map(|evidence| evidence.sizes).unwrap_or_default()
}
