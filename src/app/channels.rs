//! Settings → channels.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::clusters::access;
use super::{App, AppError};
use crate::conductor::Notify;
use crate::config::{ChannelSettings, WaySettings};
use crate::domain::{KubeId, Severity};
use crate::notify::{Channel, Heartbeat, Mail, Means, Way};
use crate::providers::kubernetes::config::KubernetesSettings;
use crate::tap::KubeActs;
use crate::tap::http::{LiveHttp, LiveHttpOptions};
use crate::tap::kube_live::{KubeLimits, LiveKube};

impl App {
    /// Who is told; `None` when the configuration names nobody. `metrics_file` is one more channel, named on the command line.
    pub fn notify(&self, metrics_file: Option<&Path>) -> Result<Option<Notify>, AppError> {
        let settings = &self.settings().notify;
        let mut channels: Vec<Channel> =
            settings.webhooks.iter().map(|of| Channel::webhook(&of.name, of.url.clone(), of.at_least)).collect();
        channels.extend(settings.channels.iter().map(channel));
        if let Some(path) = metrics_file {
            channels.retain(|channel| !matches!(channel.way, Way::File { .. }));
            let way = Way::File { path: path.to_owned() };
            channels.push(Channel { name: "metrics-file".to_owned(), at_least: Severity::Warning, way });
        }
        if channels.is_empty() && settings.heartbeat.is_none() {
            return Ok(None);
        }
        let http = LiveHttp::new(&LiveHttpOptions::default()).map_err(AppError::Http)?;
        let means = Means { http: Arc::new(http), kube: self.kube_for_events(), site: self.settings().site.clone() };
        Ok(Some(Notify { channels, heartbeat: settings.heartbeat.clone().map(|url| Heartbeat { url }), means }))
    }

    /// Clusters that Events can be written to. Makes no call.
    fn kube_for_events(&self) -> BTreeMap<KubeId, Arc<dyn KubeActs>> {
        let wanted = |id: &KubeId| {
            self.settings().notify.channels.iter().any(|of| matches!(&of.way, WaySettings::Events(cluster) if cluster == id))
        };
        let open = |of: &KubernetesSettings| -> Arc<dyn KubeActs> { Arc::new(LiveKube::new(access(of), KubeLimits::default())) };
        let clusters = self.settings().cnpg.iter().map(|of| &of.kubernetes).filter(|of| wanted(&of.id));
        clusters.map(|of| (of.id.clone(), open(of))).collect()
    }
}

fn channel(of: &ChannelSettings) -> Channel {
    let way = match &of.way {
        WaySettings::Alertmanager(url, auth) => Way::Alertmanager { url: url.clone(), auth: auth.clone() },
        WaySettings::Ntfy(url, auth) => Way::Ntfy { url: url.clone(), auth: auth.clone() },
        WaySettings::Mail(mail) => Way::Mail(Box::new(Mail {
            server: mail.server.clone(),
            port: mail.port,
            user: mail.user.clone(),
            password: mail.password.clone(),
            from: mail.from.clone(),
            to: mail.to.clone(),
            ca_pem: mail.ca_pem.clone(),
        })),
        WaySettings::Events(cluster) => Way::Events { cluster: cluster.clone() },
        WaySettings::Pushgateway(url, job, auth) => Way::Pushgateway { url: url.clone(), job: job.clone(), auth: auth.clone() },
        WaySettings::File(path) => Way::File { path: path.clone() },
    };
    Channel { name: of.name.clone(), at_least: of.at_least, way }
}
