//! Going back to an older snapshot, as a person who decided to: `dalsegno ledger rewind`.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::HomeError;
use super::bring::snapshots;
use super::head;
use super::layout::{HEAD, SNAPSHOTS, key};
use crate::app::{App, AppError};
use crate::domain::hex;
use crate::store::StoreError;
use crate::tap::objects::PutAsk;

/// A ledger that is larger than this, compressed, is none of ours.
const LARGEST: u64 = 4 << 30;

/// What rewinding did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// The snapshot that is the ledger now.
    pub snapshot: String,
    /// The one that was.
    pub was: String,
    /// The head's serial number now.
    pub serial: u64,
}

impl App {
    /// Makes `name`, a snapshot in the bucket, the ledger again. It must be whole; the one that was stays where it is.
    pub async fn rewind(&self, name: &str, now: Timestamp) -> Result<Rewound, AppError> {
        let Some((guarded, prefix)) = self.own_home().await? else {
            let given = name.to_owned();
            let why = "the ledger is at home on a volume, where there are no snapshots".to_owned();
            return Err(HomeError::Address { given, why }.into());
        };
        let store = guarded.store();
        let place = |name: &str| head::place(store, &prefix, name);
        let seen = head::read(store, &prefix).await?.ok_or_else(|| HomeError::Nothing { place: place(HEAD) })?;
        head::must_be_of(Some(&seen), &self.settings().site, || place(HEAD))?;
        let name = format!("{SNAPSHOTS}{}", name.trim_start_matches(SNAPSHOTS));
        let known = snapshots(store, &prefix).await.map_err(HomeError::from)?;
        if !known.iter().any(|(_, known)| *known == name) {
            let said = "it is not there, or has not the name of a snapshot".to_owned();
            return Err(HomeError::Damaged { place: place(&name), said, others: Vec::new() }.into());
        }
        let object = store.get(&key(&prefix, &name), LARGEST).await.map_err(HomeError::from)?;
        let plain = plain_bytes(&object.bytes);
        let said = |error: std::io::Error| HomeError::Damaged {
            place: place(&name),
            said: format!("it does not decompress: {error}"),
            others: Vec::new(),
        };
        let plain_bytes = plain.map_err(said)?;
        let was = seen.head.snapshot.name.clone();
        let mut head = seen.head;
        head.serial = head.serial.saturating_add(1);
        head.written = now;
        head.snapshot = head::Object { name, sha256: hex(&Sha256::digest(&object.bytes)), bytes: object.size };
        head.plain_bytes = plain_bytes;
        let mut text = serde_json::to_string_pretty(&head).unwrap_or_default();
        text.push('\n');
        let ask = PutAsk {
            key: key(&prefix, HEAD),
            bytes: Bytes::from(text),
            metadata: super::layout::mark("head", &head.site),
            if_match: Some(seen.etag),
            ..PutAsk::default()
        };
        match guarded.put(ask).await {
            Ok(_) => Ok(Rewound { snapshot: head.snapshot.name, was, serial: head.serial }),
            Err(StoreError::PreconditionFailed { .. }) => {
                Err(HomeError::LostRace { place: place(HEAD), winner: "a pass".to_owned() }.into())
            }
            Err(error) => Err(HomeError::from(error).into()),
        }
    }
}

/// How many bytes it is once decompressed; an error when it is not whole.
fn plain_bytes(packed: &[u8]) -> std::io::Result<u64> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    std::io::copy(&mut decoder, &mut std::io::sink())
}
