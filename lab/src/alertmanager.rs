//! A real Alertmanager on loopback, whose one receiver is a [`Webhook`] of the lab.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::home::Folder;
use crate::prometheus::{http, wait_ready};
use crate::tools::alertmanager_files;
use crate::webhook::Webhook;
use crate::{LabError, Process, Tool, User, ports};

/// A running server; gone when dropped.
#[derive(Debug)]
pub struct Alertmanager {
    process: Process,
    folder: Folder,
    port: u16,
    receiver: Webhook,
}

impl Alertmanager {
    /// Starts one that sends every group of alerts (by all labels) to its receiver at once, resolved ones too.
    pub async fn start() -> Result<Alertmanager, LabError> {
        let receiver = Webhook::start()?;
        let config = format!(
            "route:\n  receiver: lab\n  group_by: ['...']\n  group_wait: 0s\n  group_interval: 1s\n  repeat_interval: 1h\n\
             receivers:\n- name: lab\n  webhook_configs:\n  - url: {}\n    send_resolved: true\n",
            receiver.url("alerts")
        );
        Alertmanager::with(&config, receiver).await
    }

    /// Starts one with a whole configuration of one's own; `receiver` is a place in it, or nobody's.
    pub async fn with(config: &str, receiver: Webhook) -> Result<Alertmanager, LabError> {
        let program = Tool::Alertmanager.find()?;
        let folder = Folder::new("alertmanager")?;
        let file = folder.path().join("alertmanager.yml");
        fs::write(&file, config).map_err(LabError::file(&file))?;
        let port = ports::free(1)?.first().copied().unwrap_or_default();
        let process = spawn(&program, &folder, port)?;
        let mut alertmanager = Alertmanager { process, folder, port, receiver };
        let url = alertmanager.url();
        wait_ready(&mut alertmanager.process, &url, "Alertmanager").await?;
        Ok(alertmanager)
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it sends its messages to.
    pub fn receiver(&self) -> &Webhook {
        &self.receiver
    }

    /// The alerts that it holds now, by its API.
    pub async fn alerts(&self) -> Result<Vec<Value>, LabError> {
        let (status, body) = http("GET", &format!("{}/api/v2/alerts", self.url()), "").await?;
        match serde_json::from_str(&body) {
            Ok(Value::Array(all)) if status == 200 => Ok(all),
            _ => Err(LabError::Other(format!("Alertmanager: {status} {body}"))),
        }
    }

    /// Gives it alerts as a client would: its own word on whether they are right.
    pub async fn post(&self, alerts: &Value) -> Result<u16, LabError> {
        http("POST", &format!("{}/api/v2/alerts", self.url()), &alerts.to_string()).await.map(|(status, _)| status)
    }

    /// Waits until an alert with this label is held (`firing`), or was sent on as resolved (not `firing`).
    pub async fn wait_for(&self, label: &str, value: &str, firing: bool, limit: Duration) -> Result<Value, LabError> {
        let until = Instant::now() + limit;
        let is_it = |alert: &Value| alert.pointer("/labels").and_then(|l| l.get(label)) == Some(&Value::from(value));
        loop {
            let found = if firing {
                self.alerts().await?.into_iter().find(is_it)
            } else {
                let sent = self.receiver.received();
                let sent =
                    sent.iter().flat_map(|one| one.json().get("alerts").and_then(Value::as_array).cloned().unwrap_or_default());
                sent.filter(|alert| alert.get("status") == Some(&Value::from("resolved"))).find(is_it)
            };
            if let Some(alert) = found {
                return Ok(alert);
            }
            if Instant::now() > until {
                let server = format!("an alert with {label}={value}, firing: {firing}");
                return Err(LabError::NotReady { server, seconds: limit.as_secs(), log: self.process.log_end() });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Stops it; [`Alertmanager::resume`] starts it again with its data on the same port.
    pub fn stop(&mut self) {
        self.process.stop(Duration::from_secs(10));
    }

    /// Starts it again.
    pub async fn resume(&mut self) -> Result<(), LabError> {
        self.process = spawn(&Tool::Alertmanager.find()?, &self.folder, self.port)?;
        let url = self.url();
        wait_ready(&mut self.process, &url, "Alertmanager").await
    }
}

fn spawn(program: &Path, folder: &Folder, port: u16) -> Result<Process, LabError> {
    let mut command = Command::new(program);
    command.arg(format!("--config.file={}", folder.path().join("alertmanager.yml").display()));
    command.arg(format!("--storage.path={}", folder.path().join("data").display()));
    // An empty cluster address: it neither gossips nor waits for peers.
    command.args([&format!("--web.listen-address=127.0.0.1:{port}"), "--cluster.listen-address=", "--log.level=warn"]);
    command.current_dir(alertmanager_files(program).as_deref().unwrap_or(folder.path()));
    Process::spawn(command, &folder.path().join("alertmanager.log"), Signal::SIGTERM, User::same())
}
