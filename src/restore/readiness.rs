//! What a drill needs of this machine, looked at without making one: its user, its folder, space, PostgreSQL's programs, and how
//! closed a sandbox can be here.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::{AccessFlags, User, eaccess, geteuid};

use super::hold::Tried;
use super::sandbox::{Sandbox, reachable};
use super::settings::RestoreSettings;
use super::tree::Owner;
use super::trouble::Trouble;
use super::{binaries, make, space};
use crate::domain::{Explained, Isolation, RunId, Subject, bytes_in_words};

/// The trial takes milliseconds.
const TRIAL: Duration = Duration::from_secs(10);
/// Where more is told.
const GUIDE: &str = "docs/guide/drill-environment.md";

/// A database, as far as its archive tells what restoring it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// `pg/<site>/<environment>/<name>`.
    pub subject: Subject,
    /// PostgreSQL's major version, by the newest base backup; `None` = the archive was not seen, or holds none.
    pub major: Option<u32>,
    /// Bytes of the cluster when that was taken.
    pub cluster_bytes: Option<u64>,
}

/// One thing that a drill needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// It is there.
    Met {
        /// What was seen.
        seen: String,
    },
    /// It is not, and a drill would not be proven.
    Unmet {
        /// What was seen.
        seen: String,
        /// What to run or change.
        hint: String,
    },
    /// It could not be looked at.
    NotKnown {
        /// Why.
        why: String,
        /// What to run or change.
        hint: String,
    },
}

impl Need {
    fn met(seen: impl Into<String>) -> Self {
        Self::Met { seen: seen.into() }
    }

    fn of(trouble: &Trouble) -> Self {
        Self::Unmet { seen: trouble.to_string(), hint: trouble.hint().unwrap_or_default() }
    }
}

/// Looks at everything. Makes nothing but a process of our own that ends at once.
pub(super) async fn look(settings: &RestoreSettings, databases: &[Candidate]) -> Vec<Need> {
    let owner = make::owner(&settings.user);
    let mut needs = Vec::new();
    let tried = match &owner {
        Err(trouble) => {
            needs.push(Need::of(trouble));
            None
        }
        Ok(owner) => {
            let tried = trial(settings, *owner).await;
            needs.push(user(*owner, tried.as_ref().ok().and_then(|tried| tried.user.as_deref())));
            Some(tried)
        }
    };
    needs.push(folder(settings, owner.ok().flatten()));
    needs.extend(room(settings, databases));
    needs.extend(programs(settings, databases).await);
    needs.extend(tried.map(|tried| match tried {
        Ok(tried) => closed(&tried, settings.isolation),
        Err(why) => Need::NotKnown {
            why: format!("how closed a sandbox can be could not be tried: {why}"),
            hint: format!("try by hand: {} internal try {}", settings.executable.display(), settings.folder.display()),
        },
    }));
    needs
}

fn user(owner: Owner, refused: Option<&str>) -> Need {
    let Some((uid, _)) = owner else {
        return Need::met(format!("PostgreSQL runs as this user ({})", name_of(geteuid())));
    };
    match refused {
        None => Need::met(format!("PostgreSQL runs as user {}", name_of(uid))),
        Some(why) => Need::Unmet {
            seen: format!("cannot become user {}, and PostgreSQL never runs as root: {why}", name_of(uid)),
            hint:
                "keep the capabilities SETUID and SETGID (containers: securityContext.capabilities), or run as an ordinary user"
                    .to_owned(),
        },
    }
}

fn name_of(uid: nix::unistd::Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

fn folder(settings: &RestoreSettings, owner: Owner) -> Need {
    let folder = &settings.folder;
    if let Err(trouble) = Sandbox::of(folder, RunId::new(), "sandbox").socket_fits() {
        return Need::of(&trouble);
    }
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Need::Unmet {
            seen: format!("{} is no folder", there.display()),
            hint: "set drill.folder to a folder".to_owned(),
        };
    }
    if let Err(errno) = eaccess(there, AccessFlags::W_OK | AccessFlags::X_OK) {
        return Need::Unmet {
            seen: format!("sandboxes cannot be made in {}: {}: {}", folder.display(), there.display(), errno.desc()),
            hint: format!("make it writable for {} (ls -ld {}), or set drill.folder", name_of(geteuid()), there.display()),
        };
    }
    if owner.is_some()
        && let Err(trouble) = reachable(there)
    {
        return Need::of(&trouble);
    }
    let made = if there == folder.as_path() { "can be written" } else { "can be made" };
    Need::met(format!("sandboxes go into {}, which {made}", folder.display()))
}

/// Room for one database after the other: drills do not run side by side.
fn room(settings: &RestoreSettings, databases: &[Candidate]) -> Vec<Need> {
    let (folder, limits) = (&settings.folder, &settings.limits);
    let largest = databases.iter().filter(|of| of.cluster_bytes.is_some()).max_by_key(|of| of.cluster_bytes);
    let (cluster, of) = largest.map_or((0, String::new()), |of| {
        let bytes = of.cluster_bytes.unwrap_or(0);
        (bytes, format!(" for {} ({})", of.subject, bytes_in_words(bytes)))
    });
    vec![match space::must_fit(folder, cluster, limits.wal_ahead_bytes, limits.reserve_bytes) {
        Ok(free) => Need::met(format!("{} free there, enough{of}", bytes_in_words(free))),
        Err(trouble) => Need::of(&trouble),
    }]
}

async fn programs(settings: &RestoreSettings, databases: &[Candidate]) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut majors: Vec<u32> = databases.iter().filter_map(|of| of.major).collect();
    majors.sort_unstable();
    majors.dedup();
    for major in majors {
        let named: Vec<&str> = databases.iter().filter(|of| of.major == Some(major)).map(|of| of.subject.name()).collect();
        needs.push(match binaries::find(major, &settings.postgres_folders).await {
            Ok(found) => {
                Need::met(format!("PostgreSQL {major} for {}: {} ({})", named.join(", "), found.program.display(), found.version))
            }
            Err(trouble) => Need::of(&trouble),
        });
    }
    needs.extend(databases.iter().filter(|of| of.major.is_none()).map(|of| Need::NotKnown {
        why: format!("which PostgreSQL {} needs is not known: no base backup of it was seen", of.subject),
        hint: format!("look into its archive: dalsegno archive list {}", of.subject.name()),
    }));
    needs
}

/// Holds what was possible against what the configuration demands.
pub fn closed(tried: &Tried, wanted: Isolation) -> Need {
    let reach = match (&tried.fence, &tried.network) {
        (Some(_), _) => Isolation::None,
        (None, Some(_)) => Isolation::Closed,
        (None, None) => Isolation::Sealed,
    };
    let network = tried.network.as_ref().map(|why| format!("the network cannot be left: {why}"));
    let fence = tried.fence.as_ref().map(|why| format!("no fence: {why}"));
    let against: Vec<String> = fence.into_iter().chain(network).collect();
    let because = if against.is_empty() { String::new() } else { format!(" ({})", against.join("; ")) };
    if reach >= wanted {
        return Need::met(format!("a sandbox can be {} here, {} is demanded{because}", reach.as_str(), wanted.as_str()));
    }
    let hint = if reach == Isolation::None {
        format!("Linux from 6.2 on with Landlock switched on is needed: cat /sys/kernel/security/lsm; more: {GUIDE}")
    } else {
        format!("allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root; more: {GUIDE}")
    };
    Need::Unmet {
        seen: format!("a sandbox can only be \"{}\" here, \"{}\" is demanded{because}", reach.as_str(), wanted.as_str()),
        hint,
    }
}

async fn trial(settings: &RestoreSettings, owner: Owner) -> Result<Tried, String> {
    let mut command = tokio::process::Command::new(&settings.executable);
    command.args(["internal", "try"]).arg(&settings.folder);
    if let Some((uid, gid)) = owner {
        command.arg(format!("{uid}:{gid}"));
    }
    command.env_clear().stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(TRIAL, command.output()).await;
    let output = output.map_err(|_| "no answer in 10 s".to_owned())?.map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| format!("it ended with {}", output.status))
}
