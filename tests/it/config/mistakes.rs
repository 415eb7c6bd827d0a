use std::fmt::Write as _;

use dalsegno::domain::Explained;

use super::{GOOD, Site};

#[test]
fn a_good_configuration_becomes_settings() {
    let loaded = Site::new(GOOD).check().unwrap();
    let store = &loaded.settings.stores[0];
    assert_eq!(store.subject.to_string(), "store/home/minio");
    assert_eq!((store.region.as_str(), store.endpoint.as_str()), ("us-east-1", "https://minio.lan:9000"));
    assert_eq!(store.read.access_key_id.expose(), "AKIAQ7");
    let database = &loaded.settings.postgres[0];
    assert_eq!(database.subject.to_string(), "pg/home/prod/keycloak-db");
    assert_eq!(database.place.to_string(), "minio:dr-backups/cnpg/keycloak-db/");
    assert_eq!(database.policy.rpo_seconds, Some(900.0));
    assert_eq!(database.policy.drill_every_seconds, Some(35.0 * 86_400.0));
    assert!(loaded.gaps.is_empty() && loaded.placeholders.is_empty() && loaded.warnings.is_empty());
}

#[test]
fn nothing_at_all_is_a_legal_configuration() {
    for text in ["", "# only a comment\n", "stores:\npostgres:\n"] {
        let loaded = Site::bare(text).check().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert!(loaded.settings.stores.is_empty() && loaded.settings.postgres.is_empty());
    }
}

#[test]
fn each_mistake_has_its_place_and_says_what_would_be_right() {
    let read = "read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}";
    let store = |line: &str| format!("stores:\n  s:\n    endpoint: http://a:1\n    bucket: abc\n    {read}\n    {line}\n");
    let db =
        |line: &str| format!("{}\npostgres:\n  d:\n    archive: {{store: s, prefix: '', server: d}}\n    {line}\n", store(""));
    let cases: Vec<(String, &str)> = vec![
        ("sitee: a".to_owned(), "c.yaml:1:1  sitee: unknown key, did you mean \"site\"?"),
        (store("requestsPerDay: 5"), "c.yaml:6:5  stores.s.requestsPerDay: unknown key, did you mean \"requests-per-day\"?"),
        (store("requests-per-day: many"), "c.yaml:6:23  stores.s.requests-per-day: a text stands where a whole number belongs"),
        (store("requests-per-day: 0"), "c.yaml:6:23  stores.s.requests-per-day: 0 is below 1"),
        (store("requests-per-day: -1"), "c.yaml:6:23  stores.s.requests-per-day: -1 is below 1"),
        (store("requests-per-day: 1.5"), "c.yaml:6:23  stores.s.requests-per-day: a number stands where a whole number belongs"),
        (
            store("dialect: mimio"),
            "c.yaml:6:14  stores.s.dialect: \"mimio\" is not one of aws, minio, r2, ceph, garage, seaweedfs, other, did you mean \"minio\"?",
        ),
        (store("immutability: yes"), "c.yaml:6:19  stores.s.immutability: \"yes\" is not one of object-lock, bucket-lock, none"),
        (db("rpo: 15m"), "c.yaml:11:5  postgres.d.rpo: unknown key here; it belongs below \"policy\""),
        (db("policy: {rpo: 15}"), "c.yaml:11:19  postgres.d.policy.rpo: a number stands where a duration (15m, 35d) belongs"),
        (db("policy: {rpo: '15'}"), "c.yaml:11:19  postgres.d.policy.rpo: \"15\" has no unit"),
        (db("policy: {rpo: 15 min}"), "c.yaml:11:19  postgres.d.policy.rpo: \"15 min\" is not a duration"),
        (db("policy: {rpo: 99999999999999999999d}"), "postgres.d.policy.rpo: \"99999999999999999999d\" is too long a duration"),
        (db("retention: 0s"), "c.yaml:11:16  postgres.d.retention: zero can never be kept"),
        (db("policy: []"), "c.yaml:11:13  postgres.d.policy: a list stands where a mapping belongs"),
        (db("system-id: 7713982968056631495"), "c.yaml:11:16  postgres.d.system-id: a number stands where a text belongs"),
        (db("system-id: abc"), "c.yaml:11:16  postgres.d.system-id: \"abc\" is not a system identifier"),
        (db("checks: [{name: a, sql: select 1}]"), "postgres.d.checks[0].expect: is missing, and has no default"),
        (db("checks: [{name: a, sql: select 1, expect: {}}]"), "postgres.d.checks[0].expect: 0 keys stand where exactly one of"),
        (
            db("checks: [{name: fresh, sql: select 1, expect: {runs: true}}]"),
            "postgres.d.checks[0].name: \"fresh\" is the name of a check that every drill makes",
        ),
        (db("checks: [{name: a, sql: ' ', expect: {runs: true}}]"), "postgres.d.checks[0].sql: there is no statement"),
        (
            db("checks: [{name: a, sql: select 1, expect: {at-leest: 1}}]"),
            "postgres.d.checks[0].expect.at-leest: unknown key, did you mean \"at-least\"?",
        ),
        (
            db("checks: [{name: a, sql: x, expect: {runs: true}}, {name: a, sql: x, expect: {runs: true}}]"),
            "postgres.d.checks[1].name: \"a\" is empty or taken by an earlier check",
        ),
        ("stores:\n  s:\n    bucket: abc".to_owned(), "stores.s.endpoint: is missing, and has no default"),
        ("stores:\n  s:\n    bucket: abc\n    endpoint:".to_owned(), "stores.s.endpoint: is empty, and has no default"),
        ("stores:\n  s:".to_owned(), "stores.s: is empty, and has no default"),
        ("stores:\n  'a b': {}".to_owned(), "c.yaml:2:3  stores.a b: \"a b\" is not a name"),
        ("site: a/b".to_owned(), "c.yaml:1:7  site: \"a/b\" is not a name"),
        (
            format!("{}postgres: {{d: {{archive: {{store: t, prefix: p, server: d}}}}}}", store("")),
            "postgres.d.archive.store: there is no store \"t\"",
        ),
        (db("").replace("server: d", "server: a/b"), "postgres.d.archive.server: \"a/b\" is not the name of one folder"),
        (db("").replace("prefix: ''", "prefix: s3://abc/p"), "postgres.d.archive.prefix: \"s3://abc/p\" is a URL, not a prefix"),
        (
            "drill: {isolation: close}".to_owned(),
            "drill.isolation: \"close\" is not one of none, declared, closed, sealed, did you mean \"closed\"?",
        ),
        ("pass: {deadline: 30s}".to_owned(), "pass.provider-deadline: 1m for one provider is more than 30s for the whole pass"),
        ("site: [a".to_owned(), "c.yaml:"),
        ("site: a\nsite: b".to_owned(), "c.yaml:2:1  not YAML that can be used here: "),
        ("- a".to_owned(), "c.yaml:1:1  the file does not hold a mapping"),
        ("a: 1\n---\nb: 2".to_owned(), "not YAML that can be used here: "),
    ];
    for (yaml, wanted) in cases {
        let site = Site::new(&yaml);
        let found = site.mistakes();
        assert!(found.iter().any(|line| line.contains(wanted)), "{yaml}\nwanted {wanted}\nfound  {found:#?}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_in_which_they_stand() {
    let site = Site::new(
        "\
sitee: home
stores:
  r2:
    endpoint: https://acct.r2.cloudflarestorage.com/dr-backups
    bucket: My_Bucket
    region: WNAM
    read: {access-key-id: hunter2, secret-access-key: {env: NOPE}}
postgres:
  kc: {archive: {store: r3, prefix: cnpg, server: kc}, policy: {rpoo: 15m}}
",
    );
    let errors = site.check().unwrap_err();
    insta::assert_snapshot!(site.said(&errors), @r#"
    8 mistakes in c.yaml
      c.yaml:1:1  sitee: unknown key, did you mean "site"?
      c.yaml:4:15  stores.r2.endpoint: "https://acct.r2.cloudflarestorage.com/dr-backups" has the path "/dr-backups": objects land below that path and no list finds them
      c.yaml:5:13  stores.r2.bucket: "My_Bucket" holds characters that no bucket name may hold
      c.yaml:6:13  stores.r2.region: "WNAM" is a place, not a signing region; R2 signs with "auto"
      c.yaml:7:27  stores.r2.read.access-key-id: a secret stands here as a value
      c.yaml:7:55  stores.r2.read.secret-access-key: the environment variable NOPE is not set
      c.yaml:9:25  postgres.kc.archive.store: there is no store "r3", did you mean "r2"?
      c.yaml:9:65  postgres.kc.policy.rpoo: unknown key, did you mean "rpo"?
    "#);
    let hint = errors.hint().unwrap();
    assert!(hint.contains("write https://acct.r2.cloudflarestorage.com; the bucket belongs into bucket:"), "{hint}");
    assert!(hint.contains("dalsegno config schema > schema.json"), "{hint}");
}

#[test]
fn yaml_words_have_one_meaning() {
    let site = Site::new("site: no\nenvironment: off\n");
    let loaded = site.check().unwrap();
    assert_eq!((loaded.settings.site.as_str(), loaded.settings.environment.as_str()), ("no", "off"));
    let site = Site::new("site: 0755");
    assert_eq!(site.check().unwrap().settings.site, "0755");
    let found = Site::new("site: true").mistakes();
    assert_eq!(found, ["c.yaml:1:7  site: true or false stands where a text belongs"]);
}

#[test]
fn an_alias_bomb_is_refused_in_no_time() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let item = format!("*a{}, ", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{item}]").unwrap();
    }
    let began = std::time::Instant::now();
    assert!(Site::new(&bomb).check().is_err());
    assert!(began.elapsed().as_secs() < 2, "took {:?}", began.elapsed());
}

#[test]
fn an_alias_that_is_used_once_is_fine() {
    let yaml = GOOD
        .replace("    read: {", "    read: &keys {")
        .replace("postgres:\n", "  other: {endpoint: http://a:1, bucket: abc, read: *keys}\npostgres:\n");
    assert_eq!(Site::new(&yaml).check().unwrap().settings.stores.len(), 2);
}

#[test]
fn two_archives_in_one_place_are_refused_with_both_places_and_side_by_side_they_are_not() {
    let second = "  other:\n    archive: {store: minio, prefix: cnpg/, server: keycloak-db}\n";
    let site = Site::new(&format!("{GOOD}{second}"));
    let found = site.mistakes();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("postgres.other.archive: lies at \"cnpg/keycloak-db/\" of bucket dr-backups, and so does postgres.keycloak-db.archive (c.yaml:10:"), "{found:?}");
    assert_eq!(site.check().unwrap_err().mistakes()[0].code, "wal-prefix-shared-by-two-writers");
    // A pass does not go blind over it.
    assert_eq!(site.load().unwrap().settings.postgres.len(), 2);

    let twin = Site::new(&format!("{GOOD}{}", second.replace("server: keycloak-db", "server: keycloak-db-2")));
    assert_eq!(twin.mistakes(), Vec::<String>::new());
    assert!(twin.check().unwrap().warnings.is_empty());
}

#[test]
fn the_same_bucket_under_two_names_does_not_hide_that_two_archives_share_a_place() {
    let yaml = GOOD.replace(
        "postgres:\n",
        "  copy:\n    endpoint: https://MINIO.lan:9000/\n    bucket: dr-backups\n    read: {access-key-id: {env: R_ID}, secret-access-key: {env: R_KEY}}\npostgres:\n  other: {archive: {store: copy, prefix: cnpg, server: keycloak-db}}\n",
    );
    assert!(Site::new(&yaml).mistakes()[0].contains("and so does"));
}

#[test]
fn our_own_prefix_never_overlaps_an_archive() {
    let own = |prefix: &str| {
        GOOD.replace(
            "postgres:\n",
            &format!(
                "    own: {{access-key-id: {{env: R_ID}}, secret-access-key: {{env: R_KEY}}, prefix: '{prefix}'}}\npostgres:\n"
            ),
        )
    };
    for bad in ["", "cnpg", "cnpg/keycloak-db/base"] {
        let site = Site::new(&own(bad));
        assert!(site.mistakes()[0].contains("stores.minio.own.prefix"), "{bad}: {:?}", site.mistakes());
        // A pass looks all the same, and cannot write there.
        assert!(site.load().unwrap().settings.stores[0].own.is_none());
    }
    for good in ["dalsegno", "cnpg/dalsegno/", "cnp"] {
        let loaded = Site::new(&own(good)).check().unwrap_or_else(|error| panic!("{good}: {error}"));
        assert!(loaded.settings.stores[0].own.is_some());
    }
}
