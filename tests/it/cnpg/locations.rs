//! Where live objects lead, whose archive that is, and where it differs from what is configured.

use std::sync::Arc;

use dalsegno::domain::{ArchiveRef, Known, normal_endpoint};
use dalsegno::providers::cnpg::locate::Atlas;
use rstest::rstest;
use serde_json::json;

use super::scene::*;

async fn subjects(kube: FakeKube, atlas: Atlas) -> Vec<(String, String, bool)> {
    let seen = look(&Arc::new(kube), settings(), atlas, &Known::default()).await;
    let mut found: Vec<_> = clusters(&seen)
        .iter()
        .map(|fact| (fact.cluster.to_string(), fact.subject.to_string(), fact.configured.is_some()))
        .collect();
    found.sort();
    found
}

fn row(cluster: &str, subject: &str, configured: bool) -> (String, String, bool) {
    (cluster.into(), subject.into(), configured)
}

#[tokio::test]
async fn a_configured_database_is_the_cluster_that_archives_to_its_place_whatever_it_is_called() {
    let atlas = Atlas { databases: vec![configured("sso", "cnpg", "keycloak-db")], ..atlas() };
    assert_eq!(subjects(healthy(), atlas).await, [row("keycloak/keycloak-db", "pg/home/prod/sso", true)]);
}

#[tokio::test]
async fn one_of_the_same_name_is_the_same_even_where_the_place_differs() {
    let atlas = Atlas { databases: vec![configured("keycloak-db", "elsewhere", "keycloak-db")], ..atlas() };
    let seen = look(&Arc::new(healthy()), settings(), atlas, &Known::default()).await;
    let fact = the_cluster(&seen);
    assert_eq!(fact.subject, pg("keycloak-db"));
    let place = fact.configured.as_ref().unwrap();
    assert!(!place.agrees(fact.writer().unwrap().location().unwrap()), "both sides are there to be compared");
}

#[tokio::test]
async fn a_cluster_that_the_configuration_names_is_that_one() {
    let mut database = configured("sso", "elsewhere", "x");
    database.cluster = Some(name("staging", "keycloak-db"));
    let kube = healthy().with("clusters", cluster("staging", "keycloak-db"));
    let atlas = Atlas { databases: vec![database], ..atlas() };
    assert_eq!(
        subjects(kube, atlas).await,
        [
            row("keycloak/keycloak-db", "pg/home/prod/keycloak/keycloak-db", false),
            row("staging/keycloak-db", "pg/home/prod/sso", true)
        ]
    );
}

#[tokio::test]
async fn two_clusters_of_one_name_get_their_namespaces() {
    let kube = healthy().with("clusters", cluster("staging", "keycloak-db"));
    assert_eq!(
        subjects(kube, atlas()).await,
        [
            row("keycloak/keycloak-db", "pg/home/prod/keycloak/keycloak-db", false),
            row("staging/keycloak-db", "pg/home/prod/staging/keycloak-db", false)
        ]
    );
}

/// Two writers in one place: neither is taken for the configured one by its place; the name may still tell.
#[tokio::test]
async fn of_two_writers_in_one_place_the_name_decides() {
    let mut twin = cluster("keycloak", "intruder");
    twin["spec"]["plugins"][0]["parameters"]["serverName"] = json!("keycloak-db");
    let atlas = Atlas { databases: vec![configured("keycloak-db", "cnpg", "keycloak-db")], ..atlas() };
    assert_eq!(
        subjects(healthy().with("clusters", twin), atlas).await,
        [row("keycloak/intruder", "pg/home/prod/intruder", false), row("keycloak/keycloak-db", "pg/home/prod/keycloak-db", true)]
    );
}

#[rstest]
#[case("s3://dr-backups/cnpg", Some("dr-backups"), Some("cnpg"))]
#[case("s3://dr-backups//cnpg/", Some("dr-backups"), Some("cnpg"))]
#[case("s3://dr-backups", Some("dr-backups"), Some(""))]
#[case("s3://", None, None)]
#[case("https://account.blob.core.windows.net/x", None, None)]
#[case("s3://TBD-PROD-BUCKET/cnpg", None, Some("cnpg"))]
#[tokio::test]
async fn a_destination_is_read_as_barman_reads_it(
    #[case] written: &str,
    #[case] bucket: Option<&str>,
    #[case] path: Option<&str>,
) {
    let kube = FakeKube::new().with("clusters", cluster("a", "x")).with("objectstores", object_store("a", "r2", written));
    let seen = look_at(kube).await;
    let location = the_cluster(&seen).archivers[0].location().unwrap().clone();
    assert_eq!((location.bucket.as_deref(), location.path.as_deref()), (bucket, path));
    assert_eq!(location.placeholders.is_empty(), !written.contains("TBD"));
}

/// In-tree the server of an external cluster is the entry's own name; by plugin it is the reading Cluster's.
#[tokio::test]
async fn the_server_of_an_external_cluster_follows_the_rule_of_who_spells_it() {
    let mut of = cluster("a", "restored");
    of["spec"]["backup"] = json!({"barmanObjectStore": {"destinationPath": "s3://b/p", "serverName": ""}});
    of["spec"]["externalClusters"] = json!([
        {"name": "src", "barmanObjectStore": {"destinationPath": "s3://b/p"}},
        {"name": "by-plugin", "plugin": {"name": "barman-cloud.cloudnative-pg.io", "parameters": {"barmanObjectName": "r2"}}},
        {"name": "written", "plugin": {"name": "barman-cloud.cloudnative-pg.io", "parameters": {"barmanObjectName": "r2", "serverName": "pg-main"}}},
        {"name": "by-connection", "connectionParameters": {"host": "x"}},
    ]);
    let kube = FakeKube::new().with("clusters", of).with("objectstores", object_store("a", "r2", "s3://dr-backups/cnpg"));
    let seen = look_at(kube).await;
    let fact = the_cluster(&seen);
    let servers: Vec<_> = fact
        .externals
        .iter()
        .map(|of| of.archive.as_ref().and_then(ArchiveRef::location).map(|location| location.server.as_str()))
        .collect();
    assert_eq!(servers, [Some("src"), Some("restored"), Some("pg-main"), None]);
    let ArchiveRef::InTree { location } = &fact.archivers[0] else { panic!() };
    assert_eq!(location.server, "restored", "an empty serverName is none");
}

#[test]
fn endpoints_are_compared_as_they_are_meant() {
    for same in ["https://Minio.lan:443/", "https://minio.lan", " https://minio.lan/ "] {
        assert_eq!(normal_endpoint(same), "https://minio.lan");
    }
    assert_eq!(normal_endpoint("http://minio.lan:9000"), "http://minio.lan:9000");
    assert_ne!(normal_endpoint("http://minio.lan:443"), normal_endpoint("https://minio.lan:443"));
}

#[tokio::test]
async fn an_endpoint_that_is_another_name_of_a_store_is_that_store() {
    let mut inside = object_store("keycloak", "r2", "s3://dr-backups/cnpg");
    inside["spec"]["configuration"]["endpointURL"] = json!("http://minio.minio.svc:9000");
    let kube = || FakeKube::new().with("clusters", cluster("keycloak", "keycloak-db")).with("objectstores", inside.clone());
    let seen = look_at(kube()).await;
    assert_eq!(the_cluster(&seen).archivers[0].location().unwrap().store, None);
    let atlas = Atlas { same: vec![("http://minio.minio.svc:9000".into(), r2().id)], ..atlas() };
    let seen = look(&Arc::new(kube()), settings(), atlas, &Known::default()).await;
    let location = the_cluster(&seen).archivers[0].location().unwrap().clone();
    assert_eq!(location.store, Some(r2().id));
    assert!(configured("x", "cnpg", "keycloak-db").location.agrees(&location));
}
