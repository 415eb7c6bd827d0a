//! Plans: parameters bound, outputs waiting.

use std::collections::BTreeMap;

use dalsegno::domain::RunId;
use dalsegno::runbook::{Plan, check, plan};
use serde_json::{Map, Value, json};

use crate::execution::folder_act::VERBS;

const BOOK: &str = "
runbook: 1
name: book
purpose: binds
parameters:
  word: {type: text, default: quiet, about: a word}
  timeline: {type: timeline, about: optional}
isolation-at-least: none
budgets: {rpo: 5m}
steps:
  - {name: one, verb: sandbox.make, with: {text: \"say $(word) at $$(home)\", timeline: $(timeline)}}
  - {name: two, verb: sandbox.make, with: {folder: $(one.folder), text: \"$(word)/$(one.folder)\"}}
";

fn planned(given: &[(&str, &str)]) -> Plan {
    let checked = check(BOOK, &VERBS).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    plan(&checked, RunId::new(), &given).unwrap()
}

fn outputs(folder: &Value) -> BTreeMap<String, Map<String, Value>> {
    BTreeMap::from([("one".to_owned(), Map::from_iter([("folder".to_owned(), folder.clone())]))])
}

#[test]
fn parameters_are_bound_and_what_has_no_value_is_no_argument() {
    let plan = planned(&[]);
    let call = plan.steps[0].call(plan.run, &BTreeMap::new()).unwrap();
    assert_eq!(Value::Object(call.args), json!({"text": "say quiet at $(home)"}));
    assert_eq!(plan.rpo_seconds, Some(300.0));
    let with_timeline = planned(&[("timeline", "7")]);
    assert_eq!(with_timeline.steps[0].call(plan.run, &BTreeMap::new()).unwrap().args["timeline"], json!(7));
}

#[test]
fn outputs_wait_on_paper_and_are_filled_in_with_their_types() {
    let plan = planned(&[]);
    let paper = plan.steps[1].call_on_paper(plan.run);
    assert_eq!(Value::Object(paper.args), json!({"folder": "$(one.folder)", "text": "quiet/$(one.folder)"}));
    let call = plan.steps[1].call(plan.run, &outputs(&json!(["a", 1]))).unwrap();
    assert_eq!(Value::Object(call.args), json!({"folder": ["a", 1], "text": "quiet/[\"a\",1]"}));
    assert!(plan.steps[1].call(plan.run, &BTreeMap::new()).unwrap_err().to_string().contains("$(one.folder)"));
}

#[test]
fn a_value_is_never_read_as_a_reference() {
    for hostile in ["$(one.folder)", "$(word)", "$$(word)", "$(", "$$$(x)", "a$"] {
        let plan = planned(&[("word", hostile)]);
        let call = plan.steps[1].call(plan.run, &outputs(&json!("$(two.folder)"))).unwrap();
        assert_eq!(call.args["text"], json!(format!("{hostile}/$(two.folder)")));
        assert_eq!(call.args["folder"], json!("$(two.folder)"));
    }
}

#[test]
fn a_plan_survives_the_journal() {
    let plan = planned(&[("word", "$(x)")]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}
