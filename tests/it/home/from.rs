//! A bare laptop with nothing but a bucket and keys.

use std::path::Path;
use std::process::Command;

use lab::home::Folder;

use super::stage::{PREFIX, Said, Site, bare};
use crate::restore::drill::{PREFIX as ARCHIVE_PREFIX, SERVER};
use crate::story::archived::{Archived, MAJOR, servers_are_here};

/// A machine without a configuration.
struct Laptop {
    folder: Folder,
    url: String,
    endpoint: String,
}

impl Laptop {
    fn of(site: &Site) -> Self {
        let url = format!("s3://{}/{}", site.bucket, PREFIX.trim_end_matches('/'));
        Self { folder: Folder::new("laptop").unwrap(), url, endpoint: site.endpoint.clone() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(&["--from", &self.url, "--endpoint", &self.endpoint], self.folder.path());
        command.env("DALSEGNO__STATE__FOLDER", self.folder.path().join("state"));
        command.args(args).env("AWS_ACCESS_KEY_ID", "LABKEYADMIN").env("AWS_SECRET_ACCESS_KEY", "lab-secret-of-admin");
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_history_of_a_site_are_read_from_its_bucket() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let before = site.objects().await;
    let laptop = Laptop::of(&site);
    let said = laptop.run(&["history", "-o", "json"]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert_eq!(said.json()[0]["number"], 1, "{said:?}");
    assert!(said.err.contains("site home as its run") && !said.err.contains("is not set"), "{said:?}");
    let said = laptop.run(&["status"]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(said.out.contains("main") && said.out.contains("looked"), "{said:?}");
    for args in [&["check"] as &[&str], &["doctor"], &["config", "show"], &["explain", "never-drilled"]] {
        let said = laptop.run(args);
        assert!([0, 1, 3].contains(&said.exit), "{args:?}: {said:?}");
        assert!(!said.err.contains("error"), "{args:?}: {said:?}");
    }
    assert_eq!(site.objects().await, before, "a laptop that reads writes nothing");
    let left = walk(laptop.folder.path());
    assert!(left.iter().any(|path| path.ends_with("dalsegno.yaml")), "{left:?}");
    for path in &left {
        let text = std::fs::read(path).unwrap();
        assert!(!text.windows(14).any(|window| window == b"lab-secret-of-"), "a secret stands in {path}");
    }
}

fn walk(folder: &Path) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.path().display().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_belong_to_the_site() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    for command in ["run", "daemon"] {
        let said = Laptop::of(&site).run(&[command]);
        assert_eq!(said.exit, 2, "{said:?}");
        assert!(said.err.contains("only reads what a site recorded"), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named() {
    let Some(site) = Site::new("home").await else { return };
    let more = format!(
        "  other:\n    endpoint: {}\n    bucket: other-bucket\n    read: {{access-key-id: {{env: OTHER_ID}}, secret-access-key: {{file: {}}}}}\n\
         notify: {{webhooks: {{ops: {{url: {{env: HOOK}}}}}}}}\n",
        site.endpoint,
        site.folder.path().join("other.key").display(),
    );
    std::fs::write(site.folder.path().join("other.key"), "k3y-of-other").unwrap();
    let site = site.with(&more);
    let said = site.run_with(&["run", "--exit", "work"], &[("OTHER_ID", "LABKEYOTHER"), ("HOOK", "http://127.0.0.1:9/hook")]);
    assert_eq!(said.exit, 0, "{said:?}");
    std::fs::remove_file(site.folder.path().join("other.key")).unwrap();
    let laptop = Laptop::of(&site);
    let said = laptop.run(&["status"]);
    assert_eq!(said.exit, 0, "{said:?}");
    let variable = "DALSEGNO_KEY_STORES_OTHER_READ_SECRET_ACCESS_KEY";
    for word in ["OTHER_ID is not set, for stores.other.read.access-key-id", "HOOK is not set", &format!("{variable} is not set")]
    {
        assert!(said.err.contains(word), "{word}: {said:?}");
    }
    // With them it is whole; the variable takes the place of the file.
    let given = laptop.command(&["status"]).env("OTHER_ID", "a").env("HOOK", "http://h/").env(variable, "b").output().unwrap();
    let said = Said::of(given);
    assert!(!said.err.contains("is not set"), "{said:?}");
    // Nobody at a terminal, and no key of the bucket: nothing is begun.
    let said = Said::of(
        bare(&["--from", &laptop.url, "--endpoint", &laptop.endpoint, "status"], laptop.folder.path()).output().unwrap(),
    );
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(said.err.contains("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY") && said.err.contains("hint:"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_a_ledger_or_that_is_none_is_refused() {
    let Some(site) = Site::new("home").await else { return };
    let mut laptop = Laptop::of(&site);
    let said = laptop.run(&["status"]);
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(said.err.contains("no site keeps its ledger below this prefix"), "{said:?}");
    for bad in ["s3://", "s3://bucket-only", "bucket/prefix", "https://h/bucket/prefix", "s3://a@b/c"] {
        laptop.url = bad.to_owned();
        let said = laptop.run(&["status"]);
        assert_eq!(said.exit, 2, "{bad}: {said:?}");
        assert!(said.err.contains("is not an address of a bucket"), "{bad}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_configuration_is_not_believed() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let name = site.head().await["config"]["name"].as_str().unwrap().to_owned();
    let text = site.json(&name).await.to_string().replace("READ_ID", "EVIL_ID");
    site.client.put(&site.bucket, &format!("{PREFIX}{name}"), text).await.unwrap();
    let said = Laptop::of(&site).run(&["status"]);
    assert_eq!(said.exit, 5, "{said:?}");
    assert!(said.err.contains("SHA-256"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_from_a_laptop_proves_and_the_site_takes_the_proof_in() {
    if !servers_are_here() {
        return;
    }
    let archived = Archived::once().await;
    let Some(site) = Site::new("home").await else { return };
    for (key, bytes) in &archived.objects {
        site.client.put(&site.bucket, key, bytes.clone()).await.unwrap();
    }
    // The site reaches its store by a name that a laptop does not know.
    let more = format!(
        "postgres:\n  {SERVER}:\n    archive: {{store: main, prefix: {ARCHIVE_PREFIX}, server: {SERVER}}}\n    system-id: \"{}\"\n    \
         policy: {{rpo: 4h, drill-every: 35d}}\n    checks:\n      - {{name: rows, database: postgres, sql: select count(*) from accounts, \
         expect: {{value: \"{}\"}}, tells-stale: true}}\n",
        archived.system_id, archived.rows
    );
    let inside = site.endpoint.replace("127.0.0.1", "localhost");
    let outside = site.endpoint.clone();
    let mut site = site.with(&more);
    site.endpoint = inside;
    let first = site.pass();
    assert_eq!(first.exit, 0, "{first:?}");
    let never = |said: &Said| {
        let findings = said.json()["findings"].clone();
        findings.as_array().unwrap().iter().any(|finding| finding["code"] == "never-drilled")
    };
    assert!(never(&first), "{first:?}");
    let mut laptop = Laptop::of(&site);
    laptop.endpoint = outside;
    let postgres = lab::Tool::Postgres(MAJOR).find().unwrap();
    let sandboxes = laptop.folder.path().join("sandboxes");
    let drill = laptop
        .command(&["drill", "pg-restore", "--db", SERVER, "-o", "json"])
        .env("DALSEGNO__DRILL__POSTGRES", format!("[{}]", postgres.display()))
        .env("DALSEGNO__DRILL__FOLDER", &sandboxes)
        .output()
        .unwrap();
    let said = Said::of(drill);
    assert_eq!(said.exit, 0, "{said:?}");
    assert_eq!(said.json()["verdict"], "proven", "{said:?}");
    assert!(said.err.contains("here it is asked at"), "{said:?}");
    let run = said.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(site.keys("evidence/").await, [format!("{PREFIX}evidence/home/{run}.json")]);
    let second = site.pass();
    assert!(!never(&second), "{second:?}");
}
