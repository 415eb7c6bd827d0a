//! Listings that no honest store would send.

use std::ops::ControlFlow;

use dalsegno::store::keys::{decode, printable};
use dalsegno::store::{ListEnd, Store, StoreError};
use proptest::prelude::*;

use super::mock::{Mock, Reply, list_page};

async fn keys(store: &Store, prefix: &str) -> (Vec<String>, ListEnd) {
    let mut keys = Vec::new();
    let end = store
        .list(prefix, None, &mut |object| {
            keys.push(object.key);
            ControlFlow::Continue(())
        })
        .await
        .unwrap();
    (keys, end)
}

#[tokio::test]
async fn odd_keys_arrive_as_they_are_and_nonsense_is_set_aside_by_name() {
    let long = "x".repeat(1024);
    let endless = "y".repeat(5000);
    let mock = Mock::start(move |_| {
        list_page(
            &[
                ("a%00b", "1"),
                ("a%0Ab", "2"),
                ("..%2F..%2Fetc/passwd", "3"),
                (&long, "4"),
                (&endless, "5"),
                ("negative", "-5"),
                ("bad%FF", "6"),
                ("half%2", "7"),
                ("plus+and%2Bplus", "8"),
                ("fine", "9"),
            ],
            true,
            None,
        )
    })
    .await;
    let (found, end) = keys(&mock.store(), "").await;
    assert_eq!(found, ["a\0b", "a\nb", "../../etc/passwd", &"x".repeat(1024), "plus and+plus", "fine"]);
    assert_eq!(end.refused_count, 4, "{:?}", end.refused);
    let why: String = end.refused.iter().map(|(key, why)| format!("{key}: {why}\n")).collect();
    for part in ["key of 5000 bytes", "negative: size of -5 bytes", "bad%FF: is not UTF-8", "half%2: has a broken percent escape"]
    {
        assert!(why.contains(part), "{part} in {why}");
    }
    assert!(end.complete);
}

#[tokio::test]
async fn keys_are_left_alone_when_the_store_does_not_say_that_it_encoded_them() {
    let mock = Mock::start(|_| list_page(&[("a%2Fb+c", "1")], false, None)).await;
    assert_eq!(keys(&mock.store(), "").await.0, ["a%2Fb+c"]);
}

#[tokio::test]
async fn a_key_outside_of_what_was_asked_for_is_refused() {
    let mock = Mock::start(|_| list_page(&[("other/x", "1"), ("mine/x", "1")], true, None)).await;
    let (found, end) = keys(&mock.store(), "mine/").await;
    assert_eq!(found, ["mine/x"]);
    assert_eq!(end.refused_count, 1);
}

#[tokio::test]
async fn an_endless_listing_ends_with_an_error() {
    let same = Mock::start(|_| list_page(&[("k", "1")], true, Some("t"))).await;
    let error = same.store().list("", None, &mut |_| ControlFlow::Continue(())).await.unwrap_err();
    assert!(matches!(error, StoreError::Malformed { .. }) && error.to_string().contains("never end"), "{error}");
    let none = Mock::start(|_| Reply::new(200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")).await;
    let error = none.store().list("", None, &mut |_| ControlFlow::Continue(())).await.unwrap_err();
    assert!(error.to_string().contains("no token"), "{error}");
}

#[tokio::test]
async fn a_page_of_html_or_half_a_page_is_malformed_and_never_empty() {
    for body in ["<html><body>login</body></html>", "<ListBucketResult><Contents><Key>a", "", "{}"] {
        let mock = Mock::start(move |_| Reply::new(200, body)).await;
        let result = mock.store().list("", None, &mut |_| ControlFlow::Continue(())).await;
        assert!(result.is_err(), "{body:?} was taken for {result:?}");
    }
}

proptest! {
    #[test]
    fn decoding_never_panics_and_undoes_encoding(text in "\\PC{0,40}", raw in "[%+a-f0-9]{0,20}") {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        prop_assert_eq!(decode(&encoded).unwrap(), text.clone());
        let _ = decode(&raw);
        prop_assert!(!printable(&text).chars().any(char::is_control));
    }
}
