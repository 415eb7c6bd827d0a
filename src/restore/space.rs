//! Free space, before anything is made.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::trouble::Trouble;
use crate::domain::bytes_in_words;

/// Files of an empty cluster, and some to spare.
const LEAST_INODES: u64 = 4_096;

/// Bytes that an ordinary user may still write below `folder`, or below the nearest folder above it that exists.
pub fn free_bytes(folder: &Path) -> Result<u64, Trouble> {
    let mut error = None;
    for above in folder.ancestors() {
        match statvfs(above) {
            Ok(stat) => {
                #[allow(clippy::useless_conversion, reason = "the field's width differs between targets")]
                let blocks = u64::from(stat.blocks_available());
                return Ok(blocks.saturating_mul(stat.fragment_size()));
            }
            Err(errno) => error = Some(errno),
        }
    }
    let why = error.map_or_else(String::new, |errno| errno.desc().to_owned());
    Err(Trouble::could_not(format!("could not ask for the free space of {}: {why}", folder.display()), "check drill.folder"))
}

/// A file system that counts its files may run out of them first; one that does not says 0 of 0.
fn has_inodes(folder: &Path) -> Result<(), Trouble> {
    let found = folder.ancestors().find_map(|above| statvfs(above).ok());
    let Some(stat) = found.filter(|stat| stat.files() > 0 && stat.files_available() < LEAST_INODES) else { return Ok(()) };
    Err(Trouble::could_not(
        format!("not enough inodes for the files of a cluster in {}: {} free", folder.display(), stat.files_available()),
        "remove some files, or set drill.folder to another file system",
    ))
}

/// Too little space is said before anything is made.
pub fn must_fit(folder: &Path, cluster: u64, wal: u64, reserve: u64) -> Result<u64, Trouble> {
    let free = free_bytes(folder)?;
    has_inodes(folder)?;
    let needed = cluster.saturating_add(wal).saturating_add(reserve);
    if free >= needed {
        return Ok(free);
    }
    Err(Trouble::could_not(
        format!(
            "not enough space in {}: {} free, {} needed (cluster {}, WAL {}, reserve {})",
            folder.display(),
            bytes_in_words(free),
            bytes_in_words(needed),
            bytes_in_words(cluster),
            bytes_in_words(wal),
            bytes_in_words(reserve)
        ),
        "free some space, or set drill.folder to a larger file system",
    ))
}
