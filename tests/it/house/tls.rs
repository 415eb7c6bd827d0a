//! One TLS provider, one HTTP stack: read from cargo's own tree.

use std::process::Command;

fn tree() -> String {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none", "--package", "dalsegno"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "cargo tree: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn one_tls_provider_serves_all_crates() {
    let tree = tree();
    let has = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(has("ring") && has("rustls"), "the tree was not read");
    for banned in ["aws-lc-sys", "aws-lc-rs", "openssl-sys", "openssl", "native-tls"] {
        assert!(!has(banned), "{banned} is in the tree: ring is the one provider");
    }
}

#[test]
fn one_version_of_each_network_crate() {
    let tree = tree();
    for name in ["rustls", "hyper", "http", "h2", "tokio-rustls", "libsqlite3-sys"] {
        let mut versions: Vec<&str> =
            tree.lines().filter(|line| line.split(' ').next() == Some(name)).filter_map(|line| line.split(' ').nth(1)).collect();
        versions.sort_unstable();
        versions.dedup();
        assert!(versions.len() <= 1, "{name} is there in several versions: {versions:?}");
    }
}
