//! Looks at certificates.

use std::sync::Arc;
use std::time::Duration;

use dalsegno::tap::tls::LiveTls;
use dalsegno::tap::{FailureKind, Recorder, Recording, TlsCalls};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate authority and a leaf for `localhost`, made once with openssl; valid 100 years.
const CA: &[u8] = include_bytes!("ca.pem");
const CHAIN: &[u8] = include_bytes!("leaf.pem");
const KEY: &[u8] = include_bytes!("leaf.key");

async fn server() -> u16 {
    let chain = CertificateDer::pem_slice_iter(CHAIN).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let _ = acceptor.accept(socket).await;
        }
    });
    port
}

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_chain_under_a_configured_authority_is_vouched_for_and_ends_with_it() {
    let port = server().await;
    let seen = LiveTls::with_ca("ca.pem", CA, PATIENCE).unwrap().look("localhost", port).await.unwrap();
    assert_eq!((seen.verified_by.as_str(), &seen.error), ("ca:ca.pem", &None));
    assert_eq!(seen.chain.len(), 2, "{seen:?}");
    assert!(seen.chain[0].names.contains(&"localhost".to_owned()));
    assert!(seen.chain[1].subject.contains("dalsegno test CA"));
}

#[tokio::test]
async fn an_unknown_authority_and_a_wrong_name_are_told_and_the_chain_is_there_all_the_same() {
    let port = server().await;
    let unknown = LiveTls::system(PATIENCE).look("localhost", port).await.unwrap();
    assert_eq!(unknown.verified_by, "none");
    assert!(unknown.error.is_some());
    assert_eq!(unknown.chain.len(), 1);
    let wrong = LiveTls::with_ca("ca.pem", CA, PATIENCE).unwrap().look("127.0.0.1", port).await.unwrap();
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
    let port = server().await;
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let tls = pass.tls(Arc::new(LiveTls::with_ca("ca.pem", CA, PATIENCE).unwrap()));
    let live = tls.look("localhost", port).await.unwrap();
    tls.look("127.0.0.1", 9).await.unwrap_err();
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replay = Recording::open(folder.path()).unwrap().passes().next().unwrap().tls().unwrap();
    assert_eq!(replay.look("localhost", port).await.unwrap(), live);
    assert_eq!(replay.look("127.0.0.1", 9).await.unwrap_err().kind, FailureKind::Refused);
    assert_eq!(replay.look("other", 443).await.unwrap_err().kind, FailureKind::NotRecorded);
}
