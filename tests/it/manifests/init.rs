//! `init --from-cluster`: what it writes is a configuration, and no Secret was asked for.

use std::sync::Arc;

use dalsegno::app::{ClusterNamed, InitClusterError, configuration_of};
use dalsegno::config;
use dalsegno::tap::KubeCalls;

use crate::cnpg::scene::{FakeKube, cluster, cx, down, healthy, now, object_store};

use super::Site;

fn home() -> ClusterNamed {
    ClusterNamed { name: "home".into(), kubeconfig: Some("/etc/kube/config".into()), context: Some("home".into()) }
}

async fn written(kube: &Arc<FakeKube>) -> Result<String, InitClusterError> {
    configuration_of(Arc::clone(kube) as Arc<dyn KubeCalls>, &home(), &cx(now())).await
}

#[tokio::test]
async fn it_names_stores_once_with_references_and_reads_no_secret() {
    let kube = healthy()
        .with("clusters", cluster("apps", "grafana-db"))
        .with("objectstores", object_store("apps", "r2", "s3://dr-backups/apps/"));
    let kube = Arc::new(kube);
    let text = written(&kube).await.unwrap();
    let asked = kube.asked.lock().unwrap().clone();
    assert!(!asked.iter().any(|what| what == "secrets" || what == "logs" || what.contains("proxy")), "{asked:?}");
    assert_eq!(text.matches("endpoint: ").count(), 1, "{text}");
    assert!(text.contains("accessKeyId: Secret keycloak/r2-keys[ID]") && text.contains("Secret apps/r2-keys[SECRET]"), "{text}");
    assert!(text.contains("pg/home/prod/grafana-db") && text.contains("pg/home/prod/keycloak-db"), "{text}");
    let site = Site::new();
    let file = site.put("dalsegno.yaml", &text);
    let env = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"].map(|key| (format!("DR_BACKUPS_{key}"), "x".to_owned())).into();
    let loaded = config::load(&[file], &env).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let store = &loaded.settings.stores[0];
    assert_eq!((store.bucket.as_str(), store.region.as_str()), ("dr-backups", "auto"));
    assert_eq!(loaded.settings.cnpg[0].kubernetes.context.as_deref(), Some("home"));
}

#[tokio::test]
async fn names_of_live_objects_cannot_break_out_of_the_text() {
    let mut evil = object_store("keycloak", "r2", "s3://b\": {x}\n#/p/");
    evil["spec"]["configuration"]["endpointURL"] = "https://a\nstate: {folder: /evil}".into();
    let kube = FakeKube::new().with("clusters", cluster("keycloak", "keycloak-db")).with("objectstores", evil);
    let text = written(&Arc::new(kube)).await.unwrap();
    assert!(!text.lines().any(|line| line.starts_with("state:")), "{text}");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_or_has_no_cnpg_gives_no_file() {
    let kube = FakeKube::new();
    kube.breaks("apis", down());
    assert!(matches!(written(&Arc::new(kube)).await, Err(InitClusterError::NotSeen { .. })));
    let kube = FakeKube::new();
    kube.groups.lock().unwrap().clear();
    assert!(matches!(written(&Arc::new(kube)).await, Err(InitClusterError::NotAdopted)));
}
