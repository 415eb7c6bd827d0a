use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dalsegno::conductor::Notify;
use dalsegno::domain::{Fact, Secret, Severity};
use dalsegno::notify::{Channel, Heartbeat};
use dalsegno::tap::{CallError, FailureKind, HttpAnswer, HttpCalls, HttpRequest};

use super::scene::{Site, answers, archive, codes, later, now, store, the_archive, the_store};

/// Writes down what is called, and answers by status.
#[derive(Default)]
struct Wire {
    calls: Mutex<Vec<(String, String, String)>>,
    webhook_status: Mutex<u16>,
}

#[async_trait]
impl HttpCalls for Wire {
    async fn call(&self, request: &HttpRequest) -> Result<HttpAnswer, CallError> {
        let body = request.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned()).unwrap_or_default();
        self.calls.lock().unwrap().push((request.base.name.clone(), request.path.clone(), body));
        let status = if request.base.name.starts_with("webhook") { *self.webhook_status.lock().unwrap() } else { 200 };
        if status == 0 {
            return Err(CallError::new(FailureKind::Refused, "connection refused"));
        }
        Ok(HttpAnswer {
            status,
            reason: String::new(),
            headers: std::collections::BTreeMap::default(),
            body: bytes::Bytes::new(),
            cut_at: None,
        })
    }
}

impl Wire {
    fn taken(&self) -> Vec<(String, String, String)> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

async fn site(status: u16) -> (Site, Arc<Wire>, Arc<super::scene::Told>) {
    let archive = the_archive();
    let mut site = Site::new(vec![the_store(), archive.clone()]).await;
    let wire = Arc::new(Wire::default());
    *wire.webhook_status.lock().unwrap() = status;
    site.notify = Some(Notify {
        channels: vec![Channel {
            name: "ops".into(),
            url: Secret::new("https://hooks.invalid/tokentoken".into()),
            at_least: Severity::Warning,
        }],
        heartbeat: Some(Heartbeat { url: Secret::new("https://beat.invalid/uuid-uuid".into()) }),
        http: wire.clone(),
    });
    (site, wire, archive)
}

fn empty() -> super::scene::Does {
    let mut bare = archive("app");
    bare.backups.clear();
    bare.windows.clear();
    answers(vec![Fact::Archive(Box::new(bare))])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_pass_says_nothing_and_its_heart_beats() {
    let (site, wire, _) = site(200).await;
    site.pass(now()).await;
    let calls = wire.taken();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((calls[0].0.as_str(), calls[0].1.as_str()), ("heartbeat", ""));
}

/// The path that the heartbeat was called with.
fn beat(wire: &Wire) -> String {
    let calls = wire.taken();
    let (_, path, _) = calls.iter().find(|(name, ..)| name == "heartbeat").unwrap_or_else(|| panic!("no heartbeat in {calls:?}"));
    path.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_success_is_signalled_while_drills_could_not_be_swept_or_their_evidence_not_be_taken_in() {
    let (mut site, wire, _) = site(200).await;
    site.swept.stuck = vec!["/var/tmp/dalsegno-1: not ours".into()];
    site.pass(now()).await;
    assert_eq!(beat(&wire), "/fail");
    site.swept.stuck.clear();
    site.pass(later(5)).await;
    assert_eq!(beat(&wire), "", "the twin: nothing is left over");
    let run = dalsegno::domain::RunId::new();
    let folder = site.drills().join(run.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("evidence.json"), "{half").unwrap();
    site.pass(later(10)).await;
    assert_eq!(beat(&wire), "/log");
    // A second, different file of a run that was taken in.
    let mut drill = super::pass::evidence(run);
    std::fs::remove_file(folder.join("evidence.json")).unwrap();
    dalsegno::execution::write_evidence(&folder, &drill).unwrap();
    site.pass(later(15)).await;
    assert_eq!(beat(&wire), "");
    drill.site = "elsewhere".into();
    std::fs::remove_file(folder.join("evidence.json")).unwrap();
    dalsegno::execution::write_evidence(&folder, &drill).unwrap();
    let outcome = site.pass(later(20)).await;
    assert_eq!(codes(&outcome), ["evidence-unreadable"]);
    assert_eq!(beat(&wire), "/log");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_new_is_said_once_and_its_end_too() {
    let (site, wire, archive) = site(200).await;
    archive.then(empty());
    site.pass(now()).await;
    let calls = wire.taken();
    assert!(calls.iter().any(|(name, _, body)| name == "webhook ops" && body.contains("wal-without-base-backup")), "{calls:?}");
    assert!(calls.iter().any(|(name, path, _)| name == "heartbeat" && path == "/fail"), "{calls:?}");
    site.pass(later(5)).await;
    assert!(!wire.taken().iter().any(|(name, ..)| name == "webhook ops"));
    archive.then(answers(vec![Fact::Archive(Box::new(super::scene::archive("app"))), Fact::Store(Box::new(store()))]));
    site.pass(later(10)).await;
    assert!(wire.taken().iter().any(|(name, ..)| name == "webhook ops"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_channel_did_not_take_goes_out_when_it_lives_again() {
    let (site, wire, archive) = site(0).await;
    archive.then(empty());
    let outcome = site.pass(now()).await;
    assert_eq!(outcome.delivery.waiting.len(), 1);
    *wire.webhook_status.lock().unwrap() = 200;
    wire.taken();
    let outcome = site.pass(later(5)).await;
    assert!(outcome.delivery.delivered.contains("ops"));
    assert!(wire.taken().iter().any(|(_, _, body)| body.contains("wal-without-base-backup")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_refuses_for_good_is_a_finding_until_it_takes_a_message() {
    let (site, wire, archive) = site(404).await;
    archive.then(empty());
    site.pass(now()).await;
    let outcome = site.pass(later(5)).await;
    assert!(codes(&outcome).contains(&"notification-undeliverable"), "{:?}", codes(&outcome));
    let open = |findings: Vec<dalsegno::ledger::OpenFinding>| {
        findings.iter().any(|open| open.finding.code == "notification-undeliverable")
    };
    site.pass(later(10)).await;
    assert!(open(site.ledger.open_findings().await.unwrap()), "nothing shows that it works again");
    *wire.webhook_status.lock().unwrap() = 200;
    archive.then(answers(vec![Fact::Archive(Box::new(super::scene::archive("app")))]));
    for minutes in [80, 160] {
        site.pass(later(minutes)).await;
    }
    assert!(!open(site.ledger.open_findings().await.unwrap()));
}
