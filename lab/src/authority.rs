//! A certificate authority of the lab, and the server certificates that it signs.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::LabError;

/// An authority; each has its own key, and nobody trusts it who was not given its certificate.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key (PKCS#8).
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Authority, LabError> {
        let issuer = || -> Result<_, rcgen::Error> {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
            params.distinguished_name.push(DnType::CommonName, "dalsegno lab authority");
            CertifiedIssuer::self_signed(params, KeyPair::generate()?)
        };
        Ok(Authority { issuer: issuer().map_err(|e| wrong(&e))? })
    }

    /// Its certificate: who trusts this trusts what it signs.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server's certificate for these names (IP addresses too), good for some days.
    pub fn server(&self, names: &[&str]) -> Result<Identity, LabError> {
        self.server_between(names, -30, 30)
    }

    /// The same, good from one day to another, both counted from today (yesterday: -1).
    pub fn server_between(&self, names: &[&str], from: i64, to: i64) -> Result<Identity, LabError> {
        let identity = || -> Result<_, rcgen::Error> {
            let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
            params.distinguished_name.push(DnType::CommonName, "dalsegno lab server");
            let ((year, month, of_month), (last_year, last_month, last_of_month)) = (day(from), day(to));
            params.not_before = rcgen::date_time_ymd(year, month, of_month);
            params.not_after = rcgen::date_time_ymd(last_year, last_month, last_of_month);
            let key = KeyPair::generate()?;
            let leaf = params.signed_by(&key, &self.issuer)?;
            Ok(Identity { certificate: leaf.pem(), key: key.serialize_pem() })
        };
        identity().map_err(|e| wrong(&e))
    }

    /// Connects as a client that trusts nobody but this authority.
    pub(crate) fn connector(&self) -> Result<TlsConnector, LabError> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.issuer.der().clone()).map_err(|e| wrong(&e))?;
        let config = rustls::ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(&e))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

impl Identity {
    /// Accepts TLS with this certificate (HTTP/1.1 only: no protocol is negotiated).
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, LabError> {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| LabError::Other(format!("a certificate of the lab: {e:?}")))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|e| LabError::Other(format!("a key of the lab: {e:?}")))?;
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(&e))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|e| wrong(&e))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The name of a server on this machine.
pub(crate) fn loopback() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into())
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Installs ring as the process's provider, which the Kubernetes client uses; whoever was first wins.
pub(crate) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default(); // an error means that one is installed
}

fn wrong(error: &dyn std::fmt::Display) -> LabError {
    LabError::Other(format!("a certificate for the lab: {error}"))
}

/// Year, month and day, so many days from today.
fn day(offset: i64) -> (i32, u8, u8) {
    let at = Timestamp::now() + SignedDuration::from_hours(24 * offset);
    let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    (i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs())
}
