//! The state folder: made with rights for its owner only, and never on a file system whose locks lie.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use nix::sys::statfs::{FUSE_SUPER_MAGIC, FsType, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, statfs};

use super::LedgerError;

/// `CIFS_SUPER_MAGIC` and `SMB2_SUPER_MAGIC` of linux/magic.h, which nix does not name.
const CIFS: u32 = 0xFF53_4D42;
const SMB2: u32 = 0xFE53_4D42;

/// Makes the folder (0700) when it is absent, and refuses remote ones.
/// On them `fcntl` locks may be local to one client, and two writers damage the file: <https://www.sqlite.org/howtocorrupt.html> §2.
pub(super) fn prepare(folder: &Path) -> Result<(), LedgerError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(|source| LedgerError::Folder { folder: folder.into(), what: "cannot be made", source })?;
    let about = statfs(folder).map_err(|errno| LedgerError::Folder {
        folder: folder.into(),
        what: "its file system cannot be asked",
        source: errno.into(),
    })?;
    match remote(about.filesystem_type()) {
        Some(kind) => Err(LedgerError::RemoteFolder { folder: folder.into(), kind }),
        None => Ok(()),
    }
}

/// The name of a file system kind on which SQLite's locks cannot be trusted.
pub fn remote(kind: FsType) -> Option<&'static str> {
    if kind == NFS_SUPER_MAGIC {
        return Some("NFS");
    }
    if kind == FUSE_SUPER_MAGIC {
        return Some("FUSE");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let magic = kind.0 as u32;
    (kind == SMB_SUPER_MAGIC || magic == CIFS || magic == SMB2).then_some("CIFS")
}
