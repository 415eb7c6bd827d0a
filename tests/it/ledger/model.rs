//! Findings against a model of a few lines: whatever is seen and looked at in whatever order, ledger and model agree.

use std::collections::{BTreeMap, BTreeSet};

use dalsegno::domain::{Change, Severity};
use proptest::prelude::*;

use super::{at, finding, open, pass, subject};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// One pass: for each name whether its subject was looked at, and the severity of what was seen there, if anything.
type Pass = Vec<(bool, Option<Severity>)>;

fn passes() -> impl Strategy<Value = Vec<Pass>> {
    let seen = prop_oneof![Just(None), Just(Some(Severity::Warning)), Just(Some(Severity::Critical))];
    prop::collection::vec(prop::collection::vec((any::<bool>(), seen), NAMES.len()), 1..8)
}

fn word(change: &Change) -> String {
    match change {
        Change::New { finding } => format!("new {}", finding.subject.name()),
        Change::Still { finding, since, severity_was } => {
            format!("still {} since {since} was {severity_was:?}", finding.subject.name())
        }
        Change::Cleared { finding, since, .. } => format!("cleared {} since {since}", finding.subject.name()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn ledger_and_model_agree(passes in passes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let ledger = open(folder.path()).await;
            let mut model: BTreeMap<&str, (jiff::Timestamp, Severity)> = BTreeMap::new();
            for (second, one) in (0..).zip(&passes) {
                let now = at(second);
                let (mut expected, mut unseen) = (BTreeSet::new(), BTreeSet::new());
                for (name, (looked, seen)) in NAMES.into_iter().zip(one) {
                    match (model.get(name).copied(), seen, looked) {
                        (None, None, _) => {}
                        (None, Some(severity), _) => {
                            expected.insert(format!("new {name}"));
                            model.insert(name, (now, *severity));
                        }
                        (Some((since, was)), Some(severity), _) => {
                            let was = (was != *severity).then_some(was);
                            expected.insert(format!("still {name} since {since} was {was:?}"));
                            model.insert(name, (since, *severity));
                        }
                        (Some((since, _)), None, true) => {
                            expected.insert(format!("cleared {name} since {since}"));
                            model.remove(name);
                        }
                        (Some((since, _)), None, false) => {
                            expected.insert(format!("still {name} since {since} was None"));
                            unseen.insert(name);
                        }
                    }
                }
                let found: Vec<_> = NAMES
                    .into_iter()
                    .zip(one)
                    .filter_map(|(name, (_, seen))| seen.map(|severity| finding("x", &subject(name), severity)))
                    .collect();
                let looked: BTreeSet<_> = NAMES.into_iter().zip(one).filter(|(_, (looked, _))| *looked).map(|(name, _)| name).collect();
                let run = pass(&ledger, second).await;
                let committed = ledger.commit_findings(run, now, &found, &|key| looked.contains(key.subject.name())).await.unwrap();
                assert_eq!(committed.changes.iter().map(word).collect::<BTreeSet<_>>(), expected);
                assert_eq!(committed.not_looked.iter().map(|key| key.subject.name()).collect::<BTreeSet<_>>(), unseen);
                let open: BTreeSet<_> = ledger.open_findings().await.unwrap().into_iter().map(|open| open.finding.subject.name().to_owned()).collect();
                assert_eq!(open, model.keys().map(|name| (*name).to_owned()).collect());
            }
            assert!(ledger.verify().await.unwrap().whole());
        });
    }
}
