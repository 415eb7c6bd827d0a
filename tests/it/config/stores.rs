use super::Site;
use dalsegno::domain::Dialect;

fn store(lines: &str) -> Site {
    Site::new(&format!(
        "stores:\n  s:\n    read: {{access-key-id: {{env: R_ID}}, secret-access-key: {{env: R_KEY}}}}\n    bucket: abc\n{lines}\n"
    ))
}

fn endpoint(endpoint: &str) -> Site {
    store(&format!("    endpoint: '{endpoint}'"))
}

#[test]
fn an_endpoint_is_scheme_host_and_port() {
    for good in [
        "https://minio.lan",
        "http://10.0.0.1:9000",
        "https://[fd00::1]:9000",
        "https://a.r2.cloudflarestorage.com/",
        "http://localhost:1",
    ] {
        assert_eq!(endpoint(good).mistakes(), Vec::<String>::new(), "{good}");
    }
    let cases = [
        ("minio.lan:9000", "has no scheme"),
        ("ftp://minio.lan", "\"ftp\" is not a scheme"),
        ("s3://bucket", "\"s3\" is not a scheme"),
        ("https://", "names no host"),
        ("https://:9000", "names no host"),
        ("https://a:port", "\"port\" is not a port"),
        ("https://a:70000", "\"70000\" is not a port"),
        ("https://a b", "holds whitespace"),
        ("https://a/bucket", "has the path \"/bucket\""),
        ("https://a?x=1", "carries a query"),
    ];
    for (bad, wanted) in cases {
        let found = endpoint(bad).mistakes();
        assert!(found.len() == 1 && found[0].contains(wanted), "{bad}: {found:?}");
    }
}

#[test]
fn a_path_in_an_endpoint_is_refused_by_check_and_kept_for_a_pass_to_name() {
    let site = endpoint("https://a.r2.cloudflarestorage.com/dr-backups");
    assert_eq!(site.check().unwrap_err().mistakes()[0].code, "s3-endpoint-has-path");
    let loaded = site.load().unwrap();
    assert_eq!(loaded.settings.stores[0].endpoint, "https://a.r2.cloudflarestorage.com/dr-backups");
    assert_eq!(loaded.warnings[0].code, "s3-endpoint-has-path");
}

#[test]
fn a_password_in_an_endpoint_is_refused_and_not_repeated() {
    let site = endpoint("https://me:hunter2@a.lan");
    let said = format!("{:?} {}", site.check(), site.check().unwrap_err());
    assert!(said.contains("carries a user name or password") && !said.contains("hunter2"), "{said}");
}

#[test]
fn the_region_follows_the_dialect() {
    let cases = [
        ("https://a.eu.r2.cloudflarestorage.com", "", "auto", Dialect::R2),
        ("https://s3.eu-central-1.amazonaws.com", "", "eu-central-1", Dialect::Aws),
        ("https://s3.amazonaws.com", "", "us-east-1", Dialect::Aws),
        ("https://minio.lan", "", "us-east-1", Dialect::Other),
        ("https://g.lan", "    dialect: garage", "garage", Dialect::Garage),
        ("https://r2.proxy.lan", "    dialect: r2", "auto", Dialect::R2),
        ("https://minio.lan", "    region: home-1", "home-1", Dialect::Other),
    ];
    for (endpoint, line, region, dialect) in cases {
        let loaded = store(&format!("    endpoint: {endpoint}\n{line}")).check().unwrap();
        let store = &loaded.settings.stores[0];
        assert_eq!((store.region.as_str(), store.dialect), (region, dialect), "{endpoint}");
    }
}

#[test]
fn a_region_that_cannot_sign_is_named() {
    let r2 = "https://a.r2.cloudflarestorage.com";
    let cases = [
        (r2, "WNAM", "\"WNAM\" is a place, not a signing region; R2 signs with \"auto\""),
        (r2, "weur", "\"weur\" is a place"),
        (r2, "eu-central-1", "\"eu-central-1\" is no region of R2"),
        (r2, "\"auto\\n\"", "\"auto\\n\" holds whitespace"),
        ("https://minio.lan", "\"us-east-1 \"", "\"us-east-1 \" holds whitespace"),
        ("https://minio.lan", "\" \"", "\" \" names no region"),
    ];
    for (endpoint, region, wanted) in cases {
        let site = store(&format!("    endpoint: {endpoint}\n    region: {region}"));
        let found = site.mistakes();
        assert!(found.len() == 1 && found[0].contains(wanted), "{region}: {found:?}");
        assert_eq!(site.check().unwrap_err().mistakes()[0].code, "s3-region-invalid");
        assert_eq!(site.load().unwrap().settings.stores.len(), 1, "a pass looks all the same");
    }
    // The twins: what works is not refused.
    for (endpoint, region) in [(r2, "auto"), (r2, "us-east-1"), ("https://minio.lan", "us-east-1"), ("https://minio.lan", "WNAM")]
    {
        assert_eq!(store(&format!("    endpoint: {endpoint}\n    region: {region}")).mistakes(), Vec::<String>::new());
    }
}

#[test]
fn a_bucket_name_follows_the_rule_of_names() {
    let bucket = |name: &str, dialect: &str| {
        let text = format!("    endpoint: https://a.lan\n    dialect: {dialect}");
        let site = store(&text);
        let yaml = std::fs::read_to_string(&site.source()[0]).unwrap().replace("bucket: abc", &format!("bucket: '{name}'"));
        site.file("c.yaml", &yaml).mistakes()
    };
    for bad in ["ab", "Upper", "under_score", "a/b", "s3://abc", "-abc", "abc.", "a..b", "192.168.0.1", &"a".repeat(64)] {
        assert_eq!(bucket(bad, "minio").len(), 1, "{bad}");
    }
    for good in ["abc", "tbd-archive", "dr.backups-2", "0abc"] {
        assert!(bucket(good, "minio").is_empty(), "{good}");
    }
    assert!(bucket("Old_Bucket", "ceph").is_empty());
}
