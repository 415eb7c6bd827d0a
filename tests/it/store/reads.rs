//! Reading from a real store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use dalsegno::domain::{Denied, Setting};
use dalsegno::store::{Store, StoreError};
use dalsegno::tap::objects::PutAsk;

use super::real;

async fn filled(config: dalsegno::store::StoreConfig, keys: &[&str]) -> Store {
    let store = Store::open(config).unwrap();
    let guarded = store.guard().await.unwrap();
    for key in keys {
        guarded.put_bytes(key, Bytes::copy_from_slice(key.as_bytes())).await.unwrap();
    }
    store
}

#[tokio::test]
async fn what_was_put_is_listed_and_read_back_byte_for_byte() {
    let Some(config) = real::bucket("what_was_put").await else { return };
    let odd = "dalsegno/odd/a b+c%d&e=ü\u{1F980}/x";
    let store = filled(config, &["dalsegno/a", "dalsegno/b", odd]).await;
    let mut keys = Vec::new();
    let end = store
        .list("dalsegno/", None, &mut |object| {
            keys.push(object.key);
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    assert!(end.complete && end.refused.is_empty(), "{end:?}");
    assert_eq!(keys, ["dalsegno/a", "dalsegno/b", odd]);
    assert_eq!(store.get(odd, 1 << 20).await.unwrap().bytes, odd.as_bytes());
    assert_eq!(store.head(odd).await.unwrap().size, odd.len() as u64);
    assert_eq!(store.list_folders("dalsegno/").await.unwrap(), ["dalsegno/odd/"]);
    assert!(store.clock_skew().unwrap().abs() < 3.0, "{:?}", store.clock_skew());
}

#[tokio::test]
async fn ranges_caps_and_missing_keys_have_errors_of_their_own() {
    let Some(config) = real::bucket("ranges").await else { return };
    let store = filled(config, &["dalsegno/abcdef"]).await;
    assert_eq!(store.get_range("dalsegno/abcdef", 9, 3).await.unwrap().bytes, "abc".as_bytes());
    let short = store.get_range("dalsegno/abcdef", 12, 100).await.unwrap();
    assert_eq!((short.bytes.as_ref(), short.size), ("def".as_bytes(), 15));
    let outside = store.get_range("dalsegno/abcdef", 100, 5).await.unwrap_err();
    assert!(matches!(outside, StoreError::RangeOutside { .. }), "{outside}");
    let large = store.get("dalsegno/abcdef", 14).await.unwrap_err();
    assert!(matches!(large, StoreError::TooLarge { size: 15, cap: 14, .. }), "{large}");
    for missing in [store.get("dalsegno/none", 9).await.unwrap_err(), store.head("dalsegno/none").await.unwrap_err()] {
        assert!(matches!(missing, StoreError::NoSuchKey { .. }), "{missing}");
    }
}

#[tokio::test]
async fn settings_say_absent_and_never_guess() {
    let Some(config) = real::bucket("settings").await else { return };
    let store = Store::open(config).unwrap();
    assert_eq!(store.versioning().await.unwrap(), Setting::Absent);
    assert_eq!(store.object_lock().await.unwrap(), Setting::Absent);
    assert_eq!(store.lifecycle().await.unwrap(), Setting::Absent);
    store.head_bucket().await.unwrap();
}

#[tokio::test]
async fn parts_make_one_object_and_metadata_comes_back() {
    let Some(config) = real::bucket("parts").await else { return };
    let store = filled(config, &[]).await;
    let guarded = store.guard().await.unwrap();
    let meta = BTreeMap::from([("sha256".to_owned(), "abc".to_owned())]);
    let parts = vec![Bytes::from(vec![1; 5 << 20]), Bytes::from(vec![2; 100])];
    guarded.put_parts("dalsegno/m", &meta, parts).await.unwrap();
    let head = store.head("dalsegno/m").await.unwrap();
    assert_eq!(head.size, (5 << 20) + 100);
    assert_eq!(head.headers.get("x-amz-meta-sha256").map(String::as_str), Some("abc"));
    assert!(head.etag.ends_with("-2"), "{}", head.etag);
    assert_eq!(store.get_range("dalsegno/m", 5 << 20, 100).await.unwrap().bytes, vec![2; 100]);
    let again = PutAsk { key: "dalsegno/m".into(), if_absent: true, ..PutAsk::default() };
    assert!(matches!(guarded.put(again).await.unwrap_err(), StoreError::PreconditionFailed { .. }));
}

#[tokio::test]
async fn wrong_keys_and_missing_rights_are_told_apart() {
    let Some(config) = real::bucket("wrong_keys").await else { return };
    let mut wrong = config.clone();
    wrong.secret_access_key = dalsegno::domain::Secret::new("nonsense".into());
    let error = Store::open(wrong).unwrap().list_folders("").await.unwrap_err();
    assert!(matches!(&error, StoreError::Auth { code, .. } if code == "SignatureDoesNotMatch"), "{error}");
    assert!(!error.to_string().contains("nonsense"));
    let mut unknown = config.clone();
    unknown.access_key_id = dalsegno::domain::Secret::new("nobody".into());
    let error = Store::open(unknown).unwrap().list_folders("").await.unwrap_err();
    assert!(matches!(&error, StoreError::Auth { code, .. } if code == "InvalidAccessKeyId"), "{error}");
    let reader = Store::open(real::reader(&config).await).unwrap();
    let error = reader.guard().await.unwrap().put_bytes("dalsegno/x", Bytes::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::AccessDenied { .. }), "{error}");
    assert_eq!(error.denied(), (Denied::Denied { verb: "PutObject".into() }, Some("AccessDenied".into())));
}

#[tokio::test]
async fn folders_are_listed_side_by_side_and_nothing_is_lost() {
    let Some(config) = real::bucket("folders").await else { return };
    let keys: Vec<String> = (0..60).map(|n| format!("dalsegno/wals/{:016X}/{n:024X}", n / 8)).collect();
    let store = filled(config, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut seen = Vec::new();
    let end = store
        .list_by_folder("dalsegno/wals/", 4, &mut |object| {
            seen.push(object.key);
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    assert!(end.complete);
    seen.sort();
    assert_eq!(seen, keys);
    let before = store.requests();
    let mut one = 0;
    let end = store
        .list("dalsegno/wals/", Some(&keys[58]), &mut |_| {
            one += 1;
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    assert!(end.complete);
    assert_eq!(one, 1);
    assert_eq!(store.requests().class_a, before.class_a + 1);
}
