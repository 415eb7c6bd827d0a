//! `internal try`: does to itself what `exec` does before it becomes PostgreSQL, says how far it came, and ends. Nothing is made.

use std::io::Write;
use std::path::Path;

use nix::unistd::{Gid, Uid};
use serde::{Deserialize, Serialize};

use super::become_postgres::{become_user, leave_network};
use super::fence::fence;
use crate::domain::ExitCode;
use crate::restore::sandbox::Sandbox;

/// What was possible. Each field says why it was not; `None` = it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Leaving the network.
    pub network: Option<String>,
    /// Becoming the user that PostgreSQL runs as; need not be tried without root.
    pub user: Option<String>,
    /// Giving up the rest of the file system (Landlock).
    pub fence: Option<String>,
}

/// `internal try FOLDER [UID:GID]`: one line of JSON on standard output. The folder need not exist.
pub(super) fn try_out(args: &[String]) -> ExitCode {
    let Some((folder, user)) = parse(args) else { return ExitCode::Usage };
    let network = leave_network().err();
    let user = user.and_then(|(uid, gid)| become_user(uid, gid).err());
    let sandbox = Sandbox::at(Path::new(&folder));
    let fence = fence(&sandbox, &sandbox.folder().join("bin/postgres")).err();
    let told = serde_json::to_vec(&Tried { network, user, fence }).map(|line| std::io::stdout().write_all(&line));
    if matches!(told, Ok(Ok(()))) { ExitCode::Fine } else { ExitCode::CouldNotLook }
}

type User = Option<(Uid, Gid)>;

fn parse(args: &[String]) -> Option<(String, User)> {
    match args {
        [folder] => Some((folder.clone(), None)),
        [folder, user] => {
            let (uid, gid) = user.split_once(':')?;
            Some((folder.clone(), Some((Uid::from_raw(uid.parse().ok()?), Gid::from_raw(gid.parse().ok()?)))))
        }
        _ => None,
    }
}
