//! The guides: every `sh` block is run, in order, by a real shell with the real program; names of the reader's are replaced by the lab's.

use std::path::{Path, PathBuf};
use std::process::Command;

use lab::home::Folder;

use super::render::root;

/// Blocks of a page in order: language and text.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => open = Some((language.to_owned(), String::new())),
            (Some(_), Some(block)) => found.push(block),
            (None, Some((language, text))) => open = Some((language, format!("{text}{line}\n"))),
            (None, None) => {}
        }
    }
    found
}

pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/guide").join(name)).unwrap()
}

/// A shell with the program in its path.
pub(crate) struct Reader {
    folder: Folder,
    env: Vec<(String, String)>,
}

impl Reader {
    pub(crate) fn new() -> Self {
        let folder = Folder::new("reader").unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dalsegno"), folder.path().join("dalsegno")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dalsegno"), folder.path().join("kubectl-dalsegno")).unwrap();
        Self { folder, env: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Runs a block; gives what it said.
    pub(crate) fn run(&self, block: &str, within: PathBuf) -> (i32, String) {
        let path = format!("{}:{}", self.path().display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-euc", block])
            .current_dir(within)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path())
            .env("DALSEGNO__STATE__FOLDER", self.path().join("state"))
            .envs(self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .output()
            .unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_the_ledger_in_a_bucket_holds_word_for_word() {
    let Some(weed) = crate::store::real::server("chart").await else { return };
    let bucket = weed.fresh_bucket().await.unwrap();
    let text =
        page("bucket-ledger.md").replace("https://ACCOUNT.r2.cloudflarestorage.com", weed.endpoint()).replace("dr-own", &bucket);
    let blocks = blocks(&text);
    let mut reader = Reader::new();
    for (name, value) in [
        ("R2_READ_ID", "LABKEYREADER"),
        ("R2_READ_KEY", "lab-secret-of-reader"),
        ("R2_OWN_ID", "LABKEYADMIN"),
        ("R2_OWN_KEY", "lab-secret-of-admin"),
    ] {
        reader.set(name, value);
    }
    let config = blocks.iter().find(|(language, _)| language == "yaml").unwrap();
    std::fs::write(reader.path().join("dalsegno.yaml"), &config.1).unwrap();
    let mut ran = 0;
    for (language, block) in &blocks {
        if language != "sh" {
            continue;
        }
        if block.contains("$SNAPSHOT") {
            let keys = weed.client().keys(&bucket, "dalsegno/ledger/").await.unwrap();
            let name = keys.iter().find(|key| key.ends_with(".zst")).unwrap().trim_start_matches("dalsegno/ledger/").to_owned();
            reader.set("SNAPSHOT", &name);
        }
        let (exit, said) = reader.run(block, reader.path().to_owned());
        assert_eq!(exit, 0, "{block}\n{said}");
        ran += 1;
    }
    assert_eq!(ran, 3, "every block was run");
}
