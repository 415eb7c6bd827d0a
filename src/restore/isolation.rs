//! How closed the sandbox is: read back over SQL and from /proc, never taken from what we asked for.

use std::collections::BTreeSet;
use std::fs;

use super::session::{Session, sqlstate, words};
use crate::domain::Isolation;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// How closed.
    pub isolation: Isolation,
    /// Whether files outside of the sandbox are out of reach.
    pub fenced: bool,
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
            "select name, setting from pg_catalog.pg_settings where name in ('archive_mode', 'listen_addresses', 'shared_preload_libraries', \
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
    let fenced = fenced(session, &mut facts).await?;
    let sealed = network(postmaster, &mut facts);
    let isolation = match (against.is_empty() && fenced, sealed) {
        (false, _) => Isolation::None,
        (true, true) => Isolation::Sealed,
        (true, false) => Isolation::Closed,
    };
    Ok(Shown { isolation, fenced, facts, against })
}

/// What only the fence refuses to a superuser of the database: `/` can be listed, `/dev/zero` can be written by everybody, and
/// nothing happens when it is.
const FENCED_OFF: [(&str, &str); 2] = [
    ("select pg_catalog.pg_ls_dir('/') limit 1", "nothing outside of the sandbox can be read but what the programs need"),
    ("copy (select 1) to '/dev/zero'", "nothing outside of the sandbox can be written"),
];

/// Whether files outside of the sandbox are out of PostgreSQL's reach. Without that, what is replayed can write into the source's
/// own tablespaces on its host.
async fn fenced(session: &mut Session, facts: &mut Vec<String>) -> Result<bool, sqlx::Error> {
    for (forbidden, fact) in FENCED_OFF {
        match session.run(forbidden).await {
            Err(error) if sqlstate(&error).as_deref() == Some("42501") => facts.push(format!("{fact} (Landlock), tried")),
            Err(error) if error.as_database_error().is_none() => return Err(error),
            tried => {
                let seen = tried.err().map_or_else(|| "it was allowed".to_owned(), |error| words(&error));
                facts.push(format!(
                    "PostgreSQL is not kept inside of the sandbox: Landlock of Linux 6.2 is not there, or is switched off ({forbidden}: {seen})"
                ));
                return Ok(false);
            }
        }
    }
    Ok(true)
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
