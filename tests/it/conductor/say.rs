use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dalsegno::conductor::Notify;
use dalsegno::domain::{Fact, Secret, Severity};
use dalsegno::notify::{Channel, Heartbeat, Means};
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
        channels: vec![Channel::webhook("ops", Secret::new("https://hooks.invalid/tokentoken".into()), Severity::Warning)],
        heartbeat: Some(Heartbeat { url: Secret::new("https://beat.invalid/uuid-uuid".into()) }),
        means: Means { http: wire.clone(), kube: std::collections::BTreeMap::new(), site: "home".into() },
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
    let called: Vec<_> = calls.iter().map(|(name, path, _)| (name.as_str(), path.as_str())).collect();
    assert_eq!(called, [("heartbeat", "/start"), ("heartbeat", "")]);
}

/// The path that the heartbeat was called with at the end of a pass.
fn beat(wire: &Wire) -> String {
    let calls = wire.taken();
    let (_, path, _) =
        calls.iter().rfind(|(name, ..)| name == "heartbeat").unwrap_or_else(|| panic!("no heartbeat in {calls:?}"));
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

fn webhooks(wire: &Wire) -> Vec<String> {
    wire.taken().into_iter().filter(|(name, ..)| name == "webhook ops").map(|(_, _, body)| body).collect()
}

fn whole() -> super::scene::Does {
    answers(vec![Fact::Archive(Box::new(super::scene::archive("app"))), Fact::Store(Box::new(store()))])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_flaps_over_an_hour_of_passes_is_said_three_times_at_most_and_the_record_has_all_of_it() {
    let (site, wire, archive) = site(200).await;
    let mut said = Vec::new();
    for pass in 0..12 {
        archive.then(if pass % 2 == 0 { empty() } else { whole() });
        site.pass(later(pass * 5)).await;
        said.extend(webhooks(&wire));
    }
    assert_eq!(said.len(), 3, "new, cleared, comes and goes: {said:?}");
    assert!(said[2].contains("comes and goes"), "{}", said[2]);
    let runs = site.ledger.history(&dalsegno::ledger::HistoryFilter::default()).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.new).sum::<i64>(), 6, "every return is recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_critical_calls_nobody_and_the_heart_beats() {
    let (site, wire, archive) = site(200).await;
    archive.then(empty());
    site.pass(now()).await;
    assert_eq!(beat(&wire), "/fail");
    let finding = site.ledger.open_findings().await.unwrap().remove(0).finding;
    let ack = dalsegno::domain::Ack {
        key: finding.key(),
        severity: finding.severity,
        reason: "the archive is being moved".into(),
        author: "vera".into(),
        made_at: later(1),
        until: later(60),
    };
    site.ledger.acknowledge(&ack).await.unwrap();
    let outcome = site.pass(later(5)).await;
    assert_eq!(beat(&wire), "");
    assert_eq!(outcome.exit, dalsegno::domain::ExitCode::Findings, "an acknowledgement is about people, not about the truth");
    site.pass(later(65)).await;
    let calls = wire.taken();
    assert!(
        calls.iter().any(|(name, _, body)| name == "webhook ops" && body.contains("STILL critical") && body.contains("vera")),
        "{calls:?}"
    );
    assert!(calls.iter().any(|(name, path, _)| name == "heartbeat" && path == "/fail"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_is_no_longer_configured_is_not_said_to_be_repaired() {
    let (mut site, wire, archive) = site(200).await;
    archive.then(empty());
    site.pass(now()).await;
    wire.taken();
    site.looks.retain(|look| look.observer.name().0 != "postgres/app");
    site.expected.rests_on.clear();
    let outcome = site.pass(later(5)).await;
    let said = webhooks(&wire);
    assert!(said.iter().any(|body| body.contains("no longer configured")), "{said:?}");
    assert!(
        outcome.changes.iter().any(|change| matches!(
            change,
            dalsegno::domain::Change::Cleared { why: dalsegno::domain::Ended::NotConfigured, .. }
        ))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_takes_nothing_for_an_hour_is_a_finding_and_its_messages_keep_their_order() {
    let (site, wire, archive) = site(503).await;
    archive.then(empty());
    let first = site.pass(now()).await;
    assert!(!codes(&first).contains(&"notification-undeliverable"));
    archive.then(whole());
    site.pass(later(30)).await;
    let late = site.pass(later(70)).await;
    assert!(codes(&late).contains(&"notification-undeliverable"), "{:?}", codes(&late));
    assert_eq!(late.exit, dalsegno::domain::ExitCode::Findings);
    wire.taken();
    *wire.webhook_status.lock().unwrap() = 200;
    site.pass(later(200)).await;
    let said = webhooks(&wire);
    let words: Vec<&str> = said.iter().map(|body| if body.contains("NEW critical") { "new" } else { "cleared" }).collect();
    assert_eq!(words[..2], ["new", "cleared"], "in the order in which they came: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_of_a_pass_tell_of_that_pass() {
    let (mut site, _, archive) = site(200).await;
    archive.then(empty());
    let file = site.folder.path().join("dalsegno.prom");
    let way = dalsegno::notify::Way::File { path: file.clone() };
    let channel = Channel { name: "metrics-file".into(), at_least: Severity::Warning, way };
    site.notify.as_mut().unwrap().channels.push(channel);
    for minutes in [0, 5] {
        site.pass(later(minutes)).await;
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("code=\"wal-without-base-backup\""), "{text}");
        let samples = lab::exposition::parse(&text).unwrap();
        let end = samples.iter().find(|sample| sample.name == "dalsegno_pass_last_end_timestamp_seconds").unwrap().value;
        let began = later(minutes).as_second() as f64;
        assert!(end >= began && end < began + 60.0, "{end} is of another pass than {began}");
    }
    let kept = site.ledger.channels().await.unwrap();
    assert!(kept.iter().all(|channel| channel.waiting == 0), "{kept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trying_channels_out_names_each_and_leaves_no_trace() {
    let (site, wire, _) = site(404).await;
    let notify = site.notify.as_ref().unwrap();
    let tried = dalsegno::conductor::try_channels(notify, "home", None, now()).await.unwrap();
    let took: Vec<_> = tried.iter().map(|tried| (tried.channel.as_str(), tried.took)).collect();
    assert_eq!(took, [("ops", false), ("heartbeat", true)]);
    assert!(tried[0].why.as_deref().unwrap().contains("404"));
    *wire.webhook_status.lock().unwrap() = 200;
    let tried = dalsegno::conductor::try_channels(notify, "home", Some("ops"), now()).await.unwrap();
    assert!(tried.len() == 1 && tried[0].took);
    let unknown = dalsegno::conductor::try_channels(notify, "home", Some("pager"), now()).await.unwrap_err();
    assert_eq!(unknown, ["ops", "heartbeat"]);
    assert!(site.ledger.waiting().await.unwrap().is_empty() && site.ledger.open_findings().await.unwrap().is_empty());
}
