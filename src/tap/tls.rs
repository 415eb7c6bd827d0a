//! TLS: which certificates an endpoint shows, and whether somebody vouches for them.
//!
//! The chain is taken also when it is not trusted, so that "expired" and "unknown authority" can be told with dates and names.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::failure::read_chain;
use super::{CallError, FailureKind};

/// One certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateLine {
    /// SHA-256 of its DER, lower-case hex.
    pub sha256: String,
    /// Subject.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// DNS names and addresses it is for.
    pub names: Vec<String>,
    /// Valid from.
    pub not_before: Timestamp,
    /// Valid until.
    pub not_after: Timestamp,
}

/// What the endpoint showed: the file `NNN/tls/<host>_<port>.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSeen {
    /// Leaf first.
    pub chain: Vec<CertificateLine>,
    /// `system`, `ca:<ref>`, `none`.
    pub verified_by: String,
    /// Why nobody vouches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The seam.
#[async_trait]
pub trait TlsCalls: Send + Sync {
    /// Makes one handshake with `host:port` and closes. An untrusted chain is an answer with `error`, not a failure.
    async fn look(&self, host: &str, port: u16) -> Result<ChainSeen, CallError>;
}

/// The live form.
#[derive(Clone)]
pub struct LiveTls {
    roots: Arc<RootCertStore>,
    verified_by: String,
    timeout: Duration,
}

impl LiveTls {
    /// Trusts the system's authorities.
    pub fn system(timeout: Duration) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Self { roots: Arc::new(roots), verified_by: "system".to_owned(), timeout }
    }

    /// Trusts only the authorities of this PEM; `name` is how the configuration refers to it.
    pub fn with_ca(name: &str, pem: &[u8], timeout: Duration) -> Result<Self, CallError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates_of(pem)?);
        Ok(Self { roots: Arc::new(roots), verified_by: format!("ca:{name}"), timeout })
    }
}

/// Whom a client of ours trusts.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// The system's authorities.
    System,
    /// The authorities of this PEM, and no others.
    Only(&'a [u8]),
    /// Nobody: for plain HTTP, where reading the system's authorities would only take time.
    Nobody,
}

/// The TLS of every client of ours but the SDK's; by ring, whatever the process has installed.
pub fn client_config(trust: Trust<'_>) -> Result<ClientConfig, CallError> {
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Only(pem) => {
            roots.add_parsable_certificates(certificates_of(pem)?);
        }
        Trust::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Trust::Nobody => {}
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| CallError::new(FailureKind::NotSent, error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Reads every certificate of a PEM text. None at all is an error, because a client would then trust nobody.
pub fn certificates_of(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CallError> {
    let bad = |detail: String| CallError::new(FailureKind::NotSent, detail);
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| bad(format!("not a PEM certificate: {error}")))?;
        line_of(&certificate).map_err(|error| bad(format!("certificate {}: {error}", found.len() + 1)))?;
        found.push(certificate);
    }
    if found.is_empty() {
        return Err(bad("no certificate in it (looked for -----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(found)
}

/// Reads one certificate.
pub fn line_of(der: &CertificateDer<'_>) -> Result<CertificateLine, String> {
    let (_, parsed) = x509_parser::parse_x509_certificate(der).map_err(|error| format!("cannot be read: {error}"))?;
    let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| error.to_string());
    let names = match parsed.subject_alternative_name() {
        Ok(Some(extension)) => extension.value.general_names.iter().map(name_text).collect(),
        _ => Vec::new(),
    };
    Ok(CertificateLine {
        sha256: hex(&Sha256::digest(der)),
        subject: parsed.subject().to_string(),
        issuer: parsed.issuer().to_string(),
        names,
        not_before: moment(parsed.validity().not_before.timestamp())?,
        not_after: moment(parsed.validity().not_after.timestamp())?,
    })
}

fn name_text(name: &x509_parser::extensions::GeneralName<'_>) -> String {
    use x509_parser::extensions::GeneralName;
    match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
            Ok(four) => std::net::Ipv4Addr::from(four).to_string(),
            Err(_) => <[u8; 16]>::try_from(*bytes).map_or_else(|_| hex(bytes), |six| std::net::Ipv6Addr::from(six).to_string()),
        },
        other => other.to_string(),
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[async_trait]
impl TlsCalls for LiveTls {
    async fn look(&self, host: &str, port: u16) -> Result<ChainSeen, CallError> {
        let place = format!("{host}:{port}");
        match tokio::time::timeout(self.timeout, self.handshake(host, port)).await {
            Ok(result) => result,
            Err(_) => Err(CallError::new(FailureKind::Timeout, format!("{place}: no TLS handshake within {:?}", self.timeout))),
        }
    }
}

impl LiveTls {
    async fn handshake(&self, host: &str, port: u16) -> Result<ChainSeen, CallError> {
        let place = format!("{host}:{port}");
        let name = ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']').to_owned())
            .map_err(|error| CallError::new(FailureKind::NotSent, format!("{place}: {error}")))?;
        let watcher = Arc::new(Watcher::new(&self.roots)?);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| CallError::new(FailureKind::Tls, error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(watcher.clone())
            .with_no_client_auth();
        let socket = tokio::net::TcpStream::connect((host.trim_start_matches('[').trim_end_matches(']'), port))
            .await
            .map_err(|error| failed(&error, &place))?;
        let connected = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, socket).await;
        let (chain, verdict) = watcher.take();
        if chain.is_empty() {
            return match connected {
                Err(error) => Err(failed(&error, &place)),
                Ok(_) => Err(CallError::new(FailureKind::Malformed, format!("{place}: no certificate shown"))),
            };
        }
        let error = verdict.or_else(|| connected.err().map(|error| error.to_string()));
        let verified_by = if error.is_none() { self.verified_by.clone() } else { "none".to_owned() };
        Ok(ChainSeen { chain, verified_by, error })
    }
}

fn failed(error: &std::io::Error, place: &str) -> CallError {
    let (kind, words) = read_chain(error);
    CallError::new(kind.unwrap_or(FailureKind::Reset), format!("{place}: {words}"))
}

/// Takes the chain down and lets the handshake go on; nothing is sent over the connection, so nothing is entrusted to it.
#[derive(Debug)]
struct Watcher {
    inner: Option<Arc<WebPkiServerVerifier>>,
    seen: Mutex<(Vec<CertificateLine>, Option<String>)>,
    schemes: rustls::crypto::WebPkiSupportedAlgorithms,
}

impl Watcher {
    fn new(roots: &Arc<RootCertStore>) -> Result<Self, CallError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let schemes = provider.signature_verification_algorithms;
        let inner = if roots.is_empty() {
            None // an image without any authority: nobody vouches, and that is the answer
        } else {
            let built = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider).build();
            Some(built.map_err(|error| CallError::new(FailureKind::NotSent, error.to_string()))?)
        };
        Ok(Self { inner, seen: Mutex::new((Vec::new(), None)), schemes })
    }

    fn take(&self) -> (Vec<CertificateLine>, Option<String>) {
        self.seen.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default()
    }
}

impl ServerCertVerifier for Watcher {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let mut chain = Vec::new();
        for der in std::iter::once(leaf).chain(rest) {
            chain.push(line_of(der).map_err(rustls::Error::General)?);
        }
        let verdict = match &self.inner {
            Some(inner) => match inner.verify_server_cert(leaf, rest, name, ocsp, now) {
                Ok(_) => None,
                // A wrong name is told apart from a wrong chain: verify the name alone as well.
                Err(error) => Some(explain(leaf, name, &error)),
            },
            None => Some("no certificate authority is installed on this machine".to_owned()),
        };
        if let Ok(mut seen) = self.seen.lock() {
            *seen = (chain, verdict);
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.supported_schemes()
    }
}

fn explain(leaf: &CertificateDer<'_>, name: &ServerName<'_>, error: &rustls::Error) -> String {
    let fits = ParsedCertificate::try_from(leaf).and_then(|parsed| verify_server_name(&parsed, name));
    match fits {
        Ok(()) => error.to_string(),
        Err(_) => format!("{error}; the certificate is not for {}", name.to_str()),
    }
}
