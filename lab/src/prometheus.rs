//! A real Prometheus on loopback: scrape targets and rules of the test's choice, fast intervals.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::home::Folder;
use crate::{LabError, Process, Tool, User, ports, process, s3};

const READY: Duration = Duration::from_secs(30);

/// What is scraped.
#[derive(Debug, Clone)]
pub struct Target {
    job: String,
    address: String,
    path: String,
    labels: Vec<(String, String)>,
}

impl Target {
    /// `http://<address>/metrics` under this job's name.
    pub fn new(job: &str, address: &str) -> Target {
        let address = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Target { job: job.to_owned(), address, path: "/metrics".to_owned(), labels: Vec::new() }
    }

    /// Another path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Target {
        path.clone_into(&mut self.path);
        self
    }

    /// A label on all of its series, as a PodMonitor puts `namespace` and `pod` there.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Target {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// How it is set up.
#[derive(Debug, Clone)]
pub struct Options {
    targets: Vec<Target>,
    rules: Vec<PathBuf>,
    alertmanager: Option<String>,
    interval: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { targets: Vec::new(), rules: Vec::new(), alertmanager: None, interval: Duration::from_secs(1) }
    }
}

impl Options {
    /// Scrapes this too.
    #[must_use]
    pub fn target(mut self, target: Target) -> Options {
        self.targets.push(target);
        self
    }

    /// Evaluates a file of rules.
    #[must_use]
    pub fn rules(mut self, file: impl Into<PathBuf>) -> Options {
        self.rules.push(file.into());
        self
    }

    /// Sends alerts to an Alertmanager (`http://127.0.0.1:<port>`).
    #[must_use]
    pub fn alertmanager(mut self, url: &str) -> Options {
        self.alertmanager = Some(url.trim_start_matches("http://").trim_end_matches('/').to_owned());
        self
    }

    /// How often it scrapes and evaluates (whole milliseconds; one second unless said).
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Options {
        self.interval = interval;
        self
    }

    fn text(&self) -> String {
        let ms = self.interval.as_millis();
        let mut text = format!("global:\n  scrape_interval: {ms}ms\n  scrape_timeout: {ms}ms\n  evaluation_interval: {ms}ms\n");
        if !self.rules.is_empty() {
            text.push_str("rule_files:\n");
            for file in &self.rules {
                let _ = writeln!(text, "- {}", file.display());
            }
        }
        if let Some(address) = &self.alertmanager {
            let _ = write!(text, "alerting:\n  alertmanagers:\n  - static_configs:\n    - targets: ['{address}']\n");
        }
        text.push_str("scrape_configs:\n");
        for (n, target) in self.targets.iter().enumerate() {
            // Several targets may share a job's name, which Prometheus wants unique: the label says it.
            let _ = write!(
                text,
                "- job_name: t{n}\n  metrics_path: {}\n  static_configs:\n  - targets: ['{}']\n    labels:\n      job: '{}'\n",
                target.path, target.address, target.job
            );
            for (name, value) in &target.labels {
                let _ = writeln!(text, "      {name}: '{value}'");
            }
        }
        text
    }
}

/// A running server; gone when dropped.
#[derive(Debug)]
pub struct Prometheus {
    process: Process,
    folder: Folder,
    port: u16,
}

impl Prometheus {
    /// Starts it and waits until it answers queries.
    pub async fn start(options: &Options) -> Result<Prometheus, LabError> {
        let program = Tool::Prometheus.find()?;
        let folder = Folder::new("prometheus")?;
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, options.text()).map_err(LabError::file(&file))?;
        let port = ports::free(1)?.first().copied().unwrap_or_default();
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        command.args([&format!("--web.listen-address=127.0.0.1:{port}"), "--web.enable-lifecycle", "--log.level=warn"]);
        command.current_dir(folder.path());
        let process = Process::spawn(command, &folder.path().join("prometheus.log"), Signal::SIGTERM, User::same())?;
        let mut prometheus = Prometheus { process, folder, port };
        let url = prometheus.url();
        wait_ready(&mut prometheus.process, &url, "Prometheus").await?;
        Ok(prometheus)
    }

    /// `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Other targets and rules from now on.
    pub async fn reload(&self, options: &Options) -> Result<(), LabError> {
        let file = self.folder.path().join("prometheus.yml");
        fs::write(&file, options.text()).map_err(LabError::file(&file))?;
        let (status, body) = http("POST", &format!("{}/-/reload", self.url()), "").await?;
        if status == 200 { Ok(()) } else { Err(LabError::Other(format!("Prometheus did not take its configuration: {body}"))) }
    }

    /// The result of an instant query: a list of series.
    pub async fn query(&self, expression: &str) -> Result<Vec<Value>, LabError> {
        let mut encoded = String::new();
        for byte in expression.bytes() {
            let _ = write!(encoded, "%{byte:02X}");
        }
        let (status, body) = http("GET", &format!("{}/api/v1/query?query={encoded}", self.url()), "").await?;
        let parsed: Value = serde_json::from_str(&body).unwrap_or_default();
        match parsed.pointer("/data/result").and_then(Value::as_array) {
            Some(series) if status == 200 => Ok(series.clone()),
            _ => Err(LabError::Other(format!("query {expression}: {status} {body}"))),
        }
    }

    /// Waits until a query gives something, and gives it.
    pub async fn wait_for(&self, expression: &str, limit: Duration) -> Result<Vec<Value>, LabError> {
        let until = Instant::now() + limit;
        loop {
            let series = self.query(expression).await?;
            if !series.is_empty() {
                return Ok(series);
            }
            if Instant::now() > until {
                let server = format!("a series of {expression}");
                return Err(LabError::NotReady { server, seconds: limit.as_secs(), log: self.process.log_end() });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Stops it and keeps its data.
    pub fn stop(&mut self) {
        self.process.stop(Duration::from_secs(10));
    }
}

/// `promtool check rules` or `promtool test rules`; gives what it said.
pub async fn promtool(arguments: &[&str]) -> Result<String, LabError> {
    let mut command = Command::new(Tool::Prometheus.beside("promtool")?);
    command.args(arguments);
    let output = process::run(command, User::same()).await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits for `/-/ready`, which Prometheus and Alertmanager both have.
pub(crate) async fn wait_ready(process: &mut Process, url: &str, server: &str) -> Result<(), LabError> {
    let until = Instant::now() + READY;
    while Instant::now() < until && process.is_running() {
        if http("GET", &format!("{url}/-/ready"), "").await.is_ok_and(|(status, _)| status == 200) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(LabError::NotReady { server: server.to_owned(), seconds: READY.as_secs(), log: process.log_end() })
}

/// A request with a JSON body; status and body of the answer.
pub(crate) async fn http(method: &str, url: &str, body: &str) -> Result<(u16, String), LabError> {
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .map_err(|e| LabError::Other(format!("{method} {url}: {e}")))?;
    let response = s3::http().request(request).await.map_err(|e| LabError::Other(format!("{method} {url}: {e}")))?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.map_err(|e| LabError::Other(format!("{method} {url}: {e}")))?;
    Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}
