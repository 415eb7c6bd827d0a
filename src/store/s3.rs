//! The live form of the calls: aws-sdk-s3 (listings apart, see [`super::list_live`]), with every setting that a store other than Amazon's needs.
//!
//! Why each setting: BehaviorVersion is pinned so that an upgrade changes nothing silently; checksums only when required, because
//! R2, older Ceph and others refuse the default headers (<https://github.com/vmware-tanzu/velero/issues/7940>); path style,
//! because few stores have wildcard names; credentials only from our configuration, because the default chain waits on a metadata
//! service and picks up other accounts' keys; skew correction stays on and the skew is measured beside it.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Credentials, Region, RequestChecksumCalculation, ResponseChecksumValidation, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};

use super::StoreConfig;
use super::endpoint::endpoint_host;
use super::list_live::ListClient;
use crate::tap::tls::certificates_of;
use crate::tap::{CallError, FailureKind};

/// Below one byte a second for so long, a stream counts as stalled.
const STALL_GRACE: Duration = Duration::from_secs(20);
/// One attempt, up to the head of the answer.
const ATTEMPT: Duration = Duration::from_mins(5);

/// The live form.
#[derive(Clone, Debug)]
pub struct S3 {
    pub(super) client: aws_sdk_s3::Client,
    pub(super) lists: Arc<ListClient>,
    pub(super) bucket: String,
}

impl S3 {
    /// Builds the client; makes no request.
    pub fn new(config: &StoreConfig) -> Result<Self, CallError> {
        check_endpoint(&config.endpoint)?;
        let credentials = Credentials::new(
            config.access_key_id.expose(),
            config.secret_access_key.expose(),
            config.session_token.as_ref().map(|token| token.expose().to_owned()),
            None,
            "dalsegno",
        );
        let lists = Arc::new(ListClient::new(config, credentials.clone())?);
        let retries = RetryConfig::standard()
            .with_max_attempts(config.attempts.max(1))
            .with_initial_backoff(Duration::from_secs(1))
            .with_max_backoff(Duration::from_secs(20));
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(config.connect_timeout)
            .read_timeout(config.read_timeout)
            .operation_attempt_timeout(ATTEMPT)
            .build();
        let sdk = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .http_client(http_client(&config.endpoint, config.ca_pem.as_deref())?)
            .endpoint_url(config.endpoint.trim_end_matches('/'))
            .region(Region::new(config.region.clone()))
            .credentials_provider(credentials)
            .force_path_style(true)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .retry_config(retries)
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::enabled().grace_period(STALL_GRACE).build())
            .build();
        Ok(Self { client: aws_sdk_s3::Client::from_conf(sdk), lists, bucket: config.bucket.clone() })
    }
}

/// An endpoint is scheme, host and port. Anything else would silently become part of every key or be dropped.
fn check_endpoint(endpoint: &str) -> Result<(), CallError> {
    let bad = |why: &str| Err(CallError::new(FailureKind::NotSent, format!("endpoint \"{endpoint}\" {why}")));
    let Some((scheme, rest)) = endpoint.split_once("://") else {
        return bad("has no scheme: write https://host:port");
    };
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return bad("is neither http nor https");
    }
    let authority = rest.trim_end_matches('/');
    if authority.contains(['/', '?', '#']) {
        return bad("has a path: only scheme, host and port belong there; the bucket is a setting of its own");
    }
    if authority.contains('@') {
        return bad("has credentials in it: keys are settings of their own");
    }
    if endpoint_host(endpoint).is_none() {
        return bad("has no host");
    }
    Ok(())
}

fn http_client(endpoint: &str, ca_pem: Option<&[u8]>) -> Result<SharedHttpClient, CallError> {
    let builder = aws_smithy_http_client::Builder::new();
    if endpoint.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")) {
        return Ok(builder.build_http());
    }
    let builder = builder.tls_provider(Provider::Rustls(CryptoMode::Ring));
    let Some(pem) = ca_pem else { return Ok(builder.build_https()) };
    // The connector panics on malformed PEM, and trusts nobody when there is no certificate in it: look first.
    certificates_of(pem).map_err(|error| error.with(|broken| broken.detail.insert_str(0, "ca: ")))?;
    let trust = TrustStore::empty().with_native_roots(true).with_pem_certificate(pem);
    let context = TlsContext::builder()
        .with_trust_store(trust)
        .build()
        .map_err(|error| CallError::new(FailureKind::NotSent, format!("ca: {error}")))?;
    Ok(builder.tls_context(context).build_https())
}
