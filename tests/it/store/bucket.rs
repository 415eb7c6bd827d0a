//! A bucket in memory behind the small server: enough of S3 to be listed and read.

use std::collections::BTreeMap;

use super::mock::{Asked, Reply};

pub type Objects = BTreeMap<String, Vec<u8>>;

pub fn serve(objects: &Objects, asked: &Asked) -> Reply {
    let key = dalsegno::store::keys::decode(asked.path.trim_start_matches("/bucket").trim_start_matches('/')).unwrap();
    let flag = |name: &str| asked.query.split('&').any(|pair| pair == name || pair == format!("{name}="));
    match asked.method.as_str() {
        "GET" if asked.query.contains("list-type=2") => list(objects, asked),
        "GET" if flag("uploads") => {
            Reply::new(200, "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
        }
        "GET" if flag("versioning") => Reply::new(200, "<VersioningConfiguration/>"),
        "GET" if flag("object-lock") => Reply::error(404, "ObjectLockConfigurationNotFoundError", "none"),
        "GET" if flag("lifecycle") => Reply::error(501, "NotImplemented", "no"),
        "HEAD" if key.is_empty() => Reply::new(200, "").with("x-amz-bucket-region", "WNAM"),
        "GET" | "HEAD" => object(objects, &key, asked),
        _ => Reply::error(405, "MethodNotAllowed", "read only"),
    }
    .with("server", "MinIO")
}

fn object(objects: &Objects, key: &str, asked: &Asked) -> Reply {
    let Some(body) = objects.get(key) else { return Reply::error(404, "NoSuchKey", "") };
    let reply = |status, part: &[u8]| {
        Reply::new(status, part)
            .with("etag", "\"e\"")
            .with("last-modified", "Wed, 30 Sep 2026 02:00:00 GMT")
            .with("x-amz-meta-note", "META-SECRET")
    };
    let Some(range) = asked.header("range") else { return reply(200, body) };
    let (from, to) = range.trim_start_matches("bytes=").split_once('-').unwrap();
    let from: usize = from.parse().unwrap();
    let to = to.parse::<usize>().map_or(body.len(), |to| to + 1).min(body.len());
    if from >= body.len() {
        return Reply::error(416, "InvalidRange", "");
    }
    reply(206, &body[from..to]).with("content-range", &format!("bytes {from}-{}/{}", to - 1, body.len()))
}

fn list(objects: &Objects, asked: &Asked) -> Reply {
    let prefix = asked.param("prefix").unwrap_or_default();
    let from = asked.param("continuation-token").or(asked.param("start-after")).unwrap_or_default();
    let max: usize = asked.param("max-keys").map_or(3, |text| text.parse().unwrap());
    let delimiter = asked.param("delimiter");
    let (mut rows, mut folders, mut next) = (String::new(), std::collections::BTreeSet::new(), None);
    for (count, (key, body)) in objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > from).enumerate() {
        if delimiter.is_none() && count == max {
            break;
        }
        match delimiter.as_ref().and_then(|_| key[prefix.len()..].split_once('/')) {
            Some((folder, _)) => {
                folders.insert(format!("<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>"));
            }
            None => rows.push_str(&format!(
                "<Contents><Key>{key}</Key><LastModified>2026-09-30T02:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>{}</Size></Contents>",
                body.len()
            )),
        }
        next = Some(key.clone());
    }
    let more =
        delimiter.is_none() && objects.keys().any(|key| key.starts_with(&prefix) && Some(key) > next.as_ref() && *key > from);
    let token =
        next.filter(|_| more).map(|key| format!("<NextContinuationToken>{key}</NextContinuationToken>")).unwrap_or_default();
    let folders: String = folders.into_iter().collect();
    Reply::new(200, format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>{token}{rows}{folders}</ListBucketResult>"))
}
