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

use super::failure::read_chain;
use super::{CallError, FailureKind};
use crate::domain::{hex, sha256_hex};

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
    /// Who may vouch, in this order, each with the name that is told.
    anchors: Vec<(Arc<RootCertStore>, String)>,
    /// Configured authorities: they end as well, and take the chain with them.
    configured: Vec<CertificateLine>,
    timeout: Duration,
}

impl LiveTls {
    /// Trusts the system's authorities.
    pub fn system(timeout: Duration) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Self { anchors: vec![(Arc::new(roots), "system".to_owned())], configured: Vec::new(), timeout }
    }

    /// Trusts the authorities of this PEM, and then the system's; `name` is how the configuration refers to the PEM.
    pub fn with_ca(name: &str, pem: &[u8], timeout: Duration) -> Result<Self, CallError> {
        let certificates = certificates_of(pem)?;
        let mut live = Self::system(timeout);
        live.configured = certificates.iter().filter_map(|der| line_of(der).ok()).collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        live.anchors.insert(0, (Arc::new(roots), format!("ca:{name}")));
        Ok(live)
    }

    /// The shown chain, with the configured authority at its end when that is what it hangs on.
    fn with_authority(&self, mut chain: Vec<CertificateLine>) -> Vec<CertificateLine> {
        let authority = self.configured.iter().find(|ca| {
            chain.last().is_some_and(|last| last.issuer == ca.subject) && chain.iter().all(|line| line.sha256 != ca.sha256)
        });
        chain.extend(authority.cloned());
        chain
    }
}

/// Whom a client of ours trusts.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// The system's authorities.
    System,
    /// The authorities of this PEM beside the system's.
    Also(&'a [u8]),
    /// Nobody: for plain HTTP, where reading the system's authorities would only take time.
    Nobody,
}

/// The TLS of every client of ours but the SDK's; by ring, whatever the process has installed.
pub fn client_config(trust: Trust<'_>) -> Result<ClientConfig, CallError> {
    let mut roots = RootCertStore::empty();
    if let Trust::Also(pem) = trust {
        roots.add_parsable_certificates(certificates_of(pem)?);
    }
    if !matches!(trust, Trust::Nobody) {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
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
        sha256: sha256_hex(der),
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
        let watcher = Arc::new(Watcher::new(&self.anchors)?);
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
        let Watched { chain, verified_by, error: verdict } = watcher.take();
        if chain.is_empty() {
            return match connected {
                Err(error) => Err(failed(&error, &place)),
                Ok(_) => Err(CallError::new(FailureKind::Malformed, format!("{place}: no certificate shown"))),
            };
        }
        let error = verdict.or_else(|| connected.err().map(|error| error.to_string()));
        let verified_by = verified_by.filter(|_| error.is_none()).unwrap_or_else(|| "none".to_owned());
        Ok(ChainSeen { chain: self.with_authority(chain), verified_by, error })
    }
}

fn failed(error: &std::io::Error, place: &str) -> CallError {
    let (kind, words) = read_chain(error);
    CallError::new(kind.unwrap_or(FailureKind::Reset), format!("{place}: {words}"))
}

/// Takes the chain down and lets the handshake go on; nothing is sent over the connection, so nothing is entrusted to it.
#[derive(Debug)]
struct Watcher {
    verifiers: Vec<(Arc<WebPkiServerVerifier>, String)>,
    seen: Mutex<Watched>,
    schemes: rustls::crypto::WebPkiSupportedAlgorithms,
}

#[derive(Debug, Default)]
struct Watched {
    chain: Vec<CertificateLine>,
    verified_by: Option<String>,
    error: Option<String>,
}

impl Watcher {
    fn new(anchors: &[(Arc<RootCertStore>, String)]) -> Result<Self, CallError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let schemes = provider.signature_verification_algorithms;
        let mut verifiers = Vec::new();
        for (roots, name) in anchors.iter().filter(|(roots, _)| !roots.is_empty()) {
            let built = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone()).build();
            verifiers.push((built.map_err(|error| CallError::new(FailureKind::NotSent, error.to_string()))?, name.clone()));
        }
        Ok(Self { verifiers, seen: Mutex::default(), schemes })
    }

    fn take(&self) -> Watched {
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
        let mut watched = Watched { chain, ..Watched::default() };
        for (verifier, by) in &self.verifiers {
            match verifier.verify_server_cert(leaf, rest, name, ocsp, now) {
                Ok(_) => {
                    watched.verified_by = Some(by.clone());
                    watched.error = None;
                    break;
                }
                // The first says why: a configured authority is what the owner meant.
                Err(error) => watched.error = watched.error.take().or_else(|| Some(explain(leaf, name, &error))),
            }
        }
        if self.verifiers.is_empty() {
            watched.error = Some("no certificate authority is installed on this machine".to_owned());
        }
        if let Ok(mut seen) = self.seen.lock() {
            *seen = watched;
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
