//! What may be done in a drill, and what the sweep of a pass says of drills.

use super::drill::{Ground, SweptHow, sweep_drills};
use super::pass::Swept;
use crate::domain::{Call, Cx, Explained, Permit, Refused, Risk, RunId, VerbSpec};

/// What may be done in a drill: looking, and making things of our own. Whatever changes or destroys has no place in one yet.
pub fn drill_guard(call: &Call, spec: &VerbSpec) -> Permit {
    match spec.risk {
        Risk::Looks | Risk::Sandbox => Permit::Yes,
        Risk::Changes | Risk::Destroys => Permit::No(Refused {
            why: format!("{} {}: no policy allows that in a drill", call.verb, spec.risk.as_str()),
            hint: "leave the step out of the runbook".to_owned(),
        }),
    }
}

/// Sweeps drills whose process is gone, in the words of a pass.
pub async fn sweep_for_pass(cx: &Cx, ground: &Ground<'_>) -> Swept {
    let mut told = Swept::default();
    match sweep_drills(cx, ground).await {
        Ok(swept) => swept.into_iter().for_each(|one| tell(&mut told, one.run, one.how)),
        Err(error) => told.stuck.push(format!("{error}; {}", error.hint().unwrap_or_default())),
    }
    told
}

fn tell(told: &mut Swept, run: RunId, how: SweptHow) {
    match how {
        SweptHow::Living => {}
        SweptHow::Discarded => told.closed.push(format!("drill {run}: nothing was begun, folder removed")),
        SweptHow::Closed { left_over } if left_over.is_empty() => told.closed.push(format!("drill {run}: closed as interrupted")),
        SweptHow::Closed { left_over } => told.stuck.push(format!("drill {run}: left over {}", left_over.join(", "))),
        SweptHow::Stuck { why, hint } => told.stuck.push(format!("drill {run}: {why} ({hint})")),
    }
}
