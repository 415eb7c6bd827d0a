//! What the startup process says it does, in its title: the one sign of progress before the standby takes connections.

use std::fs;

/// What the title tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartupTitle {
    /// The segment it reads or waits for.
    pub segment: String,
    /// Whether it waits for it.
    pub waits: bool,
}

/// Looks at the postmaster's children.
pub fn of_startup(postmaster: i32) -> Option<StartupTitle> {
    let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).ok()?;
    children.split_whitespace().find_map(|pid| {
        let title = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        read(&String::from_utf8_lossy(&title))
    })
}

/// `postgres: startup recovering 00000001000000000000002F`, before PostgreSQL 14 with more spaces; `waiting for …` while it waits.
pub fn read(title: &str) -> Option<StartupTitle> {
    let (_, rest) = title.split_once("startup")?;
    let rest = rest.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let (segment, waits) = match rest.strip_prefix("recovering ") {
        Some(segment) => (segment, false),
        None => (rest.strip_prefix("waiting for ")?, true),
    };
    let segment: String = segment.trim_start().chars().take_while(char::is_ascii_hexdigit).collect();
    (segment.len() == 24).then_some(StartupTitle { segment, waits })
}
