//! Each kind of failure has its own words, its own code and its own hint.

use std::collections::BTreeSet;
use std::time::Duration;

use dalsegno::domain::{Denied, Explained};
use dalsegno::store::{Store, StoreError};

use super::mock::{Mock, Reply, config};

async fn get_error(reply: Reply) -> StoreError {
    let mock = Mock::start(move |_| reply.clone()).await;
    mock.store().get("k", 1000).await.unwrap_err()
}

async fn head_error(reply: Reply) -> StoreError {
    let mock = Mock::start(move |_| reply.clone()).await;
    mock.store().head("k").await.unwrap_err()
}

#[tokio::test]
async fn every_answer_finds_its_kind() {
    let table = [
        (Reply::error(404, "NoSuchKey", ""), "store-no-such-key"),
        (Reply::error(404, "NoSuchBucket", ""), "store-no-such-bucket"),
        (Reply::error(403, "AccessDenied", ""), "store-access-denied"),
        (Reply::error(403, "InvalidAccessKeyId", ""), "store-keys-refused"),
        (Reply::error(403, "SignatureDoesNotMatch", ""), "store-keys-refused"),
        (Reply::error(401, "Unauthorized", ""), "store-keys-refused"),
        (Reply::error(400, "ExpiredToken", ""), "store-keys-refused"),
        (Reply::error(400, "InvalidRegionName", ""), "store-wrong-region"),
        (Reply::error(301, "PermanentRedirect", "").with("x-amz-bucket-region", "eu-west-1"), "store-wrong-region"),
        (Reply::error(403, "RequestTimeTooSkewed", ""), "store-clock-skew"),
        (Reply::error(503, "SlowDown", ""), "store-throttled"),
        (Reply::error(503, "SlowDownRead", ""), "store-throttled"),
        (Reply::error(429, "TooManyRequests", "").with("retry-after", "7"), "store-throttled"),
        (Reply::new(503, "<html>upstream</html>"), "store-throttled"),
        (Reply::error(500, "InternalError", ""), "store-error-answer"),
        (Reply::error(507, "XMinioStorageFull", ""), "store-error-answer"),
        (Reply::error(501, "NotImplemented", ""), "store-not-implemented"),
        (Reply::error(412, "PreconditionFailed", ""), "store-precondition-failed"),
        (Reply::error(416, "InvalidRange", ""), "store-range-outside"),
    ];
    for (reply, code) in table {
        let error = get_error(reply.clone()).await;
        assert_eq!(error.code(), code, "{reply:?} gave {error:?}");
        assert!(!error.hint().unwrap().is_empty());
        assert!(error.to_string().starts_with("mock: GetObject on bucket/k: "), "{error}");
        assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("very-secret"));
    }
}

#[tokio::test]
async fn the_region_that_is_wanted_is_named() {
    let message = "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-west-1'";
    let error = get_error(Reply::error(400, "AuthorizationHeaderMalformed", message)).await;
    assert!(matches!(&error, StoreError::Region { wanted: Some(region), .. } if region == "eu-west-1"), "{error:?}");
    assert!(error.hint().unwrap().contains("region: eu-west-1"));
    let garage = "Authorization header malformed, unexpected scope: 20260930/us-east-1/s3/aws4_request";
    let error = get_error(Reply::error(400, "AuthorizationHeaderMalformed", garage)).await;
    assert_eq!(error.code(), "store-keys-refused", "no region is named there, so none is guessed");
}

#[tokio::test]
async fn a_clock_that_is_off_by_an_hour_is_told_with_its_hours_even_where_the_answer_has_no_code() {
    let hour_ahead = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let date = jiff::fmt::strtime::format("%a, %d %b %Y %H:%M:%S GMT", &hour_ahead.to_zoned(jiff::tz::TimeZone::UTC)).unwrap();
    for error in [
        get_error(Reply::error(403, "RequestTimeTooSkewed", "too far").with("date", &date)).await,
        head_error(Reply::new(403, "").with("date", &date)).await,
    ] {
        let StoreError::ClockSkew { seconds: Some(seconds), .. } = error else { panic!("{error:?}") };
        assert!((3_598.0..3_603.0).contains(&seconds), "{seconds}");
        assert!(error.to_string().contains("behind the store's"), "{error}");
    }
    let right = head_error(Reply::new(403, "")).await;
    assert!(matches!(right, StoreError::AccessDenied { .. }), "a plain 403 is not the clock: {right:?}");
}

#[tokio::test]
async fn dns_refused_tls_and_silence_are_told_apart() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let ask = |endpoint: &str| {
        let mut config = config(endpoint, "bucket");
        config.attempts = 1;
        config.read_timeout = Duration::from_millis(300);
        config.connect_timeout = Duration::from_secs(2);
        async move { Store::open(config).unwrap().head_bucket().await.unwrap_err() }
    };
    let dns = ask("http://no-such-host.invalid:9000").await;
    assert!(matches!(dns, StoreError::Dns { .. }), "{dns:?}");
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let refused = ask(&format!("http://{closed}")).await;
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    assert_eq!(refused.denied().0, Denied::Refused);
    let mock = Mock::start(|_| Reply { delay: Duration::from_secs(5), ..Reply::new(200, "") }).await;
    let silent = ask(&mock.endpoint).await;
    assert!(matches!(silent, StoreError::Timeout { .. }), "{silent:?}");
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    let server = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut socket, _) = plain.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    });
    let tls = ask(&format!("https://{address}")).await;
    server.abort();
    assert!(matches!(tls, StoreError::Tls { .. }), "{tls:?}");
    let codes: BTreeSet<_> = [dns, refused, silent, tls].iter().map(Explained::code).collect();
    assert_eq!(codes.len(), 4);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_never_a_whole_object() {
    let reply = Reply { promised: Some(100), ..Reply::new(200, "only this").with("etag", "\"a\"") };
    let error = get_error(reply).await;
    assert!(matches!(error, StoreError::Cut { .. } | StoreError::Truncated { .. }), "{error:?}");
    assert!(error.is_passing());
    assert!(error.to_string().contains("of 100 bytes"), "{error}");
    let hang_up = get_error(Reply { hang_up: true, ..Reply::new(200, "") }).await;
    assert!(hang_up.is_passing(), "{hang_up:?}");
}

#[tokio::test]
async fn a_store_that_ignores_the_range_is_caught() {
    let mock = Mock::start(|_| Reply::new(200, "0123456789").with("etag", "\"a\"")).await;
    let error = mock.store().get_range("k", 4, 3).await.unwrap_err();
    assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
}

#[tokio::test]
async fn slow_down_is_asked_again_and_each_try_is_counted() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let mock = Mock::start(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply::error(503, "SlowDown", ""),
        _ => Reply::new(200, "fine").with("etag", "\"a\""),
    })
    .await;
    let mut config = mock.config();
    config.attempts = 3;
    let store = Store::open(config).unwrap();
    assert_eq!(store.get("k", 100).await.unwrap().bytes, "fine".as_bytes());
    let requests = store.requests();
    assert_eq!((requests.class_b, requests.bytes_in), (2, 4));
}

#[test]
fn a_bad_endpoint_or_certificate_is_refused_before_any_request() {
    for endpoint in ["minio.local:9000", "https://h:9000/bucket", "ftp://h", "https://user:pw@h", "https://"] {
        let error = Store::open(config(endpoint, "b")).unwrap_err();
        assert!(matches!(error, StoreError::Config { .. }), "{endpoint}: {error:?}");
    }
    for pem in ["", "not pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n"]
    {
        let mut config = config("https://h:9000", "b");
        config.ca_pem = Some(pem.into());
        let error = Store::open(config).unwrap_err();
        assert!(matches!(error, StoreError::Config { .. }), "{pem:?}: {error:?}");
    }
}

#[tokio::test]
async fn https_to_a_port_that_speaks_plain_http_is_told_so() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let _ = rustls::crypto::ring::default_provider().install_default();
    // What servers of plain http say to a TLS greeting.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 512]).await;
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    let https = endpoint.replace("http://", "https://");
    let store = Store::open(dalsegno::store::StoreConfig { attempts: 1, ..config(&https, "b") }).unwrap();
    for error in [store.peek("").await.unwrap_err(), store.get("k", 9).await.unwrap_err()] {
        assert!(matches!(error, StoreError::Tls { .. }), "{error:?}");
        let hint = error.hint().unwrap();
        assert!(hint.contains(&format!("endpoint: {endpoint}")), "{hint}");
    }
}

#[tokio::test]
async fn a_store_that_never_answered_is_not_asked_for_long_and_one_that_did_is() {
    let nobody = Store::open(dalsegno::store::StoreConfig { attempts: 9, ..config("http://127.0.0.1:1", "b") }).unwrap();
    let began = std::time::Instant::now();
    assert!(matches!(nobody.peek("").await.unwrap_err(), StoreError::Refused { .. }));
    assert!(began.elapsed() < Duration::from_secs(18), "{:?}", began.elapsed());
    assert!(!nobody.has_answered());
    let refusing = Mock::start(|_| Reply::error(403, "AccessDenied", "")).await;
    let store = refusing.store();
    store.peek("").await.unwrap_err();
    assert!(store.has_answered(), "a refusal is an answer");
}
