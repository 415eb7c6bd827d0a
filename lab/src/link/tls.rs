//! A TLS front for a plain server, with a certificate of chosen virtue.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::address;
use crate::webhook::listen;
use crate::{LabError, background};

/// The certificate that the front shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// For 127.0.0.1 and localhost, good for this many days more.
    GoodFor(i64),
    /// Right name, ended yesterday.
    Expired,
    /// Right name, begins tomorrow.
    NotYet,
    /// Good, but for another host.
    OtherName,
}

/// A running front; gone when dropped.
#[derive(Debug)]
pub struct TlsFront {
    port: u16,
    authority: String,
    task: tokio::task::JoinHandle<()>,
}

impl TlsFront {
    /// Puts TLS before a plain server.
    pub fn start(upstream: &str, certificate: Certificate) -> Result<TlsFront, LabError> {
        let upstream = address(upstream)?;
        let (config, authority) = config(certificate).map_err(|e| LabError::Other(format!("a certificate for the lab: {e}")))?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                accept(&listener, upstream, &acceptor).await;
            }
        });
        Ok(TlsFront { port, authority, task })
    }

    /// `https://127.0.0.1:<port>`.
    pub fn endpoint(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The authority that signed the certificate, as PEM. Who does not trust it must refuse.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn config(certificate: Certificate) -> Result<(rustls::ServerConfig, String), Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "dalsegno lab authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let (names, from, to) = match certificate {
        Certificate::GoodFor(days) => (["127.0.0.1", "localhost"], -30, days),
        Certificate::Expired => (["127.0.0.1", "localhost"], -30, -1),
        Certificate::NotYet => (["127.0.0.1", "localhost"], 1, 30),
        Certificate::OtherName => (["s3.elsewhere.invalid", "minio.elsewhere.invalid"], -30, 30),
    };
    let mut params = CertificateParams::new(names.map(str::to_owned).to_vec())?;
    params.distinguished_name.push(DnType::CommonName, "dalsegno lab server");
    let (year, month, of_month) = day(from);
    params.not_before = rcgen::date_time_ymd(year, month, of_month);
    let (year, month, of_month) = day(to);
    params.not_after = rcgen::date_time_ymd(year, month, of_month);
    let key = KeyPair::generate()?;
    let leaf = params.signed_by(&key, &authority)?;
    let chain = vec![CertificateDer::from(leaf.der().to_vec())];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok((config, authority.pem()))
}

/// Year, month and day, so many days from today.
fn day(offset: i64) -> (i32, u8, u8) {
    let at = Timestamp::now() + SignedDuration::from_hours(24 * offset);
    let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    (i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs())
}

async fn accept(listener: &TcpListener, upstream: SocketAddr, acceptor: &TlsAcceptor) {
    let mut open = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while open.try_join_next().is_some() {}
        let acceptor = acceptor.clone();
        open.spawn(async move {
            let Ok(mut client) = acceptor.accept(client).await else { return };
            let Ok(mut server) = TcpStream::connect(upstream).await else { return };
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        });
    }
}
