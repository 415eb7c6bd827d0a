use std::os::unix::fs::PermissionsExt;

use dalsegno::config;
use dalsegno::domain::Explained;

use super::{GOOD, Site};

/// Looks like nothing else in this suite.
const PLANTED: &str = "pl4nt3d+S3CRET/value=";

#[test]
fn a_secret_written_as_a_value_is_refused_and_never_repeated() {
    let places = [
        ("{env: R_KEY}", format!("{PLANTED:?}")),
        ("{env: R_KEY}", format!("[{PLANTED:?}]")),
        ("{env: R_KEY}", format!("{{env: {PLANTED:?}}}")),
        ("{env: R_KEY}", format!("{{{PLANTED:?}: x}}")),
        ("{env: R_KEY}", format!("{{env: R_KEY, {PLANTED:?}: x}}")),
        ("{env: R_KEY}", format!("{{env: [{PLANTED:?}]}}")),
        ("{env: R_KEY}", format!("{{value: {PLANTED:?}}}")),
        ("{access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}", format!("{PLANTED:?}")),
        ("https://minio.lan", format!("https://me:{}@minio.lan", "pl4nt3d+S3CRET")),
        ("{env: R_KEY}", format!("{PLANTED:?}: [")),
    ];
    for (old, new) in places {
        let site = Site::new(&GOOD.replace(old, &new));
        let errors = site.check().expect_err(&new);
        let said = format!("{errors} {errors:?} {:?} {}", errors.hint(), serde_json::to_string(errors.mistakes()).unwrap());
        assert!(!said.contains("pl4nt3d") && !said.contains("S3CRET"), "{new}\n{said}");
    }
}

#[test]
fn a_secret_that_was_read_appears_in_no_output() {
    let notify = "notify: {webhooks: {ops: {url: {env: HOOK}}}, heartbeat: {url: {file: beat}}}\n";
    let own = "    own: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}, session-token: {env: R_KEY}, prefix: dalsegno}\npostgres:\n";
    let site = Site::new(&format!("{}{notify}", GOOD.replace("postgres:\n", own)))
        .env("R_ID", PLANTED)
        .env("R_KEY", PLANTED)
        .env("HOOK", &format!("https://hook.lan/{PLANTED}"))
        .file("beat", &format!("https://beat.lan/{PLANTED}\n"));
    let loaded = site.load().unwrap();
    assert_eq!(loaded.settings.stores[0].read.secret_access_key.expose(), PLANTED);
    assert_eq!(loaded.settings.notify.heartbeat.as_ref().unwrap().expose(), format!("https://beat.lan/{PLANTED}"));
    let said = format!("{loaded:?} {loaded:#?} {} {:?}", config::shown(&loaded), loaded.warnings);
    assert!(!said.contains("pl4nt3d"), "{said}");
    assert!(config::shown(&loaded).to_string().contains("***"));
}

#[test]
fn a_missing_secret_is_a_mistake_for_check_and_a_gap_for_a_pass() {
    let site = Site::bare(GOOD).env("R_ID", "a");
    assert_eq!(site.mistakes(), ["c.yaml:7:59  stores.minio.read.secret-access-key: the environment variable R_KEY is not set"]);
    let loaded = site.load().unwrap();
    assert!(loaded.settings.stores.is_empty() && loaded.settings.postgres.is_empty() && loaded.placeholders.is_empty());
    let codes: Vec<_> = loaded.gaps.iter().map(|gap| (gap.subject.to_string(), gap.code.clone().unwrap())).collect();
    assert_eq!(
        codes,
        [
            ("store/home/minio".to_owned(), "secret-missing".to_owned()),
            ("pg/home/prod/keycloak-db".to_owned(), "secret-missing".to_owned())
        ]
    );
    assert!(loaded.gaps[0].hint.contains("set R_KEY"), "{}", loaded.gaps[0].hint);
}

#[test]
fn a_secret_file_is_meant_from_the_folder_of_its_configuration_and_loses_one_newline() {
    let site = Site::new(&GOOD.replace("{env: R_KEY}", "{file: key}")).file("key", "abc\n");
    std::fs::set_permissions(site.folder.path().join("key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let loaded = site.check().unwrap();
    assert_eq!(loaded.settings.stores[0].read.secret_access_key.expose(), "abc");
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);

    std::fs::set_permissions(site.folder.path().join("key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let warning = site.check().unwrap().warnings.remove(0);
    assert!(warning.text.contains("can be read by everybody on this machine (mode 0644)"), "{warning}");
}

#[test]
fn each_way_in_which_a_secret_file_is_wrong_has_its_words() {
    let site = Site::new(&GOOD.replace("{env: R_KEY}", "{file: key}"));
    assert!(site.mistakes()[0].contains("key does not exist"), "{:?}", site.mistakes());
    let site = site.file("key", "\n");
    assert!(site.mistakes()[0].contains("is empty"), "{:?}", site.mistakes());
    std::fs::write(site.folder.path().join("key"), [0xff, 0xfe]).unwrap();
    assert!(site.mistakes()[0].contains("is not text"), "{:?}", site.mistakes());
    std::fs::write(site.folder.path().join("key"), "x".repeat(70_000)).unwrap();
    assert!(site.mistakes()[0].contains("is larger than 65536 bytes"), "{:?}", site.mistakes());
    std::fs::remove_file(site.folder.path().join("key")).unwrap();
    std::fs::create_dir(site.folder.path().join("key")).unwrap();
    assert!(site.mistakes()[0].contains("is not a plain file"), "{:?}", site.mistakes());
}

#[test]
fn whitespace_around_a_secret_is_a_warning() {
    let loaded = Site::new(GOOD).env("R_KEY", "abc ").check().unwrap();
    assert!(loaded.warnings[0].text.contains("env:R_KEY begins or ends with whitespace"), "{:?}", loaded.warnings);
}

#[test]
fn without_secrets_only_the_files_are_checked() {
    let site = Site::bare(GOOD);
    assert!(config::check_without_secrets(&site.source(), &site.env).is_ok());
    let site = Site::bare(&GOOD.replace("bucket: dr-backups", "bucket: TBD"));
    assert!(config::check_without_secrets(&site.source(), &site.env).is_err());
}

#[test]
fn a_ca_file_that_is_not_there_costs_its_store() {
    let site = Site::new(&GOOD.replace("    bucket", "    ca: ca.pem\n    bucket"));
    assert!(site.mistakes()[0].contains("stores.minio.ca: the CA file ca.pem cannot be read"), "{:?}", site.mistakes());
    let loaded = site.load().unwrap();
    assert_eq!((loaded.settings.stores.len(), loaded.gaps.len()), (0, 2));
    let site = site.file("ca.pem", "-");
    assert_eq!(site.check().unwrap().settings.stores[0].ca_file.as_deref(), Some(site.folder.path().join("ca.pem").as_path()));
}
