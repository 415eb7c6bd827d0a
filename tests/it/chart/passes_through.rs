//! Configuration and runbooks go through helm and envsubst byte by byte.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::render::{documents, helm, rendered, root};

/// Texts that templates, YAML and shells like to change.
fn texts() -> Vec<(&'static str, String)> {
    let file = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    vec![
        ("pg-restore.yaml", file("runbooks/pg-restore.yaml")),
        ("init.yaml", file("src/cli/init.yaml")),
        ("ours.yaml", "a: $(target)\nb: $(choose.backup) and $$(literal)\nc: $1 $? 'cost$'\n".to_owned()),
        ("templates.yaml", "a: {{ .Values.x }} {{- if x }}\nb: '{{`x`}}' {% raw %}\n".to_owned()),
        ("spaces.yaml", "  begins: with spaces\n\n\nends: with lines\n\n\n".to_owned()),
        ("nothing-at-the-end.yaml", "a: b".to_owned()),
        ("tabs.yaml", "\ta\t: \"b\\n\" \\ 'c' \u{00e9}\u{20ac}\u{1f512} <&> \u{2028} #\u{85} \u{2029}x\n--- \n... \n".to_owned()),
        ("returns.yaml", "a: b\r\nc: d\r\n".to_owned()),
    ]
}

fn values() -> String {
    let map: serde_json::Map<String, Value> = texts().into_iter().map(|(name, text)| (name.to_owned(), json!(text))).collect();
    // The values file is JSON too, and what YAML 1.1 takes for line breaks is escaped: helm reads it as YAML.
    let text = json!({"existingConfigMap": "given", "runbooks": map}).to_string();
    text.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn data(documents: &[Value]) -> Vec<(String, String)> {
    let map = documents.iter().find(|document| document["metadata"]["name"] == "own-dalsegno-runbooks").unwrap();
    let data = map["data"].as_object().unwrap();
    data.iter().map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect()
}

fn expected() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = texts().into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    all.sort();
    all
}

#[test]
fn helm_changes_no_byte() {
    let Some(helm) = helm() else { return };
    assert_eq!(data(&rendered(&helm, &values()).unwrap()), expected());
    // The configuration goes the same way.
    let text = "site: home\n# $(x) {{ y }} ${Z}\n";
    let documents = rendered(&helm, &json!({"configuration": {"a.yaml": text}}).to_string()).unwrap();
    let map = documents.iter().find(|document| document["kind"] == "ConfigMap").unwrap();
    assert_eq!(map["data"]["a.yaml"], text);
}

#[test]
fn envsubst_changes_no_byte_of_our_own_syntax() {
    let Some(helm) = helm() else { return };
    let Some(stream) = envsubst(&helm) else { return };
    assert_eq!(data(&documents(&stream)), expected());
}

/// gettext's envsubst over what helm rendered, with variables set whose names occur in our parameters.
fn envsubst(helm: &std::path::Path) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, values()).unwrap();
    let rendered = Command::new(helm)
        .args(["template", "own", "--kube-version", "1.30.0", "--namespace", "backup", "--values"])
        .arg(&file)
        .arg(super::render::chart())
        .output()
        .unwrap();
    assert!(rendered.status.success(), "{rendered:?}");
    let child = Command::new("envsubst")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("target", "EVIL"), ("choose", "EVIL"), ("subject", "EVIL"), ("literal", "EVIL"), ("x", "EVIL")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        assert!(std::env::var_os("CI").is_none(), "gettext's envsubst is absent");
        eprintln!("SKIPPED chart: gettext's envsubst is absent");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let text = rendered.stdout.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&text).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}
