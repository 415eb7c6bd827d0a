//! What a plan would do, on paper: every object that would be made, changed or removed.

use serde::Serialize;

use crate::domain::{Act, Makes, Refused, Risk, Touch, Undo};
use crate::runbook::Plan;

/// One step on paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The step.
    pub step: String,
    /// Its verb.
    pub verb: String,
    /// What the verb does, in a line.
    pub about: String,
    /// What it can do to the world.
    pub risk: Risk,
    /// Whether what it makes is taken back at the end in any case.
    pub taken_back: bool,
    /// Arguments; outputs of earlier steps stand as `$(step.output)`.
    pub with: serde_json::Map<String, serde_json::Value>,
    /// What would be made, changed or removed.
    pub touches: Vec<Touch>,
    /// Why it would be refused on paper already.
    pub refused: Option<Refused>,
}

/// Asks every act what it would do. Nothing is done.
pub fn outlook(plan: &Plan, acts: &[&dyn Act]) -> Vec<Outlook> {
    let steps = plan.steps.iter().chain(&plan.finally);
    steps
        .filter_map(|step| {
            let (act, spec) = super::step::find(acts, &step.verb)?;
            let call = step.call_on_paper(plan.run);
            let intended = act.intend(&call);
            // The names of a run that will never be: on paper they bear no id.
            let on_paper = |touch: &Touch| Touch { what: touch.what.replace(&plan.run.short(), "<run>"), ..touch.clone() };
            Some(Outlook {
                step: step.name.clone(),
                verb: step.verb.clone(),
                about: spec.about.to_owned(),
                risk: spec.risk,
                taken_back: spec.makes == Makes::Scaffold && spec.undo == Undo::Yes,
                with: call.args,
                touches: intended.as_ref().map(|intent| intent.touches.iter().map(on_paper).collect()).unwrap_or_default(),
                refused: intended.err(),
            })
        })
        .collect()
}
