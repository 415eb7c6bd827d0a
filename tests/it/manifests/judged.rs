//! The same rules, on text. Each has its healthy twin: the manifests of `healthy` with one thing changed back.

use super::{Site, healthy};

const PG: &str = "pg/manifests/prod/keycloak-db";

/// What is found when one text of the healthy manifests is replaced.
fn with(from: &str, to: &str) -> Vec<String> {
    let text = healthy("prod/", "keycloak-db");
    assert!(text.contains(from), "{from}");
    let site = Site::new();
    site.put("out/all.yaml", &text.replace(from, to));
    let found = site.codes(&["prod=out"]);
    assert!(found.iter().all(|(_, subject)| subject == PG), "{found:?}");
    found.into_iter().map(|(code, _)| code).collect()
}

#[test]
fn healthy_manifests_are_silent_although_no_status_archives_anything() {
    assert_eq!(with("instances: 3", "instances: 3"), Vec::<String>::new());
}

#[test]
fn a_healthy_manifest_that_recovers_is_silent_although_nothing_of_its_source_was_seen() {
    let more = r"  bootstrap: {recovery: {source: old, database: keycloak, owner: keycloak}}
  externalClusters:
    - name: old
      plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: r2, serverName: keycloak-db-before}}
  plugins:";
    assert_eq!(with("  plugins:", more), Vec::<String>::new());
    let from_backup = "  bootstrap: {recovery: {backup: {name: not-in-git}, recoveryTarget: {targetImmediate: true}, database: a, owner: a}}\n  plugins:";
    assert_eq!(with("  plugins:", from_backup), Vec::<String>::new(), "a Backup lives in the cluster, never in a manifest");
}

#[test]
fn placeholders_in_every_part_of_a_place_are_found() {
    for (from, to) in [
        ("acct.r2.cloudflarestorage.com", "${R2_ACCOUNT}.r2.cloudflarestorage.com"),
        ("s3://dr-backups/prod/", "s3://TBD-BUCKET/prod/"),
        ("serverName: keycloak-db", "serverName: CHANGEME"),
        ("accessKeyId: {name: r2-keys", "accessKeyId: {name: TBD-SECRET"),
        ("key: SECRET", "key: TBD"),
    ] {
        assert_eq!(with(from, to), ["config-placeholder-unresolved"], "{to}");
    }
}

#[test]
fn a_dangling_reference_a_wrong_region_and_a_short_schedule_are_found() {
    assert_eq!(with("barmanObjectName: r2,", "barmanObjectName: r3,"), ["objectstore-reference-dangling"]);
    assert_eq!(with("value: auto", "value: WEUR"), ["s3-region-invalid"]);
    assert_eq!(with("value: auto", "value: ' auto'"), ["s3-region-invalid"]);
    assert_eq!(with("0 0 3 * * *", "0 3 * * *"), ["schedule-cron-field-count"]);
    assert_eq!(with("0 0 3 * * *", "0 0 3 30 2 *"), ["schedule-never-fired"]);
}

#[test]
fn a_recovery_under_the_wrong_server_name_or_into_its_source_is_found() {
    let recovers = |server: &str, plugin: &str| {
        format!(
            "---\napiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {{name: clone, namespace: keycloak}}\nspec:\n  \
             bootstrap: {{recovery: {{source: origin, database: a, owner: a}}}}\n  externalClusters:\n    - name: origin\n      \
             plugin: {{name: barman-cloud.cloudnative-pg.io, parameters: {{barmanObjectName: r2{server}}}}}\n{plugin}"
        )
    };
    let found = |more: String| {
        let site = Site::new();
        site.put("out/all.yaml", &healthy("prod/", "keycloak-db"));
        site.put("out/clone.yaml", &more);
        site.codes(&["prod=out"]).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    assert_eq!(found(recovers("", "")), ["restore-source-server-mismatch"]);
    assert_eq!(found(recovers(", serverName: keycloak-db", "")), Vec::<String>::new());
    let writes = "  plugins: [{name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: r2}}]\n";
    assert_eq!(found(recovers("", writes)), ["restore-overwrites-source-archive"]);
}

#[test]
fn two_environments_that_write_to_one_place_are_found_and_two_places_are_not() {
    let site = Site::new();
    site.put("prod/all.yaml", &healthy("pg/", "keycloak-db"));
    site.put("dev/all.yaml", &healthy("pg", "keycloak-db"));
    let told = vec![("wal-prefix-shared-by-two-writers".to_owned(), "pg/manifests/dev/keycloak-db".to_owned())];
    assert_eq!(site.codes(&["prod=prod", "dev=dev"]), told);
    assert_eq!(site.codes(&["prod", "dev"]), told, "a folder's name is its environment's");
    site.put("dev/all.yaml", &healthy("dev/", "keycloak-db"));
    assert_eq!(site.codes(&["prod=prod", "dev=dev"]), []);
    // A Service of the cluster is another one in each.
    for name in ["prod/all.yaml", "dev/all.yaml"] {
        site.put(
            name,
            &healthy("pg/", "keycloak-db").replace("https://acct.r2.cloudflarestorage.com", "http://minio.minio.svc:9000"),
        );
    }
    assert_eq!(site.codes(&["prod=prod", "dev=dev"]), []);
}

#[test]
fn the_report_has_a_case_for_each_finding_and_each_healthy_subject() {
    let site = Site::new();
    site.put(
        "out/all.yaml",
        &healthy("<odd & \\u0007>/", "keycloak-db").replace("barmanObjectName: r2,", "barmanObjectName: r3,"),
    );
    let (exit, ..) = site.dalsegno(&["check", "--manifests", "prod=out", "--junit", "report.xml"]);
    assert_eq!(exit, 1);
    let report = std::fs::read_to_string(site.path().join("report.xml")).unwrap();
    assert!(report.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{report}");
    assert!(report.contains(&format!("<testcase classname=\"{PG}\" name=\"objectstore-reference-dangling\">")), "{report}");
    assert!(report.contains("<testcase classname=\"cluster/manifests/prod\" name=\"no findings\"/>"), "{report}");
    assert!(report.contains("<failure type=\"CRITICAL\""), "{report}");
    site.put("out/all.yaml", &healthy("prod/", "keycloak-db"));
    let (exit, ..) = site.dalsegno(&["check", "--manifests", "prod=out", "--junit", "report.xml"]);
    let report = std::fs::read_to_string(site.path().join("report.xml")).unwrap();
    assert!(exit == 0 && report.contains("tests=\"2\" failures=\"0\" errors=\"0\""), "{report}");
    // Below the threshold it passes, and is told.
    site.put("out/all.yaml", &healthy("prod/", "keycloak-db").replace("0 0 3 * * *", "0 3 * * *"));
    let (exit, ..) = site.dalsegno(&["check", "--manifests", "prod=out", "--junit", "report.xml", "--fail-on", "critical"]);
    let report = std::fs::read_to_string(site.path().join("report.xml")).unwrap();
    assert!(exit == 0 && report.contains("failures=\"0\"") && report.contains("schedule-cron-field-count"), "{report}");
}
