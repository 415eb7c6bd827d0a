//! What the parser found wrong, in words for whoever wrote the text: its own are about tokens and its inside.

use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

/// Words of the scanner, and what they come from. The first that fits.
const SCANNED: &[(&str, &str)] = &[
    (
        "mapping values are not allowed",
        "a second \": \" in one line, or a wrong indentation: put the value in quotes, or begin a new line",
    ),
    ("illegal placement of ':'", "a \":\" where none can stand: put the value in quotes"),
    ("mapping keys are not allowed", "a key cannot stand here: is the line above it whole?"),
    ("block sequence entries are not allowed", "a list item (\"- \") cannot stand here: begin a new line"),
    ("did not find expected key", "a key was expected here: is the line indented like those beside it?"),
    ("simple key", "a \":\" is missing behind the key, or it is not on the key's line"),
    ("did not find expected ','", "a comma or a closing bracket is missing"),
    ("did not find expected", "something is missing before this: a key, a comma or a closing bracket"),
    ("tab", "a tab stands here: YAML is indented with spaces"),
    ("indent", "the line is not indented like those it belongs to"),
    ("unclosed quote", "a quote is not closed"),
    ("unclosed", "a bracket is not closed"),
    ("bracket", "a bracket is closed that is not open"),
    ("trailing content", "something stands behind a closed quote"),
    ("escape", "a backslash in double quotes begins something that is not known: use single quotes"),
    ("cannot start any token", "no value begins with this character: put it in quotes"),
    ("unknown anchor", "an alias (*name) names an anchor (&name) that does not stand above it"),
    ("comments must be separated", "a # must have a space before it; put the value in quotes if it belongs to it"),
    ("recursion limit", TOO_MUCH),
    ("anchor count", TOO_MUCH),
];
const TOO_MUCH: &str = "too large, too deep or too often repeated to be meant";

/// The words. Nothing of the text itself is in them: it may be a secret. A type's own words, which are ours, stay.
pub(super) fn of(error: &Error) -> String {
    let error = error.without_snippet();
    let said = match error {
        Error::DuplicateMappingKey { .. } => "this key stands here a second time",
        Error::Eof { .. } => "the text ends too soon: is a bracket or a quote not closed?",
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a second document begins here (---), and only one can be used"
        }
        Error::UnknownAnchor { .. } => "an alias (*name) names an anchor (&name) that does not stand above it",
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => TOO_MUCH,
        Error::ExternalMessage { msg, .. } => {
            let found = SCANNED.iter().find(|(theirs, _)| msg.contains(theirs));
            found.map_or("it cannot be read as YAML: is a quote, a bracket or the indentation wrong?", |(_, ours)| *ours)
        }
        other => return of_type(&other.to_string()),
    };
    said.to_owned()
}

/// The first line, without the place that the library repeats in it.
fn of_type(told: &str) -> String {
    let what = told.lines().next().unwrap_or_default().trim();
    what.split(" at line ").next().unwrap_or(what).to_owned()
}
