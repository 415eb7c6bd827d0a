//! Reads a hostile tar as a stream into a [`Tree`].
//!
//! tar-core 0.1.0 parses with limits; paths, kinds, sizes and the end of the archive are judged here, since that version
//! overflows in `padded_size`, takes a size on links and folders, and skips a single zero block in the middle.

use std::io::{Read, Write};

use tar_core::parse::{Limits, ParseEvent, Parser};
use tokio_util::sync::CancellationToken;

use super::tree::{InnerPath, Tree};
use super::trouble::Trouble;

const BLOCK: usize = 512;
/// One read from the decoder, and one write to the disk.
const BUFFER: usize = 256 * 1024;
/// The disk is asked for its free space again after so many bytes or members.
const SPACE_BYTES: u64 = 16 << 20;
const SPACE_MEMBERS: u64 = 1024;
const MAX_METADATA: u32 = 64 * 1024;
/// Extended headers of one member, with their own header blocks.
const MAX_HEADER: usize = 512 * 1024;
/// Links that a data directory may hold and that we make ourselves, or do without.
const OWN_LINKS: [&str; 3] = ["pg_wal", "log", "pg_log"];

/// What a tar held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untarred {
    /// Regular files written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files, folders and links.
    pub members: u64,
    /// Whether `global/pg_control` was among them.
    pub has_control: bool,
    /// Whether `backup_label` was among them.
    pub has_label: bool,
    /// Links that were left out, since we make them ourselves.
    pub skipped_links: Vec<String>,
}

/// How a tar is to be read.
pub struct Rules<'a> {
    /// The object's key, for messages.
    pub key: &'a str,
    /// At most this many bytes of content: more is a size that lies or a bomb.
    pub max_bytes: u64,
    /// At most this many members.
    pub max_members: u64,
    /// Asked now and then, with the bytes that are wanted next, and for each file that is larger: whether the disk takes them.
    pub space: &'a (dyn Fn(u64) -> Result<(), Trouble> + Sync),
    /// Asked for each member and each buffer.
    pub cancel: &'a CancellationToken,
    /// Told after each buffer: bytes written so far.
    pub told: &'a (dyn Fn(u64) + Sync),
}

/// A member, as far as we take it.
struct Member {
    path: InnerPath,
    kind: Kind,
    size: u64,
}

enum Kind {
    File,
    Folder,
    SkippedLink,
}

/// Reads the whole tar. Ends with an error unless the end-of-archive mark was there and nothing but zeros behind it.
pub fn untar(input: &mut impl Read, tree: &mut Tree, rules: &Rules<'_>) -> Result<Untarred, Trouble> {
    let mut source = Source { input, buffer: vec![0; BUFFER], begin: 0, end: 0 };
    let limits =
        Limits { max_metadata_size: MAX_METADATA, max_path_len: Some(4096), max_pending_entries: 16, max_sparse_entries: 1 };
    let mut parser = Parser::new(limits);
    let mut seen = Untarred::default();
    loop {
        if rules.cancel.is_cancelled() {
            return Err(Trouble::Cancelled);
        }
        source.need(BLOCK, rules.key)?;
        if source.unread().iter().take(BLOCK).all(|byte| *byte == 0) {
            source.only_zeros(rules)?;
            return Ok(seen);
        }
        let member = next_member(&mut parser, &mut source, rules)?;
        take(&member, &mut source, tree, rules, &mut seen)?;
    }
}

fn next_member<R: Read>(parser: &mut Parser, source: &mut Source<'_, R>, rules: &Rules<'_>) -> Result<Member, Trouble> {
    loop {
        let (consumed, member) = match parser.parse(source.unread()) {
            Ok(ParseEvent::NeedData { min_bytes }) => {
                if min_bytes > MAX_HEADER {
                    return Err(bad(rules.key, &format!("extended headers of {min_bytes} bytes for one member")));
                }
                source.need(min_bytes, rules.key)?;
                continue;
            }
            Ok(ParseEvent::Entry { consumed, entry }) => {
                let name = entry.path_lossy().into_owned();
                let refuse = |what: &str| bad(rules.key, &format!("{what}: {name:?}"));
                let path = InnerPath::parse(&entry.path).map_err(&refuse)?;
                if entry.pax.is_some_and(|pax| pax.windows(10).any(|part| part == b"GNU.sparse")) {
                    return Err(refuse("a sparse file"));
                }
                let kind = if entry.is_file() {
                    Kind::File
                } else if entry.is_dir() {
                    Kind::Folder
                } else if entry.is_symlink() && is_own_link(&path.text()) {
                    Kind::SkippedLink
                } else if entry.is_symlink() || entry.is_hard_link() {
                    let target = entry.link_target_lossy().unwrap_or_default().into_owned();
                    return Err(refuse(&format!("a link to {target:?}")));
                } else {
                    return Err(refuse("a device or another special file"));
                };
                if !matches!(kind, Kind::File) && entry.size != 0 {
                    return Err(refuse("a folder or link with a size"));
                }
                (consumed, Some(Member { path, kind, size: entry.size }))
            }
            Ok(ParseEvent::SparseEntry { entry, .. }) => {
                return Err(bad(rules.key, &format!("a sparse file: {:?}", entry.path_lossy())));
            }
            Ok(ParseEvent::GlobalExtensions { consumed, .. }) => (consumed, None),
            Ok(ParseEvent::End { .. }) => return Err(bad(rules.key, "an end of archive where a member was begun")),
            Err(error) => return Err(bad(rules.key, &format!("not a tar: {error}"))),
        };
        source.advance(consumed);
        if let Some(member) = member {
            return Ok(member);
        }
        source.need(BLOCK, rules.key)?;
    }
}

fn is_own_link(path: &str) -> bool {
    let tablespace = path.strip_prefix("pg_tblspc/").is_some_and(|oid| oid.bytes().all(|byte| byte.is_ascii_digit()));
    tablespace || OWN_LINKS.contains(&path)
}

fn take<R: Read>(
    member: &Member,
    source: &mut Source<'_, R>,
    tree: &mut Tree,
    rules: &Rules<'_>,
    seen: &mut Untarred,
) -> Result<(), Trouble> {
    let text = member.path.text();
    seen.members = seen.members.saturating_add(1);
    if seen.members > rules.max_members {
        let why = format!("{}: more than {} files and folders", rules.key, rules.max_members);
        return Err(Trouble::could_not(why, "restore this archive by hand: a drill takes fewer files"));
    }
    if seen.members.is_multiple_of(SPACE_MEMBERS) || member.size >= SPACE_BYTES {
        (rules.space)(member.size)?;
    }
    match member.kind {
        Kind::SkippedLink => {
            seen.skipped_links.push(text);
            Ok(())
        }
        // pg_wal is a link of ours to the folder that the WAL workers fill.
        Kind::Folder if member.path.is_root() || text == "pg_wal" || text.starts_with("pg_wal/") => Ok(()),
        Kind::Folder => tree.make_folder(&member.path).map_err(|error| written(rules.key, &text, &error)),
        Kind::File => {
            if member.size > rules.max_bytes.saturating_sub(seen.bytes) {
                let why =
                    format!("{text:?} says {} bytes, more than the cluster can hold ({} bytes)", member.size, rules.max_bytes);
                return Err(bad(rules.key, &why));
            }
            if text.starts_with("pg_wal/") {
                return source.skip(member.size, rules);
            }
            let mut file = tree.create(&member.path).map_err(|error| written(rules.key, &text, &error))?;
            source.copy(member.size, rules, seen.bytes, |bytes| {
                file.write_all(bytes).map_err(|error| written(rules.key, &text, &error))
            })?;
            seen.files = seen.files.saturating_add(1);
            seen.bytes = seen.bytes.saturating_add(member.size);
            seen.has_control |= text == "global/pg_control";
            seen.has_label |= text == "backup_label";
            Ok(())
        }
    }
}

fn bad(key: &str, what: &str) -> Trouble {
    Trouble::bad(format!("{key}: {what}"))
}

/// An error of writing: a name taken twice is the tar's fault, all else is ours.
fn written(key: &str, path: &str, error: &std::io::Error) -> Trouble {
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => bad(key, &format!("the same file twice: {path:?}")),
        std::io::ErrorKind::NotADirectory | std::io::ErrorKind::IsADirectory => {
            bad(key, &format!("a file and a folder under one name: {path:?}"))
        }
        _ => Trouble::disk("write", std::path::Path::new(path), error),
    }
}

/// The decoder's bytes with a look-ahead.
struct Source<'a, R> {
    input: &'a mut R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl<R: Read> Source<'_, R> {
    fn unread(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.begin = self.begin.saturating_add(count).min(self.end);
    }

    /// Reads on until `count` bytes lie ready; an end before that is a short tar.
    fn need(&mut self, count: usize, key: &str) -> Result<(), Trouble> {
        while self.end.saturating_sub(self.begin) < count {
            if self.fill(count, key)? == 0 {
                return Err(bad(key, "the tar ends in the middle: the object is short, or was cut"));
            }
        }
        Ok(())
    }

    fn fill(&mut self, at_least: usize, key: &str) -> Result<usize, Trouble> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end = self.end.saturating_sub(self.begin);
            self.begin = 0;
        }
        if self.buffer.len() < at_least {
            self.buffer.resize(at_least, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = loop {
            match self.input.read(room) {
                Ok(count) => break count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(bad(key, &format!("does not inflate: {error}"))),
            }
        };
        self.end = self.end.saturating_add(count);
        Ok(count)
    }

    /// Hands `size` bytes over and skips the padding behind them.
    fn copy(
        &mut self,
        size: u64,
        rules: &Rules<'_>,
        before: u64,
        mut write: impl FnMut(&[u8]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut left = size;
        let mut asked_at = size;
        while left > 0 {
            if asked_at - left >= SPACE_BYTES {
                (rules.space)(left)?;
                asked_at = left;
            }
            if rules.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            self.need(1, rules.key)?;
            let ready = self.unread();
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(ready.len());
            write(ready.get(..count).unwrap_or_default())?;
            self.advance(count);
            left = left.saturating_sub(count as u64);
            (rules.told)(before.saturating_add(size).saturating_sub(left));
        }
        let padding = (BLOCK as u64).wrapping_sub(size % BLOCK as u64) % BLOCK as u64;
        let padding = usize::try_from(padding).unwrap_or_default();
        self.need(padding, rules.key)?;
        self.advance(padding);
        Ok(())
    }

    fn skip(&mut self, size: u64, rules: &Rules<'_>) -> Result<(), Trouble> {
        self.copy(size, rules, 0, |_| Ok(()))
    }

    /// Behind the first zero block: a second one, and zeros until the end.
    fn only_zeros(&mut self, rules: &Rules<'_>) -> Result<(), Trouble> {
        self.need(BLOCK.saturating_mul(2), rules.key)?;
        loop {
            if rules.cancel.is_cancelled() {
                return Err(Trouble::Cancelled);
            }
            if self.unread().iter().any(|byte| *byte != 0) {
                return Err(bad(rules.key, "data behind the end of the tar"));
            }
            self.begin = self.end;
            if self.fill(BLOCK, rules.key)? == 0 {
                return Ok(());
            }
        }
    }
}
