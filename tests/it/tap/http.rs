//! HTTP: live, recorded, replayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dalsegno::domain::Secret;
use dalsegno::tap::http::{Base, LiveHttp, LiveHttpOptions};
use dalsegno::tap::{FailureKind, HttpCalls, HttpRequest, Recorder, Recording};
use serde_json::Value;

use crate::store::mock::{Mock, Reply};

fn live() -> LiveHttp {
    LiveHttp::new(&LiveHttpOptions { proxies: false, timeout: std::time::Duration::from_secs(2), ..LiveHttpOptions::default() })
        .unwrap()
}

#[tokio::test]
async fn any_status_is_an_answer_and_no_answer_is_an_error_of_its_kind() {
    let mock = Mock::start(|asked| match asked.path.as_str() {
        "/api/gone" => Reply::new(404, "no"),
        "/api/away" => Reply::new(302, "").with("location", "http://elsewhere.invalid/"),
        "/api/half" => Reply { promised: Some(100), ..Reply::new(200, "half") },
        _ => Reply::new(200, "0123456789"),
    })
    .await;
    let get = |path: &str| HttpRequest::get(Base::open(format!("{}/api", mock.endpoint)), path);
    let http = live();
    assert_eq!(http.call(&get("/gone")).await.unwrap().status, 404);
    assert_eq!(http.call(&get("/away")).await.unwrap().status, 302, "redirects are not followed");
    let half = http.call(&get("/half")).await.unwrap();
    assert_eq!((half.text().as_str(), half.cut_at), ("half", Some(4)));
    let mut capped = get("/x");
    capped.cap = 4;
    let capped = http.call(&capped).await.unwrap();
    assert_eq!((capped.text().as_str(), capped.cut_at), ("0123", Some(4)));
    let refused = http.call(&HttpRequest::get(Base::open("http://127.0.0.1:9"), "/")).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Refused);
    let dns = http.call(&HttpRequest::get(Base::open("http://no-such-host.invalid"), "/")).await.unwrap_err();
    assert_eq!(dns.kind, FailureKind::Dns);
}

#[tokio::test]
async fn path_query_and_authorization_arrive_as_they_were_meant() {
    let mock = Mock::start(|_| Reply::new(200, "ok")).await;
    let request = HttpRequest::post(Base::open(format!("{}/api2", mock.endpoint)), "/nodes/a b/x")
        .query("q", "a&b=c")
        .auth(Secret::new("Bearer t".into()))
        .json(&serde_json::json!({"n": 1}))
        .unwrap();
    live().call(&request).await.unwrap();
    let asked = mock.asked().remove(0);
    assert_eq!((asked.path.as_str(), asked.query.as_str()), ("/api2/nodes/a%20b/x", "q=a%26b%3Dc"));
    assert_eq!(asked.header("authorization"), Some("Bearer t"));
    assert_eq!(asked.body, br#"{"n":1}"#);
}

#[tokio::test]
async fn a_secret_url_is_in_no_error() {
    let base = Base::secret("webhook ops", Secret::new("http://127.0.0.1:9/services/T0PSECRET".into()));
    let error = live().call(&HttpRequest::post(base.clone(), "")).await.unwrap_err();
    assert!(error.to_string().starts_with("webhook ops: "), "{error}");
    assert!(!format!("{error:?} {base:?}").contains("T0PSECRET"), "{error:?}");
}

#[tokio::test]
async fn the_same_question_is_answered_in_order_and_the_last_answer_stays() {
    let count = AtomicU32::new(0);
    let mock = Mock::start(move |_| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        Reply::new(if n == 1 { 503 } else { 200 }, format!("{{\"n\":{n}}}"))
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let recording = pass.http("pve", Arc::new(live()));
    let ask = |since: &str| HttpRequest::get(Base::open(mock.endpoint.clone()), "/tasks").query("since", since).keeps::<Value>();
    for since in ["1", "2", "3"] {
        recording.call(&ask(since)).await.unwrap();
    }
    let nobody = HttpRequest::get(Base::open("http://127.0.0.1:9"), "/");
    recording.call(&nobody).await.unwrap_err();
    pass.finish().unwrap();
    recorder.finish().unwrap();
    let replay = Recording::open(folder.path()).unwrap().passes().next().unwrap().http("pve").unwrap();
    let mut said = Vec::new();
    for _ in 0..4 {
        let answer = replay.call(&ask("later")).await.unwrap();
        said.push((answer.status, answer.text()));
    }
    let text = |n: u32| format!("{{\"n\":{n}}}");
    assert_eq!(said, [(200, text(0)), (503, text(1)), (200, text(2)), (200, text(2))]);
    assert_eq!(replay.call(&nobody).await.unwrap_err().kind, FailureKind::Refused);
    let other = replay.call(&HttpRequest::get(Base::open(mock.endpoint.clone()), "/other")).await.unwrap_err();
    assert_eq!(other.kind, FailureKind::NotRecorded);
    let with_auth = replay.call(&ask("x").auth(Secret::new("a".into()))).await.unwrap_err();
    assert_eq!(with_auth.kind, FailureKind::NotRecorded, "with and without authorization are two questions");
}
