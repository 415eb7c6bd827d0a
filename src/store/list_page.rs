//! Reads a page of ListObjectsV2 strictly: a page that ends early, or is no listing, is an error and never a short listing.
//!
//! The SDK's reader takes `<ListBucketResult><Contents><Key>a` for a whole page, and one control byte in a key for none at all.

use jiff::Timestamp;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

use super::keys;
use crate::tap::objects::{ListPage, WireObject};

/// What a body turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A page.
    Page(ListPage),
    /// An error of the store.
    Error(ErrorBody),
}

/// `<Error>` of S3.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorBody {
    pub(super) code: Option<String>,
    pub(super) message: String,
    pub(super) region: Option<String>,
    pub(super) request_id: Option<String>,
}

/// Reads a whole body.
pub(super) fn read(body: &[u8]) -> Result<Body, String> {
    let mut reader = Reader::from_reader(body);
    let mut page = Page::default();
    let mut error = ErrorBody::default();
    let mut root = Root::None;
    let mut path = Path::default();
    loop {
        match reader.read_event().map_err(|error| format!("the XML breaks at byte {}: {error}", reader.buffer_position()))? {
            Event::Start(start) => {
                let name = start.local_name();
                path.enter(name.as_ref());
                if path.depth == 1 {
                    root = root_of(name.as_ref())?;
                }
            }
            Event::Empty(empty) => {
                let name = empty.local_name();
                path.enter(name.as_ref());
                if path.depth == 1 {
                    root = root_of(name.as_ref())?;
                }
                finish(&root, &mut path, &mut page, &mut error);
            }
            Event::Text(text) => path.text.extend_from_slice(&text),
            Event::CData(text) => path.text.extend_from_slice(&text),
            Event::GeneralRef(reference) => push_reference(&reference, &mut path.text)?,
            Event::End(_) => finish(&root, &mut path, &mut page, &mut error),
            Event::Eof => break,
            _ => {}
        }
    }
    if path.depth > 0 {
        return Err(format!("the XML ends inside of an element, after {} bytes", body.len()));
    }
    match root {
        Root::List => Ok(Body::Page(page.whole())),
        Root::Error => Ok(Body::Error(error)),
        Root::None => Err("the answer has no XML in it".to_owned()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Root {
    None,
    List,
    Error,
}

fn root_of(name: &[u8]) -> Result<Root, String> {
    match name {
        b"ListBucketResult" => Ok(Root::List),
        b"Error" => Ok(Root::Error),
        other => Err(format!("the answer is <{}>, not a listing", keys::printable(&String::from_utf8_lossy(other)))),
    }
}

/// Where in the document we are. Only the names of the second and third level matter.
#[derive(Default)]
struct Path {
    depth: usize,
    second: Name,
    third: Name,
    text: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Name {
    #[default]
    Other,
    Contents,
    CommonPrefixes,
    Key,
    Size,
    ETag,
    LastModified,
    Prefix,
    IsTruncated,
    Next,
    Encoding,
    Code,
    Message,
    Region,
    RequestId,
}

impl Name {
    fn of(name: &[u8]) -> Self {
        match name {
            b"Contents" => Self::Contents,
            b"CommonPrefixes" => Self::CommonPrefixes,
            b"Key" => Self::Key,
            b"Size" => Self::Size,
            b"ETag" => Self::ETag,
            b"LastModified" => Self::LastModified,
            b"Prefix" => Self::Prefix,
            b"IsTruncated" => Self::IsTruncated,
            b"NextContinuationToken" => Self::Next,
            b"EncodingType" => Self::Encoding,
            b"Code" => Self::Code,
            b"Message" => Self::Message,
            b"Region" => Self::Region,
            b"RequestId" => Self::RequestId,
            _ => Self::Other,
        }
    }
}

impl Path {
    fn enter(&mut self, name: &[u8]) {
        self.depth += 1;
        match self.depth {
            2 => self.second = Name::of(name),
            3 => self.third = Name::of(name),
            _ => {}
        }
        self.text.clear();
    }

    fn string(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

/// What is being gathered. Keys are decoded at the end, because the encoding may be told behind them.
#[derive(Default)]
struct Page {
    listing: ListPage,
    encoded: bool,
    objects: Vec<Raw>,
    folders: Vec<Vec<u8>>,
    now: Raw,
}

#[derive(Default)]
struct Raw {
    key: Vec<u8>,
    size: Option<i64>,
    etag: String,
    last_modified: Option<Timestamp>,
}

impl Page {
    fn whole(self) -> ListPage {
        let Self { listing: mut page, encoded, objects, folders, .. } = self;
        page.objects.reserve(objects.len());
        for raw in objects {
            match key_of(raw.key, encoded) {
                Ok(key) => page.objects.push(WireObject {
                    key,
                    size: raw.size.unwrap_or(-1),
                    etag: raw.etag,
                    last_modified: raw.last_modified,
                }),
                Err(refused) => page.refused.push(refused),
            }
        }
        for folder in folders {
            match key_of(folder, encoded) {
                Ok(folder) => page.folders.push(folder),
                Err(refused) => page.refused.push(refused),
            }
        }
        page
    }
}

fn key_of(bytes: Vec<u8>, encoded: bool) -> Result<String, (String, String)> {
    let text = String::from_utf8(bytes)
        .map_err(|error| (String::from_utf8_lossy(error.as_bytes()).into_owned(), "is not UTF-8".to_owned()))?;
    if !encoded {
        return Ok(text);
    }
    keys::decode(&text).map_err(|error| (text, error.to_string()))
}

/// An element ends: what it held goes where it belongs.
fn finish(root: &Root, path: &mut Path, page: &mut Page, error: &mut ErrorBody) {
    match (root, path.depth, path.second) {
        (Root::List, 3, Name::Contents) => match path.third {
            Name::Key => std::mem::swap(&mut page.now.key, &mut path.text),
            Name::Size => page.now.size = std::str::from_utf8(&path.text).ok().and_then(|text| text.trim().parse().ok()),
            Name::ETag => path.string().trim_matches('"').clone_into(&mut page.now.etag),
            Name::LastModified => {
                page.now.last_modified = std::str::from_utf8(&path.text).ok().and_then(|text| text.trim().parse().ok());
            }
            _ => {}
        },
        (Root::List, 3, Name::CommonPrefixes) if path.third == Name::Prefix => page.folders.push(std::mem::take(&mut path.text)),
        (Root::List, 2, Name::Contents) => page.objects.push(std::mem::take(&mut page.now)),
        (Root::List, 2, Name::IsTruncated) => page.listing.truncated = path.text.eq_ignore_ascii_case(b"true"),
        (Root::List, 2, Name::Next) => page.listing.next = Some(path.string()).filter(|token| !token.is_empty()),
        (Root::List, 2, Name::Encoding) => page.encoded = path.text.eq_ignore_ascii_case(b"url"),
        (Root::Error, 2, Name::Code) => error.code = Some(path.string()).filter(|code| !code.is_empty()),
        (Root::Error, 2, Name::Message) => error.message = path.string(),
        (Root::Error, 2, Name::Region) => error.region = Some(path.string()),
        (Root::Error, 2, Name::RequestId) => error.request_id = Some(path.string()),
        _ => {}
    }
    path.text.clear();
    path.depth = path.depth.saturating_sub(1);
}

fn push_reference(reference: &BytesRef<'_>, text: &mut Vec<u8>) -> Result<(), String> {
    if let Some(char) = reference.resolve_char_ref().map_err(|error| format!("a character reference is broken: {error}"))? {
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        return Ok(());
    }
    text.push(match &**reference {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        other => return Err(format!("the XML uses an unknown entity \"{}\"", String::from_utf8_lossy(other))),
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]
mod tests {
    use super::*;

    fn page(body: &str) -> ListPage {
        match read(body.as_bytes()).unwrap() {
            Body::Page(page) => page,
            Body::Error(error) => panic!("{error:?}"),
        }
    }

    #[test]
    fn a_page_as_stores_send_it_is_read_whole() {
        let body = r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>x/</Prefix>
            <KeyCount>2</KeyCount><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b==</NextContinuationToken>
            <Contents><Key>x/a+b%2Fc&amp;amp</Key><LastModified>2026-09-30T02:00:00.123Z</LastModified><ETag>&quot;e1&quot;</ETag>
            <Size>12</Size><Owner><ID>o</ID><Key>not mine</Key></Owner></Contents>
            <Contents><Key><![CDATA[x/<b>]]></Key><ETag>"e2"</ETag><Size>-4</Size></Contents>
            <CommonPrefixes><Prefix>x/y/</Prefix></CommonPrefixes><EncodingType>url</EncodingType></ListBucketResult>"#;
        let page = page(body);
        assert!(page.truncated);
        assert_eq!(page.next.as_deref(), Some("a&b=="));
        assert_eq!(page.folders, ["x/y/"]);
        let keys: Vec<_> = page.objects.iter().map(|object| (object.key.as_str(), object.size, object.etag.as_str())).collect();
        assert_eq!(keys, [("x/a b/c&amp", 12, "e1"), ("x/<b>", -4, "e2")]);
        assert!(page.objects[0].last_modified.is_some());
    }

    #[test]
    fn every_prefix_of_a_page_is_an_error() {
        let body = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>";
        assert!(read(body.as_bytes()).is_ok());
        for end in 0..body.len() {
            assert!(read(&body.as_bytes()[..end]).is_err(), "{}", &body[..end]);
        }
    }

    #[test]
    fn raw_control_bytes_and_bad_utf8_cost_one_key_and_not_the_page() {
        let body = b"<ListBucketResult><Contents><Key>a\x01b</Key><Size>1</Size></Contents><Contents><Key>\xFF</Key></Contents></ListBucketResult>";
        let Body::Page(page) = read(body).unwrap() else { panic!() };
        assert_eq!(page.objects.len(), 1);
        assert_eq!(page.objects[0].key, "a\u{1}b");
        assert_eq!(page.refused.len(), 1);
    }

    #[test]
    fn an_error_and_a_stranger_are_told_apart() {
        let body = read(b"<Error><Code>NoSuchBucket</Code><Message>m</Message></Error>").unwrap();
        assert!(matches!(body, Body::Error(error) if error.code.as_deref() == Some("NoSuchBucket")));
        assert!(read(b"<html></html>").unwrap_err().contains("<html>"));
        assert!(read(b"").is_err() && read(b"{}").is_err());
    }
}
