//! Looking into archives for a person who waits.

use super::{App, AppError};
use crate::domain::{ArchiveFact, Cx, Gap};
use crate::providers::postgres::{Depth, PostgresArchive};

impl App {
    /// Lists and reads the archives that `which` names, or all. `headers` reads the first bytes of boundary segments too.
    pub async fn audit(&self, cx: &Cx, which: Option<&str>, headers: bool) -> Result<(Vec<ArchiveFact>, Vec<Gap>), AppError> {
        let databases = &self.settings().postgres;
        let asked: Vec<_> = databases.iter().filter(|of| which.is_none_or(|which| of.subject.answers_to(which))).collect();
        let mut gaps: Vec<Gap> =
            self.loaded.gaps.iter().filter(|gap| which.is_none_or(|which| gap.subject.answers_to(which))).cloned().collect();
        if let (Some(name), true, true) = (which, asked.is_empty(), gaps.is_empty()) {
            let known = databases.iter().map(|of| of.subject.to_string()).collect::<Vec<_>>().join(", ");
            return Err(AppError::NotConfigured { what: "database", name: name.to_owned(), known });
        }
        let depth = if headers { Depth::Headers } else { Depth::Names };
        let mut archives = Vec::new();
        for of in asked {
            match self.store(&of.place.store) {
                Some(Ok(store)) => {
                    let (fact, more) = PostgresArchive::new(of.clone(), store.clone()).audit(cx, depth).await;
                    archives.extend(fact);
                    gaps.extend(more);
                }
                Some(Err(error)) => return Err(error.clone().into()),
                None => {}
            }
        }
        Ok((archives, gaps))
    }
}
