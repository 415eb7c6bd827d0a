//! What an endpoint tells: host, port, family, region.
//!
//! AWS <https://docs.aws.amazon.com/general/latest/gr/s3.html>, R2 <https://developers.cloudflare.com/r2/api/s3/api/#bucket-region>.

use crate::domain::Dialect;

/// R2's host names end in this, in every jurisdiction.
const R2_HOST: &str = ".r2.cloudflarestorage.com";
/// AWS's host names.
const AWS_HOST: &str = ".amazonaws.com";
/// Those in China.
const AWS_CHINA_HOST: &str = ".amazonaws.com.cn";

/// The family that an endpoint's host name gives away.
pub fn dialect_of(endpoint: &str) -> Dialect {
    let host = endpoint_host(endpoint).map(|(host, _)| host).unwrap_or_default();
    if host.ends_with(R2_HOST) {
        Dialect::R2
    } else if host.ends_with(AWS_HOST) || host.ends_with(AWS_CHINA_HOST) {
        Dialect::Aws
    } else {
        Dialect::Other
    }
}

/// What the configuration says, else what the `Server` header gives away.
pub fn dialect_shown(configured: Dialect, server: Option<&str>) -> Dialect {
    if configured != Dialect::Other {
        return configured;
    }
    let server = server.unwrap_or_default().to_ascii_lowercase();
    let known = [
        ("minio", Dialect::Minio),
        ("seaweedfs", Dialect::Seaweedfs),
        ("amazons3", Dialect::Aws),
        ("garage", Dialect::Garage),
        ("ceph", Dialect::Ceph),
    ];
    known.into_iter().find(|(word, _)| server.contains(word)).map_or(Dialect::Other, |(_, dialect)| dialect)
}

/// The region to sign with when the configuration names none: R2 `auto`, Garage `garage`, AWS what the host name says
/// (`s3.eu-central-1.amazonaws.com`), else `us-east-1`.
pub fn default_region(dialect: Dialect, endpoint: &str) -> String {
    let region = match dialect {
        Dialect::R2 => "auto".to_owned(),
        Dialect::Garage => "garage".to_owned(),
        Dialect::Aws => aws_region(endpoint).unwrap_or_default(),
        _ => String::new(),
    };
    if region.is_empty() { "us-east-1".to_owned() } else { region }
}

/// The label before the domain is a region when it has two hyphens: `eu-central-1`, in old names `s3-eu-west-1`.
fn aws_region(endpoint: &str) -> Option<String> {
    let (host, _) = endpoint_host(endpoint)?;
    let labels = host.split(AWS_HOST).next()?;
    let region = labels.rsplit('.').next().filter(|label| label.matches('-').count() >= 2)?;
    Some(region.trim_start_matches("s3-").to_owned())
}

/// Host and port of an endpoint; the port of the scheme when it names none.
pub fn endpoint_host(endpoint: &str) -> Option<(String, u16)> {
    let (scheme, rest) = endpoint.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let default = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}
