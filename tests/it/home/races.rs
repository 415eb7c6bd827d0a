//! Two who write: one wins, the other says so, and the head never names half a ledger.

use dalsegno::app::AppError;
use dalsegno::domain::{ExitCode, Explained, Mode, RunId};
use jiff::Timestamp;

use super::stage::Site;

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_another_head_has_lost_and_says_so() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let (one, two) = (site.app(), site.app());
    let mut first = one.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    let mut second = two.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    let (winner, loser) = (RunId::new(), RunId::new());
    one.keep(&mut first, Mode::Cronjob, winner, None, Timestamp::now()).await.unwrap();
    let kept = site.objects().await;
    let error = two.keep(&mut second, Mode::Cronjob, loser, None, Timestamp::now()).await.unwrap_err();
    assert_eq!((error.exit(), error.code()), (ExitCode::LostRace, "ledger-race-lost"), "{error}");
    assert!(error.to_string().contains(&winner.short()), "who won is said: {error}");
    assert!(error.hint().unwrap().contains("nothing that was started is lost"));
    // Its snapshot is taken back, and the head is the winner's.
    assert_eq!(site.objects().await, kept);
    assert_eq!(site.head().await["run"], winner.to_string());
    // The loser can go on from there.
    second.close().await;
    let mut again = two.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    two.keep(&mut again, Mode::Cronjob, loser, None, Timestamp::now()).await.unwrap();
    assert_eq!(site.head().await["serial"], 3);
    again.close().await;
    first.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_first_passes_one_makes_the_ledger() {
    let Some(site) = Site::new("home").await else { return };
    let (one, two) = (site.app(), site.app());
    let mut first = one.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    let mut second = two.ledger_for_passes(Mode::Cronjob, false, Timestamp::now()).await.unwrap();
    let kept = tokio::join!(
        one.keep(&mut first, Mode::Cronjob, RunId::new(), None, Timestamp::now()),
        two.keep(&mut second, Mode::Cronjob, RunId::new(), None, Timestamp::now())
    );
    let exits: Vec<ExitCode> =
        [kept.0, kept.1].into_iter().map(|kept| kept.map_or_else(|error: AppError| error.exit(), |_| ExitCode::Fine)).collect();
    assert!(exits.contains(&ExitCode::Fine) && exits.contains(&ExitCode::LostRace), "{exits:?}");
    assert_eq!(site.head().await["serial"], 1);
    assert_eq!(site.keys("ledger/").await, [site.snapshot().await]);
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_of_another_site_is_refused_and_left_alone() {
    let Some(site) = Site::new("home").await else { return };
    assert_eq!(site.pass().exit, 0);
    let before = site.objects().await;
    for said in [site.beside("away").pass(), site.beside("away").run(&["status"])] {
        assert_eq!(said.exit, 2, "{said:?}");
        assert!(["home", "away", "hint"].iter().all(|word| said.err.contains(word)), "{said:?}");
    }
    assert_eq!(site.objects().await, before);
}
