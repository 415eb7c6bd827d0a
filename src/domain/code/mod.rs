//! The closed table of finding codes: what each means and what to do. `dalsegno explain CODE` prints a row.
//!
//! One code, one remedy. A code is never renamed and never used for a second thing. The rows stand in one file per
//! subject matter; `docs/reference/findings.md` is made from them.

mod archive;
mod clock;
mod cnpg_archiving;
mod cnpg_backups;
mod cnpg_place;
mod cnpg_restores;
mod cnpg_schedules;
mod cnpg_volume;
mod look;
mod own;
mod recovery;
mod restore;
mod store;

use std::sync::LazyLock;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSpec {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it means, and how it is recognised.
    pub meaning: &'static str,
    /// What is lost if nobody acts.
    pub harm: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// Where the fact comes from: issue or document URLs.
    pub sources: &'static [&'static str],
}

/// All codes, sorted by code.
pub static CODES: LazyLock<Vec<CodeSpec>> = LazyLock::new(|| {
    let mut rows = [
        archive::ROWS,
        clock::ROWS,
        cnpg_archiving::ROWS,
        cnpg_backups::ROWS,
        cnpg_place::ROWS,
        cnpg_restores::ROWS,
        cnpg_schedules::ROWS,
        cnpg_volume::ROWS,
        look::ROWS,
        own::ROWS,
        recovery::ROWS,
        restore::ROWS,
        store::ROWS,
    ]
    .concat();
    rows.sort_by_key(|row| row.code);
    rows
});

/// The row of a code.
pub fn code(name: &str) -> Option<&'static CodeSpec> {
    CODES.iter().find(|row| row.code == name)
}
