//! `sandbox.make`: the folder, its marker, the keeper. Everything that can be known to be missing is said before that.

use std::sync::Arc;

use nix::unistd::{Gid, Uid, User, geteuid};
use serde_json::{Map, json};
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use super::binaries;
use super::held::{Chosen, Held};
use super::keeper::Keeper;
use super::process::ProcessMark;
use super::sandbox::{Marker, Sandbox};
use super::settings::RestoreSettings;
use super::space;
use super::tree::Owner;
use super::trouble::Trouble;
use crate::domain::{Receipt, RunId};

/// The first version whose control file we read (`ControlFile`).
const FIRST_MAJOR: u32 = 13;

/// The user that PostgreSQL's files are given to: `None` when we are not root and they are simply ours.
pub fn owner(user: &str) -> Result<Owner, Trouble> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let names: &[&str] = if user.is_empty() { &["postgres", "nobody"] } else { &[user] };
    for name in names {
        if let Ok(Some(found)) = User::from_name(name) {
            return not_root(found.uid, found.gid, name);
        }
    }
    Err(Trouble::could_not(
        format!("there is no user {}, and PostgreSQL never runs as root", names.join(" or ")),
        "set drill.user to a user without rights, or run the drill as one",
    ))
}

fn not_root(uid: Uid, gid: Gid, name: &str) -> Result<Owner, Trouble> {
    if uid.is_root() {
        return Err(Trouble::could_not(
            format!("drill.user {name} is root, and PostgreSQL never runs as root"),
            "set drill.user to another user",
        ));
    }
    Ok(Some((uid, gid)))
}

/// What must be there before anything is made.
pub async fn look_before(
    settings: &RestoreSettings,
    sandbox: &Sandbox,
    chosen: Option<&Chosen>,
    cluster: Option<u64>,
) -> Result<(), Trouble> {
    sandbox.socket_fits()?;
    let limits = &settings.limits;
    let cluster = chosen.and_then(|chosen| chosen.plan.info.cluster_size).or(cluster).unwrap_or(0);
    let wal = chosen.map_or(limits.wal_ahead_bytes, |chosen| {
        chosen.plan.segment_count().saturating_mul(chosen.plan.segment_size.bytes()).min(limits.wal_ahead_bytes)
    });
    space::must_fit(&settings.folder, cluster, wal, limits.reserve_bytes)?;
    if let Some(major) = chosen.and_then(|chosen| chosen.plan.info.major()) {
        if major < FIRST_MAJOR {
            return Err(Trouble::could_not(
                format!("the backup is of PostgreSQL {major}; drills begin with {FIRST_MAJOR}"),
                "restore it by hand, or upgrade the source",
            ));
        }
        binaries::find(major, &settings.postgres_folders).await?;
    }
    Ok(())
}

/// Makes it, or finds it made by this very step.
pub async fn make(
    settings: &RestoreSettings,
    sandbox: Sandbox,
    run: RunId,
    step: &str,
    cancel: CancellationToken,
) -> Result<Arc<Held>, Trouble> {
    let owner = owner(&settings.user)?;
    let maker = ProcessMark::of(std::process::id())
        .ok_or_else(|| Trouble::could_not("/proc does not show our own process", "mount /proc"))?;
    let mark = Marker { run, step: step.to_owned(), maker, made_by: env!("CARGO_PKG_VERSION").to_owned() };
    if sandbox.folder().exists() {
        return Err(Trouble::Unclear { why: format!("{} is there already", sandbox.folder().display()) });
    }
    sandbox.make(&mark, owner)?;
    let keeper = match Keeper::start(&settings.executable, &sandbox).await {
        Ok(keeper) => keeper,
        Err(trouble) => {
            // Ours, made a moment ago: it goes at once.
            let _ = sandbox.remove();
            return Err(trouble);
        }
    };
    Ok(Arc::new(Held {
        sandbox,
        cancel,
        keeper: AsyncMutex::new(Some(keeper)),
        restore: AsyncMutex::new(None),
        server: std::sync::Mutex::new(None),
    }))
}

/// The receipt.
pub fn receipt(sandbox: &Sandbox) -> Receipt {
    let mut outputs = Map::new();
    outputs.insert("folder".to_owned(), json!(sandbox.folder().display().to_string()));
    Receipt { outputs, ..Receipt::default() }
}
