use dalsegno::domain::{ArchiveRef, Severity, metric};

use super::super::scene::DAY;
use super::scene::{HOUR, MINUTE, Scene, ago, archiver, condition, env, failing, in_tree, says, sidecar};

const REFUSED: &str = "while getting plugin connection: while querying plugin identity: rpc error: code = Unavailable desc = \
                       connection error: desc = \"transport: Error while dialing: dial unix /plugins/barman-cloud.cloudnative-pg.io: \
                       connect: connection refused\"";

fn without_sidecar(scene: Scene) -> Scene {
    scene.cluster(|c| {
        for pod in c.pods.as_mut().unwrap() {
            pod.containers.retain(|container| container.name == "postgres");
        }
    })
}

fn declared(scene: Scene, said: Option<bool>) -> Scene {
    scene.cluster(|c| {
        let ArchiveRef::Plugin { declared_archiver, .. } = &mut c.archivers[0] else { panic!() };
        *declared_archiver = said;
    })
}

#[test]
fn a_plugin_that_is_declared_and_not_in_the_pod_throws_everything_away() {
    for said in [None, Some(false)] {
        let finding = declared(without_sidecar(Scene::healthy()), said).only("wal-plugin-not-loaded", Severity::Critical);
        assert!(finding.summary.contains("every segment is thrown away"), "{}", finding.summary);
        // The sidecar is there: it archives although nobody says so.
        declared(Scene::healthy(), said).silent();
        // Pods were not looked at.
        declared(Scene::healthy(), said).cluster(|c| c.pods = None).silent();
        // The in-tree store still archives.
        let both = declared(without_sidecar(Scene::healthy()), said).cluster(|c| {
            let location = archiver(c).clone();
            c.archivers.push(ArchiveRef::InTree { location });
        });
        both.silent();
        // The plugin is listed and switched off.
        declared(without_sidecar(Scene::healthy()), said)
            .no_archive()
            .cluster(|c| {
                let ArchiveRef::Plugin { enabled, .. } = &mut c.archivers[0] else { panic!() };
                *enabled = false;
                c.schedules = Some(Vec::new());
                c.object_stores.clear();
            })
            .silent();
    }
}

#[test]
fn a_declared_archiver_without_a_sidecar_is_told_by_its_cause_once_it_fails_for_long() {
    let loud = |age: f64| {
        without_sidecar(Scene::healthy())
            .no_numbers()
            .newest(age + 60.0)
            .cluster(|c| says(c, failing("wal archive plugin is not available: barman-cloud.cloudnative-pg.io", age)))
    };
    loud(2.0 * HOUR).only("wal-plugin-not-loaded", Severity::Critical);
    loud(5.0 * MINUTE).silent();
    without_sidecar(Scene::healthy()).silent();
}

#[test]
fn a_switchover_that_waits_for_a_primary_that_cannot_archive_is_named() {
    let waiting = |age: f64| {
        without_sidecar(Scene::healthy()).cluster(|c| {
            c.phase = Some("Waiting for the instances to become active".into());
            c.target_primary = Some("app-2".into());
            c.target_primary_since = Some(ago(age));
            c.pods.as_mut().unwrap()[0].log = Some(vec!["wal archive plugin is not available: barman-cloud".into()]);
        })
    };
    let finding = waiting(2.5 * HOUR).only("plugin-migration-stuck", Severity::Critical);
    assert!(finding.remedy.contains("kubectl -n prod delete pod app-1"), "{}", finding.remedy);
    waiting(40.0).silent();
    waiting(10.0 * MINUTE).silent();
}

#[test]
fn a_socket_that_refuses_is_told_instead_of_the_failing_archive() {
    let refused = |age: f64| {
        Scene::healthy()
            .newest(age + 60.0)
            .number("app", metric::WAL_READY, 40.0, 44.0)
            .number("app", metric::WAL_ARCHIVED, 1_843.0, 1_843.0)
            .number("app", metric::WAL_LAST_ARCHIVED, ago(age + 60.0).as_second() as f64, ago(age + 60.0).as_second() as f64)
            .number("app", metric::WAL_SINCE_ARCHIVAL, age - 540.0, age + 60.0)
            .cluster(|c| says(c, failing(REFUSED, age)))
    };
    let finding = refused(5.0 * HOUR).only("wal-plugin-socket-unreachable", Severity::Critical);
    assert!(
        finding.evidence.iter().any(|line| line.contains("plugin-barman-cloud: running, 0 restart(s)")),
        "{:?}",
        finding.evidence
    );
    // The pod has just begun.
    refused(3.0 * MINUTE).number("app", metric::WAL_READY, 0.0, 1.0).silent();
    // Something else was refused: the store.
    let store =
        refused(5.0 * HOUR).cluster(|c| says(c, failing("dial tcp 10.0.0.9:9000: connect: connection refused", 5.0 * HOUR)));
    store.only("wal-archiving-failing-disk-clock", Severity::Warning);
    // Nothing waits any more: the word is stale.
    refused(5.0 * HOUR).number("app", metric::WAL_READY, 0.0, 0.0).newest(60.0).silent();
}

#[test]
fn an_image_without_the_tools_is_told_instead_of_the_failing_archive() {
    let message = "unexpected failure invoking barman-cloud-wal-archive: exec: \"barman-cloud-check-wal-archive\": executable file not \
                   found in $PATH";
    let bare = |image: &'static str| {
        Scene::healthy().no_numbers().newest(3.0 * HOUR).cluster(move |c| {
            in_tree(c);
            c.image = Some(image.into());
            says(c, failing(message, 2.0 * HOUR));
        })
    };
    let finding =
        bare("ghcr.io/cloudnative-pg/postgresql:18-standard-trixie").only("barman-tools-missing-in-image", Severity::Critical);
    assert!(finding.remedy.contains("postgresql:18-system-trixie"), "{}", finding.remedy);
    // The log alone, of an image that somebody built.
    bare("registry.lan/pg:1").only("barman-tools-missing-in-image", Severity::Critical);
    // It archives: the image has them, whatever its name.
    Scene::healthy()
        .cluster(|c| {
            in_tree(c);
            c.image = Some("ghcr.io/cloudnative-pg/postgresql:18-standard-trixie".into());
        })
        .silent();
    // The plugin brings its own.
    Scene::healthy().cluster(|c| c.image = Some("ghcr.io/cloudnative-pg/postgresql:18-minimal-trixie".into())).silent();
    // Another failure of the in-tree method.
    bare("ghcr.io/cloudnative-pg/postgresql:18-system-trixie")
        .cluster(|c| says(c, failing("exit status 2", 2.0 * HOUR)))
        .only("wal-archiving-failing-disk-clock", Severity::Warning);
}

#[test]
fn sidecars_with_old_settings_are_named() {
    let changed = |age: f64, has: &'static [(&'static str, &'static str)]| {
        Scene::healthy().cluster(move |c| {
            c.object_stores[0].changed = Some(ago(age));
            c.object_stores[0].sidecar_env = env(&[("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required"), ("A", "1")]);
            for pod in c.pods.as_mut().unwrap() {
                pod.created = Some(ago(10.0 * DAY));
                pod.containers[1] = sidecar();
                pod.containers[1].env = env(has);
            }
        })
    };
    let finding = changed(2.0 * DAY, &[("CLUSTER_NAME", "app"), ("A", "1")]).only("sidecar-config-drift", Severity::Warning);
    assert!(finding.evidence[0].contains("AWS_REQUEST_CHECKSUM_CALCULATION=when_required"), "{:?}", finding.evidence);
    let other = &[("A", "2"), ("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")];
    changed(2.0 * DAY, other).only("sidecar-config-drift", Severity::Warning);
    changed(2.0 * DAY, &[("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required"), ("CLUSTER_NAME", "app"), ("A", "1")]).silent();
    // The rolling update has begun, and may still be under way.
    changed(20.0 * MINUTE, &[]).silent();
    // Pods are newer than the setting.
    changed(2.0 * DAY, &[])
        .cluster(|c| c.pods.as_mut().unwrap().iter_mut().for_each(|pod| pod.created = Some(ago(HOUR * 5.0))))
        .silent();
    changed(2.0 * DAY, &[]).cluster(|c| c.pods = None).silent();
    changed(2.0 * DAY, &[]).cluster(|c| (c.hibernated, c.conditions[0]) = (true, condition("Ready", "False", DAY))).silent();
}
