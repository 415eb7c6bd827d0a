//! Codes that say "could not look", and codes about the configuration that looking starts from.

use super::CodeSpec;

pub(super) const ROWS: &[CodeSpec] = &[
    CodeSpec {
        code: "config-placeholder-unresolved",
        title: "a placeholder stands where a value should be",
        meaning: "A value such as TBD-…, CHANGEME, <…>, a shell-style variable, or example.com in an endpoint reached the configuration or a secret. \
                  That part is not looked at; the rest is.",
        harm: "There never was a backup behind this value.",
        remedy: "fill the value in, then: dalsegno config check && dalsegno probe STORE",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/337",
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/504",
        ],
    },
    CodeSpec {
        code: "look-answer-malformed",
        title: "an answer came and made no sense, or was not whole",
        meaning: "The other side answered with something that is not the protocol, or stopped half-way. What came is not used.",
        harm: "Nothing is known about what this look should have shown.",
        remedy: "see what answers at that address: a proxy's error page, another service, a cut connection; then: dalsegno check",
        sources: &[],
    },
    CodeSpec {
        code: "look-not-made",
        title: "something was not looked at on purpose",
        meaning: "We did not ask: a part of the configuration is missing or could not be used.",
        harm: "Nothing is known about it.",
        remedy: "dalsegno config check",
        sources: &[],
    },
    CodeSpec {
        code: "look-timed-out",
        title: "one look did not end within its deadline, though its store answers others",
        meaning: "The store is there; this one look took longer than pass.provider-deadline allows.",
        harm: "Nothing new is known about it in this pass.",
        remedy: "raise pass.provider-deadline, or find what makes this listing slow",
        sources: &[],
    },
    CodeSpec {
        code: "look-unsupported",
        title: "the other side does not have the call that this look needs",
        meaning: "The store answered NotImplemented, or 404, to the call itself.",
        harm: "Nothing is known about what this look should have shown.",
        remedy: "compare the endpoint with the service that should be there",
        sources: &[],
    },
    CodeSpec {
        code: "object-store-outage",
        title: "the store does not answer, or refuses everybody",
        meaning: "No connection, no answer in time, or errors of the store itself (503, SlowDown, full, quota). One store is one cause, however many databases lie on it.",
        harm: "Nothing can be archived to it or restored from it; WAL of every database on it piles up.",
        remedy: "bring the store back (space, quota, network); then stagger the backups that waited",
        sources: &[
            "https://github.com/cloudnative-pg/plugin-barman-cloud/issues/519",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/6152",
            "https://github.com/cloudnative-pg/cloudnative-pg/issues/7623",
        ],
    },
    CodeSpec {
        code: "s3-name-unresolved",
        title: "the endpoint's name does not resolve",
        meaning: "DNS has no address for the host of the endpoint.",
        harm: "Nothing in the store can be looked at from here.",
        remedy: "compare the endpoint's host name with the DNS that this machine asks",
        sources: &[],
    },
    CodeSpec {
        code: "s3-tls-failed",
        title: "the endpoint's certificate is not trusted, or TLS fails",
        meaning: "The handshake ended: unknown authority, wrong name, expired, or no TLS at that port.",
        harm: "Nothing in the store can be looked at; clients with the same trust store fail too.",
        remedy: "name the authority under stores.NAME.ca, or renew the certificate; then: dalsegno doctor",
        sources: &["https://github.com/cloudnative-pg/plugin-barman-cloud/issues/446"],
    },
    CodeSpec {
        code: "secret-missing",
        title: "a secret is not where the configuration says",
        meaning: "The environment variable or the file that the configuration refers to is absent, empty or cannot be read. That part is not looked at; the rest is.",
        harm: "Nothing is known about what needs this secret.",
        remedy: "put the secret there, then: dalsegno config check",
        sources: &[],
    },
    CodeSpec {
        code: "store-request-budget-used",
        title: "the store's request budget of the day is used up",
        meaning: "stores.NAME.requests-per-day is reached. Listings go on from where the last one ended; the daily whole listing waits until tomorrow.",
        harm: "Objects that vanish in the middle of the archive are found a day later.",
        remedy: "raise requests-per-day, or run less often",
        sources: &["https://developers.cloudflare.com/r2/pricing/"],
    },
];
