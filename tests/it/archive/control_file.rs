use std::path::{Path, PathBuf};
use std::process::Command;

use dalsegno::archive::{ControlError, ControlFile};
use proptest::prelude::*;

/// Folders of PostgreSQL programs on this machine, of any known major.
fn installed() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = (13..=18).map(|major| PathBuf::from(format!("/usr/lib/postgresql/{major}/bin"))).collect();
    found.extend(std::env::var_os("DALSEGNO_TEST_POSTGRES").map(PathBuf::from));
    found.retain(|bin| bin.join("initdb").exists() && bin.join("pg_controldata").exists());
    found
}

fn as_postgres(program: &Path) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0"));
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// A control file made by the real `initdb`, and what the real `pg_controldata` says of it.
fn made_by(bin: &Path, more: &[&str]) -> (Vec<u8>, String) {
    let folder = tempfile::Builder::new().prefix("dalsegno-control").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let data = folder.path().join("data");
    let made = as_postgres(&bin.join("initdb")).args(["--no-sync", "-A", "trust", "-D"]).arg(&data).args(more).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = Command::new(bin.join("pg_controldata")).env("LC_ALL", "C").arg(&data).output().unwrap();
    (std::fs::read(data.join("global/pg_control")).unwrap(), String::from_utf8(told.stdout).unwrap())
}

fn told<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .trim()
}

#[test]
fn a_control_file_says_what_pg_controldata_says() {
    let installed = installed();
    if installed.is_empty() {
        assert!(std::env::var_os("CI").is_none(), "no PostgreSQL to compare with");
        eprintln!("SKIPPED a_control_file_says_what_pg_controldata_says: no PostgreSQL 13 to 18 on this machine");
        return;
    }
    for bin in installed {
        for more in [&[][..], &["--wal-segsize=64", "--data-checksums"][..]] {
            let (bytes, text) = made_by(&bin, more);
            let control = ControlFile::parse(&bytes).unwrap();
            let says = |name: &str| told(&text, name).to_owned();
            assert_eq!(control.system_id.to_string(), says("Database system identifier"));
            assert_eq!(control.version.to_string(), says("pg_control version number"));
            assert_eq!(control.catalog_version.to_string(), says("Catalog version number"));
            assert_eq!(control.state.as_str(), says("Database cluster state"));
            assert_eq!(control.checkpoint.to_string(), says("Latest checkpoint location"));
            assert_eq!(control.redo.to_string(), says("Latest checkpoint's REDO location"));
            assert_eq!(control.timeline.to_string(), says("Latest checkpoint's TimeLineID"));
            assert_eq!(control.max_connections.to_string(), says("max_connections setting"));
            assert_eq!(control.max_worker_processes.to_string(), says("max_worker_processes setting"));
            assert_eq!(control.max_wal_senders.to_string(), says("max_wal_senders setting"));
            assert_eq!(control.max_prepared_xacts.to_string(), says("max_prepared_xacts setting"));
            assert_eq!(control.max_locks_per_xact.to_string(), says("max_locks_per_xact setting"));
            assert_eq!(control.segment_size.bytes().to_string(), says("Bytes per WAL segment"));
            assert_eq!(control.data_checksums, says("Data page checksum version") != "0");
            let folder = bin.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            if let Some(major) = folder.and_then(|name| name.parse::<u32>().ok()) {
                assert_eq!(control.major, Some(major));
            }
            each_flip_is_seen(&bytes);
        }
    }
}

fn each_flip_is_seen(bytes: &[u8]) {
    for at in 0..288 {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 0x10;
        assert!(ControlFile::parse(&flipped).is_err(), "byte {at}");
    }
    for cut in 0..292 {
        assert!(matches!(ControlFile::parse(&bytes[..cut]), Err(ControlError::TooShort { .. })), "cut to {cut}");
    }
}

/// A file with a right checksum, laid out by hand for both known versions.
fn made_by_hand(version: u32) -> Vec<u8> {
    let mut bytes = vec![0_u8; 8192];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &7_713_982_968_056_631_495_u64.to_le_bytes());
    put(8, &version.to_le_bytes());
    put(12, &202_506_291_u32.to_le_bytes());
    put(16, &6_u32.to_le_bytes());
    put(40, &0x1500_0028_u64.to_le_bytes());
    put(48, &1_u32.to_le_bytes());
    put(180, &100_u32.to_le_bytes());
    put(228, &(16_u32 << 20).to_le_bytes());
    let crc_at = if version == 1800 { 292 } else { 288 };
    let crc = crc32c::crc32c(&bytes[..crc_at]);
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn an_unknown_version_is_an_error_and_no_guess() {
    assert_eq!(ControlFile::parse(&made_by_hand(1800)).unwrap().major, Some(18));
    assert_eq!(ControlFile::parse(&made_by_hand(1300)).unwrap().max_connections, 100);
    assert_eq!(ControlFile::parse(&made_by_hand(1700)).unwrap().max_connections, 100);
    for version in [0, 1100, 1201, 1301, 1600, 1900, u32::MAX] {
        assert_eq!(ControlFile::parse(&made_by_hand(version)), Err(ControlError::UnknownVersion { version }));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = ControlFile::parse(&bytes);
    }
}
