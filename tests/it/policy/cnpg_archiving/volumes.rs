use dalsegno::domain::{ClaimSeen, Condition, Severity, metric};

use super::super::scene::DAY;
use super::scene::{HOUR, MINUTE, Scene, ago, condition, says};

const GI: u64 = 1 << 30;

fn claim(name: &str, instance: &str, role: &str, requested: u64, capacity: u64) -> ClaimSeen {
    ClaimSeen {
        name: name.into(),
        role: Some(role.into()),
        instance: Some(instance.into()),
        phase: Some("Bound".into()),
        requested: Some(requested),
        capacity: Some(capacity),
        class: Some("local".into()),
        class_expands: Some(true),
        conditions: Vec::new(),
    }
}

fn claims(scene: Scene, requested: u64, capacity: u64) -> Scene {
    scene.cluster(|c| {
        c.claims = Some(vec![
            claim("app-1", "app-1", "PG_DATA", 50 * GI, 50 * GI),
            claim("app-1-wal", "app-1", "PG_WAL", requested, capacity),
        ]);
    })
}

/// PostgreSQL ended for want of room, again and again.
fn full() -> Scene {
    claims(Scene::healthy().no_numbers(), 10 * GI, 10 * GI).cluster(|c| {
        c.phase = Some("Not enough disk space".into());
        c.ready_instances = Some(0);
        says(c, condition("Ready", "False", 3.0 * HOUR));
        for pod in c.pods.as_mut().unwrap() {
            pod.ready = Some(false);
        }
        let postgres = &mut c.pods.as_mut().unwrap()[0].containers[0];
        (postgres.last_exit, postgres.restarts, postgres.running) = (Some(4), 528, Some(false));
        postgres.waiting = Some("CrashLoopBackOff".into());
    })
}

#[test]
fn a_full_wal_volume_is_named_with_the_claim_to_enlarge() {
    let finding = full().only("wal-volume-full", Severity::Critical);
    assert!(finding.evidence[0].contains("exit code 4, 528 restart(s), CrashLoopBackOff"), "{:?}", finding.evidence);
    assert!(finding.remedy.contains("kubectl -n prod patch pvc app-1-wal"), "{}", finding.remedy);
    assert!(finding.remedy.contains("\"storage\":\"16Gi\""), "{}", finding.remedy);
    // Only the phase was seen.
    full().cluster(|c| c.pods = None).only("wal-volume-full", Severity::Critical);
    // PostgreSQL's own words, before.
    let panic = Scene::healthy().cluster(|c| {
        let pod = &mut c.pods.as_mut().unwrap()[0];
        pod.ready = Some(false);
        pod.log = Some(vec!["PANIC:  could not write to file \"pg_wal/xlogtemp.20006\": No space left on device".into()]);
    });
    panic.no_numbers().only("wal-volume-full", Severity::Critical);
    // Less than a segment is free.
    Scene::healthy().number("app", metric::WAL_VOLUME_AVAILABLE, 20e6, 9e6).only("wal-volume-full", Severity::Critical);
}

#[test]
fn a_large_volume_that_is_nearly_full_is_not_full() {
    Scene::healthy()
        .number("app", metric::WAL_VOLUME_CAPACITY, 107e9, 107e9)
        .number("app", metric::WAL_VOLUME_AVAILABLE, 8.6e9, 8.6e9)
        .silent();
    // Exit code 4 of somebody else.
    Scene::healthy().cluster(|c| c.pods.as_mut().unwrap()[0].containers[1].last_exit = Some(4)).silent();
    // It was full, grew, and runs again; the log still says so.
    Scene::healthy()
        .cluster(|c| {
            let pod = &mut c.pods.as_mut().unwrap()[0];
            pod.containers[0].last_exit = Some(4);
            pod.log = Some(vec!["could not write to file \"pg_wal/x\": No space left on device".into()]);
        })
        .silent();
    full().cluster(|c| c.hibernated = true).silent();
}

#[test]
fn a_resize_that_waits_for_the_room_it_shall_make_is_told_alone() {
    let finding = claims(full(), 10 * GI, 10 * GI)
        .cluster(|c| c.wal_storage = Some(20 * GI))
        .only("volume-resize-not-applied", Severity::Critical);
    assert_eq!(
        finding.remedy,
        "kubectl -n prod patch pvc app-1-wal -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"20Gi\"}}}}'"
    );
}

fn resizing(age: f64) -> Condition {
    condition("Resizing", "True", age)
}

#[test]
fn a_volume_that_does_not_grow_is_named_and_one_that_grows_is_not() {
    let grows = |age: f64| {
        claims(Scene::healthy(), 20 * GI, 10 * GI).cluster(|c| {
            c.wal_storage = Some(20 * GI);
            c.claims.as_mut().unwrap()[1].conditions = vec![resizing(age)];
        })
    };
    grows(2.0 * MINUTE).silent();
    grows(2.0 * HOUR).only("volume-resize-not-applied", Severity::Warning);
    let cannot = claims(Scene::healthy(), 10 * GI, 10 * GI).cluster(|c| {
        c.wal_storage = Some(20 * GI);
        c.claims.as_mut().unwrap()[1].class_expands = Some(false);
    });
    let finding = cannot.only("volume-resize-not-applied", Severity::Warning);
    assert!(finding.cause.contains("storage class local"), "{}", finding.cause);
    claims(Scene::healthy(), 10 * GI, 10 * GI).silent();
    // Larger than asked for, as some storage rounds; and not bound yet.
    claims(Scene::healthy(), 10 * GI, 11 * GI).silent();
    claims(Scene::healthy(), 10 * GI, 10 * GI).cluster(|c| c.claims.as_mut().unwrap()[1].capacity = None).silent();
}

/// A data volume that holds WAL as well.
fn shared(storage: u64, parameters: &[(&str, &str)]) -> Scene {
    Scene::healthy().no_numbers().cluster(|c| {
        (c.storage, c.wal_storage) = (Some(storage), None);
        c.parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    })
}

#[test]
fn settings_that_permit_more_wal_than_fits_are_named() {
    let finding =
        shared(4 * GI, &[("max_wal_size", "3GB"), ("wal_keep_size", "2GB")]).only("wal-headroom-too-small", Severity::Warning);
    assert!(finding.summary.contains("5.0 GiB") && finding.summary.contains("4.0 GiB"), "{}", finding.summary);
    assert!(finding.remedy.contains("\"walStorage\":{\"size\":\"6Gi\"}"), "{}", finding.remedy);
    // Megabytes without a unit; slots count when they are limited.
    shared(4 * GI, &[("max_wal_size", "3072"), ("max_slot_wal_keep_size", "1GB")])
        .only("wal-headroom-too-small", Severity::Warning);
    shared(4 * GI, &[("max_wal_size", "3072"), ("max_slot_wal_keep_size", "-1")]).silent();
    shared(4 * GI, &[]).silent();
    shared(4 * GI, &[("max_wal_size", "lots")]).silent();
    Scene::healthy().cluster(|c| c.parameters = [("max_wal_size".to_owned(), "1GB".to_owned())].into()).silent();
    Scene::healthy()
        .cluster(|c| c.parameters = [("max_wal_size".to_owned(), "10GB".to_owned())].into())
        .only("wal-headroom-too-small", Severity::Warning);
}

#[test]
fn the_free_part_counts_where_data_and_wal_share_a_volume() {
    let free = |bytes: f64| {
        shared(50 * GI, &[("max_wal_size", "2GB")]).number("app", metric::DATA_VOLUME_AVAILABLE, bytes, bytes).number(
            "app",
            metric::WAL_BYTES,
            1e9,
            1e9,
        )
    };
    free(40e9).silent();
    free(1e9).only("wal-headroom-too-small", Severity::Warning);
}

#[test]
fn an_hour_of_wal_belongs_to_what_must_fit() {
    let made = |per_hour: f64| {
        let mut scene = shared(8 * GI, &[("max_wal_size", "2GB")]);
        let subject = super::scene::db("app");
        let points = vec![(ago(DAY), 0.0), (ago(HOUR), 23.0 * per_hour)];
        scene = scene.number("app", metric::WAL_POSITION, 0.0, 24.0 * per_hour).no_number("none");
        scene.facts.retain(|fact| !matches!(fact, dalsegno::domain::Fact::Series(_)));
        scene.and(dalsegno::domain::Fact::Series(dalsegno::domain::Series {
            subject,
            metric: metric::WAL_POSITION.into(),
            source: "ledger".into(),
            points,
        }))
    };
    made(1e9).silent();
    made(9e9).only("wal-headroom-too-small", Severity::Warning);
}
