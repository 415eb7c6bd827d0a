use dalsegno::config::{Kind, is_placeholder};
use dalsegno::domain::{Denied, FactKind};

use super::{GOOD, Site};

#[test]
fn values_that_nobody_filled_in_are_recognised_by_form() {
    let plain = [
        "TBD-PROD-S3-BACKUP-ENDPOINT",
        "TBD",
        "https://TBD-ACCOUNT.r2.cloudflarestorage.com",
        "${BUCKET}",
        "s3-${site}-x",
        "${A:-b}",
        "{{ .Values.bucket }}",
        "CHANGEME",
        "CHANGE_ME",
        "my-CHANGE-ME",
        "REPLACE_ME",
        "REPLACE-WITH-BUCKET",
        "<bucket>",
        "https://<account-id>.lan",
        "<your bucket>",
        " TBD ",
    ];
    for value in plain {
        assert!(is_placeholder(value, Kind::Plain), "{value}");
    }
    let real = [
        "tbd-archive",
        "dr-backups",
        "a<b",
        "a < b and c > d",
        "$(name)",
        "changeme-archive",
        "STBD-1",
        "TBDX",
        "REPLACEMENT-db",
        "replaced",
        "",
        "$HOME",
        "cost-$5",
        "{}",
        "example.com",
    ];
    for value in real {
        assert!(!is_placeholder(value, Kind::Plain), "{value}");
    }
    for value in ["https://s3.example.com", "https://EXAMPLE.com:9000", "http://minio.example.net"] {
        assert!(is_placeholder(value, Kind::Url), "{value}");
    }
    for value in ["https://example.com.lan", "https://myexample.com", "https://minio.lan/example.com"] {
        assert!(!is_placeholder(value, Kind::Url), "{value}");
    }
    assert!(is_placeholder("changeme", Kind::Secret) && !is_placeholder("changeme", Kind::Plain));
    for sql in ["select count(*) from t where a <b> c", "select '${x}'", "select 'TBD-1'", "select 1 where a < 1 and b > 2"] {
        assert!(!is_placeholder(sql, Kind::Free), "{sql}");
    }
    assert!(is_placeholder("<your query>", Kind::Free) && is_placeholder("TBD", Kind::Free));
}

#[test]
fn a_bucket_named_tbd_archive_in_lower_case_is_legal() {
    let site = Site::new(&GOOD.replace("bucket: dr-backups", "bucket: tbd-archive"));
    let loaded = site.check().unwrap();
    assert_eq!((loaded.settings.stores.len(), loaded.placeholders.len()), (1, 0));
}

#[test]
fn check_refuses_a_placeholder_and_a_pass_does_the_rest() {
    let yaml = GOOD.replace(
            "postgres:\n",
            "  r2:\n    endpoint: https://TBD-PROD-S3-BACKUP-ENDPOINT\n    bucket: prod\n    read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}\npostgres:\n  grafana-db: {archive: {store: r2, prefix: cnpg, server: grafana-db}}\n",
    );
    let site = Site::new(&yaml);
    let found = site.mistakes();
    assert_eq!(found, ["c.yaml:9:15  stores.r2.endpoint: \"https://TBD-PROD-S3-BACKUP-ENDPOINT\" is a placeholder"]);

    let loaded = site.load().unwrap();
    assert_eq!(loaded.settings.stores.iter().map(|store| store.id.0.as_str()).collect::<Vec<_>>(), ["minio"]);
    assert_eq!(loaded.settings.postgres.iter().map(|db| db.name.as_str()).collect::<Vec<_>>(), ["keycloak-db"]);
    let placeholder = &loaded.placeholders[0];
    assert_eq!(
        (placeholder.subject.to_string().as_str(), placeholder.key_path.as_str()),
        ("store/home/r2", "stores.r2.endpoint")
    );
    let gaps: Vec<_> = loaded.gaps.iter().map(|gap| (gap.subject.to_string(), gap.what, gap.code.clone().unwrap())).collect();
    assert_eq!(
        gaps,
        [
            ("store/home/r2".to_owned(), FactKind::Store, "config-placeholder-unresolved".to_owned()),
            ("pg/home/prod/grafana-db".to_owned(), FactKind::Archive, "config-placeholder-unresolved".to_owned()),
        ]
    );
    assert!(loaded.gaps.iter().all(|gap| gap.why == Denied::NotAsked));
    assert!(loaded.gaps[1].detail.contains("its store r2 cannot be used"), "{}", loaded.gaps[1].detail);
}

#[test]
fn wherever_a_placeholder_stands_a_pass_goes_on_and_check_refuses() {
    // (what is replaced, by what, stores that stay, databases that stay)
    let cases = [
        ("endpoint: https://minio.lan:9000", "endpoint: https://s3.example.com", 0, 0),
        ("bucket: dr-backups", "bucket: ${BUCKET}", 0, 0),
        ("{env: R_ID}", "{env: '${NAME}'}", 0, 0),
        ("{env: R_ID}", "{file: /run/<file>}", 0, 0),
        ("{env: R_KEY}", "TBD-KEY", 0, 0),
        ("prefix: cnpg", "prefix: TBD-PREFIX", 1, 0),
        ("server: keycloak-db", "server: '{{ .Values.server }}'", 1, 0),
        ("store: minio", "store: TBD-STORE", 1, 0),
        ("rpo: 15m", "rpo: TBD", 1, 1),
        ("drill-every: 35d", "drill-every: '${EVERY}'", 1, 1),
        ("site: home", "site: TBD-SITE", 1, 1),
        ("environment: prod", "environment: <environment>", 1, 1),
    ];
    for (old, new, stores, databases) in cases {
        let site = Site::new(&GOOD.replacen(old, new, 1));
        assert!(
            site.mistakes().iter().all(|line| line.contains("placeholder")) && !site.mistakes().is_empty(),
            "{new}: {:?}",
            site.mistakes()
        );
        let loaded = site.load().unwrap_or_else(|error| panic!("{new}: {error}"));
        assert_eq!(loaded.placeholders.len(), 1, "{new}");
        assert_eq!((loaded.settings.stores.len(), loaded.settings.postgres.len()), (stores, databases), "{new}");
        let lost = 2 - stores - databases;
        assert_eq!(loaded.gaps.len(), lost, "{new}: {:?}", loaded.gaps);
    }
}

#[test]
fn a_placeholder_inside_a_secret_is_found_and_shown_as_stars() {
    let site = Site::new(GOOD).env("R_KEY", "${R2_SECRET}");
    assert!(
        site.mistakes()[0].contains("stores.minio.read.secret-access-key: the secret holds a placeholder (env:R_KEY)"),
        "{:?}",
        site.mistakes()
    );
    let loaded = site.load().unwrap();
    assert_eq!((loaded.placeholders[0].value.as_str(), loaded.placeholders[0].at.as_str()), ("***", "env:R_KEY"));
    assert_eq!(loaded.gaps.len(), 2);
}

#[test]
fn a_webhook_that_is_a_placeholder_is_a_gap_and_the_others_stay() {
    let notify = "notify:\n  webhooks:\n    ops: {url: {env: HOOK}}\n    dev: {url: {env: OTHER}, at-least: critical}\n  heartbeat: {url: {env: BEAT}}\n";
    let site = Site::new(&format!("{GOOD}{notify}"))
        .env("HOOK", "https://hooks.example.com/T/B")
        .env("OTHER", "https://ntfy.lan/x")
        .env("BEAT", "not-a-url");
    let loaded = site.load().unwrap();
    assert_eq!(loaded.settings.notify.webhooks.iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>(), ["dev"]);
    assert!(loaded.settings.notify.heartbeat.is_none());
    let gaps: Vec<_> = loaded.gaps.iter().map(|gap| (gap.subject.to_string(), gap.what)).collect();
    assert_eq!(
        gaps,
        [("dalsegno/notify/ops".to_owned(), FactKind::Channel), ("dalsegno/notify/heartbeat".to_owned(), FactKind::Channel)]
    );
    assert_eq!(site.mistakes().len(), 2, "{:?}", site.mistakes());
}

#[test]
fn a_placeholder_in_the_own_keys_costs_only_writing() {
    let own = "    own: {access-key-id: {env: R_ID}, secret-access-key: {env: MISSING}, prefix: dalsegno}\npostgres:\n";
    let site = Site::new(&GOOD.replace("postgres:\n", own));
    assert_eq!(site.mistakes().len(), 1);
    let loaded = site.load().unwrap();
    assert!(loaded.settings.stores[0].own.is_none() && loaded.gaps.is_empty());
    assert_eq!(loaded.warnings[0].code, "own-keys-unusable");
    let site = Site::new(&GOOD.replace("postgres:\n", &own.replace("prefix: dalsegno", "prefix: TBD-PREFIX")));
    let loaded = site.load().unwrap();
    assert!(loaded.settings.stores.len() == 1 && loaded.settings.stores[0].own.is_none());
    assert_eq!(loaded.placeholders.len(), 1);
}
