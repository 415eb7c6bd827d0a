//! Old snapshots and configurations go: only what bears a name that we give *and* the mark that we put on it.

use jiff::Timestamp;

use super::bring::snapshots;
use super::head::Head;
use super::layout::{self, CONFIGS, CONFIGS_KEPT, MARK_HEADER, SNAPSHOTS, SNAPSHOTS_KEPT, key, kind};
use crate::process::kill;
use crate::store::{Guarded, StoreError};

/// So many go at once; the next pass goes on.
const AT_ONCE: usize = 50;
/// A trial of conditional writes takes seconds; one this old was left by a killed process.
const OLD_TRIAL_SECONDS: u64 = 3600;

/// Removes what is not needed any more; gives how many objects.
pub(super) async fn prune(guarded: &Guarded, head: &Head, now: Timestamp) -> Result<usize, StoreError> {
    let mut names: Vec<(String, &str)> = Vec::new();
    for (serial, name) in snapshots(guarded.store(), guarded.own()).await? {
        // Whatever bears a later number may be somebody's who is just writing.
        if serial.saturating_add(SNAPSHOTS_KEPT) <= head.serial && name != head.snapshot.name {
            names.push((name, kind::SNAPSHOT));
        }
    }
    names.extend(trials(guarded, now).await?.into_iter().map(|name| (name, kind::TRIAL)));
    names.extend(configs(guarded, head).await?.into_iter().map(|name| (name, kind::CONFIG)));
    let mut removed = 0;
    for (name, mark) in names.into_iter().take(AT_ONCE) {
        let key = key(guarded.own(), &name);
        let marked = match guarded.store().head(&key).await {
            Ok(object) => object.headers.get(MARK_HEADER).is_some_and(|found| found == mark),
            Err(StoreError::NoSuchKey { .. }) => continue,
            Err(error) => return Err(error),
        };
        if !marked {
            tracing::warn!(key, "has a name of ours and not our mark: it is left alone");
            continue;
        }
        guarded.delete(&key).await?;
        kill::point("home-pruned-one");
        removed += 1;
    }
    Ok(removed)
}

async fn trials(guarded: &Guarded, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let now = u64::try_from(now.as_second()).unwrap_or_default();
    let folder = key(guarded.own(), &format!("{SNAPSHOTS}trial-"));
    let mut found = Vec::new();
    guarded
        .store()
        .list(&folder, None, &mut |object| {
            if let Some(name) = object.key.strip_prefix(guarded.own().as_str())
                && layout::trial_made(name).is_some_and(|made| made.saturating_add(OLD_TRIAL_SECONDS) < now)
            {
                found.push(name.to_owned());
            }
            std::ops::ControlFlow::Continue(())
        })
        .await?;
    Ok(found)
}

/// All but the newest, the current one always kept.
async fn configs(guarded: &Guarded, head: &Head) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    guarded
        .store()
        .list(&key(guarded.own(), CONFIGS), None, &mut |object| {
            if let Some(name) = object.key.strip_prefix(guarded.own().as_str())
                && layout::is_config(name)
                && name != head.config.name
            {
                found.push((object.last_modified, name.to_owned()));
            }
            std::ops::ControlFlow::Continue(())
        })
        .await?;
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().skip(CONFIGS_KEPT - 1).map(|(_, name)| name).collect())
}
