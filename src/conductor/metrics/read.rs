//! What the ledger remembers, as metrics.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::render::Measured;
use super::table::MEASURES;
use crate::conductor::look::LOOK_SECONDS;
use crate::conductor::outcome::Counted;
use crate::conductor::say::DELIVERED;
use crate::conductor::status;
use crate::domain::{Alert, Evidence, Expected, FindingKey, Place, Policy, Sample, Subject, Verdict};
use crate::ledger::{KnownPoint, Ledger, LedgerError};
use crate::policy::Proof;

/// A sample that is older says nothing of now.
const SAMPLES_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// When something was last seen is remembered this long.
const SEEN_WITHIN: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Acknowledgements that are read.
const ACKS: u32 = 1000;

/// Labels of one value, without the site.
type Labels = Vec<(&'static str, String)>;

/// Values by name.
struct Gathered<'a> {
    site: &'a str,
    rows: BTreeMap<String, Vec<(Labels, f64)>>,
}

impl Gathered<'_> {
    fn put(&mut self, name: &str, labels: Labels, value: f64) {
        let site = if self.site.is_empty() { "-" } else { self.site };
        let labels = std::iter::once(("site", site.to_owned())).chain(labels).collect();
        self.rows.entry(name.to_owned()).or_default().push((labels, value));
    }

    fn moment(&mut self, name: &str, labels: Labels, at: Timestamp) {
        self.put(name, labels, at.as_millisecond() as f64 / 1000.0);
    }
}

pub(super) async fn read(ledger: &Ledger, expected: &Expected, site: &str, now: Timestamp) -> Result<Vec<Measured>, LedgerError> {
    let mut gathered = Gathered { site, rows: BTreeMap::new() };
    gathered.put("build_info", vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0);
    passes(ledger, &mut gathered).await?;
    findings(ledger, &mut gathered).await?;
    let points = ledger.points().await?;
    recovery(&points, &mut gathered);
    drills(ledger, expected, &points, &mut gathered).await?;
    policies(expected, &mut gathered);
    channels(ledger, now, &mut gathered).await?;
    let samples = ledger.latest_samples(now.checked_sub(SEEN_WITHIN).unwrap_or(Timestamp::MIN)).await?;
    let own = own_samples(&samples, now, &mut gathered);
    Ok(measured(gathered, own))
}

/// In the order of the table; samples behind it.
fn measured(mut gathered: Gathered<'_>, samples: Vec<String>) -> Vec<Measured> {
    let named = MEASURES.iter().map(|(name, help, _)| ((*name).to_owned(), (*help).to_owned()));
    let samples = samples.into_iter().map(|name| {
        let help = format!("the newest sample of {name}");
        (name, help)
    });
    named.chain(samples).filter_map(|(name, help)| Some(Measured { rows: gathered.rows.remove(&name)?, name, help })).collect()
}

async fn passes(ledger: &Ledger, gathered: &mut Gathered<'_>) -> Result<(), LedgerError> {
    let passes = status::done_passes(ledger).await?;
    let Some((newest, ended)) = passes.first().and_then(|pass| Some((pass, pass.ended?))) else { return Ok(()) };
    gathered.moment("pass_last_end_timestamp_seconds", vec![], ended);
    gathered.put("pass_last_duration_seconds", vec![], ended.duration_since(newest.began).as_secs_f64());
    if let Some(code) = newest.exit_code {
        gathered.put("pass_last_exit_code", vec![], code as f64);
    }
    gathered.put("pass_interval_seconds", vec![], status::interval(&passes).as_secs_f64());
    Ok(())
}

async fn findings(ledger: &Ledger, gathered: &mut Gathered<'_>) -> Result<(), LedgerError> {
    let open = ledger.open_findings().await?;
    let alerts: BTreeMap<FindingKey, Alert> = ledger.alerts().await?.into_iter().map(|alert| (alert.key(), alert)).collect();
    for open in &open {
        let finding = &open.finding;
        let quiet = alerts.get(&finding.key()).and_then(|alert| alert.quiet.as_ref());
        let key = vec![("code", finding.code.clone()), ("subject", finding.subject.to_string())];
        let mut labels = key.clone();
        labels.extend([
            ("severity", finding.severity.as_str().to_owned()),
            ("could_not_look", finding.could_not_look.to_string()),
            ("quiet", quiet.map_or("none", |quiet| quiet.as_str()).to_owned()),
        ]);
        gathered.put("finding", labels, 1.0);
        gathered.moment("finding_since_timestamp_seconds", key, open.since);
    }
    let counted = Counted::of(open.iter().map(|open| &open.finding));
    let counts =
        [("critical", counted.critical), ("warning", counted.warnings), ("info", counted.infos), ("unknown", counted.unknown)];
    for (severity, count) in counts {
        gathered.put("findings", vec![("severity", severity.to_owned())], count as f64);
    }
    Ok(())
}

fn recovery(points: &[KnownPoint], gathered: &mut Gathered<'_>) {
    let mut places: BTreeMap<(Subject, String, &'static str), (usize, Option<Timestamp>)> = BTreeMap::new();
    for known in points {
        let point = &known.point;
        let key = (point.subject.clone(), point.place.to_string(), point.mechanism.as_str());
        let (count, until) = places.entry(key).or_default();
        *count += 1;
        *until = (*until).max(point.covered_until);
    }
    for ((subject, place, mechanism), (count, until)) in places {
        let labels = vec![("subject", subject.to_string()), ("place", place), ("mechanism", mechanism.to_owned())];
        gathered.put("recovery_points", labels.clone(), count as f64);
        if let Some(until) = until {
            gathered.moment("recovery_covered_until_timestamp_seconds", labels, until);
        }
    }
}

async fn drills(
    ledger: &Ledger,
    expected: &Expected,
    points: &[KnownPoint],
    gathered: &mut Gathered<'_>,
) -> Result<(), LedgerError> {
    let mut newest: BTreeMap<&Subject, (Option<Timestamp>, &Place)> = BTreeMap::new();
    for known in points {
        let at = (known.point.covered_until, &known.point.place);
        let kept = newest.entry(&known.point.subject).or_insert(at);
        if at.0 > kept.0 {
            *kept = at;
        }
    }
    let counts = |evidence: &Evidence| Proof::from(evidence).counts(expected.isolation);
    for (subject, (_, place)) in newest {
        if let Some(proof) = ledger.last_proof(subject, Some(place), &counts).await? {
            gathered.moment("drill_last_proven_timestamp_seconds", about(subject), proof.ended);
        }
    }
    for drill in ledger.last_drills().await? {
        gathered.moment("drill_last_end_timestamp_seconds", about(&drill.subject), drill.ended);
        for verdict in [Verdict::Proven, Verdict::Failed, Verdict::Unknown] {
            let mut labels = about(&drill.subject);
            labels.push(("verdict", verdict.as_str().to_owned()));
            gathered.put("drill_last_verdict", labels, f64::from(u8::from(verdict == drill.verdict)));
        }
        if let Some(seconds) = drill.rto_seconds {
            gathered.put("drill_last_rto_seconds", about(&drill.subject), seconds);
        }
        if let Some(seconds) = drill.rpo.seconds {
            gathered.put("drill_last_rpo_seconds", about(&drill.subject), seconds);
        }
    }
    Ok(())
}

fn policies(expected: &Expected, gathered: &mut Gathered<'_>) {
    for (subject, policy) in &expected.policies {
        let Policy { rpo_seconds, rto_seconds, drill_every_seconds, base_backup_every_seconds, .. } = policy;
        let asked = [
            ("policy_rpo_seconds", rpo_seconds),
            ("policy_rto_seconds", rto_seconds),
            ("policy_drill_every_seconds", drill_every_seconds),
            ("policy_base_backup_every_seconds", base_backup_every_seconds),
        ];
        for (name, seconds) in asked {
            if let Some(seconds) = seconds {
                gathered.put(name, about(subject), *seconds);
            }
        }
    }
}

async fn channels(ledger: &Ledger, now: Timestamp, gathered: &mut Gathered<'_>) -> Result<(), LedgerError> {
    for kept in ledger.channels().await? {
        let labels = vec![("channel", kept.channel)];
        gathered.put("channel_waiting_messages", labels.clone(), kept.waiting as f64);
        if let Some(at) = kept.delivered {
            gathered.moment("channel_last_delivered_timestamp_seconds", labels, at);
        }
    }
    for kept in ledger.acks(ACKS).await?.into_iter().filter(|kept| kept.holds(now)) {
        let labels = vec![("code", kept.ack.key.code), ("subject", kept.ack.key.subject.to_string())];
        gathered.moment("ack_until_timestamp_seconds", labels, kept.ack.until);
    }
    Ok(())
}

/// Samples under their own names, which come back sorted. An age is left out, and what is told as a moment already.
fn own_samples(samples: &[Sample], now: Timestamp, gathered: &mut Gathered<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for sample in samples {
        if sample.metric == LOOK_SECONDS {
            gathered.moment("subject_last_seen_timestamp_seconds", about(&sample.subject), sample.at);
            continue;
        }
        let told = sample.metric == DELIVERED || sample.metric.ends_with("_age_seconds");
        if told || now.duration_since(sample.at) > SAMPLES_WITHIN {
            continue;
        }
        gathered.put(&sample.metric, about(&sample.subject), sample.value);
        names.push(sample.metric.clone());
    }
    names.sort();
    names.dedup();
    names
}

fn about(subject: &Subject) -> Labels {
    vec![("subject", subject.to_string())]
}
