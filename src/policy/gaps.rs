//! What could not be looked at: every gap becomes a finding by its cause, and one cause is one finding.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::{Ground, names, say, some_of};
use crate::domain::{
    BUDGET_USED, Denied, FactKind, Finding, Gap, Right, SERIES_ABSENT, Severity, StorePart, Subject, SubjectKind, metric,
};

/// Answers that mean "I do not know this key".
const AUTH: &[&str] = &[
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "Unauthorized",
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "InvalidSecurity",
    "InvalidClientTokenId",
    "InvalidArgument: Credential",
];
/// Answers that mean "this signature is for another region".
const REGION: &[&str] = &[
    "AuthorizationHeaderMalformed",
    "InvalidRegionName",
    "IllegalLocationConstraintException",
    "PermanentRedirect",
    "InvalidRegion",
];
/// Answers that mean "your clock, or mine, is wrong".
const CLOCK: &[&str] = &["RequestTimeTooSkewed", "RequestExpired"];
/// Answers of a key service that is missing, or whose key is.
const ENCRYPTION: &[&str] = &["KMS", "XMinioKMS", "ServerSideEncryption", "InvalidEncryption"];

/// Causes that endpoint, key and clock have, whoever met them first.
const OF_THE_STORE: &[&str] = &[
    "s3-auth-failed",
    "s3-bucket-missing",
    "s3-clock-skew",
    "s3-encryption-unsupported",
    "s3-name-unresolved",
    "s3-region-invalid",
    "s3-tls-failed",
    "store-request-budget-used",
];

/// Who is on the other side of a gap: causes of S3 are told only where S3 is spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A store itself.
    Store,
    /// A subject that rests on a store.
    OnStore,
    /// Somebody else: an API server, a backup server, a channel.
    Other,
}

/// What a gap says about the other side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    code: &'static str,
    severity: Severity,
    words: &'static str,
}

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let mut groups: BTreeMap<(Subject, Cause), Vec<&Gap>> = BTreeMap::new();
    let mut parts: BTreeMap<&Subject, Vec<(StorePart, &Gap)>> = BTreeMap::new();
    for gap in &ground.gaps {
        if explained(ground, gap) {
            continue;
        }
        if let FactKind::StorePart(part) = gap.what {
            parts.entry(&gap.subject).or_default().push((part, gap));
            continue;
        }
        let (subject, cause) = place_of_blame(ground, gap);
        groups.entry((subject, cause)).or_default().push(gap);
    }
    let whole = groups.into_iter().map(|((subject, cause), gaps)| could_not_look(ground, &subject, cause, &gaps));
    whole.chain(parts.into_iter().map(|(store, parts)| not_whole(store, &parts))).collect()
}

/// The store answers, and parts of the look at it got no answer: a warning, since what is hidden may be critical and the next pass
/// asks again.
fn not_whole(store: &Subject, parts: &[(StorePart, &Gap)]) -> Finding {
    let named: Vec<&str> = parts.iter().map(|(part, _)| part.as_str()).collect();
    let details: Vec<String> = parts.iter().map(|(part, gap)| format!("{}: {}", part.as_str(), gap.detail)).collect();
    Finding {
        cause: details.first().cloned().unwrap_or_default(),
        evidence: details,
        could_not_look: true,
        ..say(
            "store-look-incomplete",
            Severity::Warning,
            store,
            format!("the store answers, but not everything of it was seen: {}", named.join(", ")),
        )
    }
}

/// Numbers of a database come from somewhere else than its store: the store neither explains that they are missing nor is to blame.
fn of_numbers(gap: &Gap) -> bool {
    gap.what == FactKind::Series
}

/// A placeholder below explains a gap; and so does the store's own gap of the store fact (it names what rests on it).
fn explained(ground: &Ground, gap: &Gap) -> bool {
    if of_numbers(gap) {
        // What one source does not tell another may.
        return ground.measured(metric::OF_THE_CLOCK).any(|subject| subject == &gap.subject);
    }
    let below = below(ground, gap);
    if gap.code.as_deref() == Some("config-placeholder-unresolved") && !ground.expected.placeholders.is_empty() {
        return true;
    }
    if gap.what == FactKind::Archive && super::cnpg::tells_why_not_seen(ground, &gap.subject) {
        return true;
    }
    if ground.has_placeholder(&gap.subject) || below.as_ref().is_some_and(|store| ground.has_placeholder(store)) {
        return true;
    }
    below.is_some_and(|store| store_is_dark(ground, &store) || told_by_rights(ground, &store, gap))
}

/// What a gap's subject rests on, when the gap may be its fault: what an API server did not show is not the store's.
fn below(ground: &Ground, gap: &Gap) -> Option<Subject> {
    let elsewhere = matches!(gap.what, FactKind::Cnpg | FactKind::CnpgSite | FactKind::AlertRules | FactKind::Series);
    if elsewhere { None } else { ground.below(&gap.subject) }
}

/// The store's own look has shown already that the key lacks a right.
fn told_by_rights(ground: &Ground, store: &Subject, gap: &Gap) -> bool {
    let lacks = ground
        .stores
        .iter()
        .any(|fact| &fact.subject == store && (fact.rights.list == Right::No || fact.rights.read == Right::No));
    lacks && cause_of(gap, Side::Store).code == "s3-permissions-incomplete"
}

/// The store fact itself is missing: nothing on it can be better known than that.
fn store_is_dark(ground: &Ground, store: &Subject) -> bool {
    ground.gaps.iter().any(|gap| &gap.subject == store && gap.what == FactKind::Store)
}

/// The same cause on two subjects of one store, or a cause that only a store can have, is the store's.
fn place_of_blame(ground: &Ground, gap: &Gap) -> (Subject, Cause) {
    if of_numbers(gap) {
        return (gap.subject.clone(), cause_of(gap, Side::Other));
    }
    let Some(store) = below(ground, gap) else {
        let side = if gap.subject.kind() == SubjectKind::Store { Side::Store } else { Side::Other };
        return (gap.subject.clone(), cause_of(gap, side));
    };
    let cause = cause_of(gap, Side::OnStore);
    let as_store = cause_of(gap, Side::Store);
    let shared = ground
        .gaps
        .iter()
        .filter(|other| below(ground, other).as_ref() == Some(&store) && cause_of(other, Side::Store).code == as_store.code)
        .map(|other| &other.subject)
        .collect::<BTreeSet<_>>();
    if shared.len() > 1 || OF_THE_STORE.contains(&cause.code) { (store, as_store) } else { (gap.subject.clone(), cause) }
}

fn cause_of(gap: &Gap, side: Side) -> Cause {
    let code = gap.code.as_deref().unwrap_or_default();
    if code == "secret-missing" {
        return critical("secret-missing", "a secret is not where the configuration says");
    }
    if code == SERIES_ABSENT {
        return warning("metrics-absent", "the server of metrics answers and has no series of this database");
    }
    if side == Side::Other {
        return cause_elsewhere(&gap.why);
    }
    if code == BUDGET_USED {
        return warning("store-request-budget-used", "the request budget of the day is used up");
    }
    said_by_a_store(code).unwrap_or_else(|| match &gap.why {
        Denied::Denied { .. } => critical("s3-permissions-incomplete", "the key may not do what this look needs"),
        Denied::Tls => critical("s3-tls-failed", "TLS with the endpoint fails"),
        Denied::Dns => critical("s3-name-unresolved", "the endpoint's name does not resolve"),
        Denied::Refused | Denied::Timeout | Denied::Broken if side == Side::Store => {
            critical("object-store-outage", "the store does not answer as it should")
        }
        why => cause_elsewhere(why),
    })
}

/// What the words of a store's own error stand for.
fn said_by_a_store(code: &str) -> Option<Cause> {
    let is = |list: &[&str]| list.contains(&code);
    if is(AUTH) {
        return Some(critical("s3-auth-failed", "the store does not accept the access key"));
    }
    if is(CLOCK) {
        return Some(critical("s3-clock-skew", "the store refuses requests that are signed by our clock"));
    }
    if is(REGION) {
        return Some(critical("s3-region-invalid", "the store refuses the region that requests are signed for"));
    }
    if code == "NoSuchBucket" {
        return Some(critical("s3-bucket-missing", "the bucket does not exist"));
    }
    if ENCRYPTION.iter().any(|start| code.starts_with(start)) {
        return Some(critical("s3-encryption-unsupported", "the store cannot decrypt, or its key is gone"));
    }
    None
}

/// What a gap says by its kind alone, whoever is on the other side.
const fn cause_elsewhere(why: &Denied) -> Cause {
    match why {
        Denied::Denied { .. } => critical("look-denied", "the other side refuses what this look needs"),
        Denied::Tls => critical("look-tls-failed", "TLS with the other side fails"),
        Denied::Dns => critical("look-name-unresolved", "the name of the other side does not resolve"),
        Denied::Timeout => warning("look-timed-out", "no answer within the deadline"),
        Denied::Refused | Denied::Broken | Denied::Malformed | Denied::Truncated => {
            warning("look-answer-malformed", "the answer was not whole, or made no sense")
        }
        Denied::AbsentApi => warning("look-unsupported", "the other side does not have this call"),
        Denied::NotAsked => warning("look-not-made", "it was not asked"),
    }
}

const fn critical(code: &'static str, words: &'static str) -> Cause {
    Cause { code, severity: Severity::Critical, words }
}

const fn warning(code: &'static str, words: &'static str) -> Cause {
    Cause { code, severity: Severity::Warning, words }
}

fn could_not_look(ground: &Ground, subject: &Subject, cause: Cause, gaps: &[&Gap]) -> Finding {
    let mut above = names(&ground.dependents(subject));
    let mut details: Vec<String> = Vec::new();
    for gap in gaps {
        let line = if &gap.subject == subject { gap.detail.clone() } else { format!("{}: {}", gap.subject, gap.detail) };
        if !line.is_empty() && !details.contains(&line) {
            details.push(line);
        }
    }
    // The store's own missing fact is not the only thing to tell: what rests on it is why somebody gets up at night.
    let dark = store_is_dark(ground, subject);
    if !dark {
        above.retain(|name| gaps.iter().any(|gap| &gap.subject.to_string() == name));
    }
    let summary = match above.len() {
        0 => cause.words.to_owned(),
        1 => format!("{}; this also hides {}", cause.words, some_of(&above)),
        count => format!("{}; this one cause hides {count} subjects: {}", cause.words, some_of(&above)),
    };
    let hints: BTreeSet<&str> = gaps.iter().map(|gap| gap.hint.as_str()).filter(|hint| !hint.is_empty()).collect();
    let base = say(cause.code, cause.severity, subject, summary);
    let remedy = match hints.into_iter().next() {
        Some(hint) => hint.to_owned(),
        None => base.remedy.clone(),
    };
    Finding { cause: details.first().cloned().unwrap_or_default(), evidence: details, remedy, could_not_look: true, ..base }
}
