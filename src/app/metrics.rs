//! Servers of metrics → who is asked over HTTP: live, written down, or from what was written down.

use std::path::Path;
use std::sync::Arc;

use super::App;
use super::recordings::Seam;
use crate::providers::prometheus::config::PrometheusSettings;
use crate::tap::HttpCalls;
use crate::tap::http::{LiveHttp, LiveHttpOptions};

impl App {
    /// The HTTP of one server; or why there is none.
    pub(super) fn http_of(&self, settings: &PrometheusSettings) -> Result<Arc<dyn HttpCalls>, String> {
        let name = format!("prometheus-{}", settings.name);
        match &self.seam {
            Seam::Live => live(settings.ca_file.as_deref()),
            Seam::Recording(recorder) => Ok(recorder.http(&name, live(settings.ca_file.as_deref())?)),
            Seam::Replaying(_, pass) => pass.http(&name).map_err(|error| error.to_string()),
        }
    }
}

fn live(ca: Option<&Path>) -> Result<Arc<dyn HttpCalls>, String> {
    let read =
        |file: &Path| std::fs::read(file).map_err(|error| format!("cannot read the authority {}: {error}", file.display()));
    // Servers of metrics are inside: a proxy of the environment is not for them.
    let options = LiveHttpOptions { ca_pem: ca.map(read).transpose()?, proxies: false, ..LiveHttpOptions::default() };
    Ok(Arc::new(LiveHttp::new(&options).map_err(|error| error.to_string())?))
}
