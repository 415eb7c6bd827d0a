use dalsegno::config;

use super::{GOOD, Site};

#[test]
fn a_folder_is_merged_in_the_order_of_names_and_mappings_grow_together() {
    let site = Site::new(GOOD)
        .file("d.yaml", "stores:\n  other: {endpoint: http://a:1, bucket: abc, read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}}\n")
        .file("e.yml", "sitee: not read")
        .file(".hidden.yaml", "sitee: not read")
        .file("README.md", "not read");
    let loaded = site.load_folder().unwrap();
    assert_eq!(loaded.settings.stores.len(), 2);
    assert!(loaded.warnings[0].text.contains("is not read: only *.yaml of a folder are"), "{:?}", loaded.warnings);
}

#[test]
fn the_same_key_in_two_files_is_a_mistake_with_both_places() {
    let site = Site::new(GOOD).file("d.yaml", "site: away\nstores: {minio: {bucket: other}}\n");
    let errors = site.load_folder().unwrap_err();
    insta::assert_snapshot!(site.said(&errors), @r"
    2 mistakes in d.yaml
      d.yaml:1:7  site: is also set at c.yaml:1:7
      d.yaml:2:26  stores.minio.bucket: is also set at c.yaml:6:13
    ");
}

#[test]
fn the_environment_wins_over_files() {
    let site = Site::new(GOOD)
        .env("DALSEGNO__STORES__MINIO__ENDPOINT", "https://new.lan:1")
        .env("DALSEGNO__STORES__MINIO__REQUESTS_PER_DAY", "2000")
        .env("DALSEGNO__STORES__MINIO__READ__ACCESS_KEY_ID", "{env: OTHER}")
        .env("DALSEGNO__POSTGRES__KEYCLOAK_DB__SYSTEM_ID", "7713982968056631495")
        .env("DALSEGNO__POSTGRES__KEYCLOAK_DB__POLICY__RPO", "1h")
        .env("DALSEGNO__DRILL__POSTGRES", "[/opt/pg/bin]")
        .env("DALSEGNO__DRILL__ISOLATION", "sealed")
        .env("DALSEGNO_CONFIG", "not an override")
        .env("OTHER", "other-id");
    let settings = site.check().unwrap().settings;
    assert_eq!(settings.stores[0].endpoint, "https://new.lan:1");
    assert_eq!(settings.stores[0].requests_per_day, Some(2000));
    assert_eq!(settings.stores[0].read.access_key_id.expose(), "other-id");
    assert_eq!(settings.postgres[0].system_id.unwrap().0, 7_713_982_968_056_631_495);
    assert_eq!(settings.postgres[0].policy.rpo_seconds, Some(3600.0));
    assert_eq!(settings.drill.postgres, [std::path::PathBuf::from("/opt/pg/bin")]);
}

#[test]
fn mistakes_from_the_environment_name_the_variable() {
    let site = Site::new(GOOD)
        .env("DALSEGNO__STORES__MINIO__ENDPONT", "x")
        .env("DALSEGNO__PASS__DEADLINE", "5")
        .env("DALSEGNO____X", "5")
        .env("DALSEGNO__STORES__MINIO__READ__SECRET_ACCESS_KEY", "hunter2");
    let said = site.mistakes().join("\n");
    assert!(
        said.contains("env:DALSEGNO__STORES__MINIO__ENDPONT  stores.minio.endpont: unknown key, did you mean \"endpoint\"?"),
        "{said}"
    );
    assert!(said.contains("env:DALSEGNO__PASS__DEADLINE  pass.deadline: \"5\" has no unit"), "{said}");
    assert!(said.contains("env:DALSEGNO____X  names no key"), "{said}");
    assert!(
        said.contains("stores.minio.read.secret-access-key: a secret stands here as a value") && !said.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn a_configuration_can_come_from_the_environment_alone() {
    let site = Site::new("").env("DALSEGNO__SITE", "home").env(
        "DALSEGNO__STORES",
        "{main: {endpoint: http://a:1, bucket: abc, read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}}}",
    );
    assert_eq!(site.check().unwrap().settings.stores[0].subject.to_string(), "store/home/main");
}

#[test]
fn a_file_that_is_not_there_or_not_text_is_said() {
    let missing = config::load(&["/nowhere/c.yaml".into()], &std::collections::BTreeMap::new()).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/c.yaml:1:1  cannot be read"), "{missing}");
    let site = Site::new("");
    std::fs::write(site.folder.path().join("c.yaml"), [b'a', b':', 0xff]).unwrap();
    assert!(site.mistakes()[0].contains("is not UTF-8 from byte 2 on"), "{:?}", site.mistakes());
    std::fs::write(site.folder.path().join("c.yaml"), "#".repeat(1_048_577)).unwrap();
    assert!(site.mistakes()[0].contains("is larger than 1048576 bytes"), "{:?}", site.mistakes());
}

#[test]
fn all_files_with_bad_yaml_are_named_at_once() {
    let site = Site::new("a: [").file("d.yaml", "b: {");
    assert_eq!(site.load_folder().unwrap_err().mistakes().len(), 2);
}
