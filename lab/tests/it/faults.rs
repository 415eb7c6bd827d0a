//! Each fault is what it says, and the twin without it passes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lab::gateway::{Fault, Gateway, Rules, What};
use lab::link::tls::{Certificate, TlsFront};
use lab::link::{Link, Mode, Shape};
use lab::s3::Client;
use lab::webhook::{Manner, Webhook};
use lab::{Tool, need};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn code(answer: &axum::http::Response<Bytes>) -> String {
    let body = String::from_utf8_lossy(answer.body()).into_owned();
    let code = body.split("<Code>").nth(1).and_then(|b| b.split('<').next()).unwrap_or_default();
    format!("{} {code}", answer.status().as_u16()).trim_end().to_owned()
}

#[tokio::test]
async fn the_gateway_refuses_what_r2_refuses_and_passes_the_rest() {
    if need("lab::faults", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let gateway = Gateway::start(weed, Rules::r2()).unwrap();
    let client = Client::new(&gateway.endpoint(), weed.keys().admin()).region("auto");
    let object = |name: &str| format!("/{bucket}/{name}");
    let put = async |name: &str, headers: &[(&str, &str)]| {
        code(&client.send("PUT", &object(name), "", headers, Bytes::from_static(b"x")).await.unwrap())
    };
    assert_eq!(put("fine", &[]).await, "200");
    assert_eq!(put("fine", &[]).await, "429 TooManyRequests");
    assert_eq!(put("tags", &[("x-amz-tagging", "a=b")]).await, "501 NotImplemented");
    assert_eq!(put("acl", &[("x-amz-acl", "private")]).await, "501 NotImplemented");
    assert_eq!(put("one", &[("x-amz-checksum-crc32", "jNwWgw==")]).await, "200");
    assert_eq!(
        put(
            "two",
            &[("x-amz-checksum-crc32", "jNwWgw=="), ("x-amz-checksum-sha256", "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=")]
        )
        .await,
        "400 InvalidRequest"
    );
    let get = async |query: &str| code(&client.send("GET", &format!("/{bucket}"), query, &[], Bytes::new()).await.unwrap());
    assert_eq!(get("list-type=2").await, "200");
    assert_eq!(get("versioning=").await, "501 NotImplemented");
    assert_eq!(get("object-lock=").await, "501 NotImplemented");
    let head = client.send("HEAD", &format!("/{bucket}"), "", &[], Bytes::new()).await.unwrap();
    assert_eq!(head.headers().get("x-amz-bucket-region").unwrap(), "WNAM");
    let frankfurt = Client::new(&gateway.endpoint(), weed.keys().admin()).region("eu-central-1");
    assert_eq!(
        code(&frankfurt.send("GET", &format!("/{bucket}"), "list-type=2", &[], Bytes::new()).await.unwrap()),
        "400 InvalidRegionName"
    );
    gateway.change(|rules| rules.no_checksums = true);
    assert_eq!(put("met", &[("x-amz-checksum-crc32", "jNwWgw==")]).await, "400 InvalidArgument");
    assert!(gateway.seen().len() >= 10);
}

#[tokio::test]
async fn parts_of_unequal_size_are_refused_when_the_upload_is_completed() {
    if need("lab::faults", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let gateway = Gateway::start(weed, Rules::r2()).unwrap();
    let client = Client::new(&gateway.endpoint(), weed.keys().admin()).region("auto");
    for (name, sizes, expected) in [("even", [6, 6, 1], "200"), ("odd", [6, 7, 1], "400 InvalidPart")] {
        let path = format!("/{bucket}/{name}");
        let begun = client.send("POST", &path, "uploads=", &[], Bytes::new()).await.unwrap();
        let body = String::from_utf8(begun.body().to_vec()).unwrap();
        let id = body.split("<UploadId>").nth(1).unwrap().split('<').next().unwrap();
        let mut list = String::from("<CompleteMultipartUpload>");
        for (i, mib) in sizes.iter().enumerate() {
            let part = Bytes::from(vec![7u8; mib * 1024 * 1024]);
            let answer = client.send("PUT", &path, &format!("partNumber={}&uploadId={id}", i + 1), &[], part).await.unwrap();
            let etag = answer.headers().get("etag").unwrap().to_str().unwrap();
            write!(list, "<Part><PartNumber>{}</PartNumber><ETag>{etag}</ETag></Part>", i + 1).unwrap();
        }
        list.push_str("</CompleteMultipartUpload>");
        let done = client.send("POST", &path, &format!("uploadId={id}"), &[], Bytes::from(list)).await.unwrap();
        assert_eq!(code(&done), expected, "{name}");
    }
}

#[tokio::test]
async fn a_wrong_clock_refuses_right_times_and_takes_its_own() {
    if need("lab::faults", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    weed.client().put(&bucket, "o", "x").await.unwrap();
    let gateway = Gateway::start(weed, Rules::default()).unwrap();
    let client = Client::new(&gateway.endpoint(), weed.keys().admin());
    client.get(&bucket, "o").await.unwrap();
    gateway.change(|rules| rules.clock = 600);
    client.get(&bucket, "o").await.unwrap(); // within the 15 minutes, signed again for the server behind
    gateway.change(|rules| rules.clock = 3600);
    let answer = client.send("GET", &format!("/{bucket}/o"), "", &[], Bytes::new()).await.unwrap();
    assert_eq!(code(&answer), "403 RequestTimeTooSkewed");
    assert!(answer.headers().contains_key("date"));
}

#[tokio::test]
async fn keys_locks_rights_and_bursts_are_answered_in_their_own_codes() {
    if need("lab::faults", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    weed.client().put(&bucket, "wals/locked", "x").await.unwrap();
    let gateway = Gateway::start(weed, Rules::default()).unwrap();
    let client = Client::new(&gateway.endpoint(), weed.keys().admin());
    let ask =
        async |method: &str| code(&client.send(method, &format!("/{bucket}/wals/locked"), "", &[], Bytes::new()).await.unwrap());
    gateway.change(|rules| rules.locked = vec!["wals/".into()]);
    assert_eq!(ask("DELETE").await, "403 ObjectLockedByBucketPolicy");
    assert_eq!(ask("PUT").await, "403 ObjectLockedByBucketPolicy");
    assert_eq!(ask("GET").await, "200");
    gateway.change(|rules| rules.slow_down = 2);
    assert_eq!([ask("GET").await, ask("GET").await, ask("GET").await], ["503 SlowDown", "503 SlowDown", "200"]);
    gateway.change(|rules| rules.denied = vec![("GET".into(), "wals/".into())]);
    assert_eq!(ask("GET").await, "403 AccessDenied");
    gateway.change(|rules| rules.unauthorized = vec![weed.keys().admin().id.clone()]);
    assert_eq!(ask("GET").await, "401 Unauthorized");
    gateway.change(|rules| {
        *rules = Rules::default();
        rules.revoked = vec![weed.keys().admin().id.clone()];
    });
    assert_eq!(ask("GET").await, "403 InvalidAccessKeyId");
    gateway.change(|rules| *rules = Rules::default());
    assert_eq!(ask("GET").await, "200");
}

#[tokio::test]
async fn objects_come_half_short_flipped_replaced_or_never() {
    if need("lab::faults", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let whole: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
    weed.client().put(&bucket, "o", whole.clone()).await.unwrap();
    let gateway = Gateway::start(weed, Rules::default()).unwrap();
    let client = Client::new(&gateway.endpoint(), weed.keys().admin());
    let set = |what| gateway.change(|rules| rules.faults = vec![Fault::times("GET", "/o", what, 1)]);
    set(What::Cut(1000));
    assert!(client.get(&bucket, "o").await.is_err(), "a cut body must be an error");
    set(What::Short(1000));
    assert_eq!(client.get(&bucket, "o").await.unwrap(), whole[..1000]);
    set(What::Flip(500));
    assert_ne!(client.get(&bucket, "o").await.unwrap()[500], whole[500]);
    set(What::Replace(Bytes::from_static(b"other")));
    assert_eq!(client.get(&bucket, "o").await.unwrap(), "other");
    set(What::Hang);
    assert!(tokio::time::timeout(Duration::from_millis(300), client.get(&bucket, "o")).await.is_err());
    assert_eq!(client.get(&bucket, "o").await.unwrap(), whole);
}

/// A server that answers each byte with itself.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    address
}

async fn round(port: u16, bytes: usize) -> std::io::Result<Duration> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut read, mut write) = stream.split();
    let data = vec![1u8; bytes];
    let mut back = vec![0u8; bytes];
    let (sent, got) = tokio::join!(write.write_all(&data), read.read_exact(&mut back));
    sent?;
    got?;
    Ok(begin.elapsed())
}

#[tokio::test]
async fn a_link_delays_throttles_cuts_refuses_and_hangs() {
    let server = echo().await;
    let link = Link::start(&server, Shape::default()).unwrap();
    assert!(round(link.port(), 1000).await.unwrap() < Duration::from_millis(30));
    link.shape(Shape { one_way: Duration::from_millis(40), bytes_per_second: None });
    let slow = round(link.port(), 1000).await.unwrap();
    assert!(slow >= Duration::from_millis(80) && slow < Duration::from_millis(200), "{slow:?}");
    link.shape(Shape { one_way: Duration::ZERO, bytes_per_second: Some(1_000_000) });
    let thin = round(link.port(), 500_000).await.unwrap();
    assert!(thin >= Duration::from_millis(400) && thin < Duration::from_millis(1500), "{thin:?}");
    link.shape(Shape::default());
    link.set(Mode::CutOnce(100));
    assert!(round(link.port(), 1000).await.is_err());
    assert!(round(link.port(), 1000).await.is_ok());
    link.set(Mode::Refuse);
    assert!(round(link.port(), 10).await.is_err());
    link.set(Mode::Hang);
    assert!(tokio::time::timeout(Duration::from_millis(300), round(link.port(), 10)).await.is_err());
    assert_eq!(link.connections(), 7);
}

#[tokio::test]
async fn a_tls_front_shows_the_certificate_it_was_asked_for() {
    let server = echo().await;
    for (certificate, fine) in [
        (Certificate::GoodFor(10), true),
        (Certificate::Expired, false),
        (Certificate::NotYet, false),
        (Certificate::OtherName, false),
    ] {
        let front = TlsFront::start(&server, certificate).unwrap();
        assert_eq!(handshake(&front, true).await, fine, "{certificate:?}");
        assert!(!handshake(&front, false).await, "an unknown authority must not be trusted");
    }
}

async fn handshake(front: &TlsFront, trusted: bool) -> bool {
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    if trusted {
        roots.add(rustls::pki_types::CertificateDer::from_pem_slice(front.authority_pem().as_bytes()).unwrap()).unwrap();
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let address = front.endpoint().trim_start_matches("https://").to_owned();
    let stream = TcpStream::connect(&address).await.unwrap();
    connector.connect(rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap(), stream).await.is_ok()
}

#[tokio::test]
async fn a_webhook_records_fails_and_hangs() {
    let hook = Webhook::start().unwrap();
    let post = async |body: &str| {
        let address = hook.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("POST /ops HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let ended = tokio::time::timeout(Duration::from_millis(500), stream.read_to_string(&mut answer)).await;
        ended.ok().map(|_| answer.split(' ').nth(1).unwrap_or_default().to_owned())
    };
    assert_eq!(post("{\"a\":1}").await.as_deref(), Some("200"));
    hook.answer(Manner::Status(500));
    assert_eq!(post("two").await.as_deref(), Some("500"));
    hook.answer(Manner::Hang);
    assert_eq!(post("three").await, None);
    let all = hook.wait_for(3, Duration::from_secs(1)).await;
    assert_eq!(all[0].json()["a"], 1);
    assert_eq!(all.iter().map(|r| r.path.as_str()).collect::<Vec<_>>(), ["/ops"; 3]);
}
