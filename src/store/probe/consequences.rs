//! What follows from a probe for the other clients of the store.

use super::{Consequence, Learnt};
use crate::domain::Dialect;

/// The settings that clients need here.
pub(super) fn of(dialect: Dialect, learnt: &Learnt) -> Vec<Consequence> {
    let mut all = Vec::new();
    let mut add = |client, set: &str, because: &str| {
        all.push(Consequence { client, set: set.to_owned(), because: because.to_owned() });
    };
    let refused = learnt.checksum_header == Some(false) || learnt.checksum_trailer == Some(false);
    if refused {
        let why = "this store does not take the checksums that SDKs send by default since January 2025";
        // Present and empty: an absent key means CRC32.
        add("Velero", "config.checksumAlgorithm: \"\"", why);
        add("barman-cloud, boto3, aws-cli", "AWS_REQUEST_CHECKSUM_CALCULATION=when_required", why);
        add("barman-cloud, boto3, aws-cli", "AWS_RESPONSE_CHECKSUM_VALIDATION=when_required", why);
    } else if dialect == Dialect::R2 {
        let why = "R2 refuses streamed trailers and two checksums in one request";
        add("Velero", "config.checksumAlgorithm: \"\"", why);
        add("barman-cloud, boto3, aws-cli", "AWS_REQUEST_CHECKSUM_CALCULATION=when_required", why);
    }
    if dialect == Dialect::R2 {
        add("all clients", "region: auto", "R2 signs with auto; what HeadBucket names is a place");
        add("Velero", "no tagging, no serverSideEncryption", "R2 refuses x-amz-tagging and SSE headers");
        add("barman-cloud", "no tags, no historyTags", "R2 refuses x-amz-tagging");
    }
    if dialect == Dialect::Garage {
        add("barman-cloud, Velero", "no tags", "Garage has no object tags");
    }
    if dialect != Dialect::Aws {
        add("Velero", "config.s3ForcePathStyle: \"true\"", "bucket names are not part of the host name here");
    }
    if learnt.private_ca {
        add("Velero", "objectStorage.caCert", "a private authority vouches for the endpoint");
        add("barman-cloud, boto3, aws-cli", "AWS_CA_BUNDLE=<file>", "a private authority vouches for the endpoint");
    }
    all
}
