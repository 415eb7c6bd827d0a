//! Thirty days of a healthy platform through passes, ledger and policy: nobody is told anything.

use dalsegno::conductor::status;
use dalsegno::domain::{Change, Fact, FactKind, Severity};
use jiff::SignedDuration;

use super::sim::{DAY, GIB, HOUR, Load, MIB, World, bursts, db, idle, moment, nightly_batch, office, vacuum_nights};
use crate::conductor::scene::{Site, Told, answers};

/// A platform's databases: name, what it does, its volume.
const DATABASES: [(&str, Load, f64); 5] = [
    ("keycloak", idle, 10.0),
    ("gitea", office, 20.0),
    ("shop", bursts, 60.0),
    ("mail", vacuum_nights, 40.0),
    ("reports", nightly_batch, 40.0),
];

/// Realistic noise: a link that is slow for some minutes, a look that misses, a failover, a restart of counters.
fn noise(world: &mut World, pass: u32, number: usize) {
    let event = (u64::from(pass) * 31 + number as u64 * 7) % 97;
    world.link = match event {
        3 => 0.0,
        4..=6 => 2.0 * MIB,
        _ => 10.0 * MIB,
    };
    if event == 50 && pass % 5 == 0 {
        world.archived_count += 40_000.0;
    }
    if event == 60 && pass % 7 == 0 {
        world.archived_count = 0.0;
        world.failed_count = 0.0;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_healthy_days_page_nobody() {
    const EVERY: f64 = 1_800.0;
    let mut worlds: Vec<(&str, World)> = DATABASES
        .iter()
        .enumerate()
        .map(|(seed, (name, load, room))| (*name, World::new(seed as u64 + 40, *load, room * GIB)))
        .collect();
    let told = Told::new("cnpg", vec![(db("keycloak"), FactKind::Sample)], answers(Vec::new()));
    let site = Site::new(vec![told.clone()]).await;
    let mut messages = Vec::new();
    for pass in 1..=1_440_u32 {
        let mut facts = Vec::new();
        for (number, (name, world)) in worlds.iter_mut().enumerate() {
            noise(world, pass, number);
            // The disturbance lasts ten minutes; the rest of the half hour is as always.
            world.go(600.0);
            world.link = 10.0 * MIB;
            world.until(f64::from(pass) * EVERY);
            world.seen.clear();
            // One in forty looks misses one database.
            if (pass as usize + number * 13) % 40 != 0 || *name == "keycloak" {
                facts.extend(world.samples(name));
            }
        }
        told.then(answers(facts));
        let outcome = site.pass(moment(f64::from(pass) * EVERY)).await;
        assert!(outcome.bugs.is_empty(), "{:?}", outcome.bugs);
        messages.extend(outcome.changes.into_iter().filter_map(|change| match change {
            Change::New { finding } if finding.severity >= Severity::Warning => {
                Some(format!("pass {pass}: {} {}", finding.code, finding.subject))
            }
            _ => None,
        }));
    }
    assert!(messages.is_empty(), "{messages:#?}");
    assert!(site.ledger.open_findings().await.unwrap().is_empty());

    // The same platform, and one archiver breaks: it is told once, stays, and the screen shows the hours.
    let broken = &mut worlds[1].1;
    broken.link = 0.0;
    let begin = 1_440.0 * EVERY;
    let mut new = Vec::new();
    for pass in 1..=12 {
        broken.until(begin + f64::from(pass) * EVERY);
        told.then(answers(broken.samples("gitea")));
        let outcome = site.pass(moment(begin + f64::from(pass) * EVERY)).await;
        new.extend(outcome.changes.iter().filter_map(|change| match change {
            Change::New { finding } => Some((pass, finding.code.clone())),
            _ => None,
        }));
        assert!(pass < 3 || outcome.findings.iter().any(|finding| finding.code == "wal-archiving-failing-disk-clock"));
    }
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(new[0].0 <= 3);
    let end = moment(begin + 12.0 * EVERY);
    let mut expected = site.expected.clone();
    expected.covers.push((db("gitea"), FactKind::Sample));
    let screen = status(&site.ledger, &expected, "home", end.checked_add(SignedDuration::from_mins(1)).unwrap()).await.unwrap();
    let line = screen.lines.iter().find(|line| line.subject == db("gitea")).unwrap();
    let clock = line.clock.as_ref().unwrap();
    let truth = broken.full_in().unwrap() / HOUR;
    let (low, high) = (clock.hours_low.unwrap(), clock.hours_high.unwrap());
    assert!((low..=high).contains(&truth), "{low}–{high} and {truth}");
    assert!(clock.words.starts_with("full "), "{}", clock.words);
    let _ = (DAY, Fact::is_number);
}
