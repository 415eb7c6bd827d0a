//! How closed the sandbox is: read back over SQL and from /proc, never taken from what we asked for.

use std::collections::BTreeSet;
use std::fs;

use super::session::Session;
use crate::domain::Isolation;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// How closed.
    pub isolation: Isolation,
    /// One fact a line.
    pub facts: Vec<String>,
    /// What speaks against it.
    pub against: Vec<String>,
}

/// Settings that must read back as this, or the sandbox is not closed.
const MUST: [(&str, &str); 7] = [
    ("archive_mode", "off"),
    ("listen_addresses", ""),
    ("shared_preload_libraries", ""),
    ("restore_command", ""),
    ("primary_conninfo", ""),
    ("ssl", "off"),
    ("max_logical_replication_workers", "0"),
];

/// Reads the settings back and looks at the postmaster's sockets and network.
pub async fn show(session: &mut Session, postmaster: i32) -> Result<Shown, sqlx::Error> {
    let mut facts = Vec::new();
    let mut against = Vec::new();
    let rows = session
        .rows(
            "select name, setting from pg_settings where name in ('archive_mode', 'listen_addresses', 'shared_preload_libraries', \
             'restore_command', 'primary_conninfo', 'ssl', 'max_logical_replication_workers')",
        )
        .await?;
    for (name, wanted) in MUST {
        let seen = rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name));
        let seen = seen.and_then(|row| row.get(1).cloned().flatten());
        match seen {
            Some(seen) if seen == wanted => facts.push(format!("{name} = '{seen}', read back")),
            seen => against.push(format!("{name} reads back as {seen:?} instead of '{wanted}'")),
        }
    }
    match listening(postmaster) {
        Some(0) => facts.push("PostgreSQL listens on no TCP port".to_owned()),
        Some(count) => against.push(format!("PostgreSQL listens on {count} TCP ports")),
        None => against.push("the sockets of PostgreSQL could not be looked at".to_owned()),
    }
    let sealed = network(postmaster, &mut facts);
    let isolation = match (against.is_empty(), sealed) {
        (false, _) => Isolation::None,
        (true, true) => Isolation::Sealed,
        (true, false) => Isolation::Closed,
    };
    Ok(Shown { isolation, facts, against })
}

/// A network of its own with nothing but a loopback in it.
fn network(postmaster: i32, facts: &mut Vec<String>) -> bool {
    let own = fs::read_link("/proc/self/ns/net").ok();
    let theirs = fs::read_link(format!("/proc/{postmaster}/ns/net")).ok();
    let apart = matches!((&own, &theirs), (Some(own), Some(theirs)) if own != theirs);
    let Ok(devices) = fs::read_to_string(format!("/proc/{postmaster}/net/dev")) else {
        facts.push("the network of PostgreSQL could not be looked at".to_owned());
        return false;
    };
    let names: Vec<&str> = devices.lines().skip(2).filter_map(|line| line.split_once(':').map(|(name, _)| name.trim())).collect();
    let alone = names.iter().all(|name| *name == "lo");
    if apart && alone {
        facts.push("PostgreSQL has a network namespace of its own, with no device but a loopback that is down".to_owned());
        return true;
    }
    facts.push(format!("PostgreSQL shares a network with the devices {}", names.join(", ")));
    false
}

/// TCP sockets in state LISTEN that belong to the postmaster; `None` when /proc does not tell.
fn listening(postmaster: i32) -> Option<usize> {
    let mut own = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{postmaster}/fd")).ok()?.flatten() {
        if let Ok(target) = fs::read_link(entry.path())
            && let Some(inode) = target.to_string_lossy().strip_prefix("socket:[").and_then(|text| text.strip_suffix(']'))
        {
            own.insert(inode.to_owned());
        }
    }
    let mut count = 0_usize;
    for table in ["tcp", "tcp6"] {
        // A kernel without IPv6 has no second table.
        let Ok(text) = fs::read_to_string(format!("/proc/{postmaster}/net/{table}")) else {
            if table == "tcp" {
                return None;
            }
            continue;
        };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_listening = fields.get(3) == Some(&"0A");
            if is_listening && fields.get(9).is_some_and(|inode| own.contains(*inode)) {
                count = count.saturating_add(1);
            }
        }
    }
    Some(count)
}
