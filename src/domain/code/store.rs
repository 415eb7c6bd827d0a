//! Codes about an object store: its settings, its clock, its certificate, and what our key may do there.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "lifecycle-conflicts-with-retention",
        title: "a lifecycle rule of the bucket removes what a restore still needs",
        meaning: "An enabled rule whose prefix covers an archive expires current objects (or moves them to a class that cannot be read at once) \
                  sooner than the promised window plus the time between two base backups. The window's oldest moment needs a base backup that is \
                  older than the window itself.",
        harm: "The real window is shorter than the promised one; timeline histories, written once and never again, go first.",
        remedy: "set the rule's days to the retention plus two base backup intervals, or remove expiry from that prefix and let the backup tool's retention delete",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/779",
            "https://github.com/cloudnative-pg/cloudnative-pg/pull/2594",
            "https://github.com/EnterpriseDB/barman/pull/363",
        ],
    },
    CodeSpec {
        code: "r2-multipart-nonuniform",
        title: "large uploads never complete on R2: its parts must all have one size",
        meaning: "On a Cloudflare R2 endpoint a base backup ended with InvalidPart, or its multipart upload stays open and no later base backup is done. \
                  R2 refuses CompleteMultipartUpload when any part but the last differs in size.",
        harm: "Small objects arrive, WAL looks healthy, and no large base backup ever completes.",
        remedy: "give the uploading client one constant part size (barman: --min-chunk-size, rclone: --s3-chunk-size), take a base backup, then: dalsegno probe STORE",
        sources: &[
            "https://developers.cloudflare.com/r2/api/error-codes",
            "https://Gist.github.com/johnspurlock-skymethod/6027c81953f81aa535d889d86a1061ba",
        ],
    },
    CodeSpec {
        code: "s3-auth-failed",
        title: "the store does not accept the access key",
        meaning: "The store answered InvalidAccessKeyId, SignatureDoesNotMatch, Unauthorized or an expired token: the key is wrong, revoked, or was rotated elsewhere.",
        harm: "Nothing in the store can be looked at. If the archiver uses the same key, it has stopped too, and WAL fills its volume.",
        remedy: "put the current key where the configuration refers to it, and into every other consumer of that store; then: dalsegno check",
        sources: &["https://developers.cloudflare.com/r2/api/error-codes", "https://github.com/velero-io/velero/issues/3044"],
    },
    CodeSpec {
        code: "s3-bucket-missing",
        title: "the bucket does not exist",
        meaning: "The store answered NoSuchBucket for the configured bucket. Bucket names are never guessed and never created.",
        harm: "There is no backup under this name; the archiver writes somewhere else, or nowhere.",
        remedy: "compare the bucket's name and the endpoint with those of the archiver",
        sources: &["https://developers.cloudflare.com/r2/api/error-codes"],
    },
    CodeSpec {
        code: "s3-certificate-expiring",
        title: "the endpoint's certificate ends soon",
        meaning: "The earliest end in the chain (or of the configured CA) lies inside the warning time. Certificates with a short life that were renewed on time are left alone: \
                  they warn only in the last third of their life.",
        harm: "At that second every client of the endpoint stops: archiver, backups and restores.",
        remedy: "renew the certificate, and check what should have renewed it",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/issues/446"],
    },
    CodeSpec {
        code: "s3-clock-skew",
        title: "our clock and the store's clock disagree",
        meaning: "The Date header of the store differs from our time by a minute or more; beyond 15 minutes S3 refuses every request with RequestTimeTooSkewed.",
        harm: "Beyond 15 minutes nothing is archived or restored from that machine; before that, recovery targets and ages are off by as much.",
        remedy: "set the clock of the wrong side (chronyc makestep; mind the guest agent and the hardware clock), then: dalsegno check",
        sources: &[
            "https://github.com/pgbackrest/pgbackrest/issues/788",
            "https://github.com/pgbackrest/pgbackrest/issues/769",
            "https://docs.netapp.com/us-en/storagegrid/s3/error-responses.html",
        ],
    },
    CodeSpec {
        code: "s3-encryption-unsupported",
        title: "server-side encryption that the store cannot do, or whose key is gone",
        meaning: "The store refuses to read or write since its key service is not configured, or the key is disabled or gone.",
        harm: "Objects are listed and cannot be read, or nothing is archived at all.",
        remedy: "bring the key back, or configure the store's key service; else take the encryption setting out of the archiver and take a new base backup",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/399",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/646",
            "https://github.com/cloudnative-pg/charts/issues/198",
            "https://github.com/EnterpriseDB/barman/issues/1071",
        ],
    },
    CodeSpec {
        code: "s3-endpoint-has-path",
        title: "the endpoint carries a path, and nothing is found behind it",
        meaning: "The endpoint should be scheme, host and port. With a bucket's name behind it, every key gets one more folder than anybody looks for.",
        harm: "Uploads succeed into another key space; listings are empty, so no restore finds them and retention never runs.",
        remedy: "take the path out of the endpoint, move the objects to the keys they should have, and take a base backup",
        sources: &[
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/1893",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/1985",
        ],
    },
    CodeSpec {
        code: "s3-noncurrent-versions-unbounded",
        title: "deleted objects stay as old versions for ever",
        meaning: "Versioning is on, no rule expires non-current versions, and they already outweigh the current objects.",
        harm: "Space and money: retention only writes delete markers.",
        remedy: "add a lifecycle rule with NoncurrentVersionExpiration a few days longer than the retention",
        sources: &["https://github.com/EnterpriseDB/barman/issues/1197"],
    },
    CodeSpec {
        code: "s3-permissions-incomplete",
        title: "the key lacks a right that a restore needs",
        meaning: "The store answered AccessDenied to a listing or to a read although the key itself is known.",
        harm: "A restore with this key sees an empty or unreadable archive, and nobody notices until then.",
        remedy: "grant the reading key s3:ListBucket (with the prefix) and s3:GetObject; the archiver's key needs PutObject, DeleteObject, AbortMultipartUpload too; then: dalsegno doctor",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/pull/744",
            "https://github.com/EnterpriseDB/barman/issues/1145",
        ],
    },
    CodeSpec {
        code: "s3-region-invalid",
        title: "requests are signed for a region that the store does not take",
        meaning: "The region holds whitespace, is not one that the store knows (R2: auto), or differs from the one the bucket lies in.",
        harm: "Every request that uses this value is refused: archiving and restores alike.",
        remedy: "write the region without whitespace: auto on R2, the bucket's own region on AWS, us-east-1 on most others",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/pull/1108",
            "https://github.com/jeessy2/backup-x/issues/127",
            "https://github.com/restic/restic/issues/3757",
        ],
    },
    CodeSpec {
        code: "s3-stale-multipart-uploads",
        title: "unfinished multipart uploads pile up",
        meaning: "ListMultipartUploads shows uploads under a known prefix that were begun more than a day ago. They never show in a listing of objects.",
        harm: "Space that is paid for, and base backups that look begun and never were finished.",
        remedy: "abort them, and add a lifecycle rule AbortIncompleteMultipartUpload of two days",
        sources: &["https://github.com/AlverezYari/phillips-homelab/pull/258"],
    },
    CodeSpec {
        code: "store-immutability-not-proven",
        title: "the configuration claims immutability that the store does not show",
        meaning: "The claim is object-lock and the bucket has no default retention (R2 has no S3 object lock at all), or the claim is bucket-lock, \
                  which S3 cannot show: only a refused delete of a probe object proves it.",
        harm: "A leaked key, or a wrong lifetime, can erase everything.",
        remedy: "switch on object lock with a default retention, or the provider's bucket lock on this prefix, or a second store; or take the claim out",
        sources: &["https://developers.cloudflare.com/r2/api/s3/api/", "https://developers.cloudflare.com/r2/api/error-codes"],
    },
    CodeSpec {
        code: "store-look-incomplete",
        title: "the store answers, but a part of the look at it got no answer",
        meaning: "Beside the listing a pass asks for the bucket's region, versioning, object lock, lifecycle rules, unfinished uploads, old versions and the \
                  certificate, and reads the head of one object. One of these calls failed with an error, a cut or a time-out. A refusal (AccessDenied) and a \
                  call that the store does not have (NotImplemented) are answers, and not meant here.",
        harm: "What these would have shown is not known in this pass; no finding about the store is cleared until they answer again.",
        remedy: "wait for the next pass; if it stays:  dalsegno doctor",
        sources: &[],
    },
    CodeSpec {
        code: "store-settings-not-readable",
        title: "the reading key may not ask for some of the bucket's settings",
        meaning: "The store answered AccessDenied to a question about lifecycle rules, unfinished uploads, versioning, old versions or object lock. \
                  A key with the least rights is as it should be: this is worth knowing, moves no exit code and stops no heartbeat.",
        harm: "Rules that need the answer cannot fire: a lifecycle rule that deletes backups stays unseen. A finding that was open before stays open.",
        remedy: "grant the reading key the rights that are named (they read settings, never data), or accept that these are not watched",
        sources: &[],
    },
];
