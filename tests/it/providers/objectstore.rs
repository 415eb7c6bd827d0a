//! The provider of object stores: facts, gaps with codes, controls, memory; it never writes.

use std::sync::Arc;

use async_trait::async_trait;
use dalsegno::domain::{
    Cx, Denied, Dialect, Fact, FactKind, Immutability, Known, Observation, Observe, Prefix, Quiet, Right, RunId, Setting,
    StoreFact, StoreId, StorePart, Subject, SubjectKind,
};
use dalsegno::providers::objectstore::ObjectStore;
use dalsegno::providers::objectstore::config::{Keys, StoreSettings};
use dalsegno::store::Store;
use dalsegno::tap::tls::CertificateLine;
use dalsegno::tap::{CallError, ChainSeen, FailureKind, TlsCalls};

use crate::store::bucket::{self, Objects};
use crate::store::mock::{Mock, Reply};

fn settings(endpoint: &str) -> StoreSettings {
    let config = crate::store::mock::config(endpoint, "bucket");
    StoreSettings {
        id: StoreId("mock".into()),
        subject: Subject::new(SubjectKind::Store, &["home", "mock"]),
        endpoint: endpoint.to_owned(),
        bucket: "bucket".into(),
        region: "us-east-1".into(),
        dialect: Dialect::Other,
        ca_file: None,
        read: Keys { access_key_id: config.access_key_id, secret_access_key: config.secret_access_key, session_token: None },
        own: None,
        immutability: Some(Immutability::ObjectLock),
        requests_per_day: None,
    }
}

fn cx() -> Cx {
    Cx {
        run: RunId::new(),
        now: jiff::Timestamp::now(),
        deadline: std::time::Instant::now() + std::time::Duration::from_secs(10),
        cancel: tokio_util::sync::CancellationToken::new(),
        progress: Arc::new(Quiet),
    }
}

async fn observe(mock: &Mock, known: &Known) -> Observation {
    let provider = ObjectStore::new(
        settings(&mock.endpoint),
        Store::open(mock.config()),
        None,
        vec![Prefix::new("cnpg/pg"), Prefix::new("cnpg")],
    );
    let covers = provider.covers(&Known::default());
    let observation = provider.observe(&cx(), known).await;
    for (subject, kind) in covers {
        let seen = observation.facts.iter().any(|fact| fact.kind() == kind && *fact.subject() == subject);
        let gap = observation.gaps.iter().any(|gap| gap.what == kind && gap.subject == subject);
        assert!(seen || gap, "{subject} has neither fact nor gap");
    }
    for asked in mock.asked() {
        assert!(["GET", "HEAD"].contains(&asked.method.as_str()), "{} {} is no read", asked.method, asked.path);
    }
    observation
}

fn fact(observation: &Observation) -> &StoreFact {
    let found = observation.facts.iter().find_map(|fact| if let Fact::Store(store) = fact { Some(store.as_ref()) } else { None });
    found.unwrap_or_else(|| panic!("no store fact in {observation:#?}"))
}

fn objects() -> Objects {
    Objects::from([("cnpg/pg/wals/x".to_owned(), b"x".to_vec())])
}

#[tokio::test]
async fn a_healthy_store_becomes_one_fact_and_a_control() {
    let mock = Mock::start(move |asked| bucket::serve(&objects(), asked)).await;
    let seen = observe(&mock, &Known::default()).await;
    assert!(seen.gaps.is_empty(), "{:?}", seen.gaps);
    let store = fact(&seen);
    assert_eq!((store.rights.list, store.rights.read, store.rights.write), (Right::Yes, Right::Yes, Right::Unknown));
    assert_eq!(store.rights.list_uploads, Right::Yes);
    assert_eq!((&store.versioning, &store.lifecycle), (&Setting::Absent, &Setting::NotImplemented));
    assert_eq!((store.bucket_region.as_deref(), store.dialect), (Some("WNAM"), Dialect::Minio));
    assert_eq!(store.uploads, Setting::Set(vec![]));
    assert_eq!(store.claimed_immutability, Some(Immutability::ObjectLock));
    assert_eq!(store.certificate, None);
    assert!(seen.controls[0].shown.contains("cnpg/pg/wals/x"), "{:?}", seen.controls);
    assert_eq!((seen.requests.class_a, seen.requests.class_b), (2, 5), "{:?}", seen.requests);
}

#[tokio::test]
async fn what_failed_is_a_gap_with_the_stores_own_code() {
    let table = [
        (Reply::error(403, "InvalidAccessKeyId", ""), "InvalidAccessKeyId"),
        (Reply::error(404, "NoSuchBucket", ""), "NoSuchBucket"),
        (Reply::error(403, "RequestTimeTooSkewed", ""), "RequestTimeTooSkewed"),
        (Reply::error(503, "SlowDown", ""), "SlowDown"),
    ];
    for (reply, code) in table {
        let mock = Mock::start(move |_| reply.clone()).await;
        let seen = observe(&mock, &Known::default()).await;
        assert_eq!(seen.gaps.len(), 1, "{seen:#?}");
        assert_eq!(seen.gaps[0].code.as_deref(), Some(code));
        assert!(!seen.gaps[0].hint.is_empty() && !seen.gaps[0].detail.contains("very-secret"));
        assert_eq!(mock.asked().len(), 1, "a store that refuses us is not asked eight times more");
    }
}

#[tokio::test]
async fn a_refused_list_is_a_fact_about_rights() {
    let mock = Mock::start(move |asked| {
        if asked.query.contains("list-type") || asked.query.contains("uploads") {
            Reply::error(403, "AccessDenied", "")
        } else {
            bucket::serve(&objects(), asked)
        }
    })
    .await;
    let seen = observe(&mock, &Known::default()).await;
    assert!(seen.gaps.is_empty());
    let store = fact(&seen);
    assert_eq!((store.rights.list, store.rights.list_uploads), (Right::No, Right::No));
    assert_eq!((&store.uploads, store.rights.read), (&Setting::Denied, Right::Unknown));
    assert!(seen.controls.is_empty(), "a refused list proves no emptiness");
}

#[tokio::test]
async fn an_unreachable_store_is_a_gap_and_no_fact() {
    let mut mock = Mock::start(|_| Reply::new(200, "")).await;
    mock.endpoint = "http://127.0.0.1:9".into();
    let seen = observe(&mock, &Known::default()).await;
    assert!(seen.facts.is_empty());
    assert_eq!(seen.gaps[0].why, Denied::Refused);
    assert_eq!(seen.gaps[0].what, FactKind::Store);
}

#[tokio::test]
async fn an_endpoint_with_a_path_is_a_gap_that_names_it_and_a_fact_that_keeps_it() {
    let endpoint = "https://minio.lan:9000/bucket";
    let config = crate::store::mock::config(endpoint, "bucket");
    let provider = ObjectStore::new(settings(endpoint), Store::open(config), None, vec![]);
    let seen = provider.observe(&cx(), &Known::default()).await;
    assert!(seen.gaps[0].detail.contains("has a path"), "{:?}", seen.gaps);
    assert_eq!(fact(&seen).endpoint, endpoint);
}

#[tokio::test]
async fn versions_are_summed_once_a_day_and_remembered() {
    let page = "<ListVersionsResult><IsTruncated>false</IsTruncated><Version><Key>cnpg/a</Key><VersionId>2</VersionId><IsLatest>true</IsLatest><Size>10</Size></Version><Version><Key>cnpg/a</Key><VersionId>1</VersionId><IsLatest>false</IsLatest><Size>700</Size></Version><DeleteMarker><Key>cnpg/b</Key><VersionId>3</VersionId><IsLatest>true</IsLatest></DeleteMarker></ListVersionsResult>";
    let mock = Mock::start(move |asked| match asked.query.as_str() {
        query if query.contains("versions") => Reply::new(200, page),
        query if query.contains("versioning") => {
            Reply::new(200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
        }
        _ => bucket::serve(&objects(), asked),
    })
    .await;
    let first = observe(&mock, &Known::default()).await;
    assert_eq!(fact(&first).version_bytes, Some((10, 700)));
    let listings = |mock: &Mock| mock.asked().iter().filter(|asked| asked.query.contains("versions")).count();
    assert_eq!(listings(&mock), 1, "the inner prefix lies in the outer one");
    let again = observe(&mock, &Known { memory: first.memory.clone(), ..Known::default() }).await;
    assert_eq!((fact(&again).version_bytes, listings(&mock)), (Some((10, 700)), 1));
}

fn is_asked(part: StorePart, asked: &crate::store::mock::Asked) -> bool {
    let flag = |name: &str| asked.query.split('&').any(|pair| pair.split('=').next() == Some(name));
    match part {
        StorePart::Region => asked.method == "HEAD" && asked.path.trim_end_matches('/') == "/bucket",
        StorePart::Reading => asked.method == "HEAD" && asked.path.len() > "/bucket/".len(),
        StorePart::Versioning => flag("versioning"),
        StorePart::ObjectLock => flag("object-lock"),
        StorePart::Lifecycle => flag("lifecycle"),
        StorePart::Uploads => flag("uploads"),
        StorePart::Versions => flag("versions"),
        StorePart::Certificate => false,
    }
}

/// A store with versioning whose one part answers `reply`.
async fn with_one_part(part: StorePart, reply: Reply) -> Observation {
    let versions = "<ListVersionsResult><IsTruncated>false</IsTruncated></ListVersionsResult>";
    let enabled = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let mock = Mock::start(move |asked| match asked {
        asked if is_asked(part, asked) => reply.clone(),
        asked if is_asked(StorePart::Versions, asked) => Reply::new(200, versions),
        asked if is_asked(StorePart::Versioning, asked) => Reply::new(200, enabled),
        asked => bucket::serve(&objects(), asked),
    })
    .await;
    observe(&mock, &Known::default()).await
}

const PARTS: [StorePart; 7] = [
    StorePart::Region,
    StorePart::Reading,
    StorePart::Versioning,
    StorePart::ObjectLock,
    StorePart::Lifecycle,
    StorePart::Uploads,
    StorePart::Versions,
];

#[tokio::test]
async fn each_part_that_got_no_answer_is_a_gap_that_names_it_beside_the_fact() {
    for part in PARTS {
        let seen = with_one_part(part, Reply::error(503, "SlowDown", "")).await;
        let gaps: Vec<_> = seen.gaps.iter().map(|gap| gap.what).collect();
        assert_eq!(gaps, [FactKind::StorePart(part)]);
        assert!(!seen.gaps[0].detail.is_empty() && !seen.gaps[0].hint.is_empty(), "{:?}", seen.gaps);
        assert_eq!(fact(&seen).rights.list, Right::Yes);
    }
}

#[tokio::test]
async fn a_refusal_of_a_part_and_a_call_that_is_not_there_are_answers_and_no_gaps() {
    for part in PARTS {
        for reply in [Reply::error(403, "AccessDenied", ""), Reply::error(501, "NotImplemented", "")] {
            let seen = with_one_part(part, reply).await;
            assert_eq!(seen.gaps, [], "{part:?}");
        }
    }
    let denied = with_one_part(StorePart::Versions, Reply::error(403, "AccessDenied", "")).await;
    assert_eq!(fact(&denied).rights.list_versions, Right::No);
}

#[tokio::test]
async fn a_sum_of_versions_that_failed_is_asked_for_again_and_the_one_before_stands() {
    let page = "<ListVersionsResult><IsTruncated>false</IsTruncated><Version><Key>cnpg/a</Key><VersionId>1</VersionId><IsLatest>false</IsLatest><Size>7</Size></Version></ListVersionsResult>";
    let first = with_one_part(StorePart::Versions, Reply::new(200, page)).await;
    let mut memory = first.memory.clone().unwrap();
    memory.0["versions_at"] = serde_json::json!("2020-01-01T00:00:00Z");
    let mock = Mock::start(|asked| match asked {
        asked if is_asked(StorePart::Versions, asked) => Reply::error(503, "SlowDown", ""),
        asked if is_asked(StorePart::Versioning, asked) => {
            Reply::new(200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
        }
        asked => bucket::serve(&objects(), asked),
    })
    .await;
    let second = observe(&mock, &Known { memory: Some(memory), ..Known::default() }).await;
    assert_eq!(fact(&second).version_bytes, Some((0, 7)));
    let listings = || mock.asked().iter().filter(|asked| asked.query.contains("versions")).count();
    let before = listings();
    observe(&mock, &Known { memory: second.memory, ..Known::default() }).await;
    assert!(listings() > before);
}

struct NoTls(FailureKind);

#[async_trait]
impl TlsCalls for NoTls {
    async fn look(&self, _host: &str, _port: u16) -> Result<ChainSeen, CallError> {
        Err(CallError::new(self.0, "cut in the handshake"))
    }
}

#[tokio::test]
async fn a_certificate_that_could_not_be_looked_at_is_a_gap_where_the_store_answers_and_silent_where_it_was_not_recorded() {
    for (kind, gaps) in [(FailureKind::Reset, 1), (FailureKind::NotRecorded, 0)] {
        let mock = Mock::start(move |asked| bucket::serve(&objects(), asked)).await;
        // The listing goes over plain http; only what is configured says https.
        let provider = ObjectStore::new(
            settings(&mock.endpoint.replace("http://", "https://")),
            Store::open(mock.config()),
            Some(Arc::new(NoTls(kind))),
            vec![Prefix::new("cnpg")],
        );
        let seen = provider.observe(&cx(), &Known::default()).await;
        assert_eq!(seen.gaps.len(), gaps, "{:?}", seen.gaps);
        assert!(seen.gaps.iter().all(|gap| gap.what == FactKind::StorePart(StorePart::Certificate)));
        assert_eq!(fact(&seen).certificate, None);
    }
}

struct FixedTls(ChainSeen);

#[async_trait]
impl TlsCalls for FixedTls {
    async fn look(&self, _host: &str, _port: u16) -> Result<ChainSeen, CallError> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn the_certificate_that_ends_first_decides_and_is_seen_even_when_tls_fails() {
    let line = |subject: &str, until: &str| CertificateLine {
        sha256: format!("sha-{subject}"),
        subject: subject.into(),
        issuer: "x".into(),
        names: vec![],
        not_before: "2026-01-01T00:00:00Z".parse().unwrap(),
        not_after: until.parse().unwrap(),
    };
    let chain = vec![line("leaf", "2027-06-01T00:00:00Z"), line("ca", "2026-12-05T00:00:00Z")];
    let tls = FixedTls(ChainSeen { chain, verified_by: "ca:ca.pem".into(), error: None });
    let endpoint = "https://127.0.0.1:9";
    let mut config = crate::store::mock::config(endpoint, "bucket");
    config.attempts = 1;
    let provider = ObjectStore::new(settings(endpoint), Store::open(config), Some(Arc::new(tls)), vec![]);
    let seen = provider.observe(&cx(), &Known::default()).await;
    assert_eq!(seen.gaps.len(), 1, "not reachable all the same");
    let certificate = fact(&seen).certificate.clone().unwrap();
    assert_eq!((certificate.subject.as_str(), certificate.leaf_sha256.as_str()), ("ca", "sha-leaf"));
    assert_eq!(certificate.not_after.to_string(), "2026-12-05T00:00:00Z");
}
