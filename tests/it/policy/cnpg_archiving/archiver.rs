use dalsegno::domain::{Fact, Severity, metric};

use super::super::scene::DAY;
use super::scene::{HOUR, MINUTE, Scene, ago, condition, days, failing, says, schedule, sidecar, site};
use dalsegno::domain::{CnpgGone, KubeName, LastPosition};

const BARMAN: &str = "rpc error: code = Unknown desc = unexpected failure invoking barman-cloud-wal-archive: exit status 4";

/// Archiving fails since some time, and so many segments wait.
fn broken(age: f64, before: f64, ready: f64) -> Scene {
    let unix = |age: f64| ago(age).as_second() as f64;
    Scene::healthy()
        .cluster(|c| says(c, failing(BARMAN, age)))
        .newest(age + 60.0)
        .number("app", metric::WAL_READY, before, ready)
        .number("app", metric::WAL_ARCHIVED, 1_843.0, 1_843.0)
        .number("app", metric::WAL_FAILED, 9_000.0, 9_012.0)
        .number("app", metric::WAL_LAST_ARCHIVED, unix(age + 60.0), unix(age + 60.0))
        .number("app", metric::WAL_SINCE_ARCHIVAL, age - 540.0, age + 60.0)
        .number("app", metric::WAL_LAST_FAILED, unix(630.0), unix(30.0))
}

#[test]
fn a_healthy_cluster_is_silent_with_and_without_its_numbers_and_its_bucket() {
    Scene::healthy().silent();
    Scene::healthy().no_numbers().silent();
    Scene::healthy().no_archive().silent();
    Scene::healthy().no_archive().no_numbers().silent();
    // Nothing but its name and spec was seen.
    Scene::healthy()
        .no_numbers()
        .no_archive()
        .cluster(|c| (c.pods, c.claims, c.schedules, c.events) = (None, None, None, None))
        .silent();
}

#[test]
fn archiving_that_fails_for_days_is_critical_and_tells_both_sides() {
    let finding = broken(6.5 * DAY, 453.0, 455.0).only("wal-archiving-failing-disk-clock", Severity::Critical);
    assert_eq!(finding.cause, BARMAN);
    assert!(finding.summary.contains("455 segment(s) wait"), "{}", finding.summary);
    assert!(finding.remedy.contains("kubectl -n prod logs app-1 -c plugin-barman-cloud"), "{}", finding.remedy);
    assert!(finding.evidence.iter().any(|line| line.contains("newest segment in the bucket")), "{:?}", finding.evidence);
}

#[test]
fn archiving_that_fails_for_half_an_hour_is_a_warning_that_rises() {
    broken(0.5 * HOUR, 5.0, 7.0).only("wal-archiving-failing-disk-clock", Severity::Warning);
    broken(26.0 * HOUR, 205.0, 207.0).only("wal-archiving-failing-disk-clock", Severity::Critical);
}

#[test]
fn a_single_failure_during_a_switchover_is_silent() {
    Scene::healthy()
        .cluster(|c| {
            says(c, failing("switchover in progress, refusing archiving", 40.0));
            c.target_primary = Some("app-2".into());
            c.target_primary_since = Some(ago(45.0));
        })
        .number("app", metric::WAL_READY, 0.0, 3.0)
        .number("app", metric::WAL_FAILED, 0.0, 3.0)
        .number("app", metric::WAL_LAST_FAILED, ago(40.0).as_second() as f64, ago(40.0).as_second() as f64)
        .silent();
}

#[test]
fn a_stuck_condition_is_not_believed() {
    // Nothing waits.
    Scene::healthy().cluster(|c| says(c, failing(BARMAN, 6.0 * DAY))).silent();
    // What waits gets less, and segments were archived since.
    let codes: Vec<String> = Scene::healthy()
        .cluster(|c| says(c, failing(BARMAN, 6.0 * DAY)))
        .number("app", metric::WAL_READY, 40.0, 12.0)
        .findings()
        .into_iter()
        .map(|finding| finding.code)
        .collect();
    assert!(!codes.contains(&"wal-archiving-failing-disk-clock".to_owned()), "{codes:?}");
    // The bucket got a segment two minutes ago.
    Scene::healthy().no_numbers().cluster(|c| says(c, failing(BARMAN, 6.0 * DAY))).silent();
}

#[test]
fn the_operators_word_alone_is_a_warning_and_with_an_old_bucket_it_is_critical() {
    let alone = Scene::healthy().no_numbers().no_archive().cluster(|c| says(c, failing(BARMAN, 2.0 * DAY)));
    let finding = alone.only("wal-archiving-failing-disk-clock", Severity::Warning);
    assert!(finding.evidence.iter().any(|line| line.contains("no heartbeat")), "{:?}", finding.evidence);
    let with_bucket = Scene::healthy().no_numbers().cluster(|c| says(c, failing(BARMAN, 2.0 * DAY))).newest(2.0 * DAY + 60.0);
    with_bucket.only("wal-archiving-failing-disk-clock", Severity::Critical);
}

#[test]
fn failures_that_are_counted_again_and_again_are_named_although_the_condition_says_true() {
    let unix = |age: f64| ago(age).as_second() as f64;
    let rising = |before: f64, now: f64| {
        Scene::healthy()
            .number("app", metric::WAL_FAILED, before, now)
            .number("app", metric::WAL_LAST_FAILED, unix(600.0), unix(30.0))
            .number("app", metric::WAL_LAST_ARCHIVED, unix(700.0), unix(700.0))
            .number("app", metric::WAL_SINCE_ARCHIVAL, 100.0, 700.0)
            .number("app", metric::WAL_READY, 0.0, 2.0)
    };
    rising(3.0, 9.0).only("wal-archiving-failing-disk-clock", Severity::Warning);
    // One round of tries, as any switchover costs.
    rising(3.0, 6.0).silent();
}

#[test]
fn a_failure_of_years_ago_is_worth_an_info() {
    let unix = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second() as f64;
    let old = Scene::healthy().number("app", metric::WAL_FAILED, 3.0, 3.0).number(
        "app",
        metric::WAL_LAST_FAILED,
        unix("2024-02-27T02:13:20Z"),
        unix("2024-02-27T02:13:20Z"),
    );
    let finding = old.only("archiver-old-failure-recorded", Severity::Info);
    assert!(finding.summary.contains("2024-02-27"), "{}", finding.summary);
    // An hour ago: not history yet.
    let young = ago(HOUR).as_second() as f64;
    Scene::healthy().number("app", metric::WAL_FAILED, 3.0, 3.0).number("app", metric::WAL_LAST_FAILED, young, young).silent();
}

/// Nothing is archived for so long, nothing is counted as failed.
fn uncounted(silent_for: f64, before: f64, ready: f64) -> Scene {
    let last = ago(silent_for).as_second() as f64;
    Scene::healthy()
        .number("app", metric::WAL_READY, before, ready)
        .number("app", metric::WAL_ARCHIVED, 1_843.0, 1_843.0)
        .number("app", metric::WAL_LAST_ARCHIVED, last, last)
        .number("app", metric::WAL_SINCE_ARCHIVAL, silent_for - 600.0, silent_for)
        .newest(silent_for)
}

#[test]
fn an_archiver_that_is_killed_is_named_although_nothing_is_counted() {
    let finding = uncounted(9_120.0, 34.0, 37.0).only("wal-archiver-stalled-uncounted", Severity::Critical);
    assert!(finding.summary.contains("37 segments wait") && finding.summary.contains("for 2 h"), "{}", finding.summary);
    let with_log = uncounted(9_120.0, 34.0, 37.0).cluster(|c| {
        let line = "FATAL:  archive command was terminated by signal 9: Killed";
        c.pods.as_mut().unwrap()[0].log = Some(vec![line.into()]);
    });
    assert!(with_log.only("wal-archiver-stalled-uncounted", Severity::Critical).cause.contains("signal 9"));
    let killed = uncounted(9_120.0, 34.0, 37.0).cluster(|c| {
        let mut seen = sidecar();
        seen.last_reason = Some("OOMKilled".into());
        c.pods.as_mut().unwrap()[0].containers[1] = seen;
    });
    assert!(killed.only("wal-archiver-stalled-uncounted", Severity::Critical).cause.contains("OOMKilled"));
}

#[test]
fn an_idle_database_is_never_accused() {
    // Hours without a segment, one waits perhaps, the position has not moved.
    for ready in [0.0, 1.0] {
        uncounted(30.0 * HOUR, ready, ready).silent();
        uncounted(30.0 * DAY, ready, ready).no_archive().silent();
    }
    // A burst within the time that archiving takes.
    uncounted(5.0 * MINUTE, 0.0, 30.0).silent();
}

#[test]
fn true_since_may_proves_nothing_while_postgres_is_down() {
    let down = |age: f64| {
        Scene::healthy().no_numbers().newest(age).cluster(|c| {
            c.ready_instances = Some(0);
            c.phase = Some("Waiting for the instances to become active".into());
            says(c, condition("ContinuousArchiving", "True", 206.0 * DAY));
            says(c, condition("Ready", "False", age - 600.0));
            for pod in c.pods.as_mut().unwrap() {
                pod.ready = Some(false);
            }
        })
    };
    let finding = down(2.5 * DAY).only("wal-freshness-unproven", Severity::Critical);
    assert!(finding.summary.contains("2026-11-28T03:00:00Z"), "{}", finding.summary);
    // It is being restarted.
    down(2.5 * DAY).cluster(|c| says(c, condition("Ready", "False", 120.0))).silent();
    // Down on purpose.
    down(2.5 * DAY).cluster(|c| c.hibernated = true).silent();
    down(2.5 * DAY).cluster(|c| c.fenced = vec!["*".into()]).silent();
    down(2.5 * DAY).cluster(|c| c.fenced = vec!["app-1".into()]).silent();
    // The same age of the bucket, the server answers and has nothing to archive.
    Scene::healthy().newest(2.5 * DAY).silent();
    // A fenced replica does not silence the primary.
    down(2.5 * DAY).cluster(|c| c.fenced = vec!["app-2".into()]).only("wal-freshness-unproven", Severity::Critical);
}

#[test]
fn an_exporter_without_the_archivers_numbers_is_named() {
    let blind = || {
        let names = [metric::WAL_ARCHIVED, metric::WAL_FAILED, metric::WAL_LAST_ARCHIVED, metric::WAL_SINCE_ARCHIVAL];
        names.into_iter().fold(Scene::healthy(), Scene::no_number)
    };
    let finding = blind().cluster(|c| c.no_default_queries = true).only("archiver-unobservable", Severity::Warning);
    assert!(finding.cause.contains("disableDefaultQueries"), "{}", finding.cause);
    blind().only("archiver-unobservable", Severity::Warning);
    // Prometheus tells what the exporter's own page was not asked for.
    blind().number("app", metric::WAL_ARCHIVED, 1.0, 2.0).silent();
    // Nobody looked: the gap speaks.
    blind().no_number(metric::EXPORTER_UP).cluster(|c| c.no_default_queries = true).silent();
    blind().cluster(|c| c.hibernated = true).silent();
    blind().cluster(|c| c.replica_of = Some("origin".into())).silent();
}

#[test]
fn archiving_that_an_annotation_switched_off_is_named_once() {
    let off = |value: &'static str| {
        Scene::healthy()
            .cluster(move |c| c.skip_wal_archiving = Some(value.into()))
            .number("app", metric::WAL_ARCHIVED, 0.0, 0.0)
            .number("app", metric::WAL_LAST_ARCHIVED, -1.0, -1.0)
            .number("app", metric::WAL_SINCE_ARCHIVAL, -1.0, -1.0)
    };
    let finding = off("enabled").only("wal-archiving-disabled-by-annotation", Severity::Critical);
    assert!(finding.remedy.contains("kubectl -n prod annotate cluster app cnpg.io/skipWalArchiving-"), "{}", finding.remedy);
    off("disabled").silent();
    off("enabled").cluster(|c| c.hibernated = true).silent();
    // Nothing was ever to be archived.
    let nothing = || off("enabled").no_archive().cluster(|c| (c.archivers, c.schedules) = (Vec::new(), Some(Vec::new())));
    assert_eq!(nothing().findings().iter().filter(|f| f.code == "wal-archiving-disabled-by-annotation").count(), 0);
    nothing()
        .cluster(|c| c.schedules = Some(vec![schedule("app", "nightly", "0 59 1 * * *")]))
        .findings()
        .iter()
        .find(|f| f.code == "wal-archiving-disabled-by-annotation")
        .unwrap();
}

/// Hibernated; last seen `offset` bytes into that segment. The bucket ends with segment 400.
fn asleep(number: u64, offset: u64) -> Scene {
    let size = 16 << 20;
    let position = LastPosition { at: ago(2.0 * HOUR), lsn: number * size + offset, timeline: Some(1), segment: size };
    Scene::healthy().no_numbers().cluster(|c| {
        c.hibernated = true;
        c.ready_instances = Some(0);
        c.pods = Some(Vec::new());
        says(c, condition("cnpg.io/hibernation", "True", HOUR));
        c.last_position = Some(position);
    })
}

#[test]
fn a_hibernated_cluster_whose_last_segment_never_left_is_named() {
    let finding = asleep(401, 3_000_000).only("wal-tail-not-archived-at-shutdown", Severity::Warning);
    assert!(finding.summary.contains("1 segment(s) up to 000000010000000100000091"), "{}", finding.summary);
    assert_eq!(finding.evidence.len(), 2, "both sides: {:?}", finding.evidence);
    asleep(400, 3_000_000).silent();
    // A clean shutdown switches; what begins after it holds nobody's data.
    asleep(401, 200).silent();
    asleep(401, 0).silent();
    // Its pods are still going down.
    asleep(401, 3_000_000).cluster(|c| says(c, condition("cnpg.io/hibernation", "False", HOUR))).silent();
    // Where it stood is not known.
    asleep(401, 3_000_000).cluster(|c| c.last_position = None).silent();
    asleep(401, 3_000_000).no_archive().silent();
}

#[test]
fn a_cluster_that_was_deleted_before_its_last_segment_left_is_named() {
    let gone = |number: u64| {
        let size = 16 << 20;
        let position = LastPosition { at: ago(2.0 * HOUR), lsn: number * size + 70_000, timeline: Some(1), segment: size };
        let place = super::scene::place("app");
        let mut scene = Scene::healthy().no_numbers();
        scene.facts.retain(|fact| !matches!(fact, Fact::Cnpg(_)));
        scene.and(site(|site| {
            site.gone.push(CnpgGone {
                subject: super::scene::db("app"),
                cluster: KubeName::new("prod", "app"),
                uid: None,
                system_id: None,
                last_seen: ago(2.0 * HOUR),
                gone_since: days(0.05),
                last_position: Some(position),
                location: Some(place),
            });
        }))
    };
    gone(403).only("wal-tail-not-archived-at-shutdown", Severity::Warning);
    gone(400).silent();
}
