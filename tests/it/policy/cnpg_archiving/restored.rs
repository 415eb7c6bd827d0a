use dalsegno::domain::{ArchiveRef, Bootstrap, CnpgFact, ExternalCluster, Severity};

use super::super::scene::DAY;
use super::scene::{HOUR, Scene, ago, archiver, backup, cluster, condition, place, plugin_at, recover, says, schedule, seen};

fn restored_from(server: &str, c: &mut CnpgFact) {
    c.bootstrap = recover(|_| {});
    c.externals = vec![ExternalCluster { name: "origin".into(), archive: Some(plugin_at(place(server))) }];
}

/// `app-r1`, restored from `app` so long ago, without an archiver.
fn unprotected(age: f64) -> Scene {
    let mut fact = cluster("app-r1");
    restored_from("app", &mut fact);
    fact.created = Some(ago(age));
    fact.archivers.clear();
    fact.object_stores.clear();
    (fact.backups, fact.schedules) = (Some(Vec::new()), Some(Vec::new()));
    Scene::of(vec![fact])
}

#[test]
fn a_restored_cluster_in_use_without_an_archiver_is_named() {
    let finding = unprotected(57.0 * DAY).only("restored-cluster-unprotected", Severity::Critical);
    assert!(finding.summary.contains("57 d ago"), "{}", finding.summary);
    assert!(
        finding.evidence.iter().any(|line| line.contains("says nothing where nothing is to be archived")),
        "{:?}",
        finding.evidence
    );
    // The plugin is listed and switched off.
    unprotected(57.0 * DAY)
        .cluster(|c| {
            let ArchiveRef::Plugin { object_store, location, .. } = plugin_at(place("app-r1")) else { panic!() };
            c.archivers = vec![ArchiveRef::Plugin {
                object_store,
                location,
                dangling: false,
                declared_archiver: Some(true),
                enabled: false,
            }];
        })
        .only("restored-cluster-unprotected", Severity::Critical);
}

#[test]
fn a_drill_and_a_protected_restore_are_not_accused() {
    unprotected(2.0 * HOUR).silent();
    unprotected(23.0 * HOUR).cluster(|c| (c.storage, c.wal_storage) = (Some(1 << 30), None)).silent();
    unprotected(57.0 * DAY).cluster(|c| c.created = None).silent();
    unprotected(57.0 * DAY).cluster(|c| c.hibernated = true).silent();
    unprotected(57.0 * DAY).cluster(|c| c.replica_of = Some("origin".into())).silent();
    // Made by initdb and never archived: nobody promised anything.
    unprotected(57.0 * DAY).cluster(|c| c.bootstrap = cluster("x").bootstrap).silent();
    // Restored into a name of its own, and archiving there.
    Scene::healthy().cluster(|c| restored_from("app-old", c)).silent();
    let snapshots = unprotected(57.0 * DAY).cluster(|c| {
        c.volume_snapshots = true;
        c.schedules = Some(vec![schedule("app-r1", "nightly", "0 59 1 * * *")]);
    });
    assert!(snapshots.findings().iter().all(|finding| finding.code != "restored-cluster-unprotected"));
}

#[test]
fn a_restore_that_writes_to_its_source_is_named() {
    let both = |server: &'static str| {
        Scene::healthy().cluster(move |c| {
            restored_from("app", c);
            archiver(c).server = server.into();
            c.skip_empty_archive_check = true;
            c.created = Some(ago(60.0 * DAY));
        })
    };
    let finding = both("app").only("restore-overwrites-source-archive", Severity::Critical);
    assert!(finding.evidence.iter().any(|line| line.contains("nothing stops it")), "{:?}", finding.evidence);
    let checked = both("app").cluster(|c| c.skip_empty_archive_check = false);
    assert!(
        checked
            .only("restore-overwrites-source-archive", Severity::Critical)
            .evidence
            .iter()
            .any(|line| line.contains("will refuse"))
    );
    let beside = both("app-2026-11-30").no_archive().no_numbers().cluster(|c| c.object_stores.clear());
    beside.silent();
}

/// `app`, made from a snapshot ten days ago; its place's oldest object is `age` old.
fn from_snapshot(age: f64) -> Scene {
    Scene::healthy()
        .cluster(|c| {
            c.bootstrap = recover(|r| (r.source, r.snapshots) = (None, &[("storage", "app-snap-1")]));
            c.created = Some(ago(10.0 * DAY));
        })
        .archive(move |a| {
            a.oldest_segment = Some(seen(1, 100, ago(age)));
            a.backups = vec![backup(13.0 * HOUR, 300, 301)];
        })
}

#[test]
fn a_restore_from_a_snapshot_into_an_occupied_place_is_named() {
    let finding = from_snapshot(40.0 * DAY).only("wal-prefix-reused-after-snapshot-restore", Severity::Critical);
    assert!(finding.evidence.iter().any(|line| line.contains("app-snap-1")), "{:?}", finding.evidence);
    from_snapshot(9.0 * DAY).silent();
    // Uploads overtake each other by less than a minute, and clocks differ.
    from_snapshot(10.0 * DAY + 40.0).silent();
    from_snapshot(40.0 * DAY).no_archive().silent();
    let initdb = |c: &mut CnpgFact| c.bootstrap = cluster("x").bootstrap;
    from_snapshot(40.0 * DAY).cluster(initdb).silent();
}

/// `app-drill` restores from a source without serverName: the plugin looks under `app-drill`.
fn lost(server: &str, line: Option<&str>) -> Scene {
    let mut fact = cluster("app-drill");
    restored_from(server, &mut fact);
    fact.cluster.namespace = "drill".into();
    fact.created = Some(ago(1_200.0));
    fact.phase = Some("Setting up primary".into());
    fact.ready_instances = Some(0);
    (fact.system_id, fact.timeline, fact.conditions) = (None, None, Vec::new());
    fact.archivers.clear();
    fact.object_stores.clear();
    (fact.backups, fact.schedules, fact.jobs) = (Some(Vec::new()), Some(Vec::new()), None);
    let pods = fact.pods.as_mut().unwrap();
    pods.truncate(1);
    pods[0].log = line.map(|line| vec![line.to_owned()]);
    Scene::of(vec![fact]).archives(vec![super::super::scene::archive("app")])
}

const NO_TARGET: &str =
    "{\"level\":\"error\",\"msg\":\"restore error\",\"error\":\"while restoring cluster: no target backup found\"}";

fn mismatch(scene: &Scene) -> Option<dalsegno::domain::Finding> {
    scene.findings().into_iter().find(|finding| finding.code == "restore-source-server-mismatch")
}

#[test]
fn a_source_that_resolves_to_the_new_clusters_own_name_is_named() {
    let finding = mismatch(&lost("app-drill", Some(NO_TARGET))).unwrap();
    assert!(finding.cause.contains("the default is the new Cluster's own name"), "{}", finding.cause);
    assert!(finding.remedy.contains("plugin.parameters.serverName: app in externalClusters[origin]"), "{}", finding.remedy);
    // A listing of that name, empty to its end, says the same.
    let mut empty = super::super::scene::archive("app-drill");
    (empty.segments, empty.objects) = (0, 0);
    empty.backups.clear();
    empty.windows.clear();
    (empty.newest_segment, empty.oldest_segment, empty.end) = (None, None, None);
    assert!(mismatch(&lost("app-drill", None).archives(vec![empty])).is_some());
}

#[test]
fn a_source_that_is_there_or_not_yet_tried_is_silent() {
    assert_eq!(mismatch(&lost("app", None)), None);
    assert_eq!(mismatch(&lost("app-drill", None)), None);
    // Restored and up since.
    let up = lost("app-drill", Some(NO_TARGET)).cluster(|c| c.phase = Some("Cluster in healthy state".into()));
    assert_eq!(mismatch(&up), None);
    // The path was not looked at.
    assert_eq!(mismatch(&lost("app-drill", Some(NO_TARGET)).no_archive()), None);
    let done = lost("app-drill", Some(NO_TARGET)).cluster(|c| says(c, condition("Initialized", "True", 60.0)));
    assert_eq!(mismatch(&done), None);
}

#[test]
fn the_in_tree_method_looks_under_the_name_of_the_entry() {
    let scene = lost("origin", Some(NO_TARGET)).cluster(|c| {
        c.externals[0].archive = Some(ArchiveRef::InTree { location: place("origin") });
        assert!(matches!(c.bootstrap, Bootstrap::Recovery { .. }));
    });
    assert!(mismatch(&scene).unwrap().cause.contains("the name of the entry"));
}
