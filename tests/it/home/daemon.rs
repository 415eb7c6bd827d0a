//! `dalsegno daemon`: passes, health, numbers, and a good end.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::stage::Site;

/// A daemon of a site, ended when it goes.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    fn start(site: &Site, env: &[(&str, &str)]) -> Self {
        let mut child =
            site.command(&["daemon", "--listen", "127.0.0.1:0", "--every", "10s"]).envs(env.iter().copied()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.by_ref().find_map(|line| Some(format!("http://{}", line.split("http://").nth(1)?.split('/').next()?)));
        // Somebody must read on, or the daemon would wait for the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.expect("the daemon says where it listens") }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = reqwest::get(format!("{}{path}", self.url)).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn passes(&self, at_least: u64) {
        let until = Instant::now() + Duration::from_secs(40);
        loop {
            let (_, text) = self.get("/healthz").await;
            let passes: u64 = text.split(' ').next().unwrap().parse().unwrap_or(0);
            if passes >= at_least {
                return;
            }
            assert!(Instant::now() < until, "{text}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn ends(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_tells_how_it_is_and_ends_well() {
    dalsegno::app::install_tls();
    let Some(site) = Site::new("home").await else { return };
    let daemon = Running::start(&site, &[]);
    daemon.passes(2).await;
    let (status, text) = daemon.get("/healthz").await;
    assert_eq!(status, 200, "{text}");
    let (status, text) = daemon.get("/metrics").await;
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("# TYPE dalsegno_pass_last_end_timestamp_seconds gauge"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("dalsegno_findings{site=\"home\",severity=\"unknown\"} ")), "{text}");
    assert_eq!(daemon.get("/").await.0, 404);
    // While it runs, the other kind is refused, and readers are not.
    let said = site.run(&["run"]);
    assert_eq!(said.exit, 6, "{said:?}");
    assert!(said.err.contains("held by the daemon"), "{said:?}");
    assert_eq!(site.passes(), [2, 1]);
    let serial = site.head().await["serial"].as_i64().unwrap();
    assert_eq!(daemon.ends(Signal::SIGTERM), Some(143));
    // Its mark ended with it.
    assert_eq!(site.head().await["serial"], serial + 1);
    let said = site.run(&["run", "--exit", "work", "-o", "json"]);
    assert_eq!((said.exit, said.json()["number"].as_i64()), (0, Some(3)), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_was_killed_is_followed_by_another_from_a_whole_ledger() {
    dalsegno::app::install_tls();
    let Some(site) = Site::new("home").await else { return };
    let daemon = Running::start(&site, &[]);
    daemon.passes(1).await;
    assert_eq!(daemon.ends(Signal::SIGKILL), None);
    let said = site.run(&["run"]);
    assert_eq!(said.exit, 6, "its mark still holds: {said:?}");
    let next = Running::start(&site, &[]);
    next.passes(1).await;
    assert_eq!(next.ends(Signal::SIGINT), Some(130));
    assert_eq!(site.passes().len(), 2);
    let verified = site.run(&["ledger", "verify"]);
    assert_eq!(verified.exit, 0, "{verified:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_lost_the_ledger_ends_and_says_so() {
    dalsegno::app::install_tls();
    let Some(site) = Site::new("home").await else { return };
    let daemon = Running::start(&site, &[]);
    daemon.passes(1).await;
    let said = site.run(&["daemon", "--listen", "127.0.0.1:0", "--every", "1s"]);
    assert_eq!(said.exit, 2, "{said:?}");
    let busy = daemon.url.trim_start_matches("http://").to_owned();
    let said = site.run(&["daemon", "--listen", &busy]);
    assert_eq!(said.exit, 2, "{said:?}");
    assert!(said.err.contains("cannot listen on"), "{said:?}");
    // Another one takes it over behind its back.
    let app = site.app();
    let now = jiff::Timestamp::now();
    let mut book = app.ledger_for_passes(dalsegno::domain::Mode::Daemon, true, now).await.unwrap();
    app.keep(&mut book, dalsegno::domain::Mode::Daemon, dalsegno::domain::RunId::new(), None, now).await.unwrap();
    book.close().await;
    let mut daemon = daemon;
    let until = Instant::now() + Duration::from_secs(30);
    let code = loop {
        if let Some(status) = daemon.child.try_wait().unwrap() {
            break status.code();
        }
        assert!(Instant::now() < until, "it goes on");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(code, Some(6));
}
