//! What we never put on the wire unless asked: checksum headers and trailers, which stores refuse.

use bytes::Bytes;
use dalsegno::tap::ObjectCalls;
use dalsegno::tap::objects::{ChecksumForm, GetAsk, ListAsk, PutAsk};

use super::mock::{Asked, Mock, Reply, list_page};

fn answer(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "GET" if asked.query.contains("list-type=2") => list_page(&[], true, None),
        "GET" | "HEAD" => Reply::new(200, "hello").with("etag", "\"abc\""),
        "DELETE" => Reply::new(204, ""),
        "POST" if asked.query.contains("uploads") => {
            Reply::new(200, "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
        }
        "POST" => Reply::new(200, "<CompleteMultipartUploadResult><ETag>\"x-1\"</ETag></CompleteMultipartUploadResult>"),
        _ => Reply::new(200, "").with("etag", "\"abc\""),
    }
}

async fn all_calls(calls: &dyn ObjectCalls) {
    let put = PutAsk { key: "k".into(), bytes: Bytes::from_static(b"hello"), ..PutAsk::default() };
    calls.put(&put).await.unwrap();
    calls.get(&GetAsk { key: "k".into(), ..GetAsk::default() }).await.unwrap();
    calls.head("k").await.unwrap();
    calls.list(&ListAsk::default()).await.unwrap();
    calls.delete("k").await.unwrap();
    let upload = calls.create_upload("k", &std::collections::BTreeMap::default()).await.unwrap().value;
    let tag = calls.upload_part("k", &upload, 1, Bytes::from_static(b"hello")).await.unwrap().value;
    calls.complete_upload("k", &upload, &[(1, tag)]).await.unwrap();
}

fn is_checksum(name: &str, value: &str) -> bool {
    name.starts_with("x-amz-checksum-")
        || ["x-amz-trailer", "x-amz-sdk-checksum-algorithm", "expect"].contains(&name)
        || value.starts_with("STREAMING-")
}

#[tokio::test]
async fn no_call_sends_a_checksum_header_or_a_trailer() {
    let mock = Mock::start(answer).await;
    all_calls(&dalsegno::store::s3::S3::new(&mock.config()).unwrap()).await;
    let asked = mock.asked();
    assert_eq!(asked.len(), 8);
    for one in asked {
        for (name, value) in &one.headers {
            assert!(!is_checksum(name, value), "{} {} sent {name}: {value}", one.method, one.path);
        }
        assert!(one.path.starts_with("/bucket"), "path style: {}", one.path);
        assert!(one.header("authorization").unwrap().contains("/us-east-1/s3/"));
    }
}

#[tokio::test]
async fn a_checksum_is_sent_when_it_is_asked_for() {
    let mock = Mock::start(answer).await;
    let calls = dalsegno::store::s3::S3::new(&mock.config()).unwrap();
    for checksum in [ChecksumForm::Header, ChecksumForm::Trailer] {
        let put = PutAsk { key: "k".into(), bytes: Bytes::from_static(b"hello"), checksum, ..PutAsk::default() };
        calls.put(&put).await.unwrap();
    }
    let asked = mock.asked();
    assert!(asked[0].header("x-amz-checksum-crc32").is_some());
    assert_eq!(asked[1].header("x-amz-trailer"), Some("x-amz-checksum-crc32"));
    assert!(asked[1].header("x-amz-content-sha256").unwrap().starts_with("STREAMING-"));
}
