//! What is shipped and what is generated agrees with the program.

use std::fmt::Write as _;
use std::path::Path;

use dalsegno::cli::init::TEMPLATE;
use dalsegno::config::{self, Schema};
use serde_json::Value;

use super::{GOOD, Site};

fn json(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap()
}

#[test]
fn the_schema_itself_is_one_and_takes_what_the_walker_takes() {
    let schema = Schema::new();
    let validator = jsonschema::validator_for(schema.root()).unwrap();
    for (name, text) in [("init", TEMPLATE), ("good", GOOD), ("empty", "{}")] {
        let errors: Vec<_> = validator.iter_errors(&json(text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    let store = "stores: {s: {endpoint: http://a:1, bucket: abc, read: {access-key-id: {env: A}, secret-access-key: {env: B}}";
    let faults = [
        "sitee: x".to_owned(),
        "site: 1".to_owned(),
        "pass: {deadline: 5}".to_owned(),
        "pass: {deadline: 5 min}".to_owned(),
        "drill: {isolation: close}".to_owned(),
        "stores: {s: {}}".to_owned(),
        format!("{store}, requests-per-day: 0}}}}"),
        format!("{store}, dialect: x}}}}"),
        format!("{store}, own: {{prefix: a}}}}}}"),
        store.replace("{env: A}", "secret") + "}}",
        store.replace("{env: A}", "{env: A, file: B}") + "}}",
    ];
    for text in faults {
        assert!(!validator.is_valid(&json(&text)), "the schema takes {text}");
        assert!(!Site::new(&text).env("A", "a").env("B", "b").mistakes().is_empty(), "the walker takes {text}");
    }
}

#[test]
fn the_template_of_init_holds_only_placeholders_that_are_to_be_filled_in() {
    let site = Site::bare(TEMPLATE).env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    let found = site.mistakes();
    assert!(!found.is_empty() && found.iter().all(|line| line.contains("is a placeholder")), "{found:#?}");
    let filled = TEMPLATE
        .replace("TBD-S3-HOST", "minio.lan:9000")
        .replace("TBD-BUCKET", "backups")
        .replace("TBD-PREFIX", "cnpg")
        .replace("TBD-SERVER", "my-db");
    let site = Site::bare(&filled).env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    assert_eq!(site.check().unwrap().settings.postgres.len(), 1);
}

#[test]
fn what_the_template_comments_out_is_right_as_well() {
    let mut text = String::new();
    for line in TEMPLATE.lines() {
        // `# key: …` is an example; `# Words …` is prose.
        let bare = line.trim_start();
        let example = bare.strip_prefix("# ").filter(|rest| {
            let word = rest.trim_start().trim_start_matches("- ").split([':', ' ']).next().unwrap_or_default();
            rest.contains(':')
                && !word.is_empty()
                && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                && !rest.starts_with("select")
        });
        match example {
            Some(rest) => writeln!(text, "{}{rest}", " ".repeat(line.len() - bare.len())).unwrap(),
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    let text = text
        .replace("TBD-S3-HOST", "minio.lan:9000")
        .replace("TBD-BUCKET", "backups")
        .replace("TBD-PREFIX", "cnpg")
        .replace("TBD-SERVER", "my-db");
    let text = text.lines().filter(|line| !line.trim_start().starts_with("ca:")).collect::<Vec<_>>().join("\n");
    let site = Site::bare(&text)
        .env("AWS_ACCESS_KEY_ID", "a")
        .env("AWS_SECRET_ACCESS_KEY", "b")
        .env("WEBHOOK_URL", "https://ntfy.lan/x")
        .env("HEARTBEAT_URL", "https://hc.lan/x")
        .env("MAIL_PASSWORD", "x");
    let loaded = site.check().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(loaded.settings.postgres[0].checks.len(), 2, "{text}");
    assert!(loaded.settings.notify.heartbeat.is_some() && loaded.settings.drill.user.is_some());
}

#[test]
fn the_reference_page_is_what_the_schema_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/config.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, config::reference()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == config::reference(),
        "docs/reference/config.md is not what the schema says: UPDATE_DOCS=1 cargo test --test it config::"
    );
}

#[test]
fn every_description_is_there() {
    fn look(node: &Value, path: &str, bare: &mut Vec<String>) {
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            for (key, value) in properties {
                if value.get("description").is_none() {
                    bare.push(format!("{path}.{key}"));
                }
            }
        }
        for (key, value) in node.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            look(value, key, bare);
        }
    }
    let mut bare = Vec::new();
    look(Schema::new().root(), "", &mut bare);
    assert!(bare.is_empty(), "without a description: {bare:?}");
}
