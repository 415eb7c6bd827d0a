//! A healthy Cluster with a nightly schedule beside a healthy archive, to be damaged one fact at a time.

use std::collections::BTreeMap;

use dalsegno::domain::{
    ArchiveFact, ArchiveRef, Bootstrap, CnpgBackup, CnpgFact, CnpgSchedule, CnpgSiteFact, Condition, ContainerSeen, EventSeen,
    ExternalCluster, Fact, Finding, JobSeen, KubeId, KubeName, LiveLocation, ObjectStoreSeen, PodSeen, RecoveryWindowSeen,
    Severity, StoreId, Subject, SubjectKind, SystemId,
};

use super::super::scene::{self, DAY, HOUR, ago, db, the_only};

/// Codes of the rules that are tested here. Others may speak of the same Clusters.
pub(crate) const OURS: &[&str] = &[
    "backup-objects-unbounded",
    "backup-pending-overdue",
    "backup-queue-blocked",
    "backup-running-stale",
    "backup-temp-space-exhausted",
    "base-backup-completed-without-wal",
    "base-backup-incomplete",
    "base-backup-not-offsite",
    "base-backup-tablespace-missing",
    "base-backup-too-old",
    "base-backup-wal-not-archived",
    "bootstrap-source-missing",
    "recovery-window-unreliable",
    "restore-app-credentials-missing",
    "restore-ignores-wal-archive",
    "restore-job-failed",
    "restore-parallel-race",
    "restore-retrying-bad-backup",
    "restore-target-implicit-latest",
    "restore-version-mismatch",
    "restore-volume-too-small",
    "retention-policy-conflict",
    "schedule-cron-field-count",
    "schedule-never-fired",
    "schedule-suspended-overdue",
    "wal-without-base-backup",
];

/// When the archive's base backups begin: 01:59 of each night.
pub(crate) const NIGHTLY: &str = "0 59 1 * * *";

pub(crate) fn condition(kind: &str, status: &str, age: f64) -> Condition {
    Condition {
        kind: kind.into(),
        status: status.into(),
        reason: format!("{kind}{status}"),
        message: "as it is".into(),
        since: Some(ago(age)),
    }
}

pub(crate) fn location(server: &str) -> LiveLocation {
    LiveLocation {
        spelt_in: format!("ObjectStore prod/{server}"),
        destination: "s3://dr/cnpg".into(),
        endpoint: Some("https://minio.lan:9000".into()),
        bucket: Some("dr".into()),
        path: Some("cnpg".into()),
        server: server.into(),
        credentials: BTreeMap::new(),
        from_role: false,
        wal_compression: Some("gzip".into()),
        wal_parallel: None,
        wal_encryption: None,
        data_encryption: None,
        retention: Some("30d".into()),
        placeholders: Vec::new(),
        store: Some(StoreId("minio".into())),
    }
}

pub(crate) fn plugin(server: &str) -> ArchiveRef {
    ArchiveRef::Plugin {
        object_store: "store".into(),
        location: Some(location(server)),
        dangling: false,
        declared_archiver: Some(true),
        enabled: true,
    }
}

pub(crate) fn schedule(cluster: &str, name: &str, expression: &str) -> CnpgSchedule {
    CnpgSchedule {
        name: name.into(),
        cluster: cluster.into(),
        expression: expression.into(),
        suspended: false,
        immediate: false,
        method: "plugin".into(),
        created: Some(ago(90.0 * DAY)),
        last_check: Some(ago(13.0 * HOUR)),
        last_run: Some(ago(13.0 * HOUR)),
        next_run: Some(ago(-11.0 * HOUR)),
        error: None,
    }
}

/// A Backup of the nightly schedule, made `age` seconds ago.
pub(crate) fn object(cluster: &str, age: f64, phase: &str) -> CnpgBackup {
    let done = phase == "completed";
    CnpgBackup {
        name: format!("{cluster}-nightly-{}", ago(age).strftime("%Y%m%d%H%M%S")),
        cluster: cluster.into(),
        schedule: Some("nightly".into()),
        method: "plugin".into(),
        phase: (!phase.is_empty()).then(|| phase.into()),
        created: Some(ago(age)),
        started: (!matches!(phase, "" | "pending")).then(|| ago(age)),
        stopped: done.then(|| ago(age - 60.0)),
        backup_id: Some(ago(age).strftime("%Y%m%dT%H%M%S").to_string()),
        begin_wal: done.then(|| scene::segment(1, 300)),
        end_wal: done.then(|| scene::segment(1, 301)),
        server: None,
        destination: None,
        endpoint: None,
        pod: Some(format!("{cluster}-2")),
        container: Some("containerd://one".into()),
        major: Some(15),
        error: None,
    }
}

pub(crate) fn pod(name: &str, role: &str) -> PodSeen {
    PodSeen {
        name: name.into(),
        uid: None,
        role: Some(role.into()),
        job: None,
        phase: Some("Running".into()),
        reason: None,
        message: None,
        ready: Some(true),
        node: Some("n1".into()),
        created: Some(ago(40.0 * DAY)),
        containers: vec![ContainerSeen {
            name: "postgres".into(),
            id: Some("containerd://one".into()),
            running: Some(true),
            ..ContainerSeen::default()
        }],
        log: None,
    }
}

/// A pod of a recovery job and what it logged.
pub(crate) fn job_pod(job: &str, number: u32, lines: &[&str]) -> PodSeen {
    PodSeen {
        role: None,
        job: Some(job.into()),
        phase: Some("Failed".into()),
        ready: Some(false),
        created: Some(ago(10.0 * HOUR - f64::from(number) * 600.0)),
        log: Some(lines.iter().map(|line| (*line).to_owned()).collect()),
        ..pod(&format!("{job}-{number}"), "")
    }
}

pub(crate) fn job(name: &str, failed: u32, active: u32) -> JobSeen {
    JobSeen { name: name.into(), active, failed, succeeded: 0, created: Some(ago(12.0 * HOUR)), conditions: Vec::new() }
}

pub(crate) fn event(about: &str, reason: &str, message: &str, age: f64) -> EventSeen {
    EventSeen { about: about.into(), reason: reason.into(), message: message.into(), count: 9, last: Some(ago(age)) }
}

/// A healthy Cluster of this name, in namespace prod, that archives by plugin to `cnpg/<name>`.
pub(crate) fn cluster(name: &str) -> CnpgFact {
    let backups = vec![
        object(name, 61.0 * HOUR + 60.0, "completed"),
        object(name, 37.0 * HOUR + 60.0, "completed"),
        object(name, 13.0 * HOUR + 60.0, "completed"),
    ];
    let window = RecoveryWindowSeen { first: Some(ago(20.0 * DAY)), last_success: Some(ago(13.0 * HOUR)), last_failure: None };
    CnpgFact {
        created: Some(ago(90.0 * DAY)),
        phase: Some("Cluster in healthy state".into()),
        instances: 2,
        ready_instances: Some(2),
        current_primary: Some(format!("{name}-1")),
        target_primary: Some(format!("{name}-1")),
        system_id: Some(SystemId(7_713_982_968_056_631_495)),
        timeline: Some(1),
        major: Some(15),
        conditions: vec![
            condition("Ready", "True", 40.0 * DAY),
            condition("ContinuousArchiving", "True", 40.0 * DAY),
            condition("LastBackupSucceeded", "True", 60.0 * DAY),
        ],
        archivers: vec![plugin(name)],
        bootstrap: Bootstrap::Initdb { database: Some("shop".into()), owner: Some("shop".into()), wal_segment_mb: None },
        storage: Some(50 << 30),
        app_secret: Some(true),
        pods: Some(vec![pod(&format!("{name}-1"), "primary"), pod(&format!("{name}-2"), "replica")]),
        claims: Some(Vec::new()),
        jobs: Some(Vec::new()),
        events: Some(Vec::new()),
        backups: Some(backups),
        schedules: Some(vec![schedule(name, "nightly", NIGHTLY)]),
        object_stores: vec![ObjectStoreSeen {
            name: "store".into(),
            generation: Some(1),
            changed: Some(ago(90.0 * DAY)),
            sidecar_env: BTreeMap::new(),
            windows: BTreeMap::from([(name.to_owned(), window)]),
        }],
        ..CnpgFact::bare(db(name), KubeId("home".into()), KubeName::new("prod", name))
    }
}

/// A young Cluster that is being recovered from the archive of `source`.
pub(crate) fn recovery(name: &str, source: &str) -> CnpgFact {
    CnpgFact {
        created: Some(ago(12.0 * HOUR)),
        phase: Some("Setting up primary".into()),
        instances: 1,
        major: Some(15),
        storage: Some(50 << 30),
        externals: vec![ExternalCluster { name: "origin".into(), archive: Some(plugin(source)) }],
        bootstrap: recover(|_| {}),
        app_secret: Some(true),
        pods: Some(Vec::new()),
        jobs: Some(Vec::new()),
        events: Some(Vec::new()),
        backups: Some(Vec::new()),
        schedules: Some(Vec::new()),
        ..CnpgFact::bare(db(name), KubeId("home".into()), KubeName::new("drill", name))
    }
}

/// The parts of a recovery section, to be changed.
pub(crate) struct Recover {
    pub(crate) source: Option<&'static str>,
    pub(crate) backup: Option<&'static str>,
    pub(crate) backup_exists: Option<bool>,
    pub(crate) snapshots: &'static [(&'static str, &'static str)],
    pub(crate) snapshots_missing: Option<&'static [&'static str]>,
    pub(crate) target: &'static [(&'static str, &'static str)],
    pub(crate) database: Option<&'static str>,
    pub(crate) secret: Option<&'static str>,
}

pub(crate) fn recover(change: impl FnOnce(&mut Recover)) -> Bootstrap {
    let mut parts = Recover {
        source: Some("origin"),
        backup: None,
        backup_exists: None,
        snapshots: &[],
        snapshots_missing: None,
        target: &[],
        database: Some("shop"),
        secret: Some("shop-login"),
    };
    change(&mut parts);
    let text = |text: Option<&str>| text.map(str::to_owned);
    let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Bootstrap::Recovery {
        source: text(parts.source),
        backup: text(parts.backup),
        backup_exists: parts.backup_exists,
        snapshots: pairs(parts.snapshots),
        snapshots_missing: parts.snapshots_missing.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        target: pairs(parts.target),
        database: text(parts.database),
        owner: text(parts.database),
        secret: text(parts.secret),
    }
}

/// What a pass saw of Clusters and archives.
pub(crate) struct Scene(scene::Scene);

impl Scene {
    /// The healthy Cluster `app` with its archive.
    pub(crate) fn healthy() -> Self {
        Self::of(vec![cluster("app")])
    }

    /// These Clusters; the archive `app` is healthy.
    pub(crate) fn of(clusters: Vec<CnpgFact>) -> Self {
        let mut scene = scene::Scene::healthy().policy(|policy| {
            policy.rpo_seconds = None;
            policy.base_backup_every_seconds = None;
        });
        scene.observation.facts.extend(clusters.into_iter().map(|cluster| Fact::Cnpg(Box::new(cluster))));
        Self(scene)
    }

    /// Changes the Cluster `app`.
    pub(crate) fn cluster(mut self, change: impl FnOnce(&mut CnpgFact)) -> Self {
        let mut facts = self.0.observation.facts.iter_mut();
        change(facts.find_map(|fact| if let Fact::Cnpg(cluster) = fact { Some(cluster) } else { None }).unwrap());
        self
    }

    pub(crate) fn archive(self, change: impl FnOnce(&mut ArchiveFact)) -> Self {
        Self(self.0.archive(change))
    }

    /// The store was not looked at.
    pub(crate) fn no_archive(mut self) -> Self {
        self.0.observation.facts.retain(|fact| !matches!(fact, Fact::Archive(_)));
        self.0.expected.covers.clear();
        self
    }

    pub(crate) fn site(mut self, change: impl FnOnce(&mut CnpgSiteFact)) -> Self {
        let mut site = CnpgSiteFact {
            subject: Subject::new(SubjectKind::Cluster, &["home", "home"]),
            kube: KubeId("home".into()),
            version: Some("v1.33.1".into()),
            adopted: true,
            gone: Vec::new(),
            orphan_schedules: Vec::new(),
            orphan_backups: Vec::new(),
            unused_stores: Vec::new(),
        };
        change(&mut site);
        self.0.observation.facts.push(Fact::CnpgSite(Box::new(site)));
        self
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.0.judge().findings.into_iter().filter(|finding| OURS.contains(&finding.code.as_str())).collect()
    }

    /// The one finding of these rules.
    #[track_caller]
    pub(crate) fn only(&self, code: &str, severity: Severity) -> Finding {
        the_only(self.findings(), code, severity)
    }

    #[track_caller]
    pub(crate) fn silent(&self) {
        assert_eq!(self.findings(), [], "a healthy twin must stay silent");
    }
}
