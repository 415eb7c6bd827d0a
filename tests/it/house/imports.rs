//! Which room imports which: the table of ARCHITECTURE.md, held against every `use` and every path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Room, rooms it may import, crates it must not name (pure rooms).
type Rule = (&'static str, &'static [&'static str], &'static [&'static str]);

const IMPURE: &[&str] = &[
    "tokio",
    "sqlx",
    "reqwest",
    "kube",
    "aws_sdk_s3",
    "aws_sigv4",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "nix",
    "tempfile",
];
const NONE: &[&str] = &[];
const NOT_PROCESS: &[&str] = &["tokio", "sqlx", "reqwest", "aws_sdk_s3", "std::net"];

const RULES: &[Rule] = &[
    ("domain", &[], IMPURE),
    ("archive", &["domain"], IMPURE),
    ("runbook", &["domain", "yaml"], IMPURE),
    ("policy", &["domain"], IMPURE),
    ("drill", &["domain"], IMPURE),
    ("process", &[], NOT_PROCESS),
    ("yaml", &[], IMPURE),
    ("tap", &["domain"], NONE),
    ("store", &["domain", "tap"], &["sqlx"]),
    ("ledger", &["domain", "process"], &["aws_sdk_s3", "reqwest"]),
    ("notify", &["domain", "tap"], &["aws_sdk_s3", "sqlx"]),
    ("reader", &["domain", "store", "archive"], &["aws_sdk_s3", "reqwest", "sqlx"]),
    ("restore", &["domain", "process", "tap", "store", "archive", "reader"], &["aws_sdk_s3", "reqwest"]),
    ("providers", &["domain", "tap", "store", "archive", "reader"], &["aws_sdk_s3", "sqlx"]),
    ("execution", &["domain", "process", "runbook"], &["aws_sdk_s3", "sqlx", "reqwest"]),
    (
        "conductor",
        &[
            "domain",
            "archive",
            "runbook",
            "policy",
            "drill",
            "tap",
            "store",
            "reader",
            "ledger",
            "notify",
            "restore",
            "providers",
            "execution",
            "yaml",
        ],
        &["aws_sdk_s3", "sqlx"],
    ),
    ("config", &["domain", "providers", "yaml"], &["aws_sdk_s3", "sqlx", "reqwest"]),
    ("cli", &["app", "conductor", "domain"], &["aws_sdk_s3", "sqlx", "reqwest"]),
];

/// Every path of a file, spelled out: `crate::store::Store`, `std::fs`.
#[derive(Default)]
struct Paths(BTreeSet<String>);

impl Paths {
    fn tree(&mut self, head: &str, tree: &syn::UseTree) {
        let join = |name: &str| if head.is_empty() { name.to_owned() } else { format!("{head}::{name}") };
        match tree {
            syn::UseTree::Path(path) => self.tree(&join(&path.ident.to_string()), &path.tree),
            syn::UseTree::Name(name) => drop(self.0.insert(join(&name.ident.to_string()))),
            syn::UseTree::Rename(rename) => drop(self.0.insert(join(&rename.ident.to_string()))),
            syn::UseTree::Glob(_) => drop(self.0.insert(join("*"))),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(head, item)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree("", &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let text = path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::");
        self.0.insert(text);
        syn::visit::visit_path(self, path);
    }
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The module path of a file below `src`: `["store", "probe"]` for `store/probe.rs`, `["store"]` for `store/mod.rs`.
fn module(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        file.strip_prefix(src()).unwrap().with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// Turns `super::…` into `crate::…` as seen from `module`.
fn absolute(path: &str, module: &[String]) -> String {
    let mut at = module.to_vec();
    let mut rest = path;
    let mut relative = false;
    while let Some(tail) = rest.strip_prefix("super::") {
        at.pop();
        rest = tail;
        relative = true;
    }
    if !relative {
        return path.to_owned();
    }
    let head = if at.is_empty() { "crate".to_owned() } else { format!("crate::{}", at.join("::")) };
    format!("{head}::{rest}")
}

/// The rules that a file's text breaks, each named.
fn broken(module_path: &[String], text: &str) -> Vec<String> {
    let Some(room) = module_path.first() else { return Vec::new() };
    let Some((_, may, never)) = RULES.iter().find(|rule| rule.0 == room) else { return Vec::new() };
    let mut paths = Paths::default();
    paths.visit_file(&syn::parse_file(text).unwrap());
    let mut found = Vec::new();
    for path in &paths.0 {
        let path = absolute(path, module_path);
        if let Some(other) = path.strip_prefix("crate::").or_else(|| path.strip_prefix("dalsegno::")) {
            let other = other.split("::").next().unwrap();
            let is_room = RULES.iter().any(|rule| rule.0 == other) || other == "app";
            if is_room && other != room && !may.contains(&other) {
                found.push(format!("{}: room `{room}` may import {may:?}, not `{other}` ({path})", module_path.join("/")));
            }
            if room == "config" && other == "providers" && !path.contains("config") {
                found.push(format!(
                    "{}: room `config` may import only the `config` of a provider ({path})",
                    module_path.join("/")
                ));
            }
        }
        if never.iter().any(|banned| path == *banned || path.starts_with(&format!("{banned}::"))) {
            found.push(format!("{}: room `{room}` must not use `{path}`", module_path.join("/")));
        }
    }
    found
}

#[test]
fn every_room_imports_only_what_the_table_allows() {
    let mut found = Vec::new();
    let mut files = 0;
    for entry in walkdir::WalkDir::new(src()).into_iter().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|ending| ending == "rs") {
            files += 1;
            found.extend(broken(&module(entry.path()), &std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
    assert!(files > 15, "the walk found only {files} files: it looks in the wrong place");
    assert!(found.is_empty(), "rules broken:\n{}", found.join("\n"));
}

/// A client of another kind of system has one user, so that it can be replaced, recorded and replayed in one place.
#[test]
fn the_kube_client_has_one_user() {
    let mut users = Vec::new();
    for entry in walkdir::WalkDir::new(src()).into_iter().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|ending| ending == "rs") {
            let mut paths = Paths::default();
            paths.visit_file(&syn::parse_file(&std::fs::read_to_string(entry.path()).unwrap()).unwrap());
            if paths.0.iter().any(|path| path.starts_with("kube::") || path.starts_with("k8s_openapi::")) {
                users.push(module(entry.path()).join("/"));
            }
        }
    }
    assert_eq!(users, ["tap/kube_live"]);
}

#[test]
fn every_room_of_the_tree_has_a_rule() {
    for entry in std::fs::read_dir(src()).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(name == "app" || RULES.iter().any(|rule| rule.0 == name), "room `{name}` has no rule in the table");
        }
    }
}

#[test]
fn a_broken_rule_is_seen_and_named() {
    let at = |text: &str| broken(&["policy".to_owned(), "store".to_owned()], text);
    assert!(at("use crate::domain::Finding;").is_empty());
    let by_use = at("use crate::{domain::Finding, ledger::Ledger};");
    assert!(by_use[0].contains("room `policy`") && by_use[0].contains("`ledger`"), "{by_use:?}");
    assert_eq!(at("fn f() { crate::store::open(); }").len(), 1, "a path without `use` counts");
    assert_eq!(at("use super::super::ledger::Ledger;").len(), 1, "`super` does not hide a room");
    assert_eq!(at("use std::fs;").len(), 1, "a pure room does no I/O");
    assert_eq!(at("fn f() { std::env::var(\"X\"); }").len(), 1);
    let config = broken(&["config".to_owned()], "use crate::providers::postgres::client::X;");
    assert_eq!(config.len(), 1, "config sees only the config of a provider");
}
