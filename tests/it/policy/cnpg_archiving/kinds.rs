//! The kind, not the example: names, sizes, times, order and unrelated objects change nothing.

use dalsegno::domain::{CnpgFact, Fact, KubeName, Observation, ProviderId, Severity, SystemId, metric};
use dalsegno::policy::judge;
use proptest::prelude::*;

use super::super::scene::{DAY, archive};
use super::scene::{HOUR, MINUTE, Scene, ago, archiver, cluster, db, failing, now, says};

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9-]{0,30}[a-z0-9]"
}

/// A healthy Cluster with its archive and numbers under any name.
fn healthy(name: &str, ready: f64, idle: f64) -> Scene {
    let last = ago(idle).as_second() as f64;
    Scene::of(vec![cluster(name)])
        .archives(vec![archive(name)])
        .numbers(name)
        .number(name, metric::WAL_READY, 0.0, ready)
        .number(name, metric::WAL_LAST_ARCHIVED, last, last)
        .number(name, metric::WAL_SINCE_ARCHIVAL, idle, idle)
}

/// Another healthy Cluster of another database, in another namespace.
fn neighbour(name: &str) -> CnpgFact {
    let mut fact = cluster(name);
    fact.cluster = KubeName::new("elsewhere", name);
    fact.system_id = Some(SystemId(11));
    fact.object_stores.clear();
    fact
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Up to a few segments may wait for ever; the database may be idle for years.
    #[test]
    fn idle_databases_of_any_name_are_silent(name in name(), ready in 0u8..2, idle in 60.0f64..3.0e7, condition in 0u8..3) {
        let scene = healthy(&name, f64::from(ready), idle).cluster(|c| match condition {
            0 => c.conditions.retain(|known| known.kind != "ContinuousArchiving"),
            1 => {}
            _ => says(c, super::scene::condition("ContinuousArchiving", "Unknown", idle)),
        });
        scene.silent();
    }

    #[test]
    fn an_uncounted_stall_is_found_whatever_its_size(
        name in name(), other in name(), ready in 4u32..100_000, more in 0u32..50, hours in 1.0f64..2_000.0,
    ) {
        prop_assume!(name != other);
        let ready = f64::from(ready);
        let scene = healthy(&name, ready, hours * HOUR)
            .number(&name, metric::WAL_READY, (ready - f64::from(more)).max(0.0), ready)
            .number(&name, metric::WAL_ARCHIVED, 5.0, 5.0)
            .and(Fact::Cnpg(Box::new(neighbour(&other))));
        let found: Vec<_> = scene.findings().into_iter().map(|finding| (finding.code, finding.severity, finding.subject)).collect();
        prop_assert_eq!(found, [("wal-archiver-stalled-uncounted".to_owned(), Severity::Critical, db(&name))]);
    }

    /// The message is for people: any text is a failing archive, and how long it lasts decides how bad it is.
    #[test]
    fn a_failing_archive_is_found_whatever_it_says(text in "[ -~]{0,80}", hours in 1.0f64..500.0, ready in 4u32..9_000) {
        prop_assume!(!text.contains("dial unix /plugins/"));
        let scene = Scene::healthy()
            .number("app", metric::WAL_READY, f64::from(ready - 1), f64::from(ready))
            .number("app", metric::WAL_ARCHIVED, 5.0, 5.0)
            .number("app", metric::WAL_LAST_ARCHIVED, 1.0, ago(hours * HOUR + 60.0).as_second() as f64)
            .number("app", metric::WAL_SINCE_ARCHIVAL, 1.0, hours * HOUR + 60.0)
            .newest(hours * HOUR + 60.0)
            .cluster(|c| says(c, failing(&text, hours * HOUR)));
        let findings = scene.findings();
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
        prop_assert_eq!(codes, ["wal-archiving-failing-disk-clock"]);
        prop_assert_eq!(findings[0].severity == Severity::Critical, hours * HOUR >= DAY);
    }

    /// However it is spelt: scheme, case, port, slashes.
    #[test]
    fn one_place_in_two_spellings_collides_and_two_places_do_not(
        host in "[a-z]{1,9}\\.[a-z]{2,5}", path in "[a-z0-9/]{0,12}", server in name(), other in name(), upper in any::<bool>(),
    ) {
        let path = path.trim_matches('/').to_owned();
        let made = |namespace: &str, server: &str, endpoint: String| {
            let mut fact = neighbour(&format!("db-{namespace}"));
            fact.cluster.namespace = namespace.into();
            let here = archiver(&mut fact);
            (here.endpoint, here.store) = (Some(endpoint), None);
            (here.bucket, here.path, here.server) = (Some("b".into()), Some(path.clone()), server.into());
            fact
        };
        let spelt = if upper { format!("HTTPS://{}:443/", host.to_uppercase()) } else { format!("https://{host}/") };
        let one = || made("one", &server, format!("https://{host}"));
        let collide = |scene: &Scene| scene.findings().iter().any(|f| f.code == "wal-prefix-shared-by-two-writers");
        prop_assert!(collide(&Scene::of(vec![one(), made("two", &server, spelt.clone())])));
        prop_assert_eq!(collide(&Scene::of(vec![one(), made("two", &other, spelt)])), other == server);
    }

    #[test]
    fn the_order_of_facts_and_who_told_them_change_nothing(seed in any::<u64>()) {
        let mut ill = cluster("ill");
        ill.skip_wal_archiving = Some("enabled".into());
        let mut twin = neighbour("app");
        twin.subject = db("app-twin");
        let mut scene = Scene::healthy().and(Fact::Cnpg(Box::new(ill))).and(Fact::Cnpg(Box::new(twin)));
        let plain = scene.judge();
        prop_assert!(plain.findings.len() >= 2);
        let count = scene.facts.len();
        scene.facts.rotate_left(usize::try_from(seed % count as u64).unwrap());
        let observations: Vec<_> = scene
            .facts
            .iter()
            .enumerate()
            .map(|(n, fact)| {
                let facts = vec![fact.clone()];
                (ProviderId(format!("p{}", (n as u64 ^ seed) % 3)), Observation { facts, ..Observation::default() })
            })
            .collect();
        prop_assert_eq!(judge(now(), &scene.expected, &observations, &[]), plain);
    }

    /// Nothing that was not looked at makes a finding.
    #[test]
    fn what_was_not_looked_at_is_never_accused(
        pods in any::<bool>(), claims in any::<bool>(), numbers in any::<bool>(), archive in any::<bool>(),
        schedules in any::<bool>(), events in any::<bool>(), conditions in any::<bool>(), state in any::<bool>(),
    ) {
        let mut scene = Scene::healthy().cluster(|c| {
            if pods { c.pods = None; }
            if claims { c.claims = None; }
            if schedules { c.schedules = None; }
            if events { c.events = None; }
            if conditions { c.conditions.clear(); }
            if state {
                (c.phase, c.ready_instances, c.system_id, c.timeline, c.created) = (None, None, None, None, None);
                (c.current_primary, c.target_primary) = (None, None);
            }
        });
        if numbers { scene = scene.no_numbers(); }
        if archive { scene = scene.no_archive(); }
        scene.silent();
    }

    /// Restored without an archiver, and young: a drill, whatever else it has or lacks.
    #[test]
    fn drills_are_not_accused(name in name(), minutes in 0.0f64..1_400.0, storage in 1u64..9, ready in 0u32..2) {
        let mut fact = cluster(&name);
        fact.bootstrap = super::scene::recover(|_| {});
        fact.created = Some(ago(minutes * MINUTE));
        fact.archivers.clear();
        fact.object_stores.clear();
        (fact.backups, fact.schedules) = (Some(Vec::new()), Some(Vec::new()));
        (fact.storage, fact.wal_storage) = (Some(storage << 30), None);
        fact.ready_instances = Some(ready);
        Scene::of(vec![fact]).silent();
    }
}
