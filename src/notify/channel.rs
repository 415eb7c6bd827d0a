//! Where messages go, and what is said of a channel that takes none.

use std::path::PathBuf;

use crate::domain::{Finding, KubeId, RunId, Secret, Severity, Subject, SubjectKind};

/// A channel of the configuration.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name: that of a webhook, else kind and name (`alertmanager/main`).
    pub name: String,
    /// Findings below are not told.
    pub at_least: Severity,
    /// How it is reached.
    pub way: Way,
}

/// How a channel is reached.
#[derive(Clone, Debug)]
pub enum Way {
    /// One JSON body that Slack, Discord and others take.
    Webhook {
        /// Where to POST. Carries a token, so it is never shown. A fragment (`https://ntfy.sh/#topic`) is an ntfy topic and is not sent.
        url: Secret,
    },
    /// Alertmanager's API v2.
    Alertmanager {
        /// Its root: `http://alertmanager:9093`.
        url: String,
        /// The `Authorization` header.
        auth: Option<Secret>,
    },
    /// A topic of ntfy.
    Ntfy {
        /// Server and topic: `https://ntfy.sh/my-topic`. Whoever knows it may read, so it is a secret.
        url: Secret,
        /// The `Authorization` header.
        auth: Option<Secret>,
    },
    /// Mail by SMTP, with STARTTLS or not at all.
    Mail(Box<Mail>),
    /// Events in a Kubernetes cluster, on the objects that findings are about.
    Events {
        /// The cluster.
        cluster: KubeId,
    },
    /// A file of metrics, for the textfile collector of Prometheus' node exporter.
    File {
        /// Its path; it is replaced as a whole.
        path: PathBuf,
    },
    /// Metrics for a Prometheus Pushgateway.
    Pushgateway {
        /// Its root: `http://pushgateway:9091`.
        url: String,
        /// The job that the metrics are kept under.
        job: String,
        /// The `Authorization` header.
        auth: Option<Secret>,
    },
}

/// A mail server, and who is written to.
#[derive(Clone, Debug)]
pub struct Mail {
    /// Host name: the certificate must be for it.
    pub server: String,
    /// Port; 587 is submission.
    pub port: u16,
    /// Who logs in; `None` = nobody.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// Sender.
    pub from: String,
    /// Receivers.
    pub to: Vec<String>,
    /// Authorities in PEM, beside the system's.
    pub ca_pem: Option<Vec<u8>>,
}

impl Channel {
    /// A webhook.
    pub fn webhook(name: &str, url: Secret, at_least: Severity) -> Self {
        Self { name: name.to_owned(), at_least, way: Way::Webhook { url } }
    }

    /// Whether its messages say how everything stands, so that a newer one takes the place of an older.
    pub const fn stands(&self) -> bool {
        matches!(self.way, Way::Alertmanager { .. } | Way::Events { .. }) || self.takes_metrics()
    }

    /// Whether it takes metrics, and not words.
    pub const fn takes_metrics(&self) -> bool {
        matches!(self.way, Way::Pushgateway { .. } | Way::File { .. })
    }

    /// The word for tables.
    pub const fn kind(&self) -> &'static str {
        match self.way {
            Way::Webhook { .. } => "webhook",
            Way::Alertmanager { .. } => "alertmanager",
            Way::Ntfy { .. } => "ntfy",
            Way::Mail(_) => "mail",
            Way::Events { .. } => "kube-events",
            Way::File { .. } => "metrics-file",
            Way::Pushgateway { .. } => "pushgateway",
        }
    }

    /// The ntfy topic of a webhook: the URL's fragment, if there is one.
    pub(super) fn topic(&self) -> Option<&str> {
        let Way::Webhook { url } = &self.way else { return None };
        url.expose().split_once('#').map(|(_, topic)| topic).filter(|topic| !topic.is_empty())
    }

    /// What is secret about its address, so that it can be taken out of words.
    pub(super) fn secrets(&self) -> Vec<&Secret> {
        match &self.way {
            Way::Webhook { url } => vec![url],
            Way::Ntfy { url, auth } => std::iter::once(url).chain(auth).collect(),
            Way::Alertmanager { auth, .. } | Way::Pushgateway { auth, .. } => auth.iter().collect(),
            Way::Mail(mail) => mail.password.iter().collect(),
            Way::Events { .. } | Way::File { .. } => Vec::new(),
        }
    }
}

/// A check of healthchecks.io, or of one that understands its paths.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The ping URL of the check. Is itself the secret.
    pub url: Secret,
}

/// Which pass speaks.
#[derive(Clone, Debug)]
pub struct About {
    /// The site.
    pub site: String,
    /// The run.
    pub run: RunId,
    /// The run's number in the ledger.
    pub number: i64,
}

/// The finding of a channel that takes nothing. It goes through the other channels, and through this one once it works again.
pub fn undeliverable(channel: &str, why: &str) -> Finding {
    Finding {
        code: "notification-undeliverable".into(),
        severity: Severity::Warning,
        subject: Subject::new(SubjectKind::Dalsegno, &["notify", channel]),
        summary: format!("channel {channel} takes no messages: {why}"),
        evidence: vec![format!("the last message for {channel} was not taken: {why}")],
        cause: "its address or key is wrong or was revoked, it is down, or it refuses what we send".into(),
        remedy: format!("dalsegno notify test {channel}"),
        could_not_look: false,
    }
}
