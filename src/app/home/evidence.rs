//! Evidence of drills in the bucket: jobs, laptops and passes hand it in, the site's pass takes it in.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use bytes::Bytes;

use super::HomeError;
use super::layout::{evidence, evidence_folder, evidence_run, key};
use crate::conductor::drill::{EVIDENCE_FILE, list_evidence};
use crate::domain::{Prefix, RunId};
use crate::ledger::Ledger;
use crate::process::kill;
use crate::store::{Guarded, Store, StoreError};
use crate::tap::objects::PutAsk;

/// An evidence file is a few pages; what is larger is none.
const LARGEST: u64 = 64 << 20;

/// Runs whose evidence lies in the bucket.
pub(super) async fn listed(store: &Store, prefix: &Prefix, site: &str) -> Result<Vec<RunId>, StoreError> {
    let mut found = Vec::new();
    store
        .list(&key(prefix, &evidence_folder(site)), None, &mut |object| {
            if let Some(name) = object.key.strip_prefix(prefix.as_str()) {
                found.extend(evidence_run(name, site));
            }
            std::ops::ControlFlow::Continue(())
        })
        .await?;
    Ok(found)
}

/// Lays what the ledger does not know at `<base>/<run>/evidence.json`, where the pass takes it in.
pub(super) async fn bring(
    store: &Store,
    prefix: &Prefix,
    site: &str,
    ledger: &Ledger,
    base: &Path,
    there: &[RunId],
) -> Result<usize, HomeError> {
    let mut brought = 0;
    for run in there {
        if ledger.knows_drill(*run).await.unwrap_or(false) {
            continue;
        }
        let object = store.get(&key(prefix, &evidence(site, *run)), LARGEST).await?;
        let folder = base.join(run.to_string());
        let io = |source| HomeError::File { what: "write", path: folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io)?;
        std::fs::write(folder.join(EVIDENCE_FILE), &object.bytes).map_err(io)?;
        brought += 1;
    }
    Ok(brought)
}

/// Hands in what lies in the drills' folder and not yet in the bucket; gives how many.
pub(super) async fn hand_in(guarded: &Guarded, site: &str, drills: &Path, there: &[RunId]) -> Result<usize, HomeError> {
    let local = list_evidence(drills).unwrap_or_default();
    let mut handed = 0;
    for (run, path) in local.into_iter().filter(|(run, _)| !there.contains(run)) {
        let bytes = std::fs::read(&path).map_err(|source| HomeError::File { what: "read", path: path.clone(), source })?;
        let ask = PutAsk {
            key: key(guarded.own(), &evidence(site, run)),
            bytes: Bytes::from(bytes),
            metadata: super::layout::mark("evidence", site),
            if_absent: true,
            ..PutAsk::default()
        };
        match guarded.put(ask).await {
            // Evidence is never changed: the first stays, and a second of the same run would be refused by the ledger.
            Ok(_) | Err(StoreError::PreconditionFailed { .. }) => handed += 1,
            Err(error) => return Err(error.into()),
        }
        kill::point("home-evidence-handed-in");
    }
    Ok(handed)
}
