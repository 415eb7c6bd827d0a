//! A healthy store with a healthy archive, to be damaged one fact at a time.

use dalsegno::domain::{
    ArchiveFact, ArchivePlace, BackupStatus, BaseBackup, CertificateSeen, Dialect, EndOfWal, Expected, Fact, FactKind, Finding,
    Gap, Observation, Policy, Prefix, ProviderId, Right, Rights, SegmentSeen, Setting, Severity, StoreFact, StoreId, Subject,
    SubjectKind, SystemId, SystemSeen, Window,
};
use dalsegno::policy::{Judgement, Proof, judge};
use jiff::{SignedDuration, Timestamp};

pub(crate) const DAY: f64 = 86_400.0;
pub(crate) const HOUR: f64 = 3_600.0;

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    at("2026-11-30T15:00:00Z")
}

pub(crate) fn ago(seconds: f64) -> Timestamp {
    now().checked_sub(SignedDuration::from_secs_f64(seconds)).unwrap()
}

pub(crate) fn db(name: &str) -> Subject {
    Subject::new(SubjectKind::Pg, &["home", "prod", name])
}

pub(crate) fn store_subject() -> Subject {
    Subject::new(SubjectKind::Store, &["home", "minio"])
}

pub(crate) fn segment(timeline: u32, number: u64) -> String {
    format!("{timeline:08X}{:08X}{:08X}", number / 256, number % 256)
}

pub(crate) fn seen(timeline: u32, number: u64, written: Timestamp) -> SegmentSeen {
    let name = segment(timeline, number);
    SegmentSeen { key: format!("cnpg/app/wals/{}/{name}.gz", &name[..16]), name, size: 16_500, written: Some(written) }
}

/// A done base backup that ended `age` seconds ago and needs segments `begin..=end` of timeline 1.
pub(crate) fn backup(age: f64, begin: u64, end: u64) -> BaseBackup {
    let taken = ago(age + 60.0);
    BaseBackup {
        id: taken.strftime("%Y%m%dT%H%M%S").to_string(),
        status: BackupStatus::Done,
        begin_time: Some(taken),
        end_time: Some(ago(age)),
        begin_wal: Some(segment(1, begin)),
        end_wal: Some(segment(1, end)),
        begin_lsn: Some(begin * 16 * 1024 * 1024 + 40),
        timeline: Some(1),
        system_id: Some(SystemId(7_713_982_968_056_631_495)),
        server_version: Some(150_020),
        cluster_size: Some(136_154_160),
        stored_bytes: 3_133_605,
        record_written: Some(ago(age)),
        missing: Vec::new(),
        missing_wal: Vec::new(),
        keep: None,
        tablespaces: Some(Vec::new()),
    }
}

pub(crate) fn window(backup: &BaseBackup, last: u64, covered: Timestamp) -> Window {
    Window {
        backup: backup.id.clone(),
        timeline: 1,
        from: backup.end_time.unwrap(),
        covered_until: Some(covered),
        last_segment: Some(segment(1, last)),
        broken_at: None,
    }
}

/// Three nightly base backups, WAL 100..=400 without a hole, the newest segment two minutes old.
pub(crate) fn archive(name: &str) -> ArchiveFact {
    let backups = vec![backup(61.0 * HOUR, 100, 101), backup(37.0 * HOUR, 200, 201), backup(13.0 * HOUR, 300, 301)];
    let windows = backups.iter().map(|backup| window(backup, 400, ago(120.0))).collect();
    ArchiveFact {
        subject: db(name),
        place: ArchivePlace {
            store: StoreId("minio".into()),
            bucket: "dr".into(),
            prefix: Prefix::new("cnpg"),
            server: name.into(),
        },
        listed_at: now(),
        objects: 310,
        bytes: 15_000_000,
        segments: 301,
        segment_size: Some(16 * 1024 * 1024),
        backups,
        windows,
        gaps: Vec::new(),
        systems: vec![SystemSeen {
            system_id: SystemId(7_713_982_968_056_631_495),
            seen_in: vec![segment(1, 400)],
            newest: Some(ago(120.0)),
        }],
        expected_system: None,
        orphan_histories: Vec::new(),
        partials_inside: Vec::new(),
        empty_objects: Vec::new(),
        framed_objects: Vec::new(),
        malformed_objects: Vec::new(),
        oldest_segment: Some(seen(1, 100, ago(62.0 * HOUR))),
        newest_segment: Some(seen(1, 400, ago(120.0))),
        end: Some(EndOfWal { timeline: 1, segment: segment(1, 400) }),
        vanished_backups: Vec::new(),
        known_backups: 3,
        foreign_keys: 0,
    }
}

pub(crate) fn store() -> StoreFact {
    StoreFact {
        subject: store_subject(),
        store: StoreId("minio".into()),
        endpoint: "https://minio.lan:9000".into(),
        bucket: "dr".into(),
        region: "us-east-1".into(),
        bucket_region: None,
        dialect: Dialect::Minio,
        clock_skew_seconds: Some(0.4),
        certificate: Some(CertificateSeen {
            subject: "CN=minio.lan".into(),
            not_before: ago(30.0 * DAY),
            not_after: ago(-60.0 * DAY),
            leaf_sha256: "ab".repeat(32),
            verified_by: "system".into(),
        }),
        rights: Rights {
            list: Right::Yes,
            read: Right::Yes,
            write: Right::No,
            list_uploads: Right::Yes,
            list_versions: Right::Unknown,
        },
        versioning: Setting::Absent,
        object_lock: Setting::Absent,
        lifecycle: Setting::Absent,
        uploads: Setting::Set(Vec::new()),
        version_bytes: None,
        claimed_immutability: None,
    }
}

pub(crate) fn policy() -> Policy {
    Policy {
        rpo_seconds: Some(15.0 * 60.0),
        rto_seconds: None,
        base_backup_every_seconds: Some(26.0 * HOUR),
        drill_every_seconds: None,
        retention_seconds: Some(2.0 * DAY),
        archive_timeout_seconds: None,
        ..Policy::default()
    }
}

/// What a pass saw, and what it should have seen.
pub(crate) struct Scene {
    pub(crate) expected: Expected,
    pub(crate) observation: Observation,
    pub(crate) proofs: Vec<Proof>,
}

impl Scene {
    /// Store and archive, both healthy, under the policy above.
    pub(crate) fn healthy() -> Self {
        Self::of(Some(store()), vec![archive("app")])
    }

    pub(crate) fn of(store: Option<StoreFact>, archives: Vec<ArchiveFact>) -> Self {
        let mut expected = Expected::default();
        for archive in &archives {
            expected.covers.push((archive.subject.clone(), FactKind::Archive));
            expected.policies.insert(archive.subject.clone(), policy());
            expected.rests_on.insert(archive.subject.clone(), store_subject());
        }
        let mut observation = Observation::default();
        observation.facts.extend(store.map(|store| Fact::Store(Box::new(store))));
        observation.facts.extend(archives.into_iter().map(|archive| Fact::Archive(Box::new(archive))));
        Self { expected, observation, proofs: Vec::new() }
    }

    pub(crate) fn archive(mut self, change: impl FnOnce(&mut ArchiveFact)) -> Self {
        let fact = self.observation.facts.iter_mut().find_map(|fact| if let Fact::Archive(a) = fact { Some(a) } else { None });
        change(fact.unwrap());
        self
    }

    pub(crate) fn store(mut self, change: impl FnOnce(&mut StoreFact)) -> Self {
        let fact = self.observation.facts.iter_mut().find_map(|fact| if let Fact::Store(s) = fact { Some(s) } else { None });
        change(fact.unwrap());
        self
    }

    pub(crate) fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(self.expected.policies.get_mut(&db("app")).unwrap());
        self
    }

    pub(crate) fn gap(mut self, gap: Gap) -> Self {
        self.observation.gaps.push(gap);
        self
    }

    pub(crate) fn judge(&self) -> Judgement {
        super::flip::from_environment();
        judge(now(), &self.expected, &[(ProviderId("test".into()), self.observation.clone())], &self.proofs)
    }

    /// Codes with severity, in the order of the judgement.
    pub(crate) fn codes(&self) -> Vec<(String, Severity)> {
        self.judge().findings.into_iter().map(|finding| (finding.code, finding.severity)).collect()
    }

    /// The one finding of this scene.
    #[track_caller]
    pub(crate) fn only(&self, code: &str, severity: Severity) -> Finding {
        let findings = self.judge().findings;
        let codes: Vec<_> = findings.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect();
        assert_eq!(codes, [(code, severity)]);
        findings.into_iter().next().unwrap()
    }

    #[track_caller]
    pub(crate) fn silent(&self) {
        let judgement = self.judge();
        assert_eq!(judgement.findings, [], "a healthy twin must stay silent");
        assert_eq!(judgement.bugs, []);
    }
}

/// The one finding there is, with everything that a person needs.
#[track_caller]
pub(crate) fn the_only(findings: Vec<Finding>, code: &str, severity: Severity) -> Finding {
    let codes: Vec<_> = findings.iter().map(|finding| (finding.code.as_str(), finding.severity)).collect();
    assert_eq!(codes, [(code, severity)]);
    let finding = findings.into_iter().next().unwrap();
    for (part, text) in [("summary", &finding.summary), ("cause", &finding.cause), ("remedy", &finding.remedy)] {
        assert!(!text.is_empty(), "{code} has no {part}");
    }
    assert!(!finding.evidence.is_empty(), "{code} has no evidence");
    finding
}
