//! Settings of Kubernetes clusters → who is asked, and what the configuration knows of what lies there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::App;
use super::recordings::Seam;
use crate::config::Settings;
use crate::domain::{ConfiguredLocation, KubeId, StoreId, normal_endpoint};
use crate::providers::cnpg::archives::{CnpgArchives, OpenStores};
use crate::providers::cnpg::config::CnpgSettings;
use crate::providers::cnpg::locate::{Atlas, KnownDatabase, KnownStore};
use crate::providers::cnpg::{CnpgClusters, keep::KeepCnpg};
use crate::providers::kubernetes::config::KubernetesSettings;
use crate::providers::objectstore::keep::KeepArchive;
use crate::store::s3::S3;
use crate::store::{Store, StoreConfig, StoreError};
use crate::tap::kube_live::{KubeAccess, KubeLimits, LiveKube};
use crate::tap::{KubeCalls, KubeCounts, PassRecorder, PassReplay, RecordingError};

/// Who is asked, by cluster.
pub(super) type Kubes = BTreeMap<KubeId, Arc<dyn KubeCalls>>;

/// The live form of every cluster of the configuration. Makes no call.
pub(super) fn live(settings: &Settings) -> Kubes {
    let open = |of: &KubernetesSettings| -> Arc<dyn KubeCalls> { Arc::new(LiveKube::new(access(of), KubeLimits::default())) };
    settings.cnpg.iter().map(|of| (of.kubernetes.id.clone(), open(&of.kubernetes))).collect()
}

/// How a cluster is reached: as written; else from inside; and from outside as kubectl would (`KUBECONFIG`, `~/.kube/config`).
pub(super) fn access(of: &KubernetesSettings) -> KubeAccess {
    let kubeconfig = of.kubeconfig.clone().or_else(|| of_kubectl(&super::environment()));
    KubeAccess { kubeconfig, context: of.context.clone() }
}

/// The file that kubectl would take; `None` inside of a cluster, or when there is none. Of several only the first is taken.
fn of_kubectl(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    if env.contains_key("KUBERNETES_SERVICE_HOST") {
        return None;
    }
    let named = env.get("KUBECONFIG").and_then(|list| std::env::split_paths(list).find(|path| path.is_file()));
    named.or_else(|| Some(PathBuf::from(env.get("HOME")?).join(".kube/config"))).filter(|path| path.is_file())
}

/// The same, with what they answer written down.
pub(super) fn recording(kubes: Kubes, recorder: &PassRecorder) -> Kubes {
    let wrap = |(id, inner): (KubeId, Arc<dyn KubeCalls>)| {
        let calls = recorder.kube(&id.0, inner, Arc::new(KeepCnpg));
        (id, calls)
    };
    kubes.into_iter().map(wrap).collect()
}

/// Those of a recording.
pub(super) fn replaying(settings: &Settings, pass: &PassReplay) -> Result<Kubes, RecordingError> {
    let open = |of: &CnpgSettings| -> Result<(KubeId, Arc<dyn KubeCalls>), RecordingError> {
        Ok((of.kubernetes.id.clone(), pass.kube(&of.kubernetes.id.0)?))
    };
    settings.cnpg.iter().map(open).collect()
}

impl App {
    /// CNPG in each cluster: what it is, and the archives that nobody configured.
    pub(super) fn cnpg(&self) -> Vec<(CnpgClusters, CnpgArchives)> {
        let opener: Arc<dyn OpenStores> = Arc::new(Opener { stores: self.stores.clone(), through: self.through() });
        let one = |settings: &CnpgSettings| {
            let kube = Arc::clone(self.kubes.get(&settings.kubernetes.id)?);
            let atlas = atlas(self.settings(), settings);
            let clusters = CnpgClusters::new(settings.clone(), atlas.clone(), Arc::clone(&kube));
            Some((clusters, CnpgArchives::new(settings.clone(), atlas, kube, Arc::clone(&opener))))
        };
        self.settings().cnpg.iter().filter_map(one).collect()
    }

    /// Calls made of each API server so far.
    pub fn kube_counts(&self) -> Vec<(KubeId, KubeCounts)> {
        self.kubes.iter().map(|(id, calls)| (id.clone(), calls.counts())).collect()
    }

    fn through(&self) -> Through {
        match &self.seam {
            Seam::Live => Through::Out,
            Seam::Recording(recorder) => Through::Files(recorder.clone()),
            Seam::Replaying(_, pass) => Through::Replay(pass.clone()),
        }
    }
}

/// What the configuration knows, as seen from one cluster.
fn atlas(settings: &Settings, of: &CnpgSettings) -> Atlas {
    let known = |id: &StoreId| settings.stores.iter().find(|store| &store.id == id);
    let stores = settings.stores.iter().map(|store| KnownStore {
        id: store.id.clone(),
        subject: store.subject.clone(),
        endpoint: normal_endpoint(&store.endpoint),
        bucket: store.bucket.clone(),
    });
    let database = |database: &crate::providers::postgres::config::PostgresSettings| {
        let store = known(&database.place.store)?;
        let location = ConfiguredLocation {
            spelt_in: format!("postgres.{}.archive", database.name),
            store: store.id.clone(),
            endpoint: normal_endpoint(&store.endpoint),
            bucket: database.place.bucket.clone(),
            path: database.place.prefix.as_str().trim_matches('/').to_owned(),
            server: database.place.server.clone(),
        };
        let (name, subject) = (database.name.clone(), database.subject.clone());
        Some(KnownDatabase { name, subject, location, cluster: database.cluster.clone() })
    };
    let same_environment = of.kubernetes.environment == settings.environment;
    let databases = settings.postgres.iter().filter(|_| same_environment).filter_map(database);
    Atlas { stores: stores.collect(), databases: databases.collect(), same: of.same_stores.clone() }
}

/// Where calls of a store that was discovered go.
enum Through {
    Out,
    Files(PassRecorder),
    Replay(PassReplay),
}

struct Opener {
    stores: BTreeMap<StoreId, Result<Store, StoreError>>,
    through: Through,
}

impl OpenStores for Opener {
    fn configured(&self, id: &StoreId) -> Option<Result<Store, StoreError>> {
        self.stores.get(id).cloned()
    }

    fn other(&self, config: StoreConfig, key_ref: &str) -> Result<Store, StoreError> {
        let identity = config.identity();
        let unopened = |detail: String| Store::unopened(&identity, detail);
        match &self.through {
            Through::Out => Store::open(config),
            Through::Files(recorder) => {
                let live = S3::new(&config).map_err(|error| unopened(error.to_string()))?;
                let calls = recorder.store(&config.id.0, key_ref, Arc::new(live), Arc::new(KeepArchive));
                Ok(Store::over(identity, calls))
            }
            Through::Replay(pass) => {
                let calls = pass.store(&config.id.0, key_ref, Arc::new(KeepArchive));
                calls.map(|calls| Store::over(identity.clone(), calls)).map_err(|error| unopened(error.to_string()))
            }
        }
    }

    fn needs_keys(&self) -> bool {
        !matches!(self.through, Through::Replay(_))
    }
}
