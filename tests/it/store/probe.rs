//! The probe: what it proves, what it says fails, and that it leaves nothing behind.

use std::ops::ControlFlow;

use bytes::Bytes;
use dalsegno::domain::{Dialect, ExitCode, Prefix, Verdict};
use dalsegno::store::probe::{FOLDER, Plan, Report};
use dalsegno::store::{Store, StoreConfig};
use lab::gateway::{Gateway, Rules};

use super::mock::{Mock, Reply};
use super::real;

fn plan() -> Plan {
    Plan::new(jiff::Timestamp::now(), None, false)
}

fn verdict(report: &Report, step: &str) -> Verdict {
    let found = report.steps.iter().find(|one| one.step == step);
    found.unwrap_or_else(|| panic!("no step {step} in {:#?}", report.steps)).verdict
}

async fn keys(store: &Store) -> Vec<String> {
    let mut keys = Vec::new();
    store
        .list("", None, &mut |object| {
            keys.push(object.key);
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    keys
}

async fn behind(rules: Rules, dialect: Dialect, region: &str) -> Option<(Gateway, StoreConfig)> {
    let mut config = real::bucket("probe").await?;
    let gateway = Gateway::start(real::server("probe").await?, rules).unwrap();
    config.endpoint = gateway.endpoint();
    config.dialect = dialect;
    config.region = region.to_owned();
    Some((gateway, config))
}

#[tokio::test]
async fn a_store_that_takes_everything_is_proven_and_nothing_stays() {
    let Some(config) = real::bucket("probe").await else { return };
    let store = Store::open(config).unwrap();
    let report = store.probe(&plan()).await;
    for step in [
        "list",
        "clock",
        "region",
        "may-write",
        "versioning",
        "put",
        "head",
        "get",
        "multipart",
        "range",
        "conditional-put",
        "checksum-header",
        "checksum-trailer",
        "delete",
    ] {
        assert_eq!(verdict(&report, step), Verdict::Proven, "{step}: {:#?}", report.steps);
    }
    assert_eq!(verdict(&report, "tls"), Verdict::Failed, "plain http is told");
    assert_eq!((report.verdict, report.exit()), (Verdict::Proven, ExitCode::Fine));
    assert!(report.left_over.is_empty());
    assert_eq!(keys(&store).await, Vec::<String>::new());
    assert!(!report.consequences.iter().any(|one| one.set.contains("checksumAlgorithm")), "{:?}", report.consequences);
}

#[tokio::test]
async fn r2_as_users_met_it_is_usable_and_says_what_velero_and_boto3_need() {
    let Some((_gateway, config)) = behind(Rules::r2_as_met(), Dialect::R2, "auto").await else { return };
    let store = Store::open(config).unwrap();
    let report = store.probe(&plan()).await;
    assert_eq!(report.verdict, Verdict::Proven, "{:#?}", report.steps);
    assert_eq!(verdict(&report, "checksum-header"), Verdict::Failed);
    assert_eq!(verdict(&report, "checksum-trailer"), Verdict::Failed);
    let set: Vec<&str> = report.consequences.iter().map(|one| one.set.as_str()).collect();
    for wanted in ["config.checksumAlgorithm: \"\"", "AWS_REQUEST_CHECKSUM_CALCULATION=when_required", "region: auto"] {
        assert!(set.contains(&wanted), "{wanted} in {set:?}");
    }
    let region = report.steps.iter().find(|step| step.step == "region").unwrap();
    assert!(region.seen.contains("WNAM (a place, not a signing region)"), "{region:?}");
    assert_eq!(keys(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_wrong_region_on_r2_is_told_in_words() {
    let Some((_gateway, config)) = behind(Rules::r2_as_met(), Dialect::R2, "us-east-1").await else { return };
    let report = Store::open(config).unwrap().probe(&plan()).await;
    assert_eq!(verdict(&report, "list"), Verdict::Failed, "{:#?}", report.steps);
    assert_eq!((report.verdict, report.exit()), (Verdict::Failed, ExitCode::Findings));
}

#[tokio::test]
async fn a_reading_key_is_told_and_nothing_is_written_with_read_only() {
    let Some(config) = real::bucket("probe").await else { return };
    let store = Store::open(real::reader(&config).await).unwrap();
    let report = store.probe(&plan()).await;
    assert_eq!(verdict(&report, "may-write"), Verdict::Failed);
    assert_eq!(verdict(&report, "put"), Verdict::Failed);
    assert_eq!(report.verdict, Verdict::Failed);
    let before = store.requests().bytes_out;
    let looked = store.probe(&Plan { read_only: true, ..plan() }).await;
    assert_eq!(looked.verdict, Verdict::Proven, "{:#?}", looked.steps);
    assert_eq!(store.requests().bytes_out, before);
    assert_eq!(keys(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn where_deletion_is_refused_the_left_overs_are_named() {
    let Some((gateway, config)) = behind(Rules::default(), Dialect::Other, "us-east-1").await else { return };
    gateway.change(|rules| rules.denied.push(("DELETE".into(), "dalsegno/".into())));
    let report = Store::open(config.clone()).unwrap().probe(&plan()).await;
    assert_eq!(verdict(&report, "delete"), Verdict::Failed, "{:#?}", report.steps);
    assert_eq!(report.left_over.len(), 5, "{:?}", report.left_over);
    assert!(report.left_over.iter().all(|key| key.starts_with("dalsegno/dalsegno-probe/")));
    assert_eq!(report.exit(), ExitCode::Stuck);
    gateway.change(|rules| rules.denied.clear());
    let store = Store::open(config).unwrap();
    let later = store.probe(&Plan { now: jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2), ..plan() }).await;
    assert_eq!(verdict(&later, "sweep"), Verdict::Proven);
    assert_eq!(keys(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_killed_probe_is_swept_after_an_hour_and_nothing_else_is_touched() {
    let Some(config) = real::bucket("probe").await else { return };
    let store = Store::open(config).unwrap();
    let guarded = store.guard().await.unwrap();
    let killed = format!("dalsegno/{FOLDER}{}/one", uuid::Uuid::now_v7());
    let strangers = [
        format!("dalsegno/{FOLDER}{}/precious", uuid::Uuid::now_v7()),
        format!("dalsegno/{FOLDER}notes/one"),
        "dalsegno/evidence/x".to_owned(),
    ];
    for key in strangers.iter().chain([&killed]) {
        guarded.put_bytes(key, Bytes::from_static(b"x")).await.unwrap();
    }
    let soon = store.probe(&plan()).await;
    assert!(!soon.steps.iter().any(|step| step.step == "sweep"), "a young folder may belong to a probe that runs");
    assert!(keys(&store).await.contains(&killed));
    let later = Plan { now: jiff::Timestamp::now() + jiff::SignedDuration::from_mins(61), ..plan() };
    assert_eq!(verdict(&store.probe(&later).await, "sweep"), Verdict::Proven);
    let mut left = strangers.to_vec();
    left.sort();
    let mut have = keys(&store).await;
    have.sort();
    assert_eq!(have, left);
}

#[tokio::test]
async fn our_own_refusal_is_unknown_and_never_proven() {
    let Some(config) = real::bucket("probe").await else { return };
    let mut velero = config.clone();
    velero.own_prefix = Some(Prefix::new("backups"));
    Store::open(velero).unwrap().guard().await.unwrap().put_bytes("backups/b1/velero-backup.json", Bytes::new()).await.unwrap();
    let report = Store::open(config).unwrap().probe(&plan()).await;
    assert_eq!(verdict(&report, "write"), Verdict::Unknown);
    assert_eq!((report.verdict, report.exit()), (Verdict::Unknown, ExitCode::CouldNotLook));
}

#[tokio::test]
async fn a_store_that_keeps_the_framing_of_a_trailer_is_caught() {
    let kept: std::sync::Arc<std::sync::Mutex<std::collections::HashMap<String, Vec<u8>>>> = std::sync::Arc::default();
    let mock = Mock::start(move |asked| {
        let mut kept = kept.lock().unwrap();
        let key = asked.path.clone();
        match asked.method.as_str() {
            "PUT" if asked.query.contains("uploadId") => Reply::error(404, "NoSuchUpload", ""),
            "PUT" if asked.header("if-none-match").is_some() && kept.contains_key(&key) => {
                Reply::error(412, "PreconditionFailed", "")
            }
            "PUT" => {
                kept.insert(key, asked.body.clone());
                Reply::new(200, "").with("etag", "\"a\"")
            }
            "DELETE" => {
                kept.remove(&key);
                Reply::new(204, "")
            }
            "GET" if asked.query.contains("list-type") => super::mock::list_page(&[], true, None),
            "POST" => Reply::error(501, "NotImplemented", ""),
            "GET" if asked.path.trim_end_matches('/') == "/bucket" => Reply::error(501, "NotImplemented", ""),
            "GET" | "HEAD" if kept.contains_key(&key) => Reply::new(200, kept[&key].clone()).with("etag", "\"a\""),
            _ => Reply::error(404, "NoSuchKey", ""),
        }
    })
    .await;
    let report = mock.store().probe(&plan()).await;
    let trailer = report.steps.iter().find(|step| step.step == "checksum-trailer").unwrap();
    assert_eq!(trailer.verdict, Verdict::Failed);
    assert!(trailer.seen.contains("the framing is inside"), "{trailer:?}");
    assert_eq!(verdict(&report, "checksum-header"), Verdict::Proven);
    assert_eq!(verdict(&report, "conditional-put"), Verdict::Proven);
    assert_eq!(verdict(&report, "multipart"), Verdict::Failed);
}

#[tokio::test]
async fn a_key_to_read_with_is_not_told_to_get_more_and_how_to_probe_writing_is_said() {
    let mock = Mock::start(|asked| match asked.method.as_str() {
        "PUT" => Reply::error(403, "AccessDenied", ""),
        "GET" if asked.query.contains("list-type") => super::mock::list_page(&[], true, None),
        _ => Reply::error(501, "NotImplemented", ""),
    })
    .await;
    let reading = StoreConfig { own_prefix: None, ..mock.config() };
    let report = Store::open(reading).unwrap().probe(&plan()).await;
    let step = |name: &str| report.steps.iter().find(|step| step.step == name).unwrap();
    assert_eq!((step("may-write").verdict, &step("may-write").hint), (Verdict::Proven, &None));
    assert_eq!(step("write").verdict, Verdict::Unknown);
    assert!(step("write").hint.as_deref().unwrap().starts_with("set own: to probe writing"), "{:?}", step("write"));
    assert!(!format!("{report:?}").contains("grant s3:PutObject"), "{report:#?}");
    // Its twin is a key that was given to write with, and may not.
    let own = mock.store().probe(&plan()).await;
    assert_eq!(verdict(&own, "may-write"), Verdict::Failed);
    assert!(format!("{own:?}").contains("grant s3:PutObject"), "{own:#?}");
}
