//! A rule whose decision can be flipped without a test noticing is held by nothing. `tests/mutate.sh` goes through all codes; here
//! the means itself is shown to work.

/// Flips what `DALSEGNO_FLIP` names (`never:CODE`, `always:CODE`), for this process.
pub(crate) fn from_environment() {
    #[cfg(feature = "lab")]
    dalsegno::policy::flip(std::env::var("DALSEGNO_FLIP").ok().as_deref());
}

/// Runs one test of this binary in a process of its own, with a code flipped.
#[cfg(feature = "lab")]
fn passes(test: &str, flip: Option<&str>) -> bool {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--test-threads=1"]).env_remove("DALSEGNO_FLIP");
    if let Some(flip) = flip {
        command.env("DALSEGNO_FLIP", flip);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test"), "{test} is no test: {said}");
    output.status.success()
}

#[cfg(feature = "lab")]
#[test]
fn a_flipped_decision_is_noticed() {
    let fires = "policy::backups::missing_objects_of_the_newest_base_backup_are_critical_and_of_an_older_one_a_warning";
    assert!(passes(fires, None), "the test passes when nothing is flipped");
    assert!(passes(fires, Some("never:wal-gap")), "another rule is nothing to it");
    assert!(!passes(fires, Some("never:base-backup-incomplete")), "a rule that keeps silent is noticed");
    assert!(!passes(fires, Some("always:wal-gap")), "a rule that always speaks is noticed");
}
