//! The one way to write refuses where it must, and only there.

use bytes::Bytes;
use dalsegno::domain::Prefix;
use dalsegno::store::{Store, StoreError};
use dalsegno::tap::ObjectCalls as _;
use dalsegno::tap::objects::PutAsk;

use super::mock::{Asked, Mock, Reply};
use super::real;

async fn refused_in(keys: &[&str], own: &str) -> Option<Result<(), String>> {
    let mut config = real::bucket("guard").await?;
    let calls = dalsegno::store::s3::S3::new(&config).unwrap();
    for key in keys {
        calls.put(&PutAsk { key: (*key).to_owned(), bytes: Bytes::from_static(b"x"), ..PutAsk::default() }).await.unwrap();
    }
    config.own_prefix = Some(Prefix::new(own));
    match Store::open(config).unwrap().guard().await {
        Ok(_) => Some(Ok(())),
        Err(error @ StoreError::Guard { .. }) => Some(Err(error.to_string())),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn it_refuses_where_another_tool_owns_the_root_above_our_prefix() {
    let owned: &[(&[&str], &str, &str)] = &[
        (&["backups/b1/velero-backup.json"], "dalsegno", "Velero"),
        (&["backups/b1/b1.tar.gz", "kopia/ns/x"], "dalsegno", "Velero"),
        (&["velero/backups/b1/velero-backup.json"], "velero/dalsegno", "Velero"),
        (&["pg/base/1/backup.info", "pg/wals/0000000100000000/000000010000000000000001"], "pg/dalsegno", "barman"),
        (&["pg/wals/0000000100000000/000000010000000000000001"], "pg", "barman"),
        (&["repo/archive/main/archive.info", "repo/backup/main/backup.info"], "repo/x", "pgBackRest"),
        (&["kopia.repository", "p0001"], "dalsegno", "kopia"),
    ];
    for (keys, own, tool) in owned {
        let Some(result) = refused_in(keys, own).await else { return };
        let text = result.expect_err(&format!("{keys:?} with our prefix {own} must be refused"));
        assert!(text.contains(&format!("belongs to {tool}")), "{text}");
    }
}

#[tokio::test]
async fn it_lets_us_write_beside_other_tools_that_have_a_folder_of_their_own() {
    let free: &[(&[&str], &str)] = &[
        (&[], "dalsegno"),
        (&["velero/backups/b1/velero-backup.json", "cnpg/pg/base/1/backup.info", "cnpg/pg/wals/x/y"], "dalsegno"),
        (&["backups/pg.dump", "photos/1.jpg"], "dalsegno"),
    ];
    for (keys, own) in free {
        let Some(result) = refused_in(keys, own).await else { return };
        assert_eq!(result, Ok(()), "{keys:?}");
    }
}

#[tokio::test]
async fn it_never_writes_outside_of_our_prefix() {
    let mock = Mock::start(empty_bucket).await;
    let guarded = mock.store().guard().await.unwrap();
    let before = mock.asked().len();
    for key in ["x", "dalsegno", "dalsegno/", "dalsegno-2/x", "dalsegno/../x", "dalsegno//x", "/dalsegno/x", ""] {
        let error = guarded.put_bytes(key, Bytes::new()).await.unwrap_err();
        assert!(matches!(error, StoreError::Guard { .. }), "{key}: {error}");
        assert!(matches!(guarded.delete(key).await.unwrap_err(), StoreError::Guard { .. }), "{key}");
    }
    assert_eq!(mock.asked().len(), before, "nothing was sent");
    guarded.put_bytes("dalsegno/x", Bytes::new()).await.unwrap();
}

#[tokio::test]
async fn it_refuses_without_a_prefix_of_our_own_and_with_the_whole_bucket() {
    let mock = Mock::start(empty_bucket).await;
    for own in [None, Some(Prefix::new("/"))] {
        let mut config = mock.config();
        config.own_prefix = own;
        assert!(matches!(Store::open(config).unwrap().guard().await.unwrap_err(), StoreError::Guard { .. }));
    }
    assert!(mock.asked().is_empty());
}

#[tokio::test]
async fn it_refuses_where_a_default_retention_holds_and_says_when_it_could_not_ask() {
    let lock = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>30</Days></DefaultRetention></Rule></ObjectLockConfiguration>";
    let held =
        Mock::start(move |asked| if asked.query.contains("object-lock") { Reply::new(200, lock) } else { empty_bucket(asked) });
    let error = held.await.store().guard().await.unwrap_err();
    assert!(error.to_string().contains("30 days (COMPLIANCE)"), "{error}");
    let denied = Mock::start(|asked| {
        if asked.query.contains("object-lock") { Reply::error(403, "AccessDenied", "") } else { empty_bucket(asked) }
    })
    .await;
    let guarded = denied.store().guard().await.unwrap();
    assert_eq!(guarded.notes.len(), 1);
    let without = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>";
    let free = Mock::start(
        move |asked| if asked.query.contains("object-lock") { Reply::new(200, without) } else { empty_bucket(asked) },
    );
    assert!(free.await.store().guard().await.unwrap().notes.is_empty());
}

fn empty_bucket(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "GET" if asked.query.contains("object-lock") => Reply::error(404, "ObjectLockConfigurationNotFoundError", ""),
        "GET" => super::mock::list_page(&[], true, None),
        "DELETE" => Reply::new(204, ""),
        _ => Reply::new(200, "").with("etag", "\"a\""),
    }
}
