//! Who is told: channels and the heartbeat.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::load::{Trouble, Work, is_below};
use super::mistake::Mistake;
use super::placeholder::Kind;
use super::tree::{Node, Shape, child};
use crate::domain::{FactKind, KubeId, Secret, SecretRef, Severity, Span, Subject};

/// Who is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NotifyFragment {
    /// Webhooks, by name. One body that Slack, Discord and ntfy take.
    pub webhooks: BTreeMap<String, WebhookFragment>,
    /// Alertmanagers, by name.
    pub alertmanager: BTreeMap<String, AlertmanagerFragment>,
    /// Topics of ntfy, by name.
    pub ntfy: BTreeMap<String, NtfyFragment>,
    /// Receivers of mail, by name.
    pub mail: BTreeMap<String, MailFragment>,
    /// Events in Kubernetes clusters, on the objects that findings are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_events: Option<KubeEventsFragment>,
    /// A Prometheus Pushgateway: metrics of each pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushgateway: Option<PushgatewayFragment>,
    /// A file that the metrics of each pass are written to, for the textfile collector of the node exporter: PATH.prom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_file: Option<PathBuf>,
    /// A URL that is pinged only when everything that must be seen was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<HeartbeatFragment>,
    /// How long a warning must be there before it is told, where the policy of its subject says nothing. Default: 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
}

/// A webhook.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebhookFragment {
    /// Where its URL is found; whoever knows it may post.
    pub url: SecretRef,
    /// Findings below this are not sent. Default: warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Severity>,
}

/// An Alertmanager.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AlertmanagerFragment {
    /// Its root: http://alertmanager.monitoring:9093.
    pub url: String,
    /// Where the whole `Authorization` header is found, when it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<SecretRef>,
    /// Findings below this are not sent. Default: warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Severity>,
}

/// A topic of ntfy.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NtfyFragment {
    /// Where its URL is found, server and topic: https://ntfy.sh/my-topic. Whoever knows the topic may read.
    pub url: SecretRef,
    /// Where the whole `Authorization` header is found, when it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<SecretRef>,
    /// Findings below this are not sent. Default: warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Severity>,
}

/// Receivers of mail. The server must offer STARTTLS.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MailFragment {
    /// Host name of the mail server; its certificate must be for it.
    pub server: String,
    /// Port. Default: 587.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Who logs in; nobody when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where the password is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretRef>,
    /// Sender: dalsegno@our.domain.
    pub from: String,
    /// Receivers.
    pub to: Vec<String>,
    /// Authorities of the server's certificate, PEM, beside the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Findings below this are not sent. Default: warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Severity>,
}

/// Events in Kubernetes clusters.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KubeEventsFragment {
    /// Names of clusters of this configuration.
    pub clusters: Vec<String>,
    /// Findings below this are not written. Default: warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Severity>,
}

/// A Pushgateway.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PushgatewayFragment {
    /// Its root: http://pushgateway.monitoring:9091.
    pub url: String,
    /// The job that the metrics are kept under. Default: dalsegno.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Where the whole `Authorization` header is found, when it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<SecretRef>,
}

/// A heartbeat.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HeartbeatFragment {
    /// Where its URL is found.
    pub url: SecretRef,
}

/// Who is told.
#[derive(Clone, Debug, Default)]
pub struct NotifySettings {
    /// Webhooks, by name.
    pub webhooks: Vec<WebhookSettings>,
    /// Channels of all other kinds.
    pub channels: Vec<ChannelSettings>,
    /// The URL to ping after a pass that saw everything it must see.
    pub heartbeat: Option<Secret>,
    /// How long a warning must be there before it is told, in seconds.
    pub grace_seconds: f64,
}

impl NotifySettings {
    /// Every secret of a channel: what must never stand in anything that is written.
    pub fn secrets(&self) -> Vec<&Secret> {
        let of_ways = self.channels.iter().flat_map(|channel| channel.way.secrets());
        self.webhooks.iter().map(|hook| &hook.url).chain(&self.heartbeat).chain(of_ways).collect()
    }
}

impl WaySettings {
    fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Alertmanager(_, authorization) | Self::Pushgateway(_, _, authorization) => authorization.iter().collect(),
            Self::Ntfy(url, authorization) => std::iter::once(url).chain(authorization).collect(),
            Self::Mail(mail) => mail.password.iter().collect(),
            Self::Events(_) | Self::File(_) => Vec::new(),
        }
    }
}

/// One webhook.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Its name in the configuration.
    pub name: String,
    /// Where to; a secret, since whoever knows it may post.
    pub url: Secret,
    /// Findings below this are not sent.
    pub at_least: Severity,
}

/// A channel that is no webhook.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// Kind and name: `alertmanager/main`.
    pub name: String,
    /// Findings below this are not sent.
    pub at_least: Severity,
    /// How it is reached.
    pub way: WaySettings,
}

/// How a channel is reached.
#[derive(Clone, Debug)]
pub enum WaySettings {
    /// Alertmanager: root, `Authorization`.
    Alertmanager(String, Option<Secret>),
    /// ntfy: server and topic, `Authorization`.
    Ntfy(Secret, Option<Secret>),
    /// Mail.
    Mail(Box<MailSettings>),
    /// Events in a cluster.
    Events(KubeId),
    /// Pushgateway: root, job, `Authorization`.
    Pushgateway(String, String, Option<Secret>),
    /// A file of metrics.
    File(PathBuf),
}

/// A mail server, and who is written to.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// Host name.
    pub server: String,
    /// Port.
    pub port: u16,
    /// Who logs in.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// Sender.
    pub from: String,
    /// Receivers.
    pub to: Vec<String>,
    /// Authorities, PEM.
    pub ca_pem: Option<Vec<u8>>,
}

/// Submission, RFC 6409.
const MAIL_PORT: u16 = 587;
/// Kinds with names below them.
const NAMED: [&str; 4] = ["webhooks", "alertmanager", "ntfy", "mail"];

/// Builds all channels that can be used; one that cannot is a gap of its own.
pub(super) fn build(work: &mut Work) -> NotifySettings {
    let subject = Subject::dalsegno("notify");
    work.own_placeholders("notify", &subject);
    let Some(node) = work.root.get("notify").cloned() else { return NotifySettings::default() };
    let fragment: NotifyFragment = work.part("notify", &without_hollow(work, node), &|_| true).unwrap_or_default();
    for trouble in super::build::placeholders_as_troubles(work, "notify") {
        silent(work, &trouble.key.clone(), &[trouble]);
    }
    let mut build = Build { work, subject };
    let mut settings =
        NotifySettings { grace_seconds: fragment.grace.map(Span::seconds).unwrap_or_default(), ..NotifySettings::default() };
    for (name, hook) in fragment.webhooks {
        if let Some(url) = build.url(&format!("notify.webhooks.{name}.url"), &hook.url) {
            settings.webhooks.push(WebhookSettings { name, url, at_least: hook.at_least.unwrap_or(Severity::Warning) });
        }
    }
    let mut channels = Vec::new();
    let mut put = |name: String, at_least: Option<Severity>, way: Option<WaySettings>| {
        let at_least = at_least.unwrap_or(Severity::Warning);
        channels.extend(way.map(|way| ChannelSettings { name, at_least, way }));
    };
    for (name, of) in fragment.alertmanager {
        let key = format!("notify.alertmanager.{name}");
        let way = build.open(&key, of.url, of.authorization).map(|(url, auth)| WaySettings::Alertmanager(url, auth));
        put(format!("alertmanager/{name}"), of.at_least, way);
    }
    for (name, of) in fragment.ntfy {
        let key = format!("notify.ntfy.{name}");
        let way = build.ntfy(&key, &of.url, of.authorization);
        put(format!("ntfy/{name}"), of.at_least, way);
    }
    for (name, of) in fragment.mail {
        let (key, at_least) = (format!("notify.mail.{name}"), of.at_least);
        let way = build.mail(&key, of);
        put(format!("mail/{name}"), at_least, way);
    }
    if let Some(of) = fragment.kube_events {
        for cluster in of.clusters {
            if !build.knows_cluster(&cluster) {
                continue;
            }
            put(format!("kube-events/{cluster}"), of.at_least, Some(WaySettings::Events(KubeId(cluster))));
        }
    }
    if let Some(of) = fragment.pushgateway {
        let job = of.job.unwrap_or_else(|| "dalsegno".to_owned());
        let way = build.open("notify.pushgateway", of.url, of.authorization);
        put("pushgateway".to_owned(), None, way.map(|(url, auth)| WaySettings::Pushgateway(url, job, auth)));
    }
    if let Some(path) = fragment.metrics_file {
        let path = build.work.root.place_of("notify.metrics-file").resolve(&path);
        put("metrics-file".to_owned(), None, Some(WaySettings::File(path)));
    }
    settings.heartbeat = fragment.heartbeat.and_then(|heartbeat| build.url("notify.heartbeat.url", &heartbeat.url));
    settings.channels = channels;
    settings
}

/// A channel with a placeholder goes; the others stay.
fn without_hollow(work: &Work, mut node: Node) -> Node {
    let hollow: Vec<String> = work.placeholders_below("notify").iter().map(|placeholder| placeholder.key_path.clone()).collect();
    let is_hollow = |path: &str| hollow.iter().any(|key| is_below(key, path));
    if let Shape::Map(entries) = &mut node.shape {
        entries.retain(|entry| NAMED.contains(&entry.key.as_str()) || !is_hollow(&child("notify", &entry.key)));
        for entry in entries.iter_mut().filter(|entry| NAMED.contains(&entry.key.as_str())) {
            let path = child("notify", &entry.key);
            if let Shape::Map(channels) = &mut entry.node.shape {
                channels.retain(|channel| !is_hollow(&child(&path, &channel.key)));
            }
        }
    }
    node
}

/// Something is named and cannot be had; that is said already.
struct Unusable;

struct Build<'a> {
    work: &'a mut Work,
    subject: Subject,
}

impl Build<'_> {
    /// The URL of a channel; `None` when it cannot be had, which is said as a gap.
    fn url(&mut self, key: &str, reference: &SecretRef) -> Option<Secret> {
        let secret = self.secret(key, reference, Kind::SecretUrl)?;
        // Where secrets are not read, an empty one stands in.
        if secret.expose().is_empty() || is_http(secret.expose()) {
            return Some(secret);
        }
        let text = format!("{reference} holds no http:// or https:// URL");
        self.refuse(key, "url-invalid", text, format!("put the whole URL into {reference}"));
        None
    }

    fn secret(&mut self, key: &str, reference: &SecretRef, kind: Kind) -> Option<Secret> {
        let mut troubles = Vec::new();
        let secret = self.work.secret(key, reference, kind, &self.subject, &mut troubles);
        silent(self.work, key, &troubles);
        troubles.is_empty().then_some(secret)
    }

    /// A URL that is no secret, and the header that may be one.
    fn open(&mut self, key: &str, url: String, auth: Option<SecretRef>) -> Option<(String, Option<Secret>)> {
        if !is_http(&url) && !url.is_empty() {
            let text = format!("\"{url}\" is no http:// or https:// URL");
            self.refuse(&child(key, "url"), "url-invalid", text, "http://HOST:PORT, without a path of the API".to_owned());
            return None;
        }
        Some((url, self.auth(key, auth).ok()?))
    }

    /// The `Authorization` header, if the channel has one.
    fn auth(&mut self, key: &str, auth: Option<SecretRef>) -> Result<Option<Secret>, Unusable> {
        let Some(reference) = auth else { return Ok(None) };
        self.secret(&child(key, "authorization"), &reference, Kind::Secret).map(Some).ok_or(Unusable)
    }

    fn ntfy(&mut self, key: &str, url: &SecretRef, auth: Option<SecretRef>) -> Option<WaySettings> {
        let reference = url;
        let url = self.url(&child(key, "url"), url)?;
        let after_scheme = url.expose().split_once("://").map(|(_, rest)| rest.trim_end_matches('/'));
        if after_scheme.is_some_and(|rest| !rest.contains('/')) {
            let text = format!("{reference} names a server without a topic");
            self.refuse(&child(key, "url"), "url-invalid", text, "https://ntfy.sh/my-topic".to_owned());
            return None;
        }
        Some(WaySettings::Ntfy(url, self.auth(key, auth).ok()?))
    }

    fn mail(&mut self, key: &str, of: MailFragment) -> Option<WaySettings> {
        let password = match &of.password {
            Some(reference) => Some(self.secret(&child(key, "password"), reference, Kind::Secret)?),
            None => None,
        };
        if of.to.is_empty() {
            let hint = "to: [team@our.domain]".to_owned();
            self.refuse(&child(key, "to"), "mail-invalid", "names no receiver".to_owned(), hint);
            return None;
        }
        if of.user.is_some() != of.password.is_some() {
            let hint = "user and password go together".to_owned();
            self.refuse(key, "mail-invalid", "has one of user and password without the other".to_owned(), hint);
            return None;
        }
        let not_an_address = of.to.iter().chain([&of.from]).find(|address| !address.contains('@')).cloned();
        if let Some(address) = not_an_address.filter(|address| !address.is_empty()) {
            self.refuse(key, "mail-invalid", format!("\"{address}\" is no mail address"), "name@domain".to_owned());
            return None;
        }
        let ca_pem = match &of.ca {
            Some(ca) => Some(self.read_ca(&child(key, "ca"), ca)?),
            None => None,
        };
        Some(WaySettings::Mail(Box::new(MailSettings {
            server: of.server,
            port: of.port.unwrap_or(MAIL_PORT),
            user: of.user,
            password,
            from: of.from,
            to: of.to,
            ca_pem,
        })))
    }

    fn knows_cluster(&mut self, cluster: &str) -> bool {
        let known: Vec<String> = self.work.named("kubernetes").into_iter().map(|(name, _)| name).collect();
        if !known.iter().any(|name| name == cluster) {
            let hint = format!(
                "configured below kubernetes: {}",
                if known.is_empty() { "nothing".to_owned() } else { known.join(", ") }
            );
            let text = format!("there is no Kubernetes cluster \"{cluster}\"");
            self.refuse("notify.kube-events.clusters", "cluster-unknown", text, hint);
            return false;
        }
        true
    }

    fn read_ca(&mut self, key: &str, ca: &std::path::Path) -> Option<Vec<u8>> {
        let file = self.work.root.place_of(key).resolve(ca);
        match std::fs::read(&file) {
            Ok(pem) => Some(pem),
            Err(error) => {
                let text = format!("the CA file {} cannot be read: {error}", file.display());
                let hint = format!("does it exist, and may this user read it?  ls -l {}", file.display());
                self.refuse(key, "ca-unreadable", text, hint);
                None
            }
        }
    }

    /// Refused by `config check`; a pass goes on without the channel, and says so.
    fn refuse(&mut self, key: &str, code: &'static str, text: String, hint: String) {
        let at = self.work.root.place_of(key);
        self.work.refused.push(Mistake::new(&at, key, code, text.clone()).hint(hint.clone()));
        silent(self.work, key, &[Trouble { key: key.to_owned(), code, text, hint }]);
    }
}

fn is_http(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}

/// A channel that cannot speak is a gap of its own.
fn silent(work: &mut Work, key: &str, troubles: &[Trouble]) {
    let channel = Subject::dalsegno(&format!("notify/{}", name_of(key)));
    work.gap(&channel, FactKind::Channel, troubles);
}

/// The channel that a key belongs to: `notify.webhooks.ops.url` → `ops`, `notify.mail.team.to` → `mail/team`.
fn name_of(key: &str) -> String {
    let mut parts = key.trim_start_matches("notify.").split('.');
    match (parts.next(), parts.next()) {
        (Some("webhooks"), Some(name)) => name.to_owned(),
        (Some(kind), Some(name)) if NAMED.contains(&kind) => format!("{kind}/{name}"),
        (kind, _) => kind.unwrap_or_default().to_owned(),
    }
}
