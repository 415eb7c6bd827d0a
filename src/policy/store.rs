//! Good or bad about a store that was seen: region, endpoint, clock, certificate, rights, uploads, versions, immutability.

use super::ground::{DAY, Ground, HOUR, MINUTE, done, names, say, some_of};
use crate::domain::{
    ArchiveFact, BackupStatus, Dialect, Finding, Immutability, Right, Setting, Severity, StoreFact, UploadSeen, age,
    bytes_in_words, duration_in_words, many,
};

/// From here on recovery targets and ages are visibly off; NTP keeps healthy machines far below.
const SKEW_WARNING: f64 = MINUTE;
/// S3 refuses requests beyond this (RequestTimeTooSkewed).
const SKEW_REFUSED: f64 = 15.0 * MINUTE;
/// Two weeks: time for a person to act, and longer than any renewal cycle's retry.
const CERTIFICATE_WARNING: f64 = 14.0 * DAY;
/// Certificates that live no longer than this are renewed by a machine.
const SHORT_LIFE: f64 = 30.0 * DAY;
/// Machines renew after two thirds of the life; the last third means that nothing did.
const RENEWAL_SHARE: f64 = 1.0 / 3.0;
/// An upload that is still open after this belongs to nobody.
const UPLOAD_STALE: f64 = DAY;
/// On R2 an open upload of a base backup counts earlier: nothing good can come of it there after an hour without a done backup.
const R2_UPLOAD_STALE: f64 = HOUR;
/// Old versions that weigh more than what they were versions of are growth, not history.
const NONCURRENT_SHARE: f64 = 1.0;
/// What R2 signs with: `auto`; `us-east-1` and nothing are read as `auto`. WNAM and its like are places, not regions.
pub(super) const R2_REGIONS: &[&str] = &["auto", "us-east-1", ""];

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    ground.stores.iter().flat_map(|store| of_store(ground, store)).collect()
}

fn of_store(ground: &Ground, store: &StoreFact) -> Vec<Finding> {
    let uneven = r2_uneven_parts(ground, store);
    let uploads = if uneven.is_some() { None } else { stale_uploads(ground, store) };
    [
        region(store),
        endpoint_path(ground, store),
        clock(store),
        certificate(ground, store),
        rights(ground, store),
        not_allowed_to_ask(store),
        uneven,
        uploads,
        old_versions(store),
        immutability(store),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn region(store: &StoreFact) -> Option<Finding> {
    let region = &store.region;
    let cause = if region.chars().any(|c| c.is_whitespace() || c.is_control()) {
        format!("the region {region:?} holds whitespace")
    } else if store.dialect == Dialect::R2 && !R2_REGIONS.contains(&region.as_str()) {
        format!("R2 signs with \"auto\", and the region is \"{region}\"")
    } else if let (Dialect::Aws, Some(actual)) = (store.dialect, &store.bucket_region)
        && actual != region
    {
        format!("the bucket lies in {actual}, and requests are signed for {region}")
    } else {
        return None;
    };
    Some(Finding {
        evidence: vec![format!("endpoint {}, region {region:?}", store.endpoint)],
        cause: cause.clone(),
        ..say("s3-region-invalid", Severity::Critical, &store.subject, cause)
    })
}

/// What stands behind host and port, if anything.
fn path_of(endpoint: &str) -> Option<&str> {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let path = rest.split_once('/').map(|(_, path)| path.trim_matches('/'))?;
    (!path.is_empty()).then_some(path)
}

/// A path is a fault only when nothing is found behind it: a reverse proxy with a documented path answers what was put.
fn endpoint_path(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    let path = path_of(&store.endpoint)?;
    if ground.archives_on(store).iter().any(|archive| archive.objects > 0) {
        return None;
    }
    Some(Finding {
        evidence: vec![format!("endpoint {}", store.endpoint), format!("bucket {}", store.bucket)],
        cause: format!("\"{path}\" is part of the endpoint, so keys of bucket {} lie one folder off", store.bucket),
        ..say(
            "s3-endpoint-has-path",
            Severity::Critical,
            &store.subject,
            format!("the endpoint ends with the path \"{path}\", and no archive is found behind it"),
        )
    })
}

fn clock(store: &StoreFact) -> Option<Finding> {
    let skew = store.clock_skew_seconds?;
    if skew.abs() < SKEW_WARNING {
        return None;
    }
    let severity = if skew.abs() > SKEW_REFUSED { Severity::Critical } else { Severity::Warning };
    let side = if skew < 0.0 { "ahead of" } else { "behind" };
    let text = format!("this machine's clock is {} {side} the store's", duration_in_words(skew.abs()));
    Some(Finding {
        evidence: vec![format!("the Date header of {} differs from our time by {skew:.0} s", store.endpoint)],
        cause: "one of the two clocks is wrong; a time zone alone cannot do this, since Date is always GMT".to_owned(),
        ..say("s3-clock-skew", severity, &store.subject, text)
    })
}

fn certificate(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    let seen = store.certificate.as_ref()?;
    let left = -ground.age(seen.not_after);
    let life = seen.not_after.duration_since(seen.not_before).as_secs_f64();
    let short = life <= SHORT_LIFE;
    if left > CERTIFICATE_WARNING || (short && left > life * RENEWAL_SHARE) {
        return None;
    }
    let severity = if left < DAY && !short || left <= 0.0 { Severity::Critical } else { Severity::Warning };
    let word = if left <= 0.0 { "ended" } else { "ends" };
    Some(Finding {
        evidence: vec![
            format!("valid from {} until {}", seen.not_before, seen.not_after),
            format!("leaf sha256 {}, verified by {}", seen.leaf_sha256, seen.verified_by),
        ],
        cause: "nothing has renewed it so far".to_owned(),
        ..say(
            "s3-certificate-expiring",
            severity,
            &store.subject,
            format!("the certificate of {} ({}) {word} {}", store.endpoint, seen.subject, age(seen.not_after, ground.now)),
        )
    })
}

/// A reading key that may not write is as it should be; one that may not list or read is of no use in a restore.
fn rights(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    let missing: Vec<String> =
        [("list the prefix (ListObjectsV2)", store.rights.list), ("read objects (GetObject)", store.rights.read)]
            .into_iter()
            .filter(|(_, right)| *right == Right::No)
            .map(|(what, _)| what.to_owned())
            .collect();
    if missing.is_empty() {
        return None;
    }
    let mut evidence = vec![format!("refused in bucket {}: {}", store.bucket, missing.join(", "))];
    let above = names(&ground.dependents(&store.subject));
    if !above.is_empty() {
        evidence.push(format!("this hides {}", some_of(&above)));
    }
    Some(Finding {
        evidence,
        cause: format!("the policy of this key leaves out: {}", missing.join(", ")),
        ..say(
            "s3-permissions-incomplete",
            Severity::Critical,
            &store.subject,
            format!("the reading key may not {}", missing.join(" nor ")),
        )
    })
}

/// Settings that the key may not ask for: the rules that need them stay silent, and that is said once. Never more than worth
/// knowing: a key with the least rights is as it should be, and calls for nobody. Every answer before stays open (see `clears`).
fn not_allowed_to_ask(store: &StoreFact) -> Option<Finding> {
    if store.rights.list == Right::No {
        return None; // said as critical
    }
    // Where object lock is claimed, its own finding says that it cannot be shown.
    let lock = store.object_lock == Setting::Denied && store.claimed_immutability != Some(Immutability::ObjectLock);
    let asked = [
        (store.lifecycle == Setting::Denied, "s3:GetLifecycleConfiguration", "lifecycle rules that delete backups"),
        (store.uploads == Setting::Denied, "s3:ListBucketMultipartUploads", "uploads that never end"),
        (store.versioning == Setting::Denied, "s3:GetBucketVersioning", "growth by old versions"),
        (store.rights.list_versions == Right::No, "s3:ListBucketVersions", "growth by old versions"),
        (lock, "s3:GetBucketObjectLockConfiguration", "locks, by which backup.info stays STARTED"),
    ];
    let missing: Vec<_> = asked.into_iter().filter(|(denied, ..)| *denied).collect();
    if missing.is_empty() {
        return None;
    }
    let rights = missing.iter().map(|(_, right, _)| *right).collect::<Vec<_>>().join(", ");
    Some(Finding {
        evidence: missing.iter().map(|(_, right, hidden)| format!("without {right}: {hidden} are not seen")).collect(),
        cause: format!("the policy of this key leaves out: {rights}"),
        ..say(
            "store-settings-not-readable",
            Severity::Info,
            &store.subject,
            format!("some settings of bucket {} are not watched: the reading key lacks {rights}", store.bucket),
        )
    })
}

fn open_uploads(store: &StoreFact) -> &[UploadSeen] {
    if let Setting::Set(uploads) = &store.uploads { uploads } else { &[] }
}

/// The id of the base backup that an upload would have been part of.
fn backup_of<'u>(archive: &ArchiveFact, upload: &'u UploadSeen) -> Option<&'u str> {
    let rest = upload.key.strip_prefix(archive.place.root().as_str())?.strip_prefix("base/")?;
    rest.split_once('/').map(|(id, _)| id)
}

fn r2_uneven_parts(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    if store.dialect != Dialect::R2 {
        return None;
    }
    let mut evidence = Vec::new();
    let mut refused = false;
    for archive in ground.archives_on(store) {
        let newest_done = done(archive).into_iter().filter_map(|backup| backup.end_time).max();
        for backup in &archive.backups {
            if let BackupStatus::Failed { error } = &backup.status
                && refused_parts(store, error)
                && backup.begin_time >= newest_done
            {
                refused = true;
                evidence.push(format!("{}: base backup {} failed with: {error}", archive.subject, backup.id));
            }
        }
        let stuck = |upload: &&UploadSeen| {
            upload
                .initiated
                .is_some_and(|begun| ground.age(begun) > R2_UPLOAD_STALE && newest_done.is_none_or(|done| done < begun))
                && upload.key.contains(".tar")
                && backup_of(archive, upload).is_some()
        };
        evidence.extend(open_uploads(store).iter().filter(stuck).map(|upload| described(ground, upload)));
    }
    if evidence.is_empty() {
        return None;
    }
    let cause = if refused {
        "R2 refused to complete an upload whose parts differ in size".to_owned()
    } else {
        "the uploads were begun and never completed, and no later base backup is done: on R2 mostly parts of unequal size, else a killed run"
            .to_owned()
    };
    Some(Finding {
        summary: format!("base backups do not complete on R2 ({} signs)", evidence.len()),
        cause,
        evidence,
        ..say("r2-multipart-nonuniform", Severity::Critical, &store.subject, String::new())
    })
}

/// R2's answer to CompleteMultipartUpload when parts differ in size, as a backup tool repeats it.
/// <https://developers.cloudflare.com/r2/api/error-codes> (10048)
pub(super) fn refused_parts(store: &StoreFact, error: &str) -> bool {
    store.dialect == Dialect::R2 && ["InvalidPart", "same length", "same size"].iter().any(|sign| error.contains(sign))
}

fn described(ground: &Ground, upload: &UploadSeen) -> String {
    let begun = upload.initiated.map_or_else(|| "at an unknown time".to_owned(), |at| age(at, ground.now));
    format!("unfinished upload of {}, begun {begun}", upload.key)
}

fn stale_uploads(ground: &Ground, store: &StoreFact) -> Option<Finding> {
    let stale: Vec<String> = open_uploads(store)
        .iter()
        .filter(|upload| ground.older(upload.initiated, UPLOAD_STALE))
        .map(|upload| described(ground, upload))
        .collect();
    if stale.is_empty() {
        return None;
    }
    Some(Finding {
        summary: format!("{} begun more than a day ago and never ended", many(stale.len(), "multipart upload")),
        cause: "the clients that began them were killed or refused".to_owned(),
        evidence: stale,
        ..say("s3-stale-multipart-uploads", Severity::Info, &store.subject, String::new())
    })
}

fn old_versions(store: &StoreFact) -> Option<Finding> {
    let (current, old) = store.version_bytes?;
    let versioned = matches!(&store.versioning, Setting::Set(state) if state.eq_ignore_ascii_case("enabled"));
    let kept_on_purpose = matches!(&store.object_lock, Setting::Set(Some(_)));
    let bounded = matches!(&store.lifecycle, Setting::Set(rules) if rules.iter().any(|rule| rule.enabled && rule.noncurrent_days.is_some()));
    if !versioned || kept_on_purpose || bounded || (old as f64) <= (current as f64) * NONCURRENT_SHARE {
        return None;
    }
    Some(Finding {
        evidence: vec![
            format!("current {}, non-current {}", bytes_in_words(current), bytes_in_words(old)),
            "versioning Enabled, no enabled rule with NoncurrentVersionExpiration".to_owned(),
        ],
        cause: "deleted WAL and base backups stay as non-current versions".to_owned(),
        ..say(
            "s3-noncurrent-versions-unbounded",
            Severity::Info,
            &store.subject,
            format!(
                "old versions hold {} beside {} of current objects, and no rule ends them",
                bytes_in_words(old),
                bytes_in_words(current)
            ),
        )
    })
}

fn immutability(store: &StoreFact) -> Option<Finding> {
    let claim = store.claimed_immutability.filter(|claim| *claim != Immutability::None)?;
    let (why, unseen) = match (&store.object_lock, claim) {
        (Setting::Set(Some(_)), _) => return None,
        (Setting::Denied | Setting::NotAsked, Immutability::ObjectLock) => ("the key may not ask for it", true),
        (Setting::NotImplemented, Immutability::ObjectLock) => ("the store does not have S3 object lock", false),
        (Setting::Absent, Immutability::ObjectLock) => ("the bucket has no object lock", false),
        (Setting::Set(None), Immutability::ObjectLock) => {
            ("object lock is on, but without a default retention nothing is locked", false)
        }
        _ => ("S3 cannot show this mechanism; only a refused delete proves it", false),
    };
    let claim = claim.as_str();
    Some(Finding {
        evidence: vec![format!("claimed: {claim}; bucket {} on {} ({})", store.bucket, store.endpoint, store.dialect.as_str())],
        cause: why.to_owned(),
        could_not_look: unseen,
        ..say(
            "store-immutability-not-proven",
            Severity::Warning,
            &store.subject,
            format!("the configuration claims {claim}, and the store does not show it: {why}"),
        )
    })
}

/// Used by `backups`: whether this store locks what is written into it.
pub(super) fn locks(store: &StoreFact) -> bool {
    matches!(&store.object_lock, Setting::Set(Some(_))) || store.claimed_immutability == Some(Immutability::BucketLock)
}
