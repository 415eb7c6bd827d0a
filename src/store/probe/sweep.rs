//! Removes what killed probes left behind: only what lies in a folder that a probe makes, under a name that a probe gives, and is
//! older than an hour.

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::FOLDER;
use crate::store::{Guarded, StoreError};

/// A probe takes minutes; a folder younger than this may belong to one that runs.
const YOUNG_SECONDS: f64 = 3600.0;
/// More left-overs than this are removed by the next probes.
const AT_MOST: usize = 1000;

/// The names that a probe gives.
pub(super) const NAMES: [&str; 5] = ["one", "parts", "header", "trailer", "conditional"];

/// Removes old left-overs; answers how many, and the keys that stayed.
pub(super) async fn sweep(guarded: &Guarded, now: Timestamp) -> Result<(usize, Vec<String>), StoreError> {
    let base = format!("{}{FOLDER}", guarded.own());
    let mut old = Vec::new();
    guarded
        .store()
        .list(&base, None, &mut |object| {
            let aged = object.last_modified.is_some_and(|at| now.duration_since(at).as_secs_f64() > YOUNG_SECONDS);
            if aged && is_ours(&object.key, &base, now) {
                old.push(object.key);
            }
            if old.len() < AT_MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
    let mut removed = 0;
    let mut stayed = Vec::new();
    for key in old {
        match guarded.delete(&key).await {
            Ok(()) => removed += 1,
            Err(_) => stayed.push(key),
        }
    }
    // A store without this call has no way to show them, and removes them by itself.
    if let Ok((uploads, _)) = guarded.store().uploads(&base, AT_MOST).await {
        for upload in uploads {
            let aged = upload.initiated.is_some_and(|at| now.duration_since(at).as_secs_f64() > YOUNG_SECONDS);
            if aged && is_ours(&upload.key, &base, now) && guarded.abort(&upload.key, &upload.upload_id).await.is_ok() {
                removed += 1;
            }
        }
    }
    Ok((removed, stayed))
}

/// `<base><uuid version 7, older than an hour>/<a name of ours>`.
pub(super) fn is_ours(key: &str, base: &str, now: Timestamp) -> bool {
    let Some((id, name)) = key.strip_prefix(base).and_then(|rest| rest.split_once('/')) else { return false };
    let Some(made) =
        uuid::Uuid::try_parse(id).ok().filter(|uuid| uuid.get_version_num() == 7).and_then(|uuid| uuid.get_timestamp())
    else {
        return false;
    };
    let (seconds, _) = made.to_unix();
    let Ok(made) = i64::try_from(seconds).map_or_else(|_| Err(()), |seconds| Timestamp::from_second(seconds).map_err(|_| ()))
    else {
        return false;
    };
    now.duration_since(made).as_secs_f64() > YOUNG_SECONDS && NAMES.contains(&name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]
mod tests {
    use super::*;

    #[test]
    fn only_old_folders_of_probes_with_names_of_probes_are_ours() {
        let id = "0199a3f0-0000-7000-8000-000000000000"; // made at 2025-10-02
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let base = "dalsegno/dalsegno-probe/";
        assert!(is_ours(&format!("{base}{id}/one"), base, now));
        let young = uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_796_039_000, 0));
        for foreign in [
            format!("{base}{id}/precious"),
            format!("{base}{id}/one/two"),
            format!("{base}one"),
            format!("{base}not-a-uuid/one"),
            format!("{base}6fa459ea-ee8a-4ca4-894e-db77e160355e/one"),
            format!("other/{id}/one"),
            format!("{base}{young}/one"),
        ] {
            assert!(!is_ours(&foreign, base, now), "{foreign}");
        }
    }
}
