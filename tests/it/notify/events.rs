use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dalsegno::domain::{Alert, Ended, KubeId, KubeName, KubeUid, Message, Severity, Subject};
use dalsegno::notify::{Channel, Means, ObjectRef, Said, Sent, Way, message, send, try_out};
use dalsegno::tap::{CallError, KubeAbout, KubeActs, KubeAsk, KubeCalls, KubeDelete, KubePage, KubeStream, Resource};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{about, alert, at, finding, means, of};

/// Events as an API server keeps them; knows nothing else.
#[derive(Default)]
struct Events {
    kept: Mutex<BTreeMap<String, Value>>,
    /// Answers every call with this status.
    refuses: Mutex<Option<u16>>,
    dry: Mutex<usize>,
}

impl Events {
    fn may(&self) -> Result<(), CallError> {
        match *self.refuses.lock().unwrap() {
            Some(403) => Err(CallError::answered(403, Some("Forbidden".into()), "events is forbidden")),
            Some(status) => Err(CallError::answered(status, None, "no")),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl KubeCalls for Events {
    async fn about(&self) -> Result<KubeAbout, CallError> {
        Ok(KubeAbout::default())
    }
    async fn list(&self, _: &Resource, _: &KubeAsk) -> Result<KubePage, CallError> {
        Ok(KubePage::default())
    }
    async fn get(&self, _: &Resource, _: Option<&str>, name: &str) -> Result<Value, CallError> {
        self.may()?;
        Ok(self.kept.lock().unwrap()[name].clone())
    }
    async fn log(&self, _: &str, _: &str, _: &str, _: u32) -> Result<String, CallError> {
        Ok(String::new())
    }
    async fn pod_proxy(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Bytes, CallError> {
        Ok(Bytes::new())
    }
    async fn node_proxy(&self, _: &str, _: &str) -> Result<Bytes, CallError> {
        Ok(Bytes::new())
    }
}

#[async_trait]
impl KubeActs for Events {
    async fn create(&self, of: &Resource, namespace: Option<&str>, object: &Value, dry_run: bool) -> Result<Value, CallError> {
        self.may()?;
        assert_eq!((of.to_string().as_str(), namespace), ("events.events.k8s.io", object["metadata"]["namespace"].as_str()));
        for (field, most) in
            [("reportingController", 128), ("reportingInstance", 128), ("action", 128), ("reason", 128), ("note", 1024)]
        {
            let text = object[field].as_str().unwrap_or_else(|| panic!("{field} is needed"));
            assert!(!text.is_empty() && text.len() <= most, "{field}: {text}");
        }
        assert_eq!(object["eventTime"].as_str().unwrap().len(), "2026-09-30T12:00:00.000000Z".len(), "MicroTime");
        if dry_run {
            *self.dry.lock().unwrap() += 1;
            return Ok(object.clone());
        }
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let mut kept = self.kept.lock().unwrap();
        if kept.contains_key(&name) {
            return Err(CallError::answered(409, Some("AlreadyExists".into()), "already exists"));
        }
        kept.insert(name, object.clone());
        Ok(object.clone())
    }
    async fn patch(&self, _: &Resource, _: Option<&str>, name: &str, _: Option<&str>, patch: &Value) -> Result<Value, CallError> {
        self.may()?;
        let mut kept = self.kept.lock().unwrap();
        let event = kept.get_mut(name).unwrap();
        for (key, value) in patch.as_object().unwrap() {
            event[key] = value.clone();
        }
        Ok(event.clone())
    }
    async fn delete(&self, _: &Resource, _: Option<&str>, _: &str, _: &KubeDelete) -> Result<(), CallError> {
        Ok(())
    }
    async fn forward(&self, _: &str, _: &str, _: u16) -> Result<Box<dyn KubeStream>, CallError> {
        Err(CallError::answered(404, None, "no"))
    }
}

fn channel() -> Channel {
    of("kube-events/prod", Way::Events { cluster: KubeId("prod".into()) })
}

fn objects(subject: &Subject) -> BTreeMap<Subject, Vec<ObjectRef>> {
    let object = ObjectRef {
        kube: KubeId("prod".into()),
        api_version: "postgresql.cnpg.io/v1".into(),
        kind: "Cluster".into(),
        name: KubeName::new("keycloak", "keycloak-db"),
        uid: Some(KubeUid("0c1d".into())),
    };
    BTreeMap::from([(subject.clone(), vec![object])])
}

fn made(now: Timestamp, alert: &Alert) -> Option<Message> {
    let objects = objects(&alert.finding.subject);
    message(&channel(), &about(), &Said { now, notices: &[], alerts: std::slice::from_ref(alert), objects: &objects })
}

fn with(events: &Arc<Events>) -> Means {
    Means { kube: BTreeMap::from([(KubeId("prod".into()), Arc::clone(events) as Arc<dyn KubeActs>)]), ..means() }
}

async fn sent(events: &Arc<Events>, message: &Message, now: Timestamp) -> Sent {
    send(&with(events), &channel(), message, now, Duration::from_secs(5)).await
}

#[tokio::test]
async fn a_finding_is_one_event_on_its_object_and_what_repeats_is_counted() {
    let events = Arc::new(Events::default());
    let alert = alert(finding("wal-gap", "keycloak-db", Severity::Critical));
    for pass in 0..4 {
        let now = at(pass * 300);
        assert_eq!(sent(&events, &made(now, &alert).unwrap(), now).await, Sent::Delivered);
    }
    let kept = events.kept.lock().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let event = kept.values().next().unwrap();
    assert_eq!(event["regarding"]["uid"], "0c1d");
    assert_eq!((event["reason"].as_str(), event["type"].as_str()), (Some("WalGap"), Some("Warning")));
    assert_eq!(event["series"], json!({"count": 4, "lastObservedTime": "2026-09-30T12:15:00.000000Z"}));
    assert!(event["note"].as_str().unwrap().contains("home/wal-gap/pg/home/prod/keycloak-db"), "{event}");
}

#[tokio::test]
async fn its_end_is_an_event_of_its_own_that_warns_of_nothing() {
    let events = Arc::new(Events::default());
    let mut alert = alert(finding("wal-gap", "keycloak-db", Severity::Critical));
    sent(&events, &made(at(0), &alert).unwrap(), at(0)).await;
    (alert.told, alert.end_told, alert.ended) = (None, Some(at(300)), Some(Ended::Fixed));
    sent(&events, &made(at(300), &alert).unwrap(), at(300)).await;
    let kinds: Vec<_> = events.kept.lock().unwrap().values().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "Normal").count(), 1, "{kinds:?}");
    assert_eq!(made(at(600), &alert), None, "an end is said once");
}

#[tokio::test]
async fn a_missing_right_is_named_and_given_up_and_a_busy_server_is_tried_again() {
    let events = Arc::new(Events::default());
    let message = made(at(0), &alert(finding("wal-gap", "keycloak-db", Severity::Critical))).unwrap();
    *events.refuses.lock().unwrap() = Some(403);
    let refused = sent(&events, &message, at(0)).await;
    assert!(
        matches!(&refused, Sent::Never { why } if why.contains("create, get and patch on events.events.k8s.io")),
        "{refused:?}"
    );
    *events.refuses.lock().unwrap() = Some(429);
    assert!(matches!(sent(&events, &message, at(0)).await, Sent::Later { .. }));
}

#[test]
fn what_is_no_object_of_the_cluster_has_no_event() {
    let alert = alert(finding("wal-gap", "keycloak-db", Severity::Critical));
    let other = Channel { way: Way::Events { cluster: KubeId("dev".into()) }, ..channel() };
    let objects = objects(&alert.finding.subject);
    let said = Said { now: at(0), notices: &[], alerts: std::slice::from_ref(&alert), objects: &objects };
    assert_eq!(message(&other, &about(), &said), None);
}

#[tokio::test]
async fn a_test_of_events_leaves_none() {
    let events = Arc::new(Events::default());
    let test = Message { channel: "kube-events/prod".into(), key: "x".into(), body: "[]".into(), replaces: true };
    let limit = Duration::from_secs(5);
    assert_eq!(try_out(&with(&events), &channel(), &test, "default", at(0), limit).await, Sent::Delivered);
    assert_eq!((events.kept.lock().unwrap().len(), *events.dry.lock().unwrap()), (0, 1));
}
