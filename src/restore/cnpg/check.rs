//! `cnpg.check`: the questions of `pg.check`, asked through the port-forward; and that nothing is archived, read back.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::objects::{clusters, could_archive};
use super::recover::{ClusterServer, SUPERUSER};
use crate::domain::verb_names::ARCHIVING_OFF;
use crate::domain::{AssertionResult, CheckEnd, Cx, Receipt, SqlCheck};
use crate::restore::Trouble;
use crate::restore::check::{CheckWork, assertion};
use crate::restore::held::{Chosen, Telling};
use crate::restore::session::{As, Session, words};

/// Between the two looks at what waits to be archived.
const BETWEEN: Duration = Duration::from_secs(2);

/// What one round of checks works with.
pub(super) struct ClusterCheck {
    pub(super) cx: Cx,
    pub(super) server: Arc<ClusterServer>,
    pub(super) chosen: Arc<Chosen>,
    pub(super) checks: Vec<SqlCheck>,
    pub(super) cancel: CancellationToken,
}

impl ClusterCheck {
    /// Does them all.
    pub(super) async fn run(self, telling: Telling) -> Result<Receipt, Trouble> {
        telling.progress("archiving, read back".to_owned());
        let archiving = self.archiving().await?;
        let work = CheckWork {
            cx: self.cx,
            door: self.server.door(),
            role: SUPERUSER.to_owned(),
            recovered: self.server.recovered.clone(),
            base_bytes: None,
            archiving,
            // The pod is the fence; whether it holds was not looked at, so a superuser is no reader here.
            fenced: false,
            chosen: self.chosen,
            checks: self.checks,
            cancel: self.cancel,
        };
        work.run(telling).await
    }

    /// Three looks: what the Cluster's spec could archive to, what waits in the server, what came into the archive.
    async fn archiving(&self) -> Result<AssertionResult, Trouble> {
        let server = &self.server;
        let (mut facts, mut against) = (Vec::new(), Vec::new());
        let api = Api { kube: &*server.target.kube, cancel: &self.cancel, until: self.cx.deadline };
        match api.get(&clusters(), Some(&server.namespace), &server.name).await? {
            None => against.push("the Cluster is gone".to_owned()),
            Some(object) => match could_archive(&object) {
                found if found.is_empty() => {
                    facts.push("the Cluster has no plugin and no backup: nowhere to archive to".to_owned());
                }
                found => against.extend(found),
            },
        }
        let (mode, before) = self.waiting().await?;
        api.rest(BETWEEN).await?;
        let (_, after) = self.waiting().await?;
        if after > before {
            against.push(format!("segments that wait to be archived grew from {before} to {after}"));
        } else {
            facts.push(format!("{mode}; {after} segments wait, and none came"));
        }
        // The first file that a promoted server archives is the history of its new timeline.
        let root = self.chosen.of.place.root();
        let history = format!("{}wals/{:08X}.history", root.as_str(), server.timeline);
        match self.chosen.of.store.peek(&history).await {
            Ok(None) => facts.push(format!("timeline {} of the drill is not in the archive", server.timeline)),
            Ok(Some(_)) => against.push(format!("{history} is in the archive: somebody archived timeline {}", server.timeline)),
            Err(error) => against.push(format!("whether {history} is in the archive could not be seen: {error}")),
        }
        let expected = "nothing is archived from the drill, read back".to_owned();
        Ok(if against.is_empty() {
            assertion(ARCHIVING_OFF, expected, facts.join("; "), CheckEnd::Passed, false)
        } else {
            assertion(ARCHIVING_OFF, expected, against.join("; "), CheckEnd::Undecided, false)
        })
    }

    /// What the server says of archiving, and how many segments wait for it.
    async fn waiting(&self) -> Result<(String, u64), Trouble> {
        let asked = async {
            let mut session = Session::open(&self.server.door(), As::Superuser(SUPERUSER), "postgres", &[]).await?;
            let row = session
                .row(
                    "select pg_catalog.current_setting('archive_mode'), \
                     (select count(*) from pg_catalog.pg_ls_archive_statusdir() as of where of.name like '%.ready')",
                )
                .await;
            session.close().await;
            row
        };
        let row = asked
            .await
            .map_err(|error| Trouble::could_not(format!("archiving could not be read back: {}", words(&error)), "drill again"))?;
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        Ok((format!("archive_mode is {}", text(0)), text(1).parse().unwrap_or(0)))
    }
}
