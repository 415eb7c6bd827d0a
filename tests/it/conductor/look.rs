use std::time::{Duration, Instant};

use dalsegno::domain::{ExitCode, Fact, FactKind};

use super::scene::{Does, Site, Told, codes, db, now, store_subject, the_archive, the_store};

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_costs_its_deadline_and_leaves_a_gap_while_the_others_are_judged() {
    let hanging = Told::new("postgres/auth", vec![(db("auth"), FactKind::Archive)], Does::Hangs);
    let mut site = Site::new(vec![the_store(), the_archive(), hanging]).await;
    site.limit = Duration::from_millis(300);
    let begun = Instant::now();
    let outcome = site.pass(now()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(codes(&outcome), ["look-timed-out"]);
    assert_eq!(outcome.findings[0].subject, db("auth"));
    assert_eq!(outcome.exit, ExitCode::CouldNotLook);
    assert_eq!(outcome.seen, [db("app"), store_subject()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_panics_is_a_bug_of_ours_and_the_others_are_judged() {
    let broken = Told::new("postgres/auth", vec![(db("auth"), FactKind::Archive)], Does::Panics);
    let site = Site::new(vec![the_store(), the_archive(), broken]).await;
    let outcome = site.pass(now()).await;
    assert_eq!(outcome.bugs, [(db("auth"), FactKind::Archive)]);
    assert_eq!(outcome.exit, ExitCode::Bug);
    assert_eq!(outcome.seen.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_wave_is_given_the_facts_that_it_reads_and_everybody_its_own_memory() {
    let (store, archive) = (the_store(), the_archive());
    let site = Site::new(vec![archive.clone(), store.clone()]).await;
    site.pass(now()).await;
    site.pass(super::scene::later(5)).await;
    let known = archive.known.lock().unwrap().clone();
    assert!(matches!(known[0].facts.as_slice(), [Fact::Store(_)]));
    assert_eq!(known[0].memory, None);
    assert_eq!(known[1].memory.as_ref().unwrap().0["last_key"], "x");
    let first = store.known.lock().unwrap().clone();
    assert!(first.iter().all(|known| known.facts.is_empty() && known.memory.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_look_ends_at_once_and_says_so() {
    use super::scene::{RULE, cx};
    let hanging = Told::new("postgres/auth", vec![(db("auth"), FactKind::Archive)], Does::Hangs);
    let site = Site::new(vec![hanging]).await;
    let cx = cx(now());
    cx.cancel.cancel();
    let checked = dalsegno::conductor::check(
        &site.looks,
        &site.expected,
        dalsegno::conductor::Before::Nothing,
        None,
        Duration::from_secs(30),
        RULE,
        &cx,
    )
    .await
    .unwrap();
    assert_eq!(checked.findings[0].code, "look-not-made");
    assert_eq!(checked.exit, ExitCode::CouldNotLook);
}
