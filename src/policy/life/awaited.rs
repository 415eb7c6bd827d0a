//! What the site does not have yet: silent until its date, a finding afterwards.

use jiff::Timestamp;

use crate::domain::{Awaited, AwaitedWhat, Expected, Fact, Finding, Observation, ProviderId, Severity, Subject, SubjectKind};

/// Takes away "could not look" about what is awaited and not there, and adds what is overdue.
pub(super) fn judge(
    now: Timestamp,
    expected: &Expected,
    observations: &[(ProviderId, Observation)],
    mut findings: Vec<Finding>,
) -> Vec<Finding> {
    for awaited in &expected.attention.awaited {
        if is_there(awaited, observations) {
            continue;
        }
        if now < awaited.until {
            findings.retain(|finding| !(finding.could_not_look && is_about(awaited, &finding.subject, observations)));
        } else {
            findings.push(overdue(awaited));
        }
    }
    findings
}

/// Something of it was seen: it is adopted, whatever was planned.
fn is_there(awaited: &Awaited, observations: &[(ProviderId, Observation)]) -> bool {
    let seen = |observation: &Observation, wanted: &dyn Fn(&Subject) -> bool| {
        observation.facts.iter().any(|fact| !fact.is_number() && !matches!(fact, Fact::Drill(_)) && wanted(fact.subject()))
    };
    match &awaited.what {
        AwaitedWhat::Subject(subjects) => {
            observations.iter().any(|(_, observation)| seen(observation, &|subject| subjects.matches(subject)))
        }
        AwaitedWhat::Provider(name) => {
            observations.iter().any(|(provider, observation)| is_named(provider, name) && seen(observation, &|_| true))
        }
    }
}

fn is_about(awaited: &Awaited, subject: &Subject, observations: &[(ProviderId, Observation)]) -> bool {
    match &awaited.what {
        AwaitedWhat::Subject(subjects) => subjects.matches(subject),
        AwaitedWhat::Provider(name) => observations.iter().any(|(provider, observation)| {
            is_named(provider, name) && observation.gaps.iter().any(|gap| &gap.subject == subject)
        }),
    }
}

fn is_named(provider: &ProviderId, name: &str) -> bool {
    provider.0.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn overdue(awaited: &Awaited) -> Finding {
    let what = &awaited.what;
    let until = awaited.until;
    let (summary, cause) = match &awaited.reason {
        None => (
            format!("{what} was planned by {until}, and nothing of it is seen"),
            "it was not set up, or not configured here".to_owned(),
        ),
        Some(reason) => {
            (format!("{what} was not to be adopted until {until}, and that is over"), format!("the reason was: {reason}"))
        }
    };
    Finding {
        code: "expected-overdue".to_owned(),
        severity: Severity::Warning,
        subject: Subject::new(SubjectKind::Dalsegno, &["expected", &what.to_string()]),
        summary,
        evidence: Vec::new(),
        cause,
        remedy: "configure it, or decide again in expected: a later date, or not-adopted with a reason".to_owned(),
        could_not_look: false,
    }
}
