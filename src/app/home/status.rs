//! `status/<site>.json`: what the last pass saw, small enough for other sites and people to read each time.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;

use super::layout::{key, mark, status};
use crate::conductor::{Counted, Line as Known, State, Status};
use crate::domain::{RunId, Subject};
use crate::store::{Guarded, StoreError};
use crate::tap::objects::PutAsk;

/// The format of the file.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct File<'a> {
    format: u32,
    site: &'a str,
    environment: &'a str,
    dalsegno: &'static str,
    at: Timestamp,
    run: RunId,
    serial: u64,
    counted: Counted,
    subjects: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    subject: &'a Subject,
    state: State,
    why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    restorable_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proven: Option<Timestamp>,
}

fn line(of: &Known) -> Line<'_> {
    Line { subject: &of.subject, state: of.state, why: &of.why, restorable_to: of.restorable_to, proven: of.proven }
}

/// Writes it. It is a courtesy to others: the ledger is kept already.
pub(super) async fn write(
    guarded: &Guarded,
    environment: &str,
    run: RunId,
    serial: u64,
    seen: &Status,
) -> Result<(), StoreError> {
    let file = File {
        format: FORMAT,
        site: &seen.site,
        environment,
        dalsegno: env!("CARGO_PKG_VERSION"),
        at: seen.now,
        run,
        serial,
        counted: seen.counted,
        subjects: seen.lines.iter().map(line).collect(),
    };
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    let ask = PutAsk {
        key: key(guarded.own(), &status(&seen.site)),
        bytes: Bytes::from(text),
        metadata: mark("status", &seen.site),
        ..PutAsk::default()
    };
    guarded.put(ask).await.map(|_| ())
}
