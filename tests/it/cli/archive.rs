//! What `dalsegno archive` shows.

use dalsegno::cli::archive::{Command, Looked, Which, audit, damage, list, show, windows};
use dalsegno::cli::{Format, Out, archive::Audited};
use dalsegno::domain::{
    ArchiveFact, ArchivePlace, BackupStatus, BaseBackup, Denied, EndOfWal, ExitCode, FactKind, Gap, Keep, Prefix, SegmentSeen,
    StoreId, Subject, SubjectKind, SystemId, SystemSeen, WalGap, Window,
};
use jiff::Timestamp;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-11-30T15:00:00Z")
}

fn segment(name: &str) -> SegmentSeen {
    SegmentSeen {
        name: name.into(),
        key: format!("wals/{}/{name}.gz", &name[..16]),
        size: 9,
        written: Some(at("2026-11-30T14:58:00Z")),
    }
}

fn healthy() -> ArchiveFact {
    let backup = BaseBackup {
        id: "20261130T091120".into(),
        status: BackupStatus::Done,
        begin_time: Some(at("2026-11-30T09:11:20Z")),
        end_time: Some(at("2026-11-30T09:12:00Z")),
        begin_wal: Some("000000010000000000000007".into()),
        end_wal: Some("000000010000000000000008".into()),
        begin_lsn: Some(0x700_0028),
        timeline: Some(1),
        system_id: Some(SystemId(42)),
        server_version: Some(150_020),
        cluster_size: Some(136_154_160),
        stored_bytes: 510_363_334,
        record_written: None,
        missing: Vec::new(),
        missing_wal: Vec::new(),
        keep: Some(Keep::Full),
        tablespaces: Some(Vec::new()),
    };
    let window = Window {
        backup: "20261130T091120".into(),
        timeline: 1,
        from: at("2026-11-30T09:12:00Z"),
        covered_until: Some(at("2026-11-30T14:58:00Z")),
        last_segment: Some("0000000100000000000000FF".into()),
        broken_at: None,
    };
    ArchiveFact {
        subject: Subject::new(SubjectKind::Pg, &["home", "prod", "db"]),
        place: ArchivePlace {
            store: StoreId("minio".into()),
            bucket: "b".into(),
            prefix: Prefix::new("cnpg"),
            server: "db".into(),
        },
        listed_at: now(),
        objects: 251,
        bytes: 900_000_000,
        segments: 249,
        segment_size: Some(16 << 20),
        backups: vec![backup],
        windows: vec![window],
        gaps: Vec::new(),
        systems: vec![SystemSeen {
            system_id: SystemId(42),
            seen_in: vec!["backup.info of 20261130T091120".into()],
            newest: None,
        }],
        expected_system: None,
        orphan_histories: Vec::new(),
        partials_inside: Vec::new(),
        empty_objects: Vec::new(),
        framed_objects: Vec::new(),
        malformed_objects: Vec::new(),
        oldest_segment: Some(segment("000000010000000000000007")),
        newest_segment: Some(segment("0000000100000000000000FF")),
        end: Some(EndOfWal { timeline: 1, segment: "0000000100000000000000FF".into() }),
        vanished_backups: Vec::new(),
        known_backups: 0,
        foreign_keys: 0,
    }
}

fn broken() -> ArchiveFact {
    let mut archive = healthy();
    archive.gaps.push(WalGap {
        timeline: 1,
        first: "000000010000000000000020".into(),
        last: "000000010000000000000022".into(),
        count: 3,
        cuts_newest: true,
        later_written: None,
    });
    archive.windows[0].broken_at = Some("000000010000000000000020".into());
    archive.systems.push(SystemSeen { system_id: SystemId(7), seen_in: vec!["wals/x".into()], newest: None });
    archive
}

fn out() -> Out {
    Out::plain(Format::Wide, 200)
}

fn command(make: fn(Which) -> Command) -> Command {
    make(Which { subject: None })
}

#[test]
fn a_list_names_backups_and_the_range_of_wal() {
    let text = list(&[healthy()], now(), &out());
    for part in ["pg/home/prod/db", "20261130T091120", "done", "5 h ago", "487 MiB", "keep full", "249 WAL segments", "2 min ago"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn windows_say_how_long_and_where_they_are_broken() {
    let whole = windows(&[healthy()], now(), &out());
    assert!(whole.contains("2026-11-30T14:58:00Z") && whole.contains("5 h") && !whole.contains("broken"), "{whole}");
    assert!(windows(&[broken()], now(), &out()).contains("broken: 000000010000000000000020 missing"));
    let mut none = healthy();
    none.windows.clear();
    assert!(windows(&[none], now(), &out()).contains("pg/home/prod/db: nothing can be restored"));
}

#[test]
fn an_audit_names_each_damage_and_its_twin_nothing() {
    assert!(damage(&healthy()).is_empty());
    let found = damage(&broken());
    assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), ["gap", "system"]);
    let looked = Looked { archives: vec![broken()], gaps: Vec::new() };
    let text = audit(&Audited { damage: found, looked: &looked }, &out());
    assert!(text.contains("000000010000000000000020..000000010000000000000022") && text.contains("2 things"), "{text}");
    let looked = Looked { archives: vec![healthy()], gaps: Vec::new() };
    assert!(audit(&Audited { damage: Vec::new(), looked: &looked }, &out()).contains("no damage found in 251 objects"));
}

#[test]
fn the_exit_tells_damage_from_could_not_look() {
    let quiet = Out::plain(Format::Json, 100);
    let gap = Gap {
        subject: healthy().subject,
        what: FactKind::Archive,
        why: Denied::Tls,
        code: None,
        detail: "the certificate is not trusted".into(),
        hint: "set ca".into(),
    };
    let exit = |archives: Vec<ArchiveFact>, gaps: Vec<Gap>, command: &Command| {
        show(command, &Looked { archives, gaps }, now(), &quiet).unwrap()
    };
    let audit = command(Command::Audit);
    assert_eq!(exit(vec![healthy()], Vec::new(), &audit), ExitCode::Fine);
    assert_eq!(exit(vec![broken()], Vec::new(), &audit), ExitCode::Findings);
    assert_eq!(exit(vec![broken()], vec![gap.clone()], &audit), ExitCode::Findings);
    assert_eq!(exit(Vec::new(), vec![gap.clone()], &audit), ExitCode::CouldNotLook);
    assert_eq!(exit(vec![broken()], Vec::new(), &command(Command::List)), ExitCode::Fine);
    assert_eq!(exit(vec![healthy()], vec![gap], &command(Command::Windows)), ExitCode::CouldNotLook);
}
