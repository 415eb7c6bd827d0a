//! The verbs of a drill inside of a Kubernetes cluster, as they are declared.

use crate::domain::verb_names::{CNPG_CHECK, CNPG_RECOVER, KUBE_NAMESPACE};
use crate::domain::{Makes, Risk, Undo, VerbSpec};

/// All of them.
pub static VERBS: [VerbSpec; 3] = [
    VerbSpec {
        name: KUBE_NAMESPACE,
        about: "make a namespace to restore into, with a NetworkPolicy that lets in nobody but the operator",
        risk: Risk::Sandbox,
        makes: Makes::Scaffold,
        undo: Undo::Yes,
        required: &["subject"],
        optional: &["kubernetes"],
        outputs: &["namespace", "uid", "kubernetes"],
        start_seconds: 60,
        end_seconds: 300,
    },
    VerbSpec {
        name: CNPG_RECOVER,
        about: "let CNPG's operator recover the archive into a Cluster of one instance that archives nowhere",
        risk: Risk::Sandbox,
        makes: Makes::Scaffold,
        undo: Undo::Yes,
        required: &["subject", "namespace", "backup"],
        optional: &["kubernetes", "image", "storage", "wal_storage"],
        outputs: &[
            "cluster",
            "form",
            "reached_segment",
            "reached_lsn",
            "data_as_of",
            "system_id",
            "isolation",
            "isolation_facts",
            "postgres",
            "timeline",
        ],
        start_seconds: 60,
        end_seconds: 43_200,
    },
    VerbSpec {
        name: CNPG_CHECK,
        about: "check the recovered Cluster through a port-forward: identity, end of replay, archiving, freshness, sizes, the user's SQL",
        risk: Risk::Looks,
        makes: Makes::Nothing,
        undo: Undo::None,
        required: &["subject", "namespace"],
        optional: &["checks", "sizes", "kubernetes"],
        outputs: &["sizes"],
        start_seconds: 30,
        end_seconds: 7_200,
    },
];
