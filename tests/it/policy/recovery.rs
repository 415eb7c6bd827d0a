use dalsegno::domain::{ArchivePlace, Isolation, RunId, Severity, Verdict};
use dalsegno::policy::Proof;

use super::scene::{DAY, HOUR, Scene, ago, archive, db, window};

fn proof(verdict: Verdict, age: f64) -> Proof {
    Proof {
        subject: db("app"),
        place: Some(archive("app").place.into()),
        verdict,
        at: ago(age),
        run: RunId::new(),
        reason: (verdict != Verdict::Proven).then(|| "no room in /var/tmp".to_owned()),
        target: Some("end".into()),
        isolation: Isolation::Closed,
        whole: true,
    }
}

fn drills(proofs: Vec<Proof>) -> Scene {
    let mut scene = Scene::healthy().policy(|p| p.drill_every_seconds = Some(35.0 * DAY));
    scene.proofs = proofs;
    scene
}

#[test]
fn silence_is_judged_by_the_rpo_only_and_never_beyond_a_warning() {
    let quiet = |rpo| {
        Scene::healthy().policy(move |p| p.rpo_seconds = rpo).archive(|a| {
            a.windows = a.backups.iter().map(|backup| window(backup, 400, ago(6.0 * HOUR))).collect();
        })
    };
    let finding = quiet(Some(900.0)).only("wal-archive-silent", Severity::Warning);
    assert!(finding.cause.contains("cannot tell"), "{}", finding.cause);
    quiet(Some(7.0 * HOUR)).silent();
    quiet(None).silent();
}

#[test]
fn the_newest_base_backup_ages_from_warning_to_critical() {
    let every = |hours: f64| Scene::healthy().policy(move |p| p.base_backup_every_seconds = Some(hours * HOUR));
    every(26.0).silent();
    every(12.5).silent();
    every(10.0).only("base-backup-too-old", Severity::Warning);
    every(4.0).only("base-backup-too-old", Severity::Critical);
}

#[test]
fn a_proof_is_asked_for_by_policy_and_holds_for_its_place() {
    drills(vec![]).only("never-drilled", Severity::Warning);
    drills(vec![proof(Verdict::Proven, 3.0 * DAY)]).silent();
    drills(vec![proof(Verdict::Proven, 41.0 * DAY)]).only("proof-too-old", Severity::Warning);
    let mut elsewhere = proof(Verdict::Proven, DAY);
    elsewhere.place = Some(ArchivePlace { bucket: "old".into(), ..archive("app").place }.into());
    drills(vec![elsewhere]).only("never-drilled", Severity::Warning);
    Scene::healthy().silent();
}

#[test]
fn a_failed_drill_is_critical_until_a_later_one_proves() {
    drills(vec![proof(Verdict::Proven, 3.0 * DAY), proof(Verdict::Failed, DAY)]).only("drill-failed", Severity::Critical);
    drills(vec![proof(Verdict::Failed, 3.0 * DAY), proof(Verdict::Proven, DAY)]).silent();
    drills(vec![proof(Verdict::Failed, 3.0 * DAY), proof(Verdict::Unknown, DAY)]).only("drill-failed", Severity::Critical);
}

#[test]
fn a_drill_that_could_not_decide_is_no_proof_and_no_failure() {
    let finding = drills(vec![proof(Verdict::Unknown, DAY)]).only("drill-undecided", Severity::Warning);
    assert!(finding.could_not_look);
    drills(vec![proof(Verdict::Proven, 3.0 * DAY), proof(Verdict::Unknown, DAY)]).silent();
}

/// Ways in which a proven drill proves less than the whole.
const LESS: [(&str, fn(&mut Proof)); 4] = [
    ("an earlier moment", |proof| proof.target = Some("2026-09-30T10:00:00Z".into())),
    ("a target that is not known", |proof| proof.target = None),
    ("a sandbox less closed than configured", |proof| proof.isolation = Isolation::Declared),
    ("checks left out", |proof| proof.whole = false),
];

fn closed(proofs: Vec<Proof>) -> Scene {
    let mut scene = drills(proofs);
    scene.expected.isolation = Some(Isolation::Closed);
    scene
}

#[test]
fn a_proof_of_less_than_the_whole_clears_no_failure_and_is_not_the_proof_that_is_due() {
    for (name, change) in LESS {
        let mut less = proof(Verdict::Proven, DAY);
        change(&mut less);
        assert!(!less.counts(Some(Isolation::Closed)), "{name}");
        closed(vec![proof(Verdict::Failed, 3.0 * DAY), less.clone()]).only("drill-failed", Severity::Critical);
        let finding = closed(vec![less.clone()]).only("never-drilled", Severity::Warning);
        assert!(finding.evidence.iter().any(|line| line.contains("proved less")), "{name}: {:?}", finding.evidence);
        closed(vec![proof(Verdict::Proven, 41.0 * DAY), less.clone()]).only("proof-too-old", Severity::Warning);
        // Nor does it take anything away from a whole one.
        closed(vec![proof(Verdict::Failed, 5.0 * DAY), proof(Verdict::Proven, 3.0 * DAY), less]).silent();
    }
    closed(vec![proof(Verdict::Failed, 3.0 * DAY), proof(Verdict::Proven, DAY)]).silent();
    let mut sealed = proof(Verdict::Proven, DAY);
    sealed.isolation = Isolation::Sealed;
    closed(vec![proof(Verdict::Failed, 3.0 * DAY), sealed]).silent();
    drills(vec![proof(Verdict::Proven, DAY)]).silent();
}

#[test]
fn a_failed_drill_of_an_earlier_moment_is_a_failure_until_the_whole_is_proven() {
    let mut earlier = proof(Verdict::Failed, DAY);
    earlier.target = Some("2026-09-30T10:00:00Z".into());
    closed(vec![proof(Verdict::Proven, 3.0 * DAY), earlier.clone()]).only("drill-failed", Severity::Critical);
    earlier.at = ago(4.0 * DAY);
    closed(vec![earlier, proof(Verdict::Proven, 3.0 * DAY)]).silent();
}
