//! The name of the bootstrap superuser (oid 10), read from the restored `pg_authid` file: a cluster made with `initdb -U` has
//! no role `postgres`, and a hot standby can be asked nothing without a role.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// `pg_authid` lies in `global/1260` unless somebody rewrote it (VACUUM FULL); then we know nothing.
const AUTHID: &str = "global/1260";
const PAGE: usize = 8192;
const BOOTSTRAP_SUPERUSER: u32 = 10;
const MOST_PAGES: u64 = 1024;

/// Names that may be the superuser's, most likely first.
pub fn superusers(data: &Path) -> Vec<String> {
    let mut names: Vec<String> = bootstrap_superuser(data).into_iter().collect();
    if !names.iter().any(|name| name == "postgres") {
        names.push("postgres".to_owned());
    }
    names
}

fn bootstrap_superuser(data: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(data.join(AUTHID)).ok()?.take(MOST_PAGES.saturating_mul(PAGE as u64)).read_to_end(&mut bytes).ok()?;
    // A later version of the row comes later on the page; the last one wins.
    bytes.chunks_exact(PAGE).filter_map(in_page).next_back()
}

/// Line pointers follow the 24 bytes of the page's header: offset 15 bits, flags 2 bits, length 15 bits (`storage/itemid.h`).
fn in_page(page: &[u8]) -> Option<String> {
    let lower = usize::from(le16(page, 12)?);
    let mut found = None;
    let mut at = 24;
    while at + 4 <= lower.min(PAGE) {
        let pointer = u32::from_le_bytes(*page.get(at..)?.first_chunk::<4>()?);
        at += 4;
        let (offset, normal) = ((pointer & 0x7fff) as usize, (pointer >> 15) & 3 == 1);
        if normal && let Some(name) = page.get(offset..).and_then(in_tuple) {
            found = Some(name);
        }
    }
    found
}

/// `t_hoff` is byte 22 of the tuple's header; then oid (4 bytes) and rolname (64 bytes). Before PostgreSQL 12 oids were hidden.
fn in_tuple(tuple: &[u8]) -> Option<String> {
    let data = tuple.get(usize::from(*tuple.get(22)?)..)?;
    let oid = u32::from_le_bytes(*data.first_chunk::<4>()?);
    let name = data.get(4..68)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(name.get(..end)?).ok()?;
    (oid == BOOTSTRAP_SUPERUSER && !name.is_empty()).then(|| name.to_owned())
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|part| u16::from_le_bytes(*part))
}
