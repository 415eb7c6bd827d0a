//! Runbooks by name or path, and their check on paper.

use std::io::Read as _;

use super::drill::{DrillError, SHIPPED, Script};
use crate::domain::VerbSpec;
use crate::runbook::{Checked, Mistakes, check};

pub use crate::runbook::Runbook;

/// A runbook is a page or two; a larger file is something else.
const LARGEST: u64 = 1 << 20;

/// A shipped runbook by its name, or a file by its path. A name without a slash or a dot never reads a file.
pub fn script(name: &str) -> Result<Script, DrillError> {
    if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Ok(Script { file: format!("built in: {name}"), text: (*text).to_owned() });
    }
    let shipped = SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let missing = |why: String| DrillError::NoRunbook { name: name.to_owned(), shipped: shipped.clone(), why };
    if !name.contains(['/', '.']) {
        return Err(missing(String::new()));
    }
    let mut text = String::new();
    let read = std::fs::File::open(name).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
    read.map_err(|error| missing(format!(": {error}")))?;
    Ok(Script { file: name.to_owned(), text })
}

/// Checks a runbook against the verbs that there are.
pub fn check_script(script: &Script, verbs: &[VerbSpec]) -> Result<Checked, Mistakes> {
    check(&script.text, verbs).map_err(|mistakes| Mistakes { file: script.file.clone(), mistakes })
}
