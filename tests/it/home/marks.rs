//! CronJob or daemon, never both: in a bucket and on a volume.

use dalsegno::domain::{ExitCode, Explained, Mode, RunId};
use jiff::{SignedDuration, Timestamp};

use super::stage::Site;

fn hours(hours: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(hours)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_keeps_away_where_a_cronjob_holds_the_ledger() {
    let Some(site) = Site::new("home").await else { return };
    for at_volume in [false, true] {
        let volume = ("DALSEGNO__LEDGER__HOME", "volume");
        let home: &[(&str, &str)] = if at_volume { &[volume] } else { &[] };
        let env = [home, &[("DALSEGNO__PASS__MODE", "cronjob")]].concat();
        let env = env.as_slice();
        let said = site.run_with(&["run", "--exit", "work"], env);
        assert_eq!(said.exit, 0, "{said:?}");
        let said = site.run_with(&["daemon", "--listen", "127.0.0.1:0"], home);
        assert_eq!(said.exit, 6, "{said:?}");
        assert!(said.err.contains("held by the cronjob") && said.err.contains("--take-over"), "{said:?}");
        // The same kind is welcome, and so is a reader.
        let said = site.run_with(&["run", "--exit", "work"], env);
        assert_eq!(said.exit, 0, "{said:?}");
        let said = site.run_with(&["status"], home);
        assert_eq!(said.exit, 0, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_ends_by_itself() {
    let Some(site) = Site::new("home").await else { return };
    let app = site.app();
    let mut book = app.ledger_for_passes(Mode::Daemon, false, Timestamp::now()).await.unwrap();
    let every = Some(SignedDuration::from_mins(5));
    app.keep(&mut book, Mode::Daemon, RunId::new(), every, Timestamp::now()).await.unwrap();
    book.close().await;
    let refused = app.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.err().unwrap();
    assert_eq!((refused.exit(), refused.code()), (ExitCode::LostRace, "ledger-held"), "{refused}");
    app.ledger_for_passes(Mode::Cronjob, false, hours(1)).await.unwrap().close().await;
    app.ledger_for_passes(Mode::Cronjob, true, Timestamp::now()).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_the_configured_kind_is_refused_before_anything_is_read() {
    let Some(site) = Site::new("home").await else { return };
    let said = site.run_with(&["run"], &[("DALSEGNO__PASS__MODE", "daemon")]);
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(said.err.contains("pass.mode is daemon"), "{said:?}");
    let said = site.run_with(&["daemon", "--listen", "127.0.0.1:0"], &[("DALSEGNO__PASS__MODE", "cronjob")]);
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(site.keys("").await.is_empty());
}
