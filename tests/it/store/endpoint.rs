use dalsegno::domain::{Dialect, Secret, StoreId};
use dalsegno::store::{StoreConfig, endpoint_host};

#[test]
fn a_host_name_tells_family_and_region_to_flags_as_to_the_configuration() {
    let cases = [
        ("https://a.eu.r2.cloudflarestorage.com", Dialect::R2, "auto"),
        ("https://S3.eu-central-1.amazonaws.com", Dialect::Aws, "eu-central-1"),
        ("https://s3-eu-west-1.amazonaws.com:443", Dialect::Aws, "eu-west-1"),
        ("https://s3.cn-north-1.amazonaws.com.cn", Dialect::Aws, "cn-north-1"),
        ("https://s3.amazonaws.com", Dialect::Aws, "us-east-1"),
        ("https://amazonaws.com.example.net", Dialect::Other, "us-east-1"),
        ("http://[::1]:9000", Dialect::Other, "us-east-1"),
    ];
    for (endpoint, dialect, region) in cases {
        let config =
            StoreConfig::new(StoreId("a".to_owned()), endpoint, "abc", Secret::new("i".to_owned()), Secret::new("s".to_owned()));
        assert_eq!((config.dialect, config.region.as_str()), (dialect, region), "{endpoint}");
    }
}

#[test]
fn host_and_port_are_read_or_there_is_none() {
    assert_eq!(endpoint_host("http://[::1]:9000"), Some(("::1".to_owned(), 9000)));
    assert_eq!(endpoint_host("https://Minio.lan"), Some(("minio.lan".to_owned(), 443)));
    assert_eq!(endpoint_host("https://:9000"), None);
    assert_eq!(endpoint_host("minio.lan:9000"), None);
}
