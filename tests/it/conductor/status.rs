use dalsegno::conductor::{State, status};
use dalsegno::domain::{Fact, FactKind, Known};

use super::scene::{Does, Site, Told, answers, archive, db, later, now, store_subject, the_archive, the_store};

#[tokio::test(flavor = "multi_thread")]
async fn before_the_first_pass_everything_is_unknown() {
    let mut site = Site::new(vec![]).await;
    site.expected.covers.push((db("app"), FactKind::Archive));
    let status = status(&site.ledger, &site.expected, "home", now()).await.unwrap();
    assert_eq!(status.pass, None);
    assert_eq!((status.lines[0].state, status.lines[0].why.as_str()), (State::Unknown, "no pass yet"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_last_pass_saw_is_fine_until_passes_stay_away() {
    let mut site = Site::new(vec![the_store(), the_archive()]).await;
    site.expected.covers = vec![(db("app"), FactKind::Archive), (store_subject(), FactKind::Store)];
    for minutes in [0, 5, 10] {
        site.pass(later(minutes)).await;
    }
    let at = |minutes| status(&site.ledger, &site.expected, "home", later(minutes));
    assert!(at(11).await.unwrap().lines.iter().all(|line| line.state == State::Fine));
    let old = at(40).await.unwrap();
    assert!(old.stale && old.lines.iter().all(|line| line.state == State::Unknown && line.why == "no pass since"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_behind_a_dark_store_is_unknown_though_it_has_no_finding_of_its_own() {
    let (store, archive) = (the_store(), the_archive());
    let mut site = Site::new(vec![store.clone(), archive.clone()]).await;
    site.expected.covers = vec![(db("app"), FactKind::Archive), (store_subject(), FactKind::Store)];
    site.pass(now()).await;
    site.limit = std::time::Duration::from_millis(200);
    store.then(Does::Hangs);
    archive.then(Does::Hangs);
    let outcome = site.pass(later(5)).await;
    assert_eq!(outcome.findings.len(), 1, "{:?}", outcome.findings);
    let status = status(&site.ledger, &site.expected, "home", later(6)).await.unwrap();
    let seen: Vec<_> = status.lines.iter().map(|line| (line.subject.to_string(), line.state, line.why.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("pg/home/prod/app".to_owned(), State::Unknown, "not seen by the last pass"),
            ("store/home/minio".to_owned(), State::Unknown, "object-store-outage"),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_stand_by_nearness_of_harm() {
    let bare = |name: &'static str, change: fn(&mut dalsegno::domain::ArchiveFact)| {
        let mut fact = archive(name);
        change(&mut fact);
        Told::new(name, vec![(db(name), FactKind::Archive)], answers(vec![Fact::Archive(Box::new(fact))]))
    };
    let critical = bare("b", |fact| {
        fact.backups.clear();
        fact.windows.clear();
    });
    let warning = bare("c", |fact| fact.backups[0].missing = vec!["data.tar".into()]);
    let site = Site::new(vec![bare("a", |_| {}), critical, warning, the_store()]).await;
    site.pass(now()).await;
    let mut expected = site.expected.clone();
    expected.covers = site.looks.iter().flat_map(|look| look.observer.covers(&Known::default())).collect();
    let status = status(&site.ledger, &expected, "home", later(1)).await.unwrap();
    let order: Vec<_> = status.lines.iter().map(|line| (line.subject.name(), line.state)).collect();
    assert_eq!(order, [("b", State::Critical), ("c", State::Warning), ("a", State::Fine), ("minio", State::Fine)]);
}
