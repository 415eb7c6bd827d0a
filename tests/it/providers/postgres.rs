//! The provider of PostgreSQL archives, against a real store.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::archive::{SegmentName, SegmentSize};
use dalsegno::domain::{
    ArchiveFact, ArchivePlace, BUDGET_USED, BackupStatus, Cx, Denied, Fact, FactKind, Keep, Known, Memory, Observation, Observe,
    Policy, Prefix, Quiet, REQUESTS_LEFT, Requests, RunId, Sample, Secret, StoreId, Subject, SubjectKind,
};
use dalsegno::providers::postgres::config::PostgresSettings;
use dalsegno::providers::postgres::{Depth, ListingRule, PostgresArchive};
use dalsegno::store::{Store, StoreConfig};
use jiff::{SignedDuration, Timestamp};
use lab::s3::{Client, Keys};
use lab::seaweed::{self, Seaweed};
use lab::{Tool, need};
use tokio_util::sync::CancellationToken;

const SYSTEM: u64 = 7_713_982_968_056_631_495;
const SIZE: u64 = 1 << 20;

/// An archive of 1 MiB segments in a bucket of its own.
struct Bench {
    client: Client,
    bucket: String,
    endpoint: String,
    keys: Keys,
}

impl Bench {
    async fn new(suite: &str) -> Option<Self> {
        need(suite, Tool::Seaweed)?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let weed: &Seaweed = seaweed::shared().await.unwrap();
        Some(Self {
            client: weed.client(),
            bucket: weed.fresh_bucket().await.unwrap(),
            endpoint: weed.endpoint().to_owned(),
            keys: weed.keys().read_only().clone(),
        })
    }

    async fn put(&self, key: &str, bytes: impl Into<bytes::Bytes>) {
        self.client.put(&self.bucket, &format!("cnpg/db/{key}"), bytes).await.unwrap();
    }

    async fn delete(&self, key: &str) {
        self.client.delete(&self.bucket, &format!("cnpg/db/{key}")).await.unwrap();
    }

    async fn wal(&self, timeline: u32, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.put(&key(timeline, number), gzip(&wal(timeline, number, SYSTEM))).await;
        }
    }

    async fn backup(&self, id: &str, timeline: u32, segment: u64) {
        self.put(&format!("base/{id}/data.tar.gz"), "some bytes").await;
        self.put(&format!("base/{id}/backup.info"), record(timeline, segment)).await;
    }

    fn store(&self, keys: &Keys) -> Store {
        let secret = |text: &str| Secret::new(text.to_owned());
        let id = StoreId("lab".to_owned());
        let mut config = StoreConfig::new(id, self.endpoint.clone(), self.bucket.clone(), secret(&keys.id), secret(&keys.secret));
        config.attempts = 2;
        Store::open(config).unwrap()
    }

    fn provider(&self) -> PostgresArchive {
        PostgresArchive::new(settings(&self.bucket, "db"), self.store(&self.keys))
    }

    /// A provider that never lists all of it twice in a day, however small the archive is.
    fn incremental(&self) -> PostgresArchive {
        self.provider().listing(ListingRule { small: 0, ..ListingRule::default() })
    }
}

fn settings(bucket: &str, server: &str) -> PostgresSettings {
    let place = ArchivePlace {
        store: StoreId("lab".to_owned()),
        bucket: bucket.to_owned(),
        prefix: Prefix::new("cnpg"),
        server: server.to_owned(),
    };
    let subject = Subject::new(SubjectKind::Pg, &["home", "prod", "db"]);
    PostgresSettings {
        name: "db".to_owned(),
        subject,
        place,
        system_id: None,
        policy: Policy::default(),
        checks: Vec::new(),
        cluster: None,
    }
}

fn name(timeline: u32, number: u64) -> SegmentName {
    SegmentName::from_number(timeline, number, SegmentSize::new(SIZE).unwrap()).unwrap()
}

fn key(timeline: u32, number: u64) -> String {
    let name = name(timeline, number);
    format!("wals/{}/{name}.gz", name.directory())
}

fn wal(timeline: u32, number: u64, system: u64) -> Vec<u8> {
    let mut bytes = vec![0_u8; usize::try_from(SIZE).unwrap()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &0xD110_u16.to_le_bytes());
    put(2, &2_u16.to_le_bytes());
    put(4, &timeline.to_le_bytes());
    put(8, &(number * SIZE).to_le_bytes());
    put(24, &system.to_le_bytes());
    put(32, &u32::try_from(SIZE).unwrap().to_le_bytes());
    put(36, &8192_u32.to_le_bytes());
    bytes
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn record(timeline: u32, segment: u64) -> String {
    let name = name(timeline, segment);
    let position = segment * SIZE + 0x28;
    format!(
        "begin_time=2026-11-30 09:00:00+00:00\nbegin_wal={name}\nbegin_xlog=0/{position:X}\ncluster_size=1000\n\
         end_time=2026-11-30 09:00:10+00:00\nend_wal={name}\nend_xlog=0/{:X}\nstatus=DONE\nsystemid={SYSTEM}\n\
         tablespaces=None\ntimeline={timeline}\nversion=150020\nxlog_segment_size={SIZE}\n",
        position + 0x100
    )
}

fn cx() -> Cx {
    cx_at(Timestamp::now())
}

fn cx_at(now: Timestamp) -> Cx {
    Cx {
        run: RunId::new(),
        now,
        deadline: Instant::now() + Duration::from_mins(1),
        cancel: CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}

async fn pass(provider: &PostgresArchive, memory: Option<Memory>) -> Observation {
    provider.observe(&cx(), &Known { facts: Vec::new(), memory }).await
}

fn fact(seen: &Observation) -> &ArchiveFact {
    let found = seen.facts.iter().find_map(|fact| match fact {
        Fact::Archive(fact) => Some(fact.as_ref()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no archive fact, gaps: {:?}", seen.gaps))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_archive_is_a_fact_a_recovery_point_and_numbers() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, 1..=6).await;
    bench.backup("20261130T090000", 1, 4).await;
    bench.put("base/20261130T090000/annotations/keep", "full").await;
    let provider = bench.provider();
    let seen = pass(&provider, None).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let archive = fact(&seen);
    assert_eq!((archive.objects, archive.segments, archive.segment_size), (9, 6, Some(SIZE)));
    assert_eq!(archive.backups[0].status, BackupStatus::Done);
    assert_eq!(archive.backups[0].keep, Some(Keep::Full));
    assert_eq!(archive.end.as_ref().unwrap().segment, name(1, 6).to_string());
    assert_eq!(archive.systems.len(), 1);
    assert!(archive.systems[0].seen_in.len() >= 4, "{:?}", archive.systems);
    assert!(archive.malformed_objects.is_empty(), "{:?}", archive.malformed_objects);
    assert_eq!(seen.facts.iter().filter(|fact| fact.kind() == FactKind::RecoveryPoint).count(), 1);
    let metrics: Vec<&str> = seen
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Sample(sample) => Some(sample.metric.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(metrics, ["archive_objects", "archive_bytes", "base_backups_count", "archive_age_seconds"]);
    assert!(seen.requests.class_a >= 1 && seen.requests.class_b >= 2);
    // Nothing has changed: the next pass lists, and reads nothing but begin_wal's header again.
    let again = pass(&provider, seen.memory.clone()).await;
    assert!(again.requests.class_b <= 1, "{:?}", again.requests);
    let mut same = fact(&again).clone();
    same.listed_at = archive.listed_at;
    same.known_backups = archive.known_backups;
    assert_eq!(&same, archive);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_was_lost_is_seen_at_the_next_pass() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, 1..=6).await;
    bench.backup("20261130T090000", 1, 2).await;
    let first = pass(&bench.provider(), None).await;
    assert!(fact(&first).gaps.is_empty());
    bench.delete(&key(1, 4)).await;
    let second = pass(&bench.provider(), first.memory).await;
    let gap = &fact(&second).gaps[0];
    assert_eq!((gap.first.as_str(), gap.count, gap.cuts_newest), (name(1, 4).to_string().as_str(), 1, true));
    assert_eq!(fact(&second).windows[0].broken_at, Some(name(1, 4).to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_pass_sees_what_came_and_a_whole_one_what_went() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, (1..=6).filter(|number| *number != 5)).await;
    bench.backup("20261130T090000", 1, 2).await;
    let provider = bench.incremental();
    let first = pass(&provider, None).await;
    assert_eq!(fact(&first).gaps.len(), 1);
    // A late upload fills the hole; a promotion; a second backup; the first one goes.
    bench.wal(1, [5]).await;
    bench.put("wals/00000002.history", "1\t0/700100\tno recovery target specified\n").await;
    bench.wal(2, 7..=9).await;
    bench.backup("20261130T100000", 2, 8).await;
    bench.delete("base/20261130T090000/backup.info").await;
    bench.delete("base/20261130T090000/data.tar.gz").await;
    let second = pass(&provider, first.memory).await;
    let seen = fact(&second);
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    assert_eq!(seen.vanished_backups, ["20261130T090000"]);
    assert_eq!((seen.end.as_ref().unwrap().timeline, seen.segments), (2, 9));
    let whole = pass(&provider, None).await;
    assert_eq!((seen.objects, seen.bytes), (fact(&whole).objects, fact(&whole).bytes));
    assert!(second.requests.bytes_in < whole.requests.bytes_in);
    // What is deleted in the middle is seen by the whole listing of the next day.
    bench.delete(&key(2, 8)).await;
    let third = pass(&provider, second.memory).await;
    assert!(fact(&third).gaps.is_empty() && fact(&third).backups[0].missing_wal.is_empty());
    let tomorrow = cx_at(Timestamp::now() + SignedDuration::from_hours(25));
    let fourth = provider.observe(&tomorrow, &Known { facts: Vec::new(), memory: third.memory }).await;
    assert_eq!(fact(&fourth).backups[0].missing_wal, [name(2, 8).to_string()]);
}

fn left(store: &str, value: f64) -> Fact {
    let subject = Subject::new(SubjectKind::Store, &["home", store]);
    Fact::Sample(Sample { subject, metric: REQUESTS_LEFT.to_owned(), value, at: Timestamp::now() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_listing_waits_while_the_budget_of_its_store_is_used_up() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, 1..=6).await;
    bench.backup("20261130T090000", 1, 2).await;
    let provider = bench.incremental();
    // The first listing does not wait: without it nothing is known.
    let used = |memory| Known { facts: vec![left("lab", 0.0)], memory };
    let first = provider.observe(&cx(), &used(None)).await;
    assert!(first.gaps.is_empty() && fact(&first).gaps.is_empty(), "{:?}", first.gaps);
    bench.delete(&key(1, 4)).await;
    bench.wal(1, [7]).await;
    // Not due yet: nothing waits, and nothing is said.
    let second = provider.observe(&cx(), &used(first.memory)).await;
    assert!(second.gaps.is_empty(), "{:?}", second.gaps);
    let tomorrow = cx_at(Timestamp::now() + SignedDuration::from_hours(25));
    let waits = provider.observe(&tomorrow, &used(second.memory.clone())).await;
    let gap = waits.gaps.iter().find(|gap| gap.code.as_deref() == Some(BUDGET_USED)).expect("the waiting is told");
    assert_eq!((&gap.subject, gap.what), (&provider.covers(&Known::default())[0].0, FactKind::Sample));
    assert!(gap.detail.contains("the whole listing waits") && gap.hint.contains("stores.lab.requests-per-day"), "{gap:?}");
    assert!(fact(&waits).gaps.is_empty(), "what went is not seen");
    assert_eq!(fact(&waits).end.as_ref().unwrap().segment, name(1, 7).to_string(), "what came is");
    // Some is left, or it is another store's budget: nothing waits, also after it has waited.
    for (facts, memory) in [(vec![left("lab", 1.0)], second.memory), (vec![left("other", -5.0)], waits.memory)] {
        let seen = provider.observe(&tomorrow, &Known { facts, memory }).await;
        assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
        assert_eq!(fact(&seen).gaps[0].first, name(1, 4).to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_that_share_a_store_count_their_own_requests() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, 1..=6).await;
    bench.backup("20261130T090000", 1, 2).await;
    let store = bench.store(&bench.keys);
    let full = PostgresArchive::new(settings(&bench.bucket, "db"), store.clone());
    let empty = PostgresArchive::new(settings(&bench.bucket, "nothing"), store.clone());
    let (full_alone, empty_alone) = (pass(&full, None).await.requests, pass(&empty, None).await.requests);
    assert!(full_alone.class_b > 0 && empty_alone.class_b == 0, "{full_alone:?} {empty_alone:?}");
    let (full, more, empty) = tokio::join!(pass(&full, None), pass(&full, None), pass(&empty, None));
    assert_eq!((full.requests, more.requests, empty.requests), (full_alone, full_alone, empty_alone));
    assert_eq!(store.requests(), Requests::default(), "nor do they count on the meter of the one who opened it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_cannot_be_listed_is_a_gap_and_an_empty_one_is_proven_empty() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, [1]).await;
    let weed = seaweed::shared().await.unwrap();
    for keys in [weed.keys().wrong_secret(), Keys::new("LABKEYNOBODY", "lab-secret-of-nobody")] {
        let provider = PostgresArchive::new(settings(&bench.bucket, "db"), bench.store(&keys));
        let seen = pass(&provider, None).await;
        assert!(seen.facts.is_empty() && seen.controls.is_empty());
        assert_eq!(seen.gaps.len(), 1);
        assert!(matches!(seen.gaps[0].why, Denied::Denied { .. }), "{:?}", seen.gaps);
        assert!(seen.gaps[0].code.is_some() && !seen.gaps[0].hint.is_empty());
        assert_eq!(seen.gaps[0].subject, provider.covers(&Known::default())[0].0);
    }
    let provider = PostgresArchive::new(settings("no-such-bucket", "db"), {
        let secret = |text: &str| Secret::new(text.to_owned());
        let keys = &bench.keys;
        let config = StoreConfig::new(
            StoreId("lab".into()),
            bench.endpoint.clone(),
            "no-such-bucket",
            secret(&keys.id),
            secret(&keys.secret),
        );
        Store::open(config).unwrap()
    });
    let seen = pass(&provider, None).await;
    assert!(seen.facts.is_empty() && seen.gaps.len() == 1, "{seen:?}");
    let empty = PostgresArchive::new(settings(&bench.bucket, "other"), bench.store(&bench.keys));
    let seen = pass(&empty, None).await;
    assert_eq!(fact(&seen).objects, 0);
    assert!(seen.controls[0].shown.contains("cnpg/db/"), "{:?}", seen.controls);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_writers_framing_and_damage_are_seen_in_the_first_bytes() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, 1..=9).await;
    bench.backup("20261130T090000", 1, 4).await;
    bench.put(&key(1, 4), gzip(&wal(1, 4, 7))).await;
    bench.put(&key(1, 1), "<?xml version=\"1.0\"?><Error/>").await;
    let framed = gzip(&wal(1, 9, SYSTEM));
    bench.put(&key(1, 9), [format!("{:x}\r\n", framed.len()).as_bytes(), &framed, b"\r\n0\r\n\r\n"].concat()).await;
    bench.put("base/20261101T000000/backup.info", "53b\r\nbackup_label='x'\r\nstatus=DONE\r\n0\r\n\r\n").await;
    let seen = pass(&bench.provider(), None).await;
    let archive = fact(&seen);
    assert_eq!(archive.systems.iter().map(|system| system.system_id.0).collect::<Vec<_>>(), [7, SYSTEM]);
    assert_eq!(archive.framed_objects, ["base/20261101T000000/backup.info".to_owned(), key(1, 9)]);
    assert_eq!(archive.malformed_objects.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), [key(1, 1)]);
    assert!(archive.backups.iter().any(|backup| matches!(backup.status, BackupStatus::Unreadable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_looks_at_everything_at_once() {
    let Some(bench) = Bench::new("postgres provider").await else { return };
    bench.wal(1, (1..=6).filter(|number| *number != 5)).await;
    bench.backup("20261130T090000", 1, 2).await;
    let by_names = bench.provider().audit(&cx(), Depth::Names).await;
    assert!(by_names.gaps.is_empty() && by_names.controls.is_empty(), "{by_names:?}");
    let archive = fact(&by_names);
    assert_eq!((archive.gaps.len(), archive.systems[0].seen_in.len()), (1, 1));
    let with_headers = bench.provider().audit(&cx(), Depth::Headers).await;
    assert!(fact(&with_headers).systems[0].seen_in.len() > 3);
    let cancelled = cx();
    cancelled.cancel.cancel();
    let nothing = bench.provider().audit(&cancelled, Depth::Names).await;
    assert!(nothing.facts.is_empty());
    assert_eq!(nothing.gaps[0].why, Denied::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_barman_cloud_writes_in_every_compression_is_read() {
    use lab::barman::{Barman, BaseCompression, WalCompression};
    use lab::postgres::{Options, Postgres};

    const SUITE: &str = "postgres provider with barman-cloud";
    let Some(bench) = Bench::new(SUITE).await else { return };
    let major = [16, 15, 17, 14].into_iter().find(|major| Tool::Postgres(*major).find().is_ok()).unwrap_or(16);
    if need(SUITE, Tool::Barman).is_none() || need(SUITE, Tool::Postgres(major)).is_none() {
        return;
    }
    let weed = seaweed::shared().await.unwrap();
    let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bench.bucket, "cnpg", "db").unwrap();
    let archiver = barman.archiver(WalCompression::Gzip).unwrap();
    let postgres = Postgres::start(Options::new(major).archive_command(archiver.command())).await.unwrap();
    postgres.write_accounts(500).await.unwrap();
    let id = barman.backup(&postgres, BaseCompression::Gzip).await.unwrap();
    let last = postgres.switch_and_wait_archived().await.unwrap();
    // The same segment in every other compression: all must be read, and count once.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(&last);
    std::fs::write(&file, segment_of(&bench, &last).await).unwrap();
    open_to_all(folder.path(), &file);
    for compression in WalCompression::ALL {
        barman.wal_archive(&file, compression).await.unwrap();
    }
    let seen = pass(&bench.provider(), None).await;
    let archive = fact(&seen);
    assert!(archive.malformed_objects.is_empty() && archive.gaps.is_empty(), "{archive:?}");
    assert_eq!(archive.backups.iter().map(|backup| backup.id.clone()).collect::<Vec<_>>(), [id]);
    assert_eq!(
        archive.systems.iter().map(|system| system.system_id.to_string()).collect::<Vec<_>>(),
        [postgres.system_id().await.unwrap()]
    );
    assert_eq!(archive.end.as_ref().unwrap().segment, last);
    assert_eq!(archive.windows.len(), 1);
    for compression in WalCompression::ALL {
        let key = barman.wal_key(&last, compression);
        let bytes = weed.client().get(&bench.bucket, &key).await.unwrap();
        let ours = dalsegno::archive::Compression::of_suffix(compression.suffix()).unwrap();
        let plain = ours.whole_segment(&bytes, 16 << 20).unwrap_or_else(|damage| panic!("{key}: {damage}"));
        assert_eq!(plain, std::fs::read(&file).unwrap(), "{key}");
        let part = usize::try_from(ours.head_bytes()).unwrap().min(bytes.len());
        assert_eq!(ours.head(&bytes[..part], 40).unwrap().get(..40), plain.get(..40), "{key}");
    }
}

async fn segment_of(bench: &Bench, name: &str) -> Vec<u8> {
    let stored = bench.client.get(&bench.bucket, &format!("cnpg/db/wals/{}/{name}.gz", &name[..16])).await.unwrap();
    dalsegno::archive::Compression::Gzip.whole_segment(&stored, 16 << 20).unwrap()
}

fn open_to_all(folder: &Path, file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
}
