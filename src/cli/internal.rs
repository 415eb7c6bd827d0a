//! `dalsegno internal …`: processes that we start of ourselves. They run before any runtime or thread exists.

use std::ffi::OsString;

/// A process of our own: given what stands behind its name, it gives the exit code of the process.
pub type Inner = fn(&[OsString]) -> u8;

/// What stands behind `internal` on the command line, if that is what was asked for.
pub fn asked(argv: &[OsString]) -> Option<&[OsString]> {
    match argv {
        [_, word, rest @ ..] if word == "internal" => Some(rest),
        _ => None,
    }
}

/// Runs the one of `known` that is named first. An unknown name is a mistake of usage (2).
pub fn run(rest: &[OsString], known: &[(&str, Inner)]) -> u8 {
    let name = rest.first().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((_, inner)) = known.iter().find(|(word, _)| *word == name) else {
        super::failure::say(&format!("error: no internal process is called \"{}\"", super::out::visible(name)));
        return crate::domain::ExitCode::Usage.number();
    };
    inner(rest.get(1..).unwrap_or_default())
}
