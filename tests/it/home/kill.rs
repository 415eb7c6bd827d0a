//! SIGKILL at every step between bucket and pass: the next pass starts from a whole head.

use std::os::unix::process::ExitStatusExt as _;

use super::stage::Site;

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_is_killed_anywhere_leaves_a_whole_ledger() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let list = site.folder.path().join("points");
    let said = site.run_with(&["run", "--exit", "work"], &[("DALSEGNO_KILL_LIST", list.to_str().unwrap())]);
    assert_eq!(said.exit, 0, "{said:?}");
    let points: Vec<String> = std::fs::read_to_string(&list)
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.split_once(' ')?.1.to_owned()))
        .filter(|point| point.starts_with("home-"))
        .collect();
    assert!(points.len() >= 8, "{points:?}");
    let mut serial = site.head().await["serial"].as_i64().unwrap();
    for point in &points {
        site.forget();
        let status = site.command(&["run", "--exit", "work"]).env("DALSEGNO_KILL_AT", point).status().unwrap();
        assert_eq!(status.signal(), Some(9), "{point}");
        site.forget();
        // The head names what was whole before, or what is whole now.
        let verified = site.run(&["ledger", "verify"]);
        assert_eq!(verified.exit, 0, "{point}: {verified:?}");
        let runs = site.run(&["history", "-o", "json"]).json();
        assert!(runs.as_array().unwrap().iter().all(|run| run["state"] == "done"), "{point}: {runs:#}");
        let next = site.pass();
        assert_eq!(next.exit, 0, "{point}: {next:?}");
        let now = site.head().await["serial"].as_i64().unwrap();
        assert!(now == serial + 1 || now == serial + 2, "{point}: {serial} → {now}");
        serial = now;
    }
    // The very first pass, killed as well: nothing, or a whole one.
    for point in ["home-conditions-shown:1", "home-config-kept:1", "home-snapshot-kept:1", "home-head-kept:1"] {
        let young = Site::new("home").await.unwrap();
        let status = young.command(&["run", "--exit", "work"]).env("DALSEGNO_KILL_AT", point).status().unwrap();
        assert_eq!(status.signal(), Some(9), "{point}");
        young.forget();
        let next = young.pass();
        assert_eq!(next.exit, 0, "{point}: {next:?}");
        let number = if point.starts_with("home-head-kept") { 2 } else { 1 };
        assert_eq!(next.json()["number"], number, "{point}");
    }
}
