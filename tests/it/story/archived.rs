//! One archive, made once for all stories, and put into as many buckets as they need.

use bytes::Bytes;
use lab::barman::{BaseCompression, WalCompression};

use crate::restore::drill::{Archive, PREFIX, SERVER};

pub(crate) use crate::restore::drill::{MAJOR, servers_are_here};

/// What a cluster left in its bucket, after the cluster itself is gone.
pub(crate) struct Archived {
    /// The bucket in which it was made; nobody changes it.
    pub(crate) bucket: String,
    pub(crate) objects: Vec<(String, Bytes)>,
    pub(crate) system_id: String,
    pub(crate) rows: u64,
    /// Names of whole segments, oldest first.
    pub(crate) segments: Vec<String>,
}

impl Archived {
    /// The archive of all stories: a base backup, segments of 1 MiB, gzip. Its source is stopped.
    pub(crate) async fn once() -> &'static Self {
        static ONCE: tokio::sync::OnceCell<Archived> = tokio::sync::OnceCell::const_new();
        ONCE.get_or_init(Self::make).await
    }

    async fn make() -> Self {
        let mut archive = Archive::filled(WalCompression::Gzip, BaseCompression::Gzip).await;
        let rows = archive.pg.value("select count(*)::text from accounts").await.unwrap().parse().unwrap();
        let system_id = archive.pg.system_id().await.unwrap();
        archive.pg.stop();
        let client = archive.barman.client();
        let mut objects = Vec::new();
        for key in client.keys(&archive.bucket, "").await.unwrap() {
            objects.push((key.clone(), client.get(&archive.bucket, &key).await.unwrap()));
        }
        let segments = archive.segments().await;
        Self { bucket: archive.bucket, objects, system_id, rows, segments }
    }

    /// The same archive in a bucket of its own, to be damaged.
    pub(crate) async fn copy(&self) -> String {
        let weed = lab::seaweed::shared().await.unwrap();
        let bucket = weed.fresh_bucket().await.unwrap();
        for (key, bytes) in &self.objects {
            weed.client().put(&bucket, key, bytes.clone()).await.unwrap();
        }
        bucket
    }

    /// A segment from the end, as an object: 1 is the one before the last.
    pub(crate) fn segment_key(&self, from_end: usize) -> String {
        let name = &self.segments[self.segments.len() - 1 - from_end];
        format!("{PREFIX}/{SERVER}/wals/{}/{name}.gz", &name[..16])
    }

    pub(crate) fn bytes(&self, key: &str) -> Bytes {
        self.objects.iter().find(|(known, _)| known == key).unwrap().1.clone()
    }
}
