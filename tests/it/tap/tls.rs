//! Looks at certificates.

use std::sync::Arc;
use std::time::Duration;

use dalsegno::tap::tls::LiveTls;
use dalsegno::tap::{FailureKind, Recorder, Recording, TlsCalls};
use lab::link::tls::{Certificate, TlsFront};

/// A server with a certificate of the lab's authority for `localhost` and 127.0.0.1, or for another name: its port, the authority,
/// and what keeps it alive.
fn server(certificate: Certificate) -> (u16, Vec<u8>, TlsFront) {
    // Nobody is behind it: only the handshake is looked at.
    let front = TlsFront::start("http://127.0.0.1:9", certificate).unwrap();
    let port = front.endpoint().rsplit(':').next().unwrap().parse().unwrap();
    (port, front.authority_pem().as_bytes().to_vec(), front)
}

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_chain_under_a_configured_authority_is_vouched_for_and_ends_with_it() {
    let (port, ca, _front) = server(Certificate::GoodFor(30));
    let seen = LiveTls::with_ca("ca.pem", &ca, PATIENCE).unwrap().look("localhost", port).await.unwrap();
    assert_eq!((seen.verified_by.as_str(), &seen.error), ("ca:ca.pem", &None));
    assert_eq!(seen.chain.len(), 2, "{seen:?}");
    assert!(seen.chain[0].names.contains(&"localhost".to_owned()));
    assert!(seen.chain[1].subject.contains("dalsegno lab authority"));
}

#[tokio::test]
async fn an_unknown_authority_and_a_wrong_name_are_told_and_the_chain_is_there_all_the_same() {
    let (port, _, _front) = server(Certificate::GoodFor(30));
    let unknown = LiveTls::system(PATIENCE).look("localhost", port).await.unwrap();
    assert_eq!(unknown.verified_by, "none");
    assert!(unknown.error.is_some());
    assert_eq!(unknown.chain.len(), 1);
    let (elsewhere, its_ca, _other) = server(Certificate::OtherName);
    let wrong = LiveTls::with_ca("ca.pem", &its_ca, PATIENCE).unwrap().look("127.0.0.1", elsewhere).await.unwrap();
    assert!(wrong.error.as_deref().unwrap().contains("not for 127.0.0.1"), "{wrong:?}");
}

#[tokio::test]
async fn no_tls_at_all_is_a_failure() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let closed = LiveTls::system(PATIENCE).look("127.0.0.1", 9).await.unwrap_err();
    assert_eq!(closed.kind, FailureKind::Refused);
    let silent = LiveTls::system(Duration::from_millis(200)).look("127.0.0.1", port).await.unwrap_err();
    assert_eq!(silent.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn a_recorded_look_is_replayed() {
    let (port, ca, _front) = server(Certificate::GoodFor(30));
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let tls = pass.tls(Arc::new(LiveTls::with_ca("ca.pem", &ca, PATIENCE).unwrap()));
    let live = tls.look("localhost", port).await.unwrap();
    tls.look("127.0.0.1", 9).await.unwrap_err();
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replay = Recording::open(folder.path()).unwrap().passes().next().unwrap().tls().unwrap();
    assert_eq!(replay.look("localhost", port).await.unwrap(), live);
    assert_eq!(replay.look("127.0.0.1", 9).await.unwrap_err().kind, FailureKind::Refused);
    assert_eq!(replay.look("other", 443).await.unwrap_err().kind, FailureKind::NotRecorded);
}
