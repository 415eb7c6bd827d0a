//! What is kept between two passes, so that the next one need not list and read everything again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::archive::Catalogue;
use crate::domain::{ArchivePlace, Memory};

/// Raised when the meaning of the kept catalogue changes; another number is simply not used.
const VERSION: u32 = 1;

/// Kept between passes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    version: u32,
    place: ArchivePlace,
    /// When everything was listed last.
    pub(super) listed_whole: Timestamp,
    /// Base backups with a record at the last pass.
    pub(super) backups: Vec<String>,
    pub(super) catalogue: Catalogue,
}

impl Kept {
    pub(super) fn new(place: &ArchivePlace, listed_whole: Timestamp, catalogue: Catalogue) -> Self {
        let with_record = catalogue.backups().iter().filter(|(_, backup)| backup.record.is_some());
        let backups = with_record.map(|(id, _)| id.clone()).collect();
        Self { version: VERSION, place: place.clone(), listed_whole, backups, catalogue }
    }

    /// Reads what was kept. Another place, another version or a damaged text: nothing was kept.
    pub(super) fn of(memory: Option<&Memory>, place: &ArchivePlace) -> Option<Self> {
        // By reference: a copy of the text would double the memory of the largest archive.
        let kept = Self::deserialize(&memory?.0).ok()?;
        (kept.version == VERSION && kept.place == *place).then_some(kept)
    }

    /// To be handed back at the next pass. `None` keeps what was there.
    pub(super) fn memory(&self) -> Option<Memory> {
        serde_json::to_value(self).ok().map(Memory)
    }
}
