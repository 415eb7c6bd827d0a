//! Whose fault it is when PostgreSQL ends: the archive's, or ours.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::trouble::Trouble;

/// Words of the server that mean our own lack, with the hint for each.
const OURS: &[(&str, &str)] = &[
    ("No space left on device", "free some space, or set drill.folder to a larger file system"),
    ("Disk quota exceeded", "raise the quota, or set drill.folder to another file system"),
    ("Cannot allocate memory", "give the drill more memory"),
    ("could not map anonymous shared memory", "give the drill more memory"),
    ("out of memory", "give the drill more memory"),
    ("could not create shared memory segment", "raise kernel.shmmni or kernel.shmall"),
    ("could not create semaphores", "raise kernel.sem"),
    ("Too many open files", "raise the limit of open files (ulimit -n)"),
    ("Permission denied", "check that drill.user can reach drill.folder"),
    ("has wrong ownership", "check drill.user"),
    ("has group or world access", "check the rights of drill.folder"),
    (
        "locale is incompatible with operating system",
        "install the database's locale (locale-gen), or drill in the source's image",
    ),
    ("invalid value for parameter \"lc_", "install the database's locale (locale-gen), or drill in the source's image"),
    ("could not load library", "install the extension's package, or drill in the source's image"),
    ("could not access file \"$libdir", "install the extension's package, or drill in the source's image"),
    ("database files are incompatible with server", "install the PostgreSQL build of the source, or drill in the source's image"),
    ("unrecognized configuration parameter", "report this as a bug of dalsegno with PostgreSQL's version"),
    ("could not create Unix socket", "set drill.folder to a shorter path on a local file system"),
    ("could not bind Unix", "set drill.folder to a shorter path on a local file system"),
    ("dalsegno: ", "look at the system's log"),
    ("Input/output error", "check the disk below drill.folder"),
];

/// A tablespace that was made after the base backup: replay makes it at the source's own path, which is never ours.
const TABLESPACE: &str = "take a new base backup: a tablespace was created after this one, and replay would make it at its \
                          absolute path, outside of the sandbox";

/// Whether replay wanted to go to a tablespace outside of the sandbox.
fn wants_a_tablespace(log: &str) -> bool {
    let not_there = log.contains("Create this directory for the tablespace before restarting the server");
    not_there
        || log.lines().any(|line| {
            let refused = ["Permission denied", "Operation not permitted", "File exists"].iter().any(|word| line.contains(word));
            let made = line.contains("pg_tblspc/") || line.contains("could not set permissions on directory");
            (line.contains("FATAL:") || line.contains("PANIC:")) && refused && made
        })
        || (log.contains("WAL redo at") && log.contains("Tablespace/CREATE") && log.contains("FATAL:"))
}

/// The end of PostgreSQL's log, from `from` on, at most 16 KiB.
pub fn tail(log: &Path, from: u64) -> String {
    const MOST: u64 = 16 * 1024;
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(MOST))))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// The lines that say why: FATAL and PANIC with what follows, else the last few.
pub fn last_words(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let telling: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| ["FATAL:", "PANIC:", "ERROR:", "DETAIL:", "dalsegno:"].iter().any(|word| line.contains(word)))
        .filter(|line| !line.contains("the database system is starting up") && !line.contains("not yet accepting connections"))
        .collect();
    let source = if telling.is_empty() { lines } else { telling };
    let skip = source.len().saturating_sub(4);
    source.into_iter().skip(skip).map(str::trim).collect::<Vec<_>>().join("; ")
}

/// Whether it ended because the source's limits are larger than ours.
pub fn of_limits(log: &str) -> bool {
    log.contains("insufficient parameter settings") || log.contains("is a lower setting than on the")
}

/// Judges an end that nobody asked for.
pub fn of_an_end(status: &str, signal: Option<i32>, log: &str) -> Trouble {
    let words = last_words(log);
    if signal == Some(9) {
        return Trouble::could_not(
            format!("PostgreSQL was killed ({status}): {words}"),
            "most often the kernel ran out of memory: give the drill more",
        );
    }
    if wants_a_tablespace(log) {
        return Trouble::could_not(
            format!("PostgreSQL was kept from a tablespace outside of the sandbox ({status}): {words}"),
            TABLESPACE,
        );
    }
    if let Some((_, hint)) = OURS.iter().find(|(text, _)| log_says(log, text)) {
        return Trouble::could_not(format!("PostgreSQL ended ({status}): {words}"), *hint);
    }
    if log.contains("FATAL:") || log.contains("PANIC:") {
        return Trouble::bad(format!("PostgreSQL could not recover from this archive ({status}): {words}"));
    }
    Trouble::could_not(format!("PostgreSQL ended and does not say why ({status}): {words}"), "look at the system's log")
}

/// Only in lines that are more than talk.
fn log_says(log: &str, text: &str) -> bool {
    log.lines().any(|line| {
        line.contains(text) && !line.contains("stays in the network") && !line.contains("WARNING:") && !line.contains("HINT:")
    })
}
