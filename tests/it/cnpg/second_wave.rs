//! Archives that nobody configured: found in the facts of the first wave, looked at in the second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dalsegno::conductor::Look;
use dalsegno::domain::{Denied, Fact, FactKind, Known, Observe, Policy, StoreId, Subject, SubjectKind, normal_endpoint};
use dalsegno::providers::cnpg::archives::{CnpgArchives, OpenStores};
use dalsegno::providers::cnpg::config::CnpgSettings;
use dalsegno::providers::cnpg::locate::{Atlas, KnownStore};
use dalsegno::providers::cnpg::{CnpgClusters, archives};
use dalsegno::store::{Store, StoreConfig, StoreError};
use dalsegno::tap::KubeCalls;
use serde_json::{Value, json};

use super::scene::*;
use crate::conductor::scene::{Site, codes, later};
use crate::store::bucket;
use crate::store::mock::{Asked, Mock};

/// Opens stores on the mock, and remembers how.
struct Opens {
    endpoint: String,
    refs: Mutex<Vec<String>>,
}

impl OpenStores for Opens {
    fn configured(&self, id: &StoreId) -> Option<Result<Store, StoreError>> {
        (id.0 == "minio").then(|| {
            let mut config = crate::store::mock::config(&self.endpoint, "bucket");
            config.id = id.clone();
            Store::open(config)
        })
    }

    fn other(&self, config: StoreConfig, key_ref: &str) -> Result<Store, StoreError> {
        self.refs.lock().unwrap().push(key_ref.to_owned());
        Store::open(StoreConfig { attempts: 1, ..config })
    }

    fn needs_keys(&self) -> bool {
        true
    }
}

/// A bucket in memory with an archive of `server` that has one base backup's record and nothing else.
async fn bucket_with(servers: &[&str]) -> Mock {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut objects = bucket::Objects::new();
    for server in servers {
        objects.insert(format!("cnpg/{server}/wals/0000000100000000/000000010000000000000001"), vec![0; 64]);
    }
    Mock::start(move |asked: &Asked| bucket::serve(&objects, asked)).await
}

fn store_of(mock: &Mock) -> KnownStore {
    KnownStore {
        id: StoreId("minio".into()),
        subject: Subject::new(SubjectKind::Store, &["home", "minio"]),
        endpoint: normal_endpoint(&mock.endpoint),
        bucket: "bucket".into(),
    }
}

fn kube_on(mock: &Mock) -> FakeKube {
    let mut store = object_store("keycloak", "r2", "s3://bucket/cnpg");
    store["spec"]["configuration"]["endpointURL"] = json!(mock.endpoint);
    FakeKube::new().with("clusters", cluster("keycloak", "keycloak-db")).with("objectstores", store)
}

fn both(kube: FakeKube, mock: &Mock, atlas: &Atlas, settings: &CnpgSettings) -> (Vec<Look>, Arc<Opens>) {
    let kube: Arc<dyn KubeCalls> = Arc::new(kube);
    let opens = Arc::new(Opens { endpoint: mock.endpoint.clone(), refs: Mutex::default() });
    let first = CnpgClusters::new(settings.clone(), atlas.clone(), Arc::clone(&kube));
    let second = CnpgArchives::new(settings.clone(), atlas.clone(), kube, Arc::clone(&opens) as Arc<dyn OpenStores>);
    let look = |observer: Arc<dyn Observe>| Look { observer, store: None };
    (vec![look(Arc::new(first)), look(Arc::new(second))], opens)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_in_a_configured_store_is_looked_at_with_its_reading_key_and_under_its_policy() {
    let mock = bucket_with(&["keycloak-db"]).await;
    let mut settings = settings();
    settings.policy = Policy { base_backup_every_seconds: Some(86_400.0), ..Policy::default() };
    let atlas = Atlas { stores: vec![store_of(&mock)], ..Atlas::default() };
    let (looks, _) = both(kube_on(&mock), &mock, &atlas, &settings);
    let mut site = Site::new(Vec::new()).await;
    site.looks = looks;
    let outcome = site.pass(now()).await;
    assert!(outcome.bugs.is_empty(), "{:?}", outcome.bugs);
    assert!(outcome.seen.contains(&pg("keycloak-db")), "{:?}", outcome.seen);
    assert_eq!(
        outcome.requests.iter().map(|(store, _)| store.0.as_str()).collect::<Vec<_>>(),
        ["minio"],
        "they count for the store"
    );
    assert!(outcome.requests[0].1.class_a > 0);
    let key = mock.asked()[0].header("authorization").unwrap().to_owned();
    assert!(key.contains("AKIDEXAMPLE"), "{key}");
    let about: Vec<_> = outcome.findings.iter().map(|of| (of.code.as_str(), of.subject.to_string())).collect();
    assert!(about.iter().any(|(_, subject)| subject == "pg/home/prod/keycloak-db"), "its archive is judged: {about:?}");
    // Memory is its own: the second look is asked with what the first left.
    let before = mock.asked().len();
    site.pass(later(5)).await;
    assert!(mock.asked().len() > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_configuration_is_left_to_its_own_observer() {
    let mock = bucket_with(&["keycloak-db"]).await;
    let mut database = configured("sso", "cnpg", "keycloak-db");
    database.location.store = StoreId("minio".into());
    database.location.endpoint = normal_endpoint(&mock.endpoint);
    database.location.bucket = "bucket".into();
    let atlas = Atlas { stores: vec![store_of(&mock)], databases: vec![database], ..Atlas::default() };
    let (looks, _) = both(kube_on(&mock), &mock, &atlas, &settings());
    let mut site = Site::new(Vec::new()).await;
    site.looks = looks;
    site.pass(now()).await;
    assert!(mock.asked().is_empty(), "{:?}", mock.asked());
}

/// Facts of the first wave, and what the second one makes of them.
async fn second(
    kube: FakeKube,
    mock: &Mock,
    settings: &CnpgSettings,
) -> (dalsegno::domain::Observation, Arc<Opens>, Arc<FakeKube>) {
    let kube = Arc::new(kube);
    let calls = Arc::clone(&kube) as Arc<dyn KubeCalls>;
    let opens = Arc::new(Opens { endpoint: mock.endpoint.clone(), refs: Mutex::default() });
    let atlas = Atlas::default();
    let first =
        CnpgClusters::new(settings.clone(), atlas.clone(), Arc::clone(&calls)).observe(&cx(now()), &Known::default()).await;
    let facts: Vec<Fact> = first.facts.into_iter().filter(|fact| fact.kind() == FactKind::Cnpg).collect();
    let known = Known { facts, memory: None };
    let observer = CnpgArchives::new(settings.clone(), atlas, calls, Arc::clone(&opens) as Arc<dyn OpenStores>);
    let mut seen = observer.observe(&cx(now()), &known).await;
    for found in observer.more(&known) {
        let one = found.observer.observe(&cx(now()), &Known::default()).await;
        seen.facts.extend(one.facts);
        seen.gaps.extend(one.gaps);
    }
    let covered = observer.covers(&known);
    for (subject, kind) in covered {
        assert!(
            seen.facts.iter().any(|fact| fact.subject() == &subject && fact.kind() == kind)
                || seen.gaps.iter().any(|gap| gap.subject == subject && gap.what == kind),
            "{subject}: neither fact nor gap"
        );
    }
    (seen, opens, kube)
}

fn secret(data: &Value) -> Value {
    json!({"metadata": {"name": "r2-keys", "namespace": "keycloak"}, "data": data})
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_or_a_key_the_gap_names_the_secret_and_the_role() {
    let mock = bucket_with(&["keycloak-db"]).await;
    let (seen, _, kube) =
        second(kube_on(&mock).with("secrets", secret(&json!({"ID": "SUQ=", "SECRET": "U0VDUkVU"}))), &mock, &settings()).await;
    assert_eq!(seen.gaps.len(), 1);
    let gap = &seen.gaps[0];
    assert_eq!((gap.subject.clone(), gap.what, gap.why.clone()), (pg("keycloak-db"), FactKind::Archive, Denied::NotAsked));
    for word in [
        "r2-keys[ID]",
        "r2-keys[SECRET]",
        "namespace: keycloak, secret: r2-keys",
        "resourceNames: [r2-keys]",
        "cnpg.k3s.use-their-keys",
    ] {
        assert!(gap.hint.contains(word), "{word} is not in: {}", gap.hint);
    }
    assert!(gap.detail.contains(&mock.endpoint) && gap.detail.contains("bucket bucket"), "{}", gap.detail);
    assert!(!kube.asked.lock().unwrap().contains(&"secrets".to_owned()), "a Secret that is not named is not read");
    let yaml: Value = serde_saphyr::from_str(&archives::role("keycloak", &["r2-keys"])).unwrap();
    assert_eq!(
        yaml["rules"],
        json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["r2-keys"], "verbs": ["get"]}])
    );
}

fn with_their_keys() -> CnpgSettings {
    CnpgSettings { their_keys: [name("keycloak", "r2-keys")].into(), ..settings() }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_secret_that_is_named_are_used_and_kept_nowhere() {
    let mock = bucket_with(&["keycloak-db"]).await;
    let kube = kube_on(&mock).with("secrets", secret(&json!({"ID": "VEhFSVItSUQ=", "SECRET": "VEhFSVItU0VDUkVU"})));
    let (seen, opens, _) = second(kube, &mock, &with_their_keys()).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    assert!(seen.facts.iter().any(|fact| matches!(fact, Fact::Archive(of) if of.subject == pg("keycloak-db"))));
    assert_eq!(*opens.refs.lock().unwrap(), ["secret:keycloak:r2-keys"]);
    assert!(mock.asked()[0].header("authorization").unwrap().contains("THEIR-ID/"), "{:?}", mock.asked()[0].headers);
    assert!(!format!("{seen:?}").contains("THEIR-SECRET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_refused_missing_or_without_the_key_is_a_gap_of_the_archive() {
    let mock = bucket_with(&[]).await;
    let refused = kube_on(&mock);
    refused.breaks("secrets", forbidden("secrets"));
    let cases: BTreeMap<&str, FakeKube> = [
        ("get secrets", refused),
        ("not found", kube_on(&mock)),
        ("it has no key SECRET", kube_on(&mock).with("secrets", secret(&json!({"ID": "SUQ="})))),
        ("is no text", kube_on(&mock).with("secrets", secret(&json!({"ID": "//79", "SECRET": "//79"})))),
    ]
    .into();
    for (word, kube) in cases {
        let (seen, _, _) = second(kube, &mock, &with_their_keys()).await;
        assert_eq!(seen.gaps.len(), 1, "{word}: {:?}", seen.gaps);
        assert!(seen.gaps[0].detail.contains(word), "{word}: {}", seen.gaps[0].detail);
        assert_eq!(seen.gaps[0].what, FactKind::Archive);
        if word == "get secrets" {
            assert!(seen.gaps[0].hint.contains("resourceNames: [r2-keys]"), "{}", seen.gaps[0].hint);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_in_a_live_object_is_a_gap_and_is_not_asked() {
    let mock = bucket_with(&[]).await;
    let kube = FakeKube::new()
        .with("clusters", cluster("keycloak", "keycloak-db"))
        .with("objectstores", object_store("keycloak", "r2", "s3://TBD-PROD-BUCKET/cnpg"));
    let (seen, _, _) = second(kube, &mock, &with_their_keys()).await;
    assert!(
        seen.gaps[0].detail.contains("TBD-PROD-BUCKET") && seen.gaps[0].hint.contains("kubectl -n keycloak edit objectstore"),
        "{:?}",
        seen.gaps
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_archives_nowhere_has_no_archive_to_look_at() {
    let mock = bucket_with(&[]).await;
    let mut of = cluster("a", "x");
    of["spec"]["plugins"] = json!([]);
    let (seen, _, _) = second(FakeKube::new().with("clusters", of), &mock, &settings()).await;
    assert!(seen.gaps.is_empty() && seen.facts.is_empty());
}

/// When the API server is down, what stood about a discovered database stands: nothing is cleared by not looking.
#[tokio::test(flavor = "multi_thread")]
async fn findings_about_a_discovered_database_are_not_cleared_by_a_dark_api_server() {
    let mock = bucket_with(&["keycloak-db"]).await;
    let mut settings = settings();
    settings.policy = Policy { base_backup_every_seconds: Some(86_400.0), ..Policy::default() };
    let atlas = Atlas { stores: vec![store_of(&mock)], ..Atlas::default() };
    let kube = Arc::new(kube_on(&mock));
    let calls = Arc::clone(&kube) as Arc<dyn KubeCalls>;
    let opens: Arc<dyn OpenStores> = Arc::new(Opens { endpoint: mock.endpoint.clone(), refs: Mutex::default() });
    let look = |observer: Arc<dyn Observe>| Look { observer, store: None };
    let mut site = Site::new(Vec::new()).await;
    site.looks = vec![
        look(Arc::new(CnpgClusters::new(settings.clone(), atlas.clone(), Arc::clone(&calls)))),
        look(Arc::new(CnpgArchives::new(settings, atlas, calls, opens))),
    ];
    let first = site.pass(now()).await;
    let about =
        |outcome: &dalsegno::conductor::PassOutcome| outcome.findings.iter().filter(|of| of.subject == pg("keycloak-db")).count();
    assert!(about(&first) > 0, "{:?}", codes(&first));
    kube.breaks("apis", down());
    let dark = site.pass(later(5)).await;
    let cleared: Vec<_> =
        dark.changes.iter().filter(|change| matches!(change, dalsegno::domain::Change::Cleared { .. })).collect();
    assert!(cleared.is_empty(), "{cleared:?}");
    assert!(dark.findings.iter().any(|of| of.could_not_look && of.subject == cluster_subject()), "{:?}", codes(&dark));
}
