//! Real servers: S3, PostgreSQL, barman between them.

use lab::barman::{Barman, BaseCompression, WalCompression};
use lab::postgres::{Options, Postgres};
use lab::s3::Client;
use lab::seaweed::{Identities, Seaweed};
use lab::{LabError, Tool, need};

#[tokio::test]
async fn objects_are_written_listed_renamed_and_deleted_whatever_their_names() {
    if need("lab::servers", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let client = weed.client();
    for key in ["plain", "a b/ü&<c>", "plus+and=eq"] {
        client.put(&bucket, key, "hello").await.unwrap();
        assert_eq!(client.get(&bucket, key).await.unwrap(), "hello", "{key}");
    }
    let keys = client.keys(&bucket, "").await.unwrap();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(keys.contains(&"a b/ü&<c>".to_owned()), "{keys:?}");
    client.rename(&bucket, "plain", "moved/there").await.unwrap();
    client.delete(&bucket, "plus+and=eq").await.unwrap();
    assert_eq!(client.keys(&bucket, "moved/").await.unwrap(), ["moved/there"]);
    assert!(client.head(&bucket, "plain").await.unwrap().is_none());
}

#[tokio::test]
async fn each_key_may_what_its_name_says() {
    if need("lab::servers", Tool::Seaweed).is_none() {
        return;
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    weed.client().put(&bucket, "o", "x").await.unwrap();
    let as_who = |keys: &lab::s3::Keys| Client::new(weed.endpoint(), keys);
    let code = |r: Result<(), LabError>| match r {
        Err(LabError::Answer { status, body, .. }) => {
            format!("{status} {}", body.split("<Code>").nth(1).and_then(|b| b.split('<').next()).unwrap_or_default())
        }
        other => format!("{other:?}"),
    };
    let reader = as_who(weed.keys().read_only());
    reader.get(&bucket, "o").await.unwrap();
    assert_eq!(code(reader.put(&bucket, "p", "x").await), "403 AccessDenied");
    let writer = as_who(weed.keys().write_only());
    writer.put(&bucket, "p", "x").await.unwrap();
    assert_eq!(code(writer.list(&bucket, "").await.map(|_| ())), "403 AccessDenied");
    let wrong = as_who(&weed.keys().wrong_secret());
    assert_eq!(code(wrong.put(&bucket, "p", "x").await), "403 SignatureDoesNotMatch");
    let nobody = as_who(&Identities::unknown());
    assert_eq!(code(nobody.put(&bucket, "p", "x").await), "403 InvalidAccessKeyId");
    let missing = weed.client().put("no-such-bucket-here", "o", "x").await;
    assert_eq!(code(missing), "404 NoSuchBucket");
}

#[tokio::test]
async fn a_revoked_key_is_unknown_and_the_data_survives_the_restart() {
    if need("lab::servers", Tool::Seaweed).is_none() {
        return;
    }
    let mut weed = Seaweed::start().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let other = Client::new(weed.endpoint(), weed.keys().other());
    other.put(&bucket, "o", "x").await.unwrap();
    weed.revoke().await.unwrap();
    assert!(other.get(&bucket, "o").await.is_err());
    assert_eq!(weed.client().get(&bucket, "o").await.unwrap(), "x");
}

#[tokio::test]
async fn barman_archives_backs_up_and_restores_a_real_cluster() {
    for tool in [Tool::Seaweed, Tool::Barman, Tool::Postgres(16)] {
        if need("lab::servers", tool).is_none() {
            return;
        }
    }
    let weed = lab::seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let barman = Barman::new(weed.endpoint(), weed.keys().admin(), &bucket, "pfx/sub", "lay").unwrap();
    let archiver = barman.archiver(WalCompression::Gzip).unwrap();
    let mut pg = Postgres::start(Options::new(16).archive_command(archiver.command()).segment_mib(1)).await.unwrap();
    assert_eq!(pg.write_accounts(1000).await.unwrap(), 1000);
    let id = barman.backup(&pg, BaseCompression::Gzip).await.unwrap();
    let segment = pg.switch_and_wait_archived().await.unwrap();
    let key = barman.wal_key(&segment, WalCompression::Gzip);
    let keys = weed.client().keys(&bucket, "pfx/sub/lay/").await.unwrap();
    assert!(keys.contains(&key), "{key} in {keys:?}");
    assert!(keys.contains(&format!("pfx/sub/lay/base/{id}/backup.info")), "{keys:?}");
    let folder = lab::home::Folder::new("restore").unwrap();
    barman.restore(&id, &folder.path().join("data")).await.unwrap();
    assert!(folder.path().join("data/backup_label").is_file());
    barman.wal_restore(&segment, &folder.path().join("seg")).await.unwrap();
    assert_eq!(std::fs::metadata(folder.path().join("seg")).unwrap().len(), 1024 * 1024);

    archiver.break_credentials().unwrap();
    pg.sql("insert into accounts (filler) values ('x'); select pg_switch_wal()").await.unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while pg.value("select failed_count::text from pg_stat_archiver").await.unwrap() == "0" {
        assert!(std::time::Instant::now() < until, "the archiver goes on with a wrong secret");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(pg.system_id().await.unwrap().len(), 19);
    pg.crash();
    pg.resume().await.unwrap();
    assert_eq!(pg.value("select count(*)::text from accounts").await.unwrap(), "1001");
}
