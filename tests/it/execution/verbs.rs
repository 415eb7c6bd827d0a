//! The test form, held against the bench's own verbs.

use std::fs;

use dalsegno::domain::{Call, Intent, RunId};
use serde_json::Map;

use super::bench::{Bench, cx};
use super::folder_act::{FolderAct, VERBS};
use super::form::{self, Foreign};

struct PlantedFolder;

impl Foreign for PlantedFolder {
    fn plant(&self, intent: &Intent) {
        let path = FolderAct::path(intent);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("somebody"), "else").unwrap();
    }

    fn untouched(&self, intent: &Intent) -> bool {
        fs::read_to_string(FolderAct::path(intent).join("somebody")).is_ok_and(|text| text == "else")
    }
}

#[tokio::test]
async fn every_verb_of_the_bench_holds_the_form() {
    for spec in &VERBS {
        let bench = Bench::new();
        let act = FolderAct::new(&bench.sandboxes);
        let run = RunId::new();
        let call = |step: &str| Call { run, step: step.into(), verb: spec.name.into(), args: Map::new() };
        let foreign: Option<&dyn Foreign> = if spec.undo == dalsegno::domain::Undo::Yes { Some(&PlantedFolder) } else { None };
        form::holds(&act, &cx(run), &call, foreign).await;
    }
}
