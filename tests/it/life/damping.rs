use dalsegno::domain::{Ended, Severity, Told};
use dalsegno::policy::life::{FLAP_WINDOW, STEADY};

use super::{Site, at, blind, critical, db, said, told, words};

#[test]
fn what_is_new_is_said_once_and_so_is_its_end() {
    assert_eq!(
        said("!!!!!.....!"),
        [
            told(0, "new critical"),
            told(5, "cleared critical"),
            // Within three hours it is the same trouble: first it must stay.
        ]
    );
}

#[test]
fn what_comes_and_goes_is_not_said_again_and_again() {
    let hours = "!.".repeat(100);
    let all = said(&hours);
    assert_eq!(all[..2], [told(0, "new critical"), told(1, "cleared critical")]);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[2].1.starts_with("back critical"), "after three returns it is said that it comes and goes: {all:?}");
}

#[test]
fn what_came_back_and_stays_is_said_after_a_while() {
    assert_eq!(said("!!.!!!!!!"), [told(0, "new critical"), told(2, "cleared critical"), told(6, "back critical")]);
}

#[test]
fn the_end_of_what_came_back_is_said_when_it_has_been_calm() {
    let calm = ".".repeat(50);
    let all = said(&format!("!!.!!!!{calm}"));
    let window = FLAP_WINDOW.as_secs() / 300;
    assert_eq!(all.last().unwrap(), &told(7 + window, "cleared critical"));
}

#[test]
fn after_the_window_it_is_a_new_trouble() {
    let calm = ".".repeat(usize::try_from(FLAP_WINDOW.as_secs() / 300 + 2).unwrap());
    let all = said(&format!("!{calm}!"));
    assert_eq!(
        all.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>(),
        ["new critical wal-gap", "cleared critical wal-gap", "new critical wal-gap"]
    );
}

#[test]
fn a_nearer_harm_is_said_at_once_and_a_farther_one_when_it_lasts() {
    assert_eq!(said("ww!!!"), [told(0, "new warning"), told(2, "worse critical")]);
    let eased = said(&format!("!{}", "w".repeat(14)));
    assert_eq!(eased, [told(0, "new critical"), told(13, "eased warning")]);
}

#[test]
fn a_value_at_a_threshold_does_not_call_people_back_and_forth() {
    assert_eq!(said(&"w!".repeat(40)), [told(0, "new warning"), told(1, "worse critical")]);
}

#[test]
fn nobody_who_did_not_look_says_anything() {
    assert_eq!(said("!????????????????!!!."), [told(0, "new critical"), told(20, "cleared critical")]);
}

#[test]
fn one_lost_look_calls_nobody_and_a_blindness_that_stays_does() {
    let gone = blind("object-store-outage", &db("app"));
    let mut site = Site::default();
    assert!(site.pass(at(0), std::slice::from_ref(&gone)).is_empty(), "one lost look");
    assert!(site.pass(at(5), &[]).is_empty(), "and its end, of which nobody heard the begin");
    assert!(site.pass(at(200), std::slice::from_ref(&gone)).is_empty());
    assert!(site.pass(at(205), std::slice::from_ref(&gone)).is_empty());
    assert_eq!(words(&site.pass(at(210), &[gone])), ["new critical object-store-outage"], "its twin stays");
}

#[test]
fn a_look_that_is_lost_again_and_again_is_said_though_it_never_stays() {
    let gone = blind("look-timed-out", &db("app"));
    let mut site = Site::default();
    let mut all = Vec::new();
    for index in 0..30 {
        let found: Vec<_> = (index % 2 == 0).then(|| gone.clone()).into_iter().collect();
        all.extend(site.pass(at(index * 5), &found));
    }
    assert_eq!(words(&all), ["new critical look-timed-out"]);
    assert!(all[0].because.as_deref().unwrap().contains("comes and goes"), "{:?}", all[0].because);
}

#[test]
fn what_is_no_longer_configured_is_not_said_to_be_repaired() {
    let mut site = Site::default();
    site.pass(at(0), &[critical("wal-gap")]);
    let notices = site.pass_with(at(5), &[], &|_| Some(Ended::NotConfigured));
    assert_eq!((notices[0].told, notices[0].alert.ended), (Told::Cleared, Some(Ended::NotConfigured)));
    site.pass(at(300), &[critical("wal-gap")]);
    let notices = site.pass(at(305), &[]);
    assert_eq!(notices[0].alert.ended, Some(Ended::Fixed), "the twin");
}

#[test]
fn what_a_ledger_of_an_older_version_knows_is_not_said_again() {
    let mut site = Site::default();
    site.pass(at(0), &[critical("wal-gap")]);
    site.heard.alerts.clear();
    assert!(site.pass(at(5), &[critical("wal-gap")]).is_empty());
    assert_eq!(words(&site.pass(at(10), &[])), ["cleared critical wal-gap"], "its end is");
}

#[test]
fn each_severity_that_was_told_is_remembered_with_its_end() {
    let mut site = Site::default();
    site.pass(at(0), &[super::warning("wal-gap")]);
    site.pass(at(5), &[critical("wal-gap")]);
    assert_eq!(site.heard.alerts[0].earlier, [(Severity::Warning, at(5))]);
    site.pass(at(10), &[]);
    assert_eq!(site.heard.alerts[0].earlier, [(Severity::Warning, at(5)), (Severity::Critical, at(10))]);
}

proptest::proptest! {
    /// Whatever comes: what is there and stays is known to people, and nothing is paged twice inside a window unless it got worse.
    #[test]
    fn what_stays_is_told_and_nothing_is_paged_twice(signs in "[!w?.]{1,120}") {
        let all = said(&signs);
        let pages: Vec<&(i64, String)> = all.iter().filter(|(_, word)| !word.starts_with("cleared") && !word.starts_with("eased")).collect();
        for pair in pages.windows(2) {
            let apart = (pair[1].0 - pair[0].0) * 5;
            let worse = pair[1].1.starts_with("worse") || (pair[0].1.contains("warning") && pair[1].1.contains("critical"));
            let back = pair[1].1.starts_with("back");
            proptest::prop_assert!(worse || back || apart * 60 >= FLAP_WINDOW.as_secs(), "{pair:?}");
        }
        let backs = all.iter().filter(|(_, word)| word.starts_with("back")).count();
        let windows = 1 + i64::try_from(signs.len()).unwrap() * 300 / FLAP_WINDOW.as_secs();
        proptest::prop_assert!(i64::try_from(backs).unwrap() <= windows, "{all:?}");
        // Five more sights in a row: longer than it must stay.
        let steady = usize::try_from(STEADY.as_secs() / 300).unwrap() + 2;
        let after = said(&format!("{signs}{}", "!".repeat(steady)));
        let last = after.last().map(|(_, word)| word.clone()).unwrap_or_default();
        proptest::prop_assert!(last.contains("critical") && !last.starts_with("cleared"), "{after:?}");
    }
}
