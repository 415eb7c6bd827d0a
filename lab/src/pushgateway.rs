//! A stand-in for a Pushgateway: groups of samples by job and labels in the path, PUT replaces a group, POST its
//! metrics of the same names, DELETE removes it (<https://github.com/prometheus/pushgateway#api>). Strict: text that
//! is not the exposition format, a sample with a time, or a label of the path said otherwise in the body, is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::LabError;
use crate::exposition::{Sample, parse};
use crate::webhook::{Manner, Received, Reply, Webhook};

/// Labels of a group: `job` and what else the path says.
pub type Group = BTreeMap<String, String>;

type Groups = Arc<Mutex<BTreeMap<Group, Vec<Sample>>>>;

/// A running gateway; gone when dropped.
#[derive(Debug)]
pub struct Pushgateway {
    hook: Webhook,
    groups: Groups,
}

impl Pushgateway {
    /// An empty one.
    pub fn start() -> Result<Pushgateway, LabError> {
        let groups = Groups::default();
        let shared = Arc::clone(&groups);
        let hook = Webhook::strict(Arc::new(move |request| {
            let mut groups = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (status, body) = match take(&mut groups, request) {
                Ok(status) => (status, String::new()),
                Err((status, why)) => (status, why),
            };
            Reply { status, content_type: "text/plain; charset=utf-8", body }
        }))?;
        Ok(Pushgateway { hook, groups })
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        self.hook.url("").trim_end_matches('/').to_owned()
    }

    /// Changes how it answers; `Status(200)` is as a Pushgateway does.
    pub fn answer(&self, manner: Manner) {
        self.hook.answer(manner);
    }

    /// The requests, refused ones too.
    pub fn hook(&self) -> &Webhook {
        &self.hook
    }

    /// What it holds.
    pub fn groups(&self) -> BTreeMap<Group, Vec<Sample>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn take(groups: &mut BTreeMap<Group, Vec<Sample>>, request: &Received) -> Result<u16, (u16, String)> {
    let group = group(request.path_only()).ok_or((404, "404 page not found".to_owned()))?;
    if request.method == "DELETE" {
        groups.remove(&group);
        return Ok(202);
    }
    if request.method != "PUT" && request.method != "POST" {
        return Err((405, "Method Not Allowed".to_owned()));
    }
    let samples = parse(&request.text()).map_err(|why| (400, format!("text format parsing error in {why}")))?;
    if let Some(sample) = samples.iter().find(|sample| sample.time.is_some()) {
        return Err((400, format!("pushed metrics must not have timestamps: {}", sample.name)));
    }
    let differs = |sample: &&Sample| sample.labels.iter().any(|(name, value)| group.get(name).is_some_and(|own| own != value));
    if let Some(sample) = samples.iter().find(differs) {
        return Err((400, format!("{}: a label of the group is said otherwise", sample.name)));
    }
    let held = groups.entry(group).or_default();
    if request.method == "PUT" {
        held.clear();
    } else {
        held.retain(|old| samples.iter().all(|new| new.name != old.name));
    }
    held.extend(samples);
    Ok(200)
}

/// `/metrics/job/<job>{/<label>/<value>}`, percent-decoded.
fn group(path: &str) -> Option<Group> {
    let mut parts = path.strip_prefix("/metrics/")?.split('/');
    let mut found = Group::new();
    while let Some(name) = parts.next() {
        let value = decoded(parts.next()?)?;
        if value.is_empty() || found.insert(name.to_owned(), value).is_some() {
            return None;
        }
    }
    found.contains_key("job").then_some(found)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        if byte == b'%' {
            let digits = [left.next()?, left.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
