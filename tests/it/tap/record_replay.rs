//! The same questions to a store and to its recording have the same answers; other questions have none.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dalsegno::archive::{BackupInfo, Compression, History, WalHeader};
use dalsegno::domain::Setting;
use dalsegno::providers::objectstore::keep::{BACKUP_INFO_FIELDS, KeepArchive};
use dalsegno::store::s3::S3;
use dalsegno::store::{Store, StoreError};
use dalsegno::tap::{Recorder, Recording};

use crate::store::bucket::{self, Objects};
use crate::store::mock::{Mock, Reply};

pub const SEGMENT: &str = "cnpg/pg/wals/0000000100000000/000000010000000000000001";
pub const INFO: &str = "cnpg/pg/base/20261130T091120/backup.info";
pub const HISTORY: &str = "cnpg/pg/wals/00000002.history";

pub fn objects() -> Objects {
    let mut header = vec![0x13, 0xD1, 0x06, 0x00, 1, 0, 0, 0];
    header.resize(16, 0);
    header.extend_from_slice(&[0; 8]);
    header.extend_from_slice(&7_713_982_968_056_631_495_u64.to_le_bytes());
    header.extend_from_slice(&(16_u32 << 20).to_le_bytes());
    header.extend_from_slice(&8192_u32.to_le_bytes());
    assert_eq!(header.len(), 40);
    header.extend_from_slice(&b"WAL-BODY-SECRET".repeat(1000));
    let info = "status=DONE\nbegin_wal=000000010000000000000001\nend_wal=000000010000000000000001\ntimeline=1\nsystemid=7713982968056631495\nconninfo=host=db password=INFO-SECRET\nbegin_time=2026-11-30 09:11:20+00:00\n";
    let mut objects = Objects::from([
        (SEGMENT.to_owned(), header.clone()),
        (INFO.to_owned(), info.into()),
        (HISTORY.to_owned(), b"1\t0/5000000\tHISTORY-SECRET reason\n".to_vec()),
        ("cnpg/pg/base/20261130T091120/data.tar.gz".to_owned(), b"TAR-SECRET".repeat(100)),
        ("other/x".to_owned(), b"FOREIGN-SECRET".to_vec()),
    ]);
    for compression in Compression::ALL.into_iter().filter(|one| *one != Compression::None) {
        objects
            .insert(format!("{HISTORY}{}", compression.suffix()), packed(compression, b"1\t0/5000000\tHISTORY-SECRET reason\n"));
        objects.insert(format!("{SEGMENT}{}", compression.suffix()), packed(compression, &header));
    }
    objects
}

fn packed(compression: Compression, plain: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    match compression {
        Compression::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(plain).unwrap();
            writer.finish().unwrap()
        }
        Compression::Bzip2 => {
            let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            writer.write_all(plain).unwrap();
            writer.finish().unwrap()
        }
        Compression::Xz => liblzma::encode_all(plain, 1).unwrap(),
        Compression::Snappy => {
            let mut writer = snap::write::FrameEncoder::new(Vec::new());
            writer.write_all(plain).unwrap();
            writer.into_inner().unwrap()
        }
        Compression::Zstd => zstd::encode_all(plain, 1).unwrap(),
        Compression::Lz4 => {
            let mut writer = lz4_flex::frame::FrameEncoder::new(Vec::new());
            writer.write_all(plain).unwrap();
            writer.finish().unwrap()
        }
        Compression::None => plain.to_vec(),
    }
}

/// Everything that a pass asks of a store, in words.
async fn ask_all(store: &Store) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let mut keys = Vec::new();
    let end = store
        .list("cnpg/", None, &mut |object| {
            keys.push(format!("{object:?}"));
            ControlFlow::Continue(())
        })
        .await;
    said.insert("list".to_owned(), format!("{keys:?} {:?}", end.map(|end| (end.complete, end.refused))));
    said.insert("folders".to_owned(), format!("{:?}", store.list_folders("").await));
    said.insert("peek".to_owned(), format!("{:?}", store.peek("other/").await));
    said.insert(
        "head".to_owned(),
        format!("{:?}", store.head(INFO).await.map(|head| (head.size, head.etag, head.last_modified))),
    );
    said.insert("gone".to_owned(), short(&store.head("cnpg/none").await.unwrap_err()));
    said.insert("get gone".to_owned(), short(&store.get("cnpg/nothing", 10).await.unwrap_err()));
    said.insert("info".to_owned(), format!("{:?}", BackupInfo::parse(&store.get(INFO, 1 << 20).await.unwrap().bytes)));
    for compression in [Compression::None, Compression::Gzip, Compression::Bzip2] {
        let key = format!("{HISTORY}{}", compression.suffix());
        let object = store.get(&key, 1 << 20).await.unwrap();
        let mut plain = Vec::new();
        compression.reader(std::io::Cursor::new(object.bytes)).unwrap().read_to_end(&mut plain).unwrap();
        said.insert(key, format!("{:?}", History::parse(2, &plain).map(|history| history.left(1))));
    }
    for compression in Compression::ALL {
        let key = format!("{SEGMENT}{}", compression.suffix());
        let object = store.get_range(&key, 0, compression.head_bytes()).await.unwrap();
        let head = compression.head(&object.bytes, 40).unwrap();
        said.insert(format!("wal {}", compression.as_str()), format!("{:?} of {}", WalHeader::parse(&head), object.size));
    }
    said.insert("region".to_owned(), format!("{:?}", store.head_bucket().await));
    said.insert("versioning".to_owned(), format!("{:?}", store.versioning().await));
    said.insert("lock".to_owned(), format!("{:?}", store.object_lock().await));
    said.insert("lifecycle".to_owned(), format!("{:?}", store.lifecycle().await));
    said.insert("uploads".to_owned(), format!("{:?}", store.uploads("cnpg/", 10).await));
    said.insert("server".to_owned(), format!("{:?}", store.last_seen().server));
    said
}

fn short(error: &StoreError) -> String {
    format!("{:?}", std::mem::discriminant(error))
}

pub async fn recorded(folder: &Path, mock: &Mock) -> (Store, BTreeMap<String, String>) {
    let mut recorder = Recorder::create(folder, "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let live = Arc::new(S3::new(&mock.config()).unwrap());
    let calls = pass.store("mock", "env:R_ID", live, Arc::new(KeepArchive));
    let said = ask_all(&Store::over(mock.config().identity(), calls)).await;
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replay = Recording::open(folder).unwrap();
    let pass = replay.passes().next().unwrap();
    let calls = pass.store("mock", "env:R_ID", Arc::new(KeepArchive)).unwrap();
    (Store::over(mock.config().identity(), calls), said)
}

#[tokio::test]
async fn a_replay_answers_as_the_store_did() {
    let objects = objects();
    let mock = Mock::start(move |asked| bucket::serve(&objects, asked)).await;
    let folder = tempfile::tempdir().unwrap();
    let (replayed, said) = recorded(folder.path(), &mock).await;
    let asked = mock.asked().len();
    let again = ask_all(&replayed).await;
    for (what, live) in &said {
        assert_eq!(again.get(what), Some(live), "{what}");
    }
    assert!(said["wal lz4"].contains("7713982968056631495"), "{said:?}");
    assert!(said["lifecycle"].contains("NotImplemented"));
    assert_eq!(mock.asked().len(), asked, "a replay asks nobody");
}

#[tokio::test]
async fn what_was_not_asked_is_not_recorded_and_never_empty() {
    let objects = objects();
    let mock = Mock::start(move |asked| bucket::serve(&objects, asked)).await;
    let folder = tempfile::tempdir().unwrap();
    let (replayed, _) = recorded(folder.path(), &mock).await;
    let all = replayed.list("", None, &mut |_| ControlFlow::Continue(())).await.unwrap_err();
    let other = replayed.list_folders("other/").await.unwrap_err();
    let read = replayed.get("other/x", 100).await.unwrap_err();
    let tar = replayed.get("cnpg/pg/base/20261130T091120/data.tar.gz", 1 << 20).await.unwrap_err();
    for error in [all, other, read, tar] {
        assert!(matches!(error, StoreError::NotRecorded { .. }), "{error:?}");
    }
    let part = replayed.list("cnpg/pg/wals/", None, &mut |_| ControlFlow::Continue(())).await.unwrap();
    assert!(part.complete, "a prefix below a listed one was listed");
}

#[tokio::test]
async fn refusals_and_breaks_are_replayed_as_such() {
    let objects = objects();
    let mock = Mock::start(move |asked| match asked.param("continuation-token") {
        Some(_) => Reply { promised: Some(5000), ..Reply::new(200, "<ListBucketResult>") },
        None if asked.query.contains("lifecycle") => Reply::error(403, "AccessDenied", "no"),
        None if asked.query.contains("versioning") => Reply::error(403, "InvalidAccessKeyId", "who"),
        None => bucket::serve(&objects, asked),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let calls = pass.store("mock", "r", Arc::new(S3::new(&mock.config()).unwrap()), Arc::new(KeepArchive));
    let live = Store::over(mock.config().identity(), calls);
    let mut seen = [Vec::new(), Vec::new()];
    let ask = async |store: &Store, seen: &mut Vec<String>| {
        let end = store
            .list("cnpg/", None, &mut |object| {
                seen.push(object.key);
                ControlFlow::Continue(())
            })
            .await;
        let lifecycle = store.lifecycle().await.unwrap();
        assert!(matches!(lifecycle, Setting::Denied), "{lifecycle:?}");
        (short(&end.unwrap_err()), store.versioning().await.unwrap_err().denied())
    };
    let told = ask(&live, &mut seen[0]).await;
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replay = Recording::open(folder.path()).unwrap().passes().next().unwrap();
    let replayed = Store::over(mock.config().identity(), replay.store("mock", "r", Arc::new(KeepArchive)).unwrap());
    assert_eq!(ask(&replayed, &mut seen[1]).await, told);
    assert_eq!(seen[0], seen[1], "as far as it came");
    assert_eq!(seen[0].len(), 3);
}

#[tokio::test]
async fn a_recording_made_by_hand_needs_only_a_list() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("recording.yaml"), "format: 1\npasses: [{dir: \"000\", now: 2026-11-30T12:00:00Z}]\n")
        .unwrap();
    let store = folder.path().join("000/store/minio");
    std::fs::create_dir_all(store.join("reads")).unwrap();
    let rows = "{\"key\":\"a/1\",\"size\":4,\"etag\":\"x\",\"last_modified\":\"2026-11-30T12:00:00Z\"}\n";
    std::fs::write(store.join("list.jsonl.zst"), zstd::encode_all(rows.as_bytes(), 1).unwrap()).unwrap();
    std::fs::write(folder.path().join("000/denied.jsonl"), "{\"source\":\"store/minio\",\"what\":\"b/\",\"kind\":\"denied\"}\n")
        .unwrap();
    let replay = Recording::open(folder.path()).unwrap().passes().next().unwrap();
    let calls = replay.store("minio", "env:X", Arc::new(KeepArchive)).unwrap();
    let store = Store::over(crate::store::mock::config("https://h", "bucket").identity(), calls);
    assert_eq!(store.peek("").await.unwrap().unwrap().key, "a/1");
    assert_eq!(store.list_folders("").await.unwrap(), ["a/"]);
    assert_eq!(store.peek("c/").await.unwrap(), None, "a whole listing knows that nothing is there");
    assert!(matches!(store.peek("b/").await.unwrap_err(), StoreError::AccessDenied { .. }), "denied wins over any file");
    assert!(matches!(store.uploads("", 1).await.unwrap_err(), StoreError::NotRecorded { .. }));
    std::fs::write(folder.path().join("recording.yaml"), "format: 2\npasses: []\n").unwrap();
    assert!(Recording::open(folder.path()).unwrap_err().to_string().contains("format 2"));
}

#[test]
fn the_kept_fields_of_backup_info_are_those_that_are_read() {
    let source = include_str!("../../../src/archive/backup_info.rs");
    let mut read: Vec<&str> = Vec::new();
    for call in [
        "self.time(\"",
        "self.number(\"",
        "self.text(\"",
        "self.segment(\"",
        "self.lsn(\"",
        "self.get(\"",
        "number::<u64>(\"",
        "KEY: &str = \"",
    ] {
        read.extend(source.split(call).skip(1).filter_map(|rest| rest.split('"').next()));
    }
    read.sort_unstable();
    read.dedup();
    let mut kept = BACKUP_INFO_FIELDS.to_vec();
    kept.sort_unstable();
    assert_eq!(read, kept);
}
