//! Secrets are planted wherever one can be, and none is found in the recording.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dalsegno::domain::Secret;
use dalsegno::tap::http::Base;
use dalsegno::tap::{CallError, HttpAnswer, HttpCalls, HttpRequest, Recorder};
use serde::{Deserialize, Serialize};

use super::record_replay::{objects, recorded};
use crate::store::bucket;
use crate::store::mock::Mock;

/// What was planted, by where.
const PLANTED: &[&str] = &[
    "very-secret",
    "AKIDEXAMPLE",
    "INFO-SECRET",
    "HISTORY-SECRET",
    "WAL-BODY-SECRET",
    "TAR-SECRET",
    "FOREIGN-SECRET",
    "META-SECRET",
    "AUTH-SECRET",
    "URL-SECRET",
    "QUERY-SECRET",
    "REQUEST-SECRET",
    "FIELD-SECRET",
    "COOKIE-SECRET",
    "HEADER-SECRET",
];

struct Fixed;

#[async_trait]
impl HttpCalls for Fixed {
    async fn call(&self, _request: &HttpRequest) -> Result<HttpAnswer, CallError> {
        Ok(HttpAnswer {
            status: 200,
            reason: "OK".into(),
            headers: [("set-cookie", "COOKIE-SECRET"), ("x-token", "HEADER-SECRET"), ("date", "now")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            body: Bytes::from_static(br#"{"name":"kept-name","password":"FIELD-SECRET"}"#),
            cut_at: None,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    name: String,
}

#[tokio::test]
async fn no_planted_secret_is_in_a_recording() {
    let objects = objects();
    let all: Vec<u8> = objects.values().flatten().copied().collect();
    let text = String::from_utf8_lossy(&all).into_owned();
    for plant in ["INFO-SECRET", "HISTORY-SECRET", "WAL-BODY-SECRET", "TAR-SECRET", "FOREIGN-SECRET"] {
        assert!(text.contains(plant), "{plant} was really planted");
    }
    let mock = Mock::start(move |asked| bucket::serve(&objects, asked)).await;
    let folder = tempfile::tempdir().unwrap();
    recorded(&folder.path().join("a"), &mock).await;

    let mut recorder = Recorder::create(&folder.path().join("b"), "home").unwrap();
    let pass = recorder.pass("2026-11-30T12:00:00Z".parse().unwrap()).unwrap();
    let http = pass.http("pve", Arc::new(Fixed));
    let base = Base::secret("hook ops", Secret::new("https://hooks.example.net/URL-SECRET".into()));
    let request = HttpRequest::post(base, "/x")
        .auth(Secret::new("Bearer AUTH-SECRET".into()))
        .query("token", "QUERY-SECRET")
        .query("node", "kept-node")
        .text("REQUEST-SECRET".into());
    http.call(&request).await.unwrap();
    http.call(&request.keeps::<Wire>()).await.unwrap();
    pass.finish().unwrap();
    recorder.finish().unwrap();

    let mut files = 0;
    let mut whole = String::new();
    for entry in walkdir::WalkDir::new(folder.path()).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
    {
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        for plant in PLANTED {
            assert!(!text.contains(plant), "{plant} in {}", entry.path().display());
            let hex: String = plant.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(!text.contains(&hex), "{plant} as hex in {}", entry.path().display());
        }
        whole.push_str(&text);
        files += 1;
    }
    assert!(files > 10, "{files}");
    for kept in ["kept-name", "kept-node", "begin_wal=", "hook ops", "7713982968056631495"] {
        assert!(whole.contains(kept), "{kept} should have been kept");
    }
}
