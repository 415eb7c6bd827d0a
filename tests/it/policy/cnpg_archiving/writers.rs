use dalsegno::domain::{
    ArchiveFact, CnpgFact, ExternalCluster, Fact, KubeId, KubeName, KubeUid, Severity, Subject, SubjectKind, SystemId,
};

use super::super::scene::DAY;
use super::scene::{HOUR, Scene, ago, archiver, cluster, db, place, plugin_at, seen};

/// A Cluster of the same name in another namespace, younger, that names its ObjectStore alike.
fn twin(change: impl FnOnce(&mut CnpgFact)) -> Scene {
    let mut other = cluster("app");
    other.subject = Subject::new(SubjectKind::Pg, &["home", "staging", "app"]);
    other.cluster = KubeName::new("staging", "app");
    other.created = Some(ago(3.0 * DAY));
    other.system_id = Some(SystemId(7));
    other.skip_empty_archive_check = true;
    other.schedules = Some(Vec::new());
    change(&mut other);
    Scene::healthy().and(Fact::Cnpg(Box::new(other)))
}

fn collisions(scene: &Scene) -> usize {
    scene.findings().iter().filter(|finding| finding.code == "wal-prefix-shared-by-two-writers").count()
}

#[test]
fn two_clusters_of_one_name_and_one_place_collide() {
    let scene = twin(|_| {});
    let found: Vec<_> = scene.findings().into_iter().filter(|f| f.code == "wal-prefix-shared-by-two-writers").collect();
    assert_eq!(found.len(), 1, "one cause, one finding");
    assert_eq!((&found[0].subject, found[0].severity), (&db("app"), Severity::Critical), "told of the older one");
    assert!(found[0].summary.contains("prod/app") && found[0].summary.contains("staging/app"), "{}", found[0].summary);
    assert!(found[0].remedy.contains("kubectl -n staging annotate cluster app"), "{}", found[0].remedy);
}

#[test]
fn the_spelling_of_a_place_does_not_hide_a_collision() {
    assert_eq!(collisions(&twin(|c| archiver(c).path = Some("cnpg/".into()))), 1);
    assert_eq!(
        collisions(&twin(|c| (archiver(c).endpoint, archiver(c).store) = (Some("HTTPS://minio.lan:9000/".into()), None))),
        0
    );
    let both_unknown = |endpoint: &'static str| {
        twin(move |c| (archiver(c).endpoint, archiver(c).store) = (Some(endpoint.into()), None))
            .cluster(|c| archiver(c).store = None)
    };
    assert_eq!(collisions(&both_unknown("HTTPS://minio.lan:9000/")), 1);
    assert_eq!(collisions(&both_unknown("https://other.lan:9000")), 0);
    // In another Kubernetes cluster, the same store.
    assert_eq!(collisions(&twin(|c| c.kube = KubeId("away".into()))), 1);
    // A name that each cluster resolves for itself.
    let local = |kube: &'static str| {
        twin(move |c| {
            c.kube = KubeId(kube.into());
            archiver(c).endpoint = Some("http://minio.minio.svc:9000".into());
        })
        .cluster(|c| archiver(c).endpoint = Some("http://minio.minio.svc:9000".into()))
    };
    assert_eq!((collisions(&local("home")), collisions(&local("away"))), (1, 0));
}

#[test]
fn who_only_reads_or_writes_beside_does_not_collide() {
    assert_eq!(collisions(&twin(|c| archiver(c).server = "app-2".into())), 0);
    assert_eq!(collisions(&twin(|c| archiver(c).path = Some("staging".into()))), 0);
    assert_eq!(collisions(&twin(|c| archiver(c).bucket = Some("dr-2".into()))), 0);
    // A replica cluster, and a drill.
    let reads = |c: &mut CnpgFact| {
        c.externals = vec![ExternalCluster { name: "origin".into(), archive: Some(plugin_at(place("app"))) }];
        c.archivers.clear();
    };
    assert_eq!(
        collisions(&twin(|c| {
            reads(c);
            c.replica_of = Some("origin".into());
        })),
        0
    );
    assert_eq!(collisions(&twin(reads)), 0);
    assert_eq!(collisions(&twin(|c| c.deleting = Some(ago(60.0)))), 0);
    assert_eq!(collisions(&twin(|c| c.skip_wal_archiving = Some("enabled".into()))), 0);
    // One Kubernetes cluster under two names.
    let uid = || Some(KubeUid("u-1".into()));
    assert_eq!(collisions(&twin(|c| c.uid = uid()).cluster(|c| c.uid = uid())), 0);
}

#[test]
fn a_restored_copy_that_archives_into_its_parent_is_called_one() {
    let scene = twin(|c| c.system_id = cluster("app").system_id);
    let found = scene.findings().into_iter().find(|f| f.code == "wal-prefix-shared-by-two-writers").unwrap();
    assert!(found.cause.contains("staging/app (home) is a copy of prod/app (home)"), "{}", found.cause);
}

/// Site B follows `app`; site A writes `app-v2` since `age`.
fn replica(change: impl FnOnce(&mut CnpgFact, &mut CnpgFact)) -> Scene {
    let mut follows = cluster("app");
    follows.subject = Subject::new(SubjectKind::Pg, &["away", "prod", "app"]);
    follows.kube = KubeId("away".into());
    follows.archivers.clear();
    follows.object_stores.clear();
    follows.schedules = Some(Vec::new());
    follows.replica_of = Some("origin".into());
    follows.externals = vec![ExternalCluster { name: "origin".into(), archive: Some(plugin_at(place("app"))) }];
    let mut primary = cluster("app");
    archiver(&mut primary).server = "app-v2".into();
    primary.object_stores.clear();
    primary.system_id = Some(SystemId(9));
    change(&mut follows, &mut primary);
    Scene::of(vec![primary, follows])
}

fn at(server: &str, age: f64) -> ArchiveFact {
    let mut archive = super::super::scene::archive(server);
    archive.newest_segment = Some(seen(1, 400, ago(age)));
    archive
}

fn stale(scene: &Scene) -> Option<dalsegno::domain::Finding> {
    scene.findings().into_iter().find(|finding| finding.code == "replica-source-stale")
}

#[test]
fn a_replica_that_follows_what_nobody_writes_is_named() {
    let finding = stale(&replica(|_, _| {})).unwrap();
    assert_eq!(finding.subject.to_string(), "pg/away/prod/app");
    assert!(finding.cause.contains("server app,") && finding.cause.contains("writes app-v2"), "{}", finding.cause);
    assert!(finding.remedy.contains("make it anew from server app-v2"), "{}", finding.remedy);
    let finding = stale(&replica(|_, _| {}).archives(vec![at("app", 28.0 * DAY), at("app-v2", 120.0)])).unwrap();
    assert!(finding.summary.contains("2026-11-02T15:00:00Z"), "{}", finding.summary);
    // Made anew by a restore: the same database.
    let finding = stale(&replica(|follows, primary| primary.system_id = follows.system_id)).unwrap();
    assert!(finding.remedy.contains("set serverName app-v2"), "{}", finding.remedy);
}

#[test]
fn a_replica_of_a_quiet_or_unseen_primary_is_silent() {
    // It writes there still.
    assert_eq!(stale(&replica(|_, primary| archiver(primary).server = "app".into())), None);
    // Both have the same newest segment: idle.
    assert_eq!(stale(&replica(|_, _| {}).archives(vec![at("app", 28.0 * DAY), at("app-v2", 28.0 * DAY)])), None);
    // Behind by one segment; somebody whom we do not see writes.
    assert_eq!(stale(&replica(|_, _| {}).archives(vec![at("app", 300.0), at("app-v2", 20.0)])), None);
    assert_eq!(stale(&replica(|_, _| {}).archives(vec![at("app", 300.0)])), None);
    // The only other Cluster is another database.
    let unrelated = |_: &mut CnpgFact, primary: &mut CnpgFact| {
        primary.cluster.name = "wiki".into();
        archiver(primary).server = "wiki".into();
    };
    assert_eq!(stale(&replica(unrelated)), None);
    assert_eq!(stale(&replica(|follows, _| follows.hibernated = true).archives(vec![at("app", 9.0 * HOUR)])), None);
}
