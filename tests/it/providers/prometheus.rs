//! The provider `prometheus` over a server that answers as it is told, and over a real one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dalsegno::domain::{
    CnpgFact, Cx, Denied, Fact, FactKind, Known, Observation, Observe, Quiet, RunId, SERIES_ABSENT, Secret, Subject, metric,
};
use dalsegno::providers::prometheus::config::{Labels, PrometheusSettings, Whereabouts, subject};
use dalsegno::providers::prometheus::{MOST_POINTS, Prometheus, step};
use dalsegno::tap::http::{LiveHttp, LiveHttpOptions};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::policy::scene::db;
use crate::store::mock::{Asked, Mock, Reply};

const NOW: &str = "2026-11-30T15:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn unix() -> f64 {
    now().as_second() as f64
}

fn cx() -> Cx {
    Cx {
        run: RunId::new(),
        now: now(),
        deadline: Instant::now() + Duration::from_secs(30),
        cancel: CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}

fn settings(url: &str) -> PrometheusSettings {
    PrometheusSettings {
        name: "main".into(),
        subject: subject("main"),
        url: url.into(),
        token: Some(Secret::new("t0ken".into())),
        ca_file: None,
        labels: Labels { namespace: "namespace".into(), pod: "pod".into(), claim: "persistentvolumeclaim".into() },
        only: BTreeMap::from([("kube_cluster".to_owned(), "ho\"me".to_owned())]),
        range: Duration::from_hours(14 * 24),
        databases: vec![Whereabouts { subject: db("app"), namespace: "prod".into(), cluster: "pg.main".into() }],
    }
}

fn http() -> Arc<LiveHttp> {
    Arc::new(LiveHttp::new(&LiveHttpOptions { proxies: false, ..LiveHttpOptions::default() }).unwrap())
}

async fn look(url: &str) -> Observation {
    look_with(settings(url), Known::default()).await
}

async fn look_with(settings: PrometheusSettings, known: Known) -> Observation {
    Prometheus::new(settings, http()).observe(&cx(), &known).await
}

/// A series: labels, and pairs of seconds ago and value.
fn series(name: &str, labels: &[(&str, &str)], pairs: &[(f64, &str)], instant: bool) -> Value {
    let mut metric = serde_json::Map::from_iter([("__name__".to_owned(), json!(name)), ("namespace".to_owned(), json!("prod"))]);
    metric.extend(labels.iter().map(|(label, value)| ((*label).to_owned(), json!(value))));
    let values: Vec<Value> = pairs.iter().map(|(ago, value)| json!([unix() - ago, value])).collect();
    if instant { json!({"metric": metric, "value": values.last()}) } else { json!({"metric": metric, "values": values}) }
}

fn success(kind: &str, result: &[Value]) -> Reply {
    Reply::new(200, json!({"status": "success", "data": {"resultType": kind, "result": result}}).to_string())
}

const READY: &str = "cnpg_collector_pg_wal_archive_status";
const ARCHIVED: &str = "cnpg_pg_stat_archiver_archived_count";
const RECOVERY: &str = "cnpg_pg_replication_in_recovery";

/// Two pods of `pg.main`: a failover two hours ago from the first to the second.
fn world(instant: bool) -> Vec<Value> {
    let one = |name: &str, pairs: &[(f64, &str)]| series(name, &[("pod", "pg.main-1")], pairs, instant);
    let two = |name: &str, pairs: &[(f64, &str)]| series(name, &[("pod", "pg.main-2")], pairs, instant);
    let ready = |pod: &str, pairs: &[(f64, &str)]| series(READY, &[("pod", pod), ("value", "ready")], pairs, instant);
    let claim = |name: &str, claim: &str, value: &str| {
        series(name, &[("persistentvolumeclaim", claim)], &[(600.0, value), (0.0, value)], instant)
    };
    vec![
        one(RECOVERY, &[(14_400.0, "0"), (0.0, "1")]),
        two(RECOVERY, &[(14_400.0, "1"), (0.0, "0")]),
        one(ARCHIVED, &[(14_400.0, "1000"), (10_800.0, "1040"), (7_200.0, "1100"), (3_600.0, "1100"), (0.0, "1100")]),
        two(ARCHIVED, &[(14_400.0, "7"), (10_800.0, "7"), (7_200.0, "7"), (3_600.0, "27"), (0.0, "57")]),
        ready("pg.main-1", &[(14_400.0, "2"), (7_200.0, "1"), (0.0, "0")]),
        ready("pg.main-2", &[(14_400.0, "0"), (7_200.0, "0"), (0.0, "5")]),
        series(READY, &[("pod", "pg.main-2"), ("value", "done")], &[(0.0, "900")], instant),
        // Of somebody else: another Cluster whose name begins the same, and a pod of no instance.
        series(ARCHIVED, &[("pod", "pg.main-x-1")], &[(0.0, "9")], instant),
        series(ARCHIVED, &[("pod", "pgXmain-1")], &[(0.0, "9")], instant),
        claim("kubelet_volume_stats_available_bytes", "pg.main-2-wal", "4294967296"),
        claim("kubelet_volume_stats_capacity_bytes", "pg.main-2-wal", "10737418240"),
        claim("kubelet_volume_stats_available_bytes", "pg.main-1-wal", "77"),
        claim("kubelet_volume_stats_available_bytes", "pg.main-2", "99"),
        two("cnpg_collector_pg_wal", &[(0.0, "NaN")]),
        two("cnpg_pg_replication_slots_pg_wal_lsn_diff", &[(0.0, "+Inf")]),
    ]
}

async fn answering(then: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Mock {
    Mock::start(move |asked| {
        then(asked).unwrap_or_else(|| {
            if asked.path.ends_with("/query_range") { success("matrix", &world(false)) } else { success("vector", &world(true)) }
        })
    })
    .await
}

fn samples(seen: &Observation, subject: &Subject) -> BTreeMap<String, f64> {
    seen.facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Sample(sample) if &sample.subject == subject => Some((sample.metric.clone(), sample.value)),
            _ => None,
        })
        .collect()
}

fn points<'a>(seen: &'a Observation, metric: &str) -> &'a [(Timestamp, f64)] {
    let series = seen.facts.iter().find_map(|fact| match fact {
        Fact::Series(series) if series.metric == metric => Some(series),
        _ => None,
    });
    &series.unwrap().points
}

#[tokio::test]
async fn pods_become_one_database_and_a_failover_leaves_no_jump() {
    let mock = answering(|_| None).await;
    let seen = look(&mock.endpoint).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let newest = samples(&seen, &db("app"));
    assert_eq!(newest[metric::WAL_READY], 5.0);
    assert_eq!(newest[metric::WAL_ARCHIVED], 57.0, "the primary's own count");
    assert_eq!(newest[metric::WAL_VOLUME_AVAILABLE], 4_294_967_296.0);
    assert_eq!(newest[metric::DATA_VOLUME_AVAILABLE], 99.0);
    assert!(
        !newest.contains_key(metric::WAL_BYTES) && !newest.contains_key(metric::WAL_SLOT_RETAINED),
        "NaN and Inf are nothing"
    );
    let archived: Vec<f64> = points(&seen, metric::WAL_ARCHIVED).iter().map(|(_, value)| *value).collect();
    let steps: Vec<f64> = archived.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, [40.0, 60.0, 20.0, 30.0], "counted in the first pod, then in the second");
    let ready: Vec<f64> = points(&seen, metric::WAL_READY).iter().map(|(_, value)| *value).collect();
    assert_eq!(ready, [2.0, 1.0, 5.0]);
    assert!(samples(&seen, &subject("main"))[metric::SERIES_SEEN] > 10.0);
    assert_eq!(points(&seen, metric::WAL_VOLUME_AVAILABLE).len(), 2);
}

#[tokio::test]
async fn questions_are_few_bounded_and_carry_what_every_series_must_have() {
    let mock = answering(|_| None).await;
    look(&mock.endpoint).await;
    let asked = mock.asked();
    assert_eq!(asked.len(), 3, "one for now, two for the past of the one database");
    for question in &asked {
        let query = question.param("query").unwrap();
        assert!(query.contains(r#"kube_cluster="ho\"me""#), "{query}");
        assert_eq!(question.header("authorization"), Some("Bearer t0ken"));
    }
    assert!(asked[1].param("query").unwrap().contains(r#"pod=~"pg\\.main-[0-9]+""#), "{:?}", asked[1].param("query"));
    let seconds: u64 = asked[1].param("step").unwrap().parse().unwrap();
    assert!(14 * 86_400 / seconds <= MOST_POINTS);
}

#[tokio::test]
async fn a_cluster_of_an_api_server_is_asked_for_and_its_primary_is_believed() {
    let mock = answering(|_| None).await;
    let mut fact: CnpgFact = crate::policy::cnpg_archiving::scene::cluster("pg.main");
    fact.subject = db("app");
    fact.cluster.namespace = "prod".into();
    fact.cluster.name = "pg.main".into();
    fact.current_primary = Some("pg.main-1".into());
    let bare = PrometheusSettings { databases: Vec::new(), ..settings(&mock.endpoint) };
    let known = |fact: CnpgFact| Known { facts: vec![Fact::Cnpg(Box::new(fact))], memory: None };
    let seen = look_with(bare.clone(), known(fact.clone())).await;
    assert_eq!(samples(&seen, &db("app"))[metric::WAL_VOLUME_AVAILABLE], 77.0);
    fact.hibernated = true;
    let asleep = look_with(bare, known(fact)).await;
    assert!(asleep.gaps.is_empty() && samples(&asleep, &db("app")).is_empty(), "who sleeps has no numbers and no gap");
}

#[tokio::test]
async fn a_database_without_series_is_a_gap_of_its_own() {
    let mock = answering(|_| Some(success("vector", &[]))).await;
    let seen = look(&mock.endpoint).await;
    let [gap] = seen.gaps.as_slice() else { panic!("{:?}", seen.gaps) };
    assert_eq!((&gap.subject, gap.what, gap.code.as_deref()), (&db("app"), FactKind::Series, Some(SERIES_ABSENT)));
    assert!(gap.hint.contains("podmonitor"), "{}", gap.hint);
    assert!(seen.facts.iter().all(|fact| fact.subject() == &subject("main")));
}

#[tokio::test]
async fn a_server_that_gives_no_answer_is_one_gap_with_its_reason() {
    let error = |status: u16, kind: &str| {
        let body = json!({"status": "error", "errorType": kind, "error": format!("{kind} it is")}).to_string();
        move |_: &Asked| Some(Reply::new(status, body.clone()))
    };
    let reason = |seen: &Observation| {
        let [gap] = seen.gaps.as_slice() else { panic!("{:?}", seen.gaps) };
        assert_eq!((&gap.subject, gap.what), (&subject("main"), FactKind::Sample));
        assert!(!gap.detail.contains("t0ken") && !gap.hint.is_empty(), "{gap:?}");
        assert!(seen.facts.is_empty());
        gap.why.clone()
    };
    let query = || Denied::Denied { verb: "query".into() };
    for (status, kind, why) in [
        (401, "unauthorized", query()),
        (403, "forbidden", query()),
        (404, "not_found", Denied::AbsentApi),
        (422, "execution", Denied::Malformed),
        (429, "limit", Denied::Broken),
        (503, "timeout", Denied::Broken),
        (200, "internal", Denied::Broken),
    ] {
        let mock = answering(error(status, kind)).await;
        assert_eq!(reason(&look(&mock.endpoint).await), why, "{status}");
    }
    let nonsense = answering(|_| Some(Reply::new(200, "<html>login</html>"))).await;
    assert_eq!(reason(&look(&nonsense.endpoint).await), Denied::Malformed);
    let half = answering(|_| Some(Reply { promised: Some(10_000), ..Reply::new(200, "{\"status\"") })).await;
    assert_eq!(reason(&look(&half.endpoint).await), Denied::Truncated);
    let other = answering(|_| Some(success("scalar", &[]))).await;
    assert_eq!(reason(&look(&other.endpoint).await), Denied::Malformed);
    assert_eq!(reason(&look("http://127.0.0.1:9").await), Denied::Refused);
    assert_eq!(reason(&look("http://no-such-host.invalid").await), Denied::Dns);
}

#[tokio::test]
async fn part_of_an_answer_is_used_and_said() {
    for more in [json!({"warnings": ["store 10.0.0.7 did not answer"]}), json!({"isPartial": true})] {
        let mock = answering(move |asked| {
            if asked.path.ends_with("/query_range") {
                return None;
            }
            let mut body = json!({"status": "success", "data": {"resultType": "vector", "result": world(true)}});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            Some(Reply::new(200, body.to_string()))
        })
        .await;
        let seen = look(&mock.endpoint).await;
        assert_eq!((seen.gaps.len(), &seen.gaps[0].why), (1, &Denied::Truncated));
        assert_eq!(samples(&seen, &db("app"))[metric::WAL_READY], 5.0);
    }
}

#[tokio::test]
async fn a_past_that_cannot_be_had_costs_the_past_only() {
    let mock = answering(|asked| asked.path.ends_with("/query_range").then(|| Reply::new(503, "busy"))).await;
    let seen = look(&mock.endpoint).await;
    assert_eq!((seen.gaps.len(), &seen.gaps[0].subject), (1, &subject("main")));
    assert_eq!(samples(&seen, &db("app"))[metric::WAL_READY], 5.0);
}

#[tokio::test]
async fn of_many_databases_only_those_of_which_something_waits_are_asked_for_their_past() {
    let mock = answering(|_| None).await;
    let mut many = settings(&mock.endpoint);
    for number in 0..30 {
        let name = format!("quiet{number}");
        many.databases.push(Whereabouts { subject: db(&name), namespace: "prod".into(), cluster: name });
    }
    let seen = look_with(many.clone(), Known::default()).await;
    assert_eq!(mock.asked().len(), 3, "five segments wait at one of them");
    assert_eq!(seen.gaps.len(), 30);
    // It is remembered that something waited, when nothing does any more.
    let drained = answering(|asked| {
        let mut all = world(true);
        all.retain(|series| series["metric"]["__name__"] != READY);
        (!asked.path.ends_with("/query_range")).then(|| success("vector", &all))
    })
    .await;
    let known = Known { facts: Vec::new(), memory: seen.memory };
    look_with(PrometheusSettings { url: drained.endpoint.clone(), ..many.clone() }, known).await;
    assert_eq!(drained.asked().len(), 3);
    look_with(PrometheusSettings { url: drained.endpoint.clone(), ..many }, Known::default()).await;
    assert_eq!(drained.asked().len(), 4, "nobody remembers: only the one question for now");
}

proptest! {
    /// Whatever a range is, its points stay far below what the API allows.
    #[test]
    fn a_step_keeps_every_range_below_the_limit(seconds in 60_u64..4_000_000_000) {
        let step = step(Duration::from_secs(seconds)).as_secs();
        prop_assert!(step >= 1 && seconds / step < MOST_POINTS);
    }
}
