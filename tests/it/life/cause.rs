use dalsegno::domain::{Finding, Severity, Silence};

use super::{Site, at, blind, db, finding, store, words};

fn forty() -> (Site, Vec<Finding>) {
    let mut site = Site::default();
    let databases: Vec<_> = (0..40).map(|n| db(&format!("db-{n}"))).collect();
    for database in &databases {
        site.expected.rests_on.insert(database.clone(), store());
    }
    let silent = databases.iter().map(|database| finding("wal-archive-silent", database, Severity::Warning)).collect();
    (site, silent)
}

fn outage() -> Finding {
    finding("object-store-outage", &store(), Severity::Critical)
}

#[test]
fn a_bucket_that_is_gone_does_not_page_for_forty_databases() {
    let (mut site, silent) = forty();
    assert_eq!(words(&site.pass(at(0), &[outage()])), ["new critical object-store-outage"]);
    let found: Vec<_> = std::iter::once(outage()).chain(silent.clone()).collect();
    for minute in [5, 10, 60, 600] {
        assert!(site.pass(at(minute), &found).is_empty(), "minute {minute}");
    }
    assert!(matches!(site.quiet_of(&silent[0].key()), Some(Silence::Explained { by }) if *by == outage().key()));
}

#[test]
fn found_together_they_are_one_message_that_names_what_it_explains() {
    let (mut site, silent) = forty();
    let found: Vec<_> = std::iter::once(outage()).chain(silent).collect();
    let notices = site.pass(at(0), &found);
    assert_eq!(words(&notices), ["new critical object-store-outage"]);
    assert_eq!(notices[0].explains.len(), 40);
}

#[test]
fn what_is_still_there_a_while_after_its_cause_is_over_is_said_for_itself() {
    let (mut site, silent) = forty();
    let found: Vec<_> = std::iter::once(outage()).chain(silent[..2].to_vec()).collect();
    site.pass(at(0), &found);
    assert_eq!(words(&site.pass(at(5), &silent[..2])), ["cleared critical object-store-outage"]);
    assert!(site.pass(at(30), &silent[..1]).is_empty(), "an archive needs time to drain");
    assert_eq!(words(&site.pass(at(35), &silent[..1])), ["new warning wal-archive-silent"]);
}

#[test]
fn damage_is_explained_by_nobody_and_neither_is_what_lies_elsewhere() {
    let (mut site, _) = forty();
    let damage = finding("wal-gap", &db("db-1"), Severity::Critical);
    let elsewhere = finding("wal-archive-silent", &db("other"), Severity::Warning);
    let said = words(&site.pass(at(0), &[outage(), damage, elsewhere]));
    assert_eq!(said, ["new critical wal-gap", "new critical object-store-outage", "new warning wal-archive-silent"]);
}

#[test]
fn without_the_outage_each_is_said() {
    let (mut site, silent) = forty();
    assert_eq!(site.pass(at(0), &silent).len(), 40, "the twin: no common cause is known");
}

#[test]
fn blindness_behind_a_dark_store_is_explained_too() {
    let (mut site, _) = forty();
    site.pass(at(0), &[outage()]);
    let gap = blind("look-timed-out", &db("db-1"));
    assert!(site.pass(at(5), &[outage(), gap.clone()]).is_empty());
    assert!(site.pass(at(60), &[outage(), gap]).is_empty());
}

#[test]
fn a_volume_that_fills_because_of_it_is_held_back_only_while_it_is_far() {
    let (mut site, _) = forty();
    site.pass(at(0), &[outage()]);
    let clock = |severity| finding("wal-archiving-failing-disk-clock", &db("db-1"), severity);
    assert!(site.pass(at(5), &[outage(), clock(Severity::Warning)]).is_empty());
    let near = site.pass(at(10), &[outage(), clock(Severity::Critical)]);
    assert_eq!(words(&near), ["new critical wal-archiving-failing-disk-clock"]);
}
