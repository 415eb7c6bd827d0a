//! `ObjectCalls` on the S3 client: one method, one SDK call.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart, EncodingType};
use bytes::Bytes;

use super::keys;
use super::s3::S3;
use super::s3_wire::{Overheard, etag, head, lifecycle_rule, moment, quoted, whole_size};
use crate::domain::LifecycleRule;
use crate::tap::failure::read_chain;
use crate::tap::objects::{
    ChecksumForm, DefaultRetention, GetAnswer, GetAsk, ListAsk, ListPage, ObjectBody, PutAsk, UploadsPage, Versioning,
    VersionsPage, WireHead, WireUpload, WireVersion,
};
use crate::tap::{Answer, CallError, FailureKind, ObjectCalls};

/// Decodes keys only when the store says that it encoded them.
struct Decoder(bool);

impl Decoder {
    fn new(answered: Option<&EncodingType>) -> Self {
        Self(answered == Some(&EncodingType::Url))
    }

    fn key(&self, text: Option<&str>) -> Result<String, (String, String)> {
        let text = text.unwrap_or_default();
        if !self.0 {
            return Ok(text.to_owned());
        }
        keys::decode(text).map_err(|error| (text.to_owned(), error.to_string()))
    }

    /// For markers and rows that are only shown: what cannot be decoded stays as it came.
    fn loose(&self, text: Option<&str>) -> String {
        self.key(text).unwrap_or_else(|(raw, _)| raw)
    }
}

/// Sends a request that can be customised, and listens to what comes beside its answer: the frame of every call.
macro_rules! sent {
    ($request:expr) => {{
        let call = Overheard::default();
        let output = $request.interceptor(call.clone()).send().await.map_err(|error| call.failed(error))?;
        (output, call)
    }};
}

#[async_trait]
impl ObjectCalls for S3 {
    async fn list(&self, ask: &ListAsk) -> Result<Answer<ListPage>, CallError> {
        self.lists.page(ask).await
    }

    async fn uploads(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<UploadsPage>, CallError> {
        let request = self
            .client
            .list_multipart_uploads()
            .bucket(&self.bucket)
            .prefix(prefix)
            .encoding_type(EncodingType::Url)
            .set_key_marker(marker.map(|(key, _)| key.clone()))
            .set_upload_id_marker(marker.map(|(_, id)| id.clone()));
        let (output, call) = sent!(request.customize());
        let decoder = Decoder::new(output.encoding_type());
        let uploads = output.uploads().iter().map(|upload| WireUpload {
            key: decoder.loose(upload.key()),
            upload_id: upload.upload_id().unwrap_or_default().to_owned(),
            initiated: moment(upload.initiated()),
        });
        let next = (output.is_truncated() == Some(true))
            .then(|| (decoder.loose(output.next_key_marker()), output.next_upload_id_marker().unwrap_or_default().to_owned()));
        Ok(call.answer(UploadsPage { uploads: uploads.collect(), next }, true))
    }

    async fn versions(&self, prefix: &str, marker: Option<&(String, String)>) -> Result<Answer<VersionsPage>, CallError> {
        let request = self
            .client
            .list_object_versions()
            .bucket(&self.bucket)
            .prefix(prefix)
            .encoding_type(EncodingType::Url)
            .set_key_marker(marker.map(|(key, _)| key.clone()))
            .set_version_id_marker(marker.map(|(_, id)| id.clone()).filter(|id| !id.is_empty()));
        let (output, call) = sent!(request.customize());
        let decoder = Decoder::new(output.encoding_type());
        let kept = output.versions().iter().map(|version| WireVersion {
            key: decoder.loose(version.key()),
            version_id: version.version_id().unwrap_or_default().to_owned(),
            latest: version.is_latest().unwrap_or(false),
            delete_marker: false,
            size: version.size().unwrap_or(0),
            last_modified: moment(version.last_modified()),
        });
        let marks = output.delete_markers().iter().map(|mark| WireVersion {
            key: decoder.loose(mark.key()),
            version_id: mark.version_id().unwrap_or_default().to_owned(),
            latest: mark.is_latest().unwrap_or(false),
            delete_marker: true,
            size: 0,
            last_modified: moment(mark.last_modified()),
        });
        let next = (output.is_truncated() == Some(true))
            .then(|| (decoder.loose(output.next_key_marker()), output.next_version_id_marker().unwrap_or_default().to_owned()));
        Ok(call.answer(VersionsPage { versions: kept.chain(marks).collect(), next }, true))
    }

    async fn head(&self, key: &str) -> Result<Answer<WireHead>, CallError> {
        let (output, call) = sent!(self.client.head_object().bucket(&self.bucket).key(key).customize());
        let seen = head(&call, output.content_length().unwrap_or(-1), output.e_tag(), output.last_modified());
        Ok(call.answer(seen, false))
    }

    async fn get(&self, ask: &GetAsk) -> Result<Answer<GetAnswer>, CallError> {
        let request = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(&ask.key)
            .set_range(ask.range_header())
            .set_if_match(ask.if_match.as_deref().map(quoted));
        let (output, call) = sent!(request.customize());
        let length = output.content_length().and_then(|length| u64::try_from(length).ok());
        // A store that ignored the range answers 200 with the whole object and no Content-Range.
        let size = whole_size(output.content_range()).or(output.content_length()).unwrap_or(-1);
        let head = head(&call, size, output.e_tag(), output.last_modified());
        let body = Box::new(Body(output.body));
        Ok(call.answer(GetAnswer { head, length, body }, false))
    }

    async fn put(&self, ask: &PutAsk) -> Result<Answer<String>, CallError> {
        // Held until the request is over: the body of the trailer form is read from it.
        let file;
        let body = if ask.checksum == ChecksumForm::Trailer {
            file = spooled(&ask.bytes)?;
            let stream = ByteStream::read_from().path(file.path()).build().await;
            stream.map_err(|error| CallError::new(FailureKind::NotSent, read_chain(&error).1))?
        } else {
            ByteStream::from(ask.bytes.clone())
        };
        let algorithm = (ask.checksum != ChecksumForm::None).then_some(ChecksumAlgorithm::Crc32);
        // An algorithm alone is not enough: "when required" leaves PutObject without a checksum whatever it asks for.
        let calculation = match ask.checksum {
            ChecksumForm::None => RequestChecksumCalculation::WhenRequired,
            ChecksumForm::Header | ChecksumForm::Trailer => RequestChecksumCalculation::WhenSupported,
        };
        let request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(&ask.key)
            .set_metadata(metadata(&ask.metadata))
            .set_if_none_match(ask.if_absent.then(|| "*".to_owned()))
            .set_if_match(ask.if_match.as_deref().map(quoted))
            .set_checksum_algorithm(algorithm)
            .body(body)
            .customize()
            .config_override(aws_sdk_s3::Config::builder().request_checksum_calculation(calculation));
        let (output, call) = sent!(request);
        Ok(call.answer(etag(output.e_tag()), true))
    }

    async fn delete(&self, key: &str) -> Result<Answer<()>, CallError> {
        let (_, call) = sent!(self.client.delete_object().bucket(&self.bucket).key(key).customize());
        Ok(call.answer((), true))
    }

    async fn create_upload(&self, key: &str, meta: &BTreeMap<String, String>) -> Result<Answer<String>, CallError> {
        let request = self.client.create_multipart_upload().bucket(&self.bucket).key(key).set_metadata(metadata(meta));
        let (output, call) = sent!(request.customize());
        match output.upload_id() {
            Some(id) if !id.is_empty() => Ok(call.answer(id.to_owned(), true)),
            _ => Err(CallError::new(FailureKind::Malformed, "answered no upload id")),
        }
    }

    async fn upload_part(&self, key: &str, upload_id: &str, part: i32, bytes: Bytes) -> Result<Answer<String>, CallError> {
        let request = self.client.upload_part().bucket(&self.bucket).key(key).upload_id(upload_id).part_number(part);
        let (output, call) = sent!(request.body(ByteStream::from(bytes)).customize());
        Ok(call.answer(etag(output.e_tag()), true))
    }

    async fn complete_upload(&self, key: &str, upload_id: &str, parts: &[(i32, String)]) -> Result<Answer<String>, CallError> {
        let parts = parts.iter().map(|(number, tag)| CompletedPart::builder().part_number(*number).e_tag(quoted(tag)).build());
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts.collect())).build();
        let request = self.client.complete_multipart_upload().bucket(&self.bucket).key(key).upload_id(upload_id);
        let (output, call) = sent!(request.multipart_upload(parts).customize());
        Ok(call.answer(etag(output.e_tag()), true))
    }

    async fn abort_upload(&self, key: &str, upload_id: &str) -> Result<Answer<()>, CallError> {
        let request = self.client.abort_multipart_upload().bucket(&self.bucket).key(key).upload_id(upload_id);
        let (_, call) = sent!(request.customize());
        Ok(call.answer((), true))
    }

    async fn head_bucket(&self) -> Result<Answer<()>, CallError> {
        let (_, call) = sent!(self.client.head_bucket().bucket(&self.bucket).customize());
        Ok(call.answer((), false))
    }

    async fn versioning(&self) -> Result<Answer<Versioning>, CallError> {
        let (output, call) = sent!(self.client.get_bucket_versioning().bucket(&self.bucket).customize());
        Ok(call.answer(output.status().map(|status| status.as_str().to_owned()), true))
    }

    async fn object_lock(&self) -> Result<Answer<DefaultRetention>, CallError> {
        let (output, call) = sent!(self.client.get_object_lock_configuration().bucket(&self.bucket).customize());
        let retention =
            output.object_lock_configuration().and_then(|lock| lock.rule()).and_then(|rule| rule.default_retention()).map(
                |held| {
                    let mode = held.mode().map_or_else(String::new, |mode| mode.as_str().to_owned());
                    let days = held.days().or_else(|| held.years().map(|years| years.saturating_mul(365))).unwrap_or(0);
                    (mode, days)
                },
            );
        Ok(call.answer(retention, true))
    }

    async fn lifecycle(&self) -> Result<Answer<Vec<LifecycleRule>>, CallError> {
        let request = self.client.get_bucket_lifecycle_configuration().bucket(&self.bucket);
        let (output, call) = sent!(request.customize());
        Ok(call.answer(output.rules().iter().map(lifecycle_rule).collect(), true))
    }
}

struct Body(ByteStream);

#[async_trait]
impl ObjectBody for Body {
    async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        self.0.try_next().await.map_err(|error| {
            let (kind, words) = read_chain(&error);
            CallError::new(kind.unwrap_or(FailureKind::Cut), words)
        })
    }
}

fn metadata(map: &BTreeMap<String, String>) -> Option<std::collections::HashMap<String, String>> {
    (!map.is_empty()).then(|| map.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The SDK sends a trailer only for bodies that it cannot hash beforehand, such as a file's.
fn spooled(bytes: &Bytes) -> Result<tempfile::NamedTempFile, CallError> {
    use std::io::Write as _;
    let spool = || -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(bytes)?;
        file.flush()?;
        Ok(file)
    };
    spool().map_err(|error| CallError::new(FailureKind::NotSent, format!("temporary file: {error}")))
}
