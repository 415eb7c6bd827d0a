//! Hostile tars: a clear error with the key, and nothing outside of the folder.

use std::io::Cursor;
use std::path::Path;

use dalsegno::restore::Trouble;
use dalsegno::restore::tree::{InnerPath, Tree};
use dalsegno::restore::untar::{Rules, Untarred, untar};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

/// A header block as ustar has it.
fn header(name: &str, size: u64, kind: u8, link: &str) -> Vec<u8> {
    let mut block = vec![0_u8; 512];
    block[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    block[100..108].copy_from_slice(b"0004755\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link.as_bytes());
    block[257..263].copy_from_slice(b"ustar\0");
    block[263..265].copy_from_slice(b"00");
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, content.len() as u64, b'0', "");
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn end() -> Vec<u8> {
    vec![0; 1024]
}

fn read(bytes: &[u8], most: u64) -> (Result<Untarred, Trouble>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let mut tree = Tree::open(&folder.path().join("in"), None).unwrap();
    let cancel = CancellationToken::new();
    let rules =
        Rules { key: "base/x/data.tar", max_bytes: most, max_members: 1_000, space: &|_| Ok(()), cancel: &cancel, told: &|_| {} };
    (untar(&mut Cursor::new(bytes), &mut tree, &rules), folder)
}

fn refused(bytes: &[u8], word: &str) {
    let (result, folder) = read(bytes, 1 << 20);
    let Err(Trouble::Bad { why }) = result else { panic!("{word}: {result:?}") };
    assert!(why.starts_with("base/x/data.tar: ") && why.contains(word), "{why:?} does not say {word:?}");
    let outside: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(outside, ["in"], "written outside");
}

#[test]
fn a_plain_tar_is_taken_with_our_modes() {
    use std::os::unix::fs::PermissionsExt;
    let bytes = [file("./PG_VERSION", b"15\n"), header("base/", 0, b'5', ""), file("base/1/2", &[7; 1000]), end()].concat();
    let (result, folder) = read(&bytes, 1 << 20);
    assert_eq!(result.unwrap().files, 2);
    let path = folder.path().join("in/base/1/2");
    assert_eq!(std::fs::read(&path).unwrap(), [7; 1000]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600, "never setuid");
}

#[test]
fn paths_that_leave_the_folder_are_refused() {
    refused(&[file("/etc/passwd", b"x"), end()].concat(), "absolute");
    refused(&[file("../x", b"x"), end()].concat(), "..");
    refused(&[file("base/../../x", b"x"), end()].concat(), "..");
}

#[test]
fn links_devices_and_the_like_are_refused() {
    refused(&[header("x", 0, b'2', "/etc/passwd"), end()].concat(), "a link to");
    refused(&[header("x", 0, b'2', "base/1"), end()].concat(), "a link to");
    refused(&[header("x", 0, b'1', "PG_VERSION"), end()].concat(), "a link to");
    for kind in *b"346" {
        refused(&[header("x", 0, kind, ""), end()].concat(), "special file");
    }
}

#[test]
fn a_link_for_the_wal_is_left_out_since_we_make_it_ourselves() {
    let bytes = [header("pg_wal", 0, b'2', "/var/lib/postgresql/wal"), file("PG_VERSION", b"15\n"), end()].concat();
    let (result, folder) = read(&bytes, 1 << 20);
    assert_eq!(result.unwrap().skipped_links, ["pg_wal"]);
    assert!(!folder.path().join("in/pg_wal").exists());
}

#[test]
fn sizes_that_lie_are_refused() {
    refused(&[header("x", 1 << 30, b'0', ""), end()].concat(), "more than the cluster can hold");
    refused(&header("x", 5000, b'0', ""), "ends in the middle");
    refused(&[header("base/", 512, b'5', ""), vec![1; 512], end()].concat(), "with a size");
    let mut negative = header("x", 0, b'0', "");
    negative[124..136].copy_from_slice(&[0xff; 12]);
    negative[148..156].copy_from_slice(b"        ");
    let sum: u32 = negative.iter().map(|byte| u32::from(*byte)).sum();
    negative[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let (result, _folder) = read(&[negative, end()].concat(), u64::MAX);
    assert!(matches!(result, Err(Trouble::Bad { .. })), "{result:?}");
}

#[test]
fn sparse_files_and_endless_headers_are_refused() {
    refused(&[header("x", 0, b'S', ""), end()].concat(), "");
    let pax = b"22 GNU.sparse.major=1\n30 GNU.sparse.name=base/1/2/3\n";
    let member = [header("pax", pax.len() as u64, b'x', ""), {
        let mut body = pax.to_vec();
        body.resize(512, 0);
        body
    }];
    refused(&[member.concat(), file("x", b"x"), end()].concat(), "");
    refused(&[header("long", 1 << 30, b'L', ""), vec![b'a'; 4096], end()].concat(), "");
    let huge = b"29 size=18446744073709551615\n";
    let mut body = huge.to_vec();
    body.resize(512, 0);
    refused(&[header("pax", huge.len() as u64, b'x', ""), body, header("x", 0, b'0', ""), end()].concat(), "");
}

#[test]
fn the_same_file_twice_and_what_follows_the_end_are_refused() {
    refused(&[file("x", b"1"), file("x", b"2"), end()].concat(), "twice");
    refused(&[file("x", b"1"), end(), file("y", b"2")].concat(), "behind the end");
    refused(&[file("x", b"1"), vec![0; 512], file("y", b"2"), end()].concat(), "behind the end");
    refused(&file("x", b"1"), "ends in the middle");
    refused(&[file("x", b"1"), vec![0; 512]].concat(), "ends in the middle");
    refused(b"", "ends in the middle");
}

#[test]
fn a_folder_that_is_a_link_on_disk_is_not_entered() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink("../out", folder.path().join("in/base")).unwrap();
    let mut tree = Tree::open(&folder.path().join("in"), None).unwrap();
    let cancel = CancellationToken::new();
    let rules = Rules { key: "k", max_bytes: 100, max_members: 1_000, space: &|_| Ok(()), cancel: &cancel, told: &|_| {} };
    let result = untar(&mut Cursor::new([file("base/x", b"1"), end()].concat()), &mut tree, &rules);
    assert!(result.is_err());
    assert!(std::fs::read_dir(folder.path().join("out")).unwrap().next().is_none());
}

#[test]
fn a_cancelled_tar_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut tree = Tree::open(Path::new(folder.path()), None).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let rules = Rules { key: "k", max_bytes: 100, max_members: 1_000, space: &|_| Ok(()), cancel: &cancel, told: &|_| {} };
    assert_eq!(untar(&mut Cursor::new(file("x", b"1")), &mut tree, &rules), Err(Trouble::Cancelled));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_without_a_panic_and_inside_of_the_folder(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let (_, folder) = read(&bytes, 1 << 16);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_tar_stays_inside_of_the_folder(at in 0_usize..3000, byte: u8, name in "[a-z./]{1,40}") {
        let mut bytes = [file("PG_VERSION", b"15\n"), file(&name, b"x"), header("base", 0, b'5', ""), end()].concat();
        if let Some(slot) = bytes.get_mut(at) {
            *slot = byte;
        }
        let (_, folder) = read(&bytes, 1 << 16);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_inner_path_never_leaves(name in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(path) = InnerPath::parse(&name) {
            let text = path.text();
            prop_assert!(!text.starts_with('/') && !text.split('/').any(|part| part == ".."));
        }
    }
}

#[test]
fn too_many_members_and_a_disk_that_fills_are_our_lack_and_not_the_archives() {
    let cancel = CancellationToken::new();
    let take = |bytes: &[u8], max_members: u64, room: u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = Tree::open(folder.path(), None).unwrap();
        let space = |wanted: u64| if wanted > room { Err(Trouble::could_not("full", "free some")) } else { Ok(()) };
        let rules = Rules { key: "k", max_bytes: u64::MAX, max_members, space: &space, cancel: &cancel, told: &|_| {} };
        untar(&mut Cursor::new(bytes), &mut tree, &rules)
    };
    let many: Vec<u8> = (0..20).flat_map(|number| file(&format!("f{number}"), b"x")).chain(end()).collect();
    assert!(matches!(take(&many, 19, 0), Err(Trouble::CouldNot { .. })));
    assert_eq!(take(&many, 20, 0).unwrap().files, 20);
    let large = [file("large", &vec![1; 17 << 20]), end()].concat();
    assert!(matches!(take(&large, 20, 16 << 20), Err(Trouble::CouldNot { .. })));
    assert_eq!(take(&large, 20, 17 << 20).unwrap().bytes, 17 << 20);
}
