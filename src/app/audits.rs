//! Looking into archives for a person who waits.

use super::{App, AppError};
use crate::domain::{Cx, Gap, Observation};
use crate::providers::postgres::{Depth, PostgresArchive};

impl App {
    /// Lists and reads the archives that `which` names, or all: facts, gaps and, of empty places, what lies beside. `headers` reads
    /// the first bytes of boundary segments too.
    pub async fn audit(&self, cx: &Cx, which: Option<&str>, headers: bool) -> Result<Observation, AppError> {
        let databases = &self.settings().postgres;
        let asked: Vec<_> = databases.iter().filter(|of| which.is_none_or(|which| of.subject.answers_to(which))).collect();
        let gaps: Vec<Gap> =
            self.loaded.gaps.iter().filter(|gap| which.is_none_or(|which| gap.subject.answers_to(which))).cloned().collect();
        if let (Some(name), true, true) = (which, asked.is_empty(), gaps.is_empty()) {
            let known: Vec<String> = databases.iter().map(|of| of.subject.to_string()).collect();
            return Err(AppError::not_configured("database", name, &known));
        }
        let depth = if headers { Depth::Headers } else { Depth::Names };
        let mut seen = Observation { gaps, ..Observation::default() };
        for of in asked {
            match self.store(&of.place.store) {
                Some(Ok(store)) => {
                    let more = PostgresArchive::new(of.clone(), store.clone()).audit(cx, depth).await;
                    seen.facts.extend(more.facts);
                    seen.gaps.extend(more.gaps);
                    seen.controls.extend(more.controls);
                }
                Some(Err(error)) => return Err(error.clone().into()),
                None => {}
            }
        }
        Ok(seen)
    }
}
