use dalsegno::domain::{ArchiveRef, ConfiguredLocation, ExternalCluster, Prefix, Severity, StoreId, SystemId, SystemSeen};

use super::scene::{Scene, archiver, db, elsewhere, place, plugin_at, segment};

fn configured(change: impl FnOnce(&mut ConfiguredLocation)) -> Scene {
    let mut here = ConfiguredLocation {
        spelt_in: "postgres.app.archive".into(),
        store: StoreId("minio".into()),
        endpoint: "https://minio.lan:9000".into(),
        bucket: "dr".into(),
        path: "cnpg".into(),
        server: "app".into(),
    };
    change(&mut here);
    Scene::healthy().cluster(|c| c.configured = Some(here))
}

#[test]
fn a_configuration_that_says_what_the_live_object_says_is_silent() {
    configured(|_| {}).silent();
    // The same endpoint, otherwise written.
    configured(|here| here.endpoint = "https://MINIO.lan:9000/".into())
        .cluster(|c| archiver(c).store = None)
        .no_archive()
        .silent();
}

#[test]
fn a_difference_between_configuration_and_live_object_shows_both_sides() {
    let other = configured(|here| here.server = "app-v1".into()).archive(|a| a.place.server = "app-v1".into());
    let finding = other.only("archive-location-differs", Severity::Critical);
    assert!(
        finding.evidence[0].contains("server app-v1") && finding.evidence[1].contains("server app "),
        "{:?}",
        finding.evidence
    );
    let path = configured(|here| here.path = "old".into()).archive(|a| a.place.prefix = Prefix::new("old"));
    assert!(path.only("archive-location-differs", Severity::Critical).cause.contains("path"));
    let bucket = configured(|here| here.bucket = "dr-2".into()).archive(|a| a.place.bucket = "dr-2".into());
    bucket.only("archive-location-differs", Severity::Critical);
}

#[test]
fn two_names_of_one_store_are_no_difference_once_the_archive_shows_the_database() {
    let inside = |other: bool| {
        configured(|_| {}).cluster(|c| (archiver(c).endpoint, archiver(c).store) = (Some("https://s3.lan".into()), None)).archive(
            move |a| {
                if other {
                    a.systems[0].system_id = SystemId(7);
                }
            },
        )
    };
    inside(false).silent();
    inside(true).only("archive-location-differs", Severity::Warning);
}

#[test]
fn a_placeholder_in_a_live_object_is_named_with_its_field() {
    let pending = Scene::healthy().no_archive().cluster(|c| {
        let here = archiver(c);
        here.destination = "s3://TBD-PROD-BUCKET/cnpg".into();
        (here.bucket, here.path) = (None, None);
        here.placeholders = vec![("configuration.destinationPath".into(), "s3://TBD-PROD-BUCKET/cnpg".into())];
    });
    let finding = pending.only("config-placeholder-unresolved", Severity::Critical);
    assert!(finding.evidence[0].contains("configuration.destinationPath is the placeholder s3://TBD"), "{:?}", finding.evidence);
}

fn dangling(object_store: &str) -> ArchiveRef {
    ArchiveRef::Plugin {
        object_store: object_store.into(),
        location: None,
        dangling: true,
        declared_archiver: None,
        enabled: true,
    }
}

#[test]
fn an_objectstore_that_is_gone_is_named_also_in_a_recovery_of_long_ago() {
    let old = |archive: Option<ArchiveRef>| {
        Scene::healthy().cluster(|c| {
            c.ready_instances = Some(1);
            c.externals = vec![ExternalCluster { name: "origin".into(), archive }];
        })
    };
    let finding = old(Some(dangling("r2-old"))).only("objectstore-reference-dangling", Severity::Critical);
    assert!(finding.summary.contains("externalClusters[origin]") && finding.summary.contains("r2-old"), "{}", finding.summary);
    old(Some(plugin_at(place("old")))).silent();
    old(Some(ArchiveRef::InTree { location: place("old") })).silent();
    old(None).silent();
    old(Some(dangling("r2-old"))).cluster(|c| c.deleting = Some(super::scene::now())).silent();
    // The archiver's own.
    Scene::healthy()
        .no_archive()
        .no_numbers()
        .cluster(|c| {
            c.archivers = vec![dangling("gone")];
            c.object_stores.clear();
        })
        .only("objectstore-reference-dangling", Severity::Critical);
}

fn local(endpoint: &'static str) -> Scene {
    Scene::healthy().cluster(|c| archiver(c).endpoint = Some(endpoint.into()))
}

#[test]
fn an_archive_inside_its_own_cluster_is_named_until_a_copy_elsewhere_keeps_up() {
    for endpoint in
        ["http://minio.minio.svc:9000", "https://minio.minio.svc.cluster.local", "http://minio:9000", "http://MINIO.s3.svc/"]
    {
        local(endpoint).only("archive-not-offsite", Severity::Warning);
    }
    for endpoint in ["https://minio.lan:9000", "https://acct.r2.example.net", "http://10.0.0.9:9000", "https://[fd00::9]:9000"] {
        local(endpoint).silent();
    }
    elsewhere(local("http://minio.minio.svc:9000"), 0.0).silent();
    elsewhere(local("http://minio.minio.svc:9000"), 300.0).silent();
    elsewhere(local("http://minio.minio.svc:9000"), 3_600.0).only("archive-not-offsite", Severity::Warning);
    local("http://minio.minio.svc:9000").cluster(|c| c.hibernated = true).no_numbers().silent();
}

#[test]
fn a_cluster_that_writes_into_another_databases_archive_is_told_of_both() {
    let foreign = Scene::healthy().archive(|a| {
        a.systems = vec![SystemSeen { system_id: SystemId(42), seen_in: vec![segment(1, 400)], newest: None }];
    });
    let finding = foreign.only("archive-system-unexpected", Severity::Critical);
    assert_eq!(finding.subject, db("app"));
    assert!(finding.evidence[0].contains("7713982968056631495") && finding.evidence[1].contains("42"), "{:?}", finding.evidence);
    // The identifier is not said yet.
    Scene::healthy().cluster(|c| c.system_id = None).silent();
}

#[test]
fn an_archive_that_goes_on_on_a_later_timeline_than_its_cluster_has_a_second_writer() {
    let ahead = || {
        Scene::healthy().archive(|a| {
            let newest = a.newest_segment.as_mut().unwrap();
            newest.name = segment(2, 401);
        })
    };
    let finding = ahead().only("wal-prefix-shared-by-two-writers", Severity::Critical);
    assert!(finding.summary.contains("timeline 1") && finding.summary.contains("timeline 2"), "{}", finding.summary);
    // A failover that the status does not show yet.
    ahead().cluster(|c| c.target_primary_since = Some(super::scene::ago(60.0))).silent();
    ahead().cluster(|c| c.target_primary = Some("app-2".into())).silent();
    ahead().cluster(|c| c.phase = Some("Failing over".into())).silent();
    ahead().cluster(|c| c.timeline = None).silent();
    ahead().cluster(|c| c.timeline = Some(2)).silent();
}
