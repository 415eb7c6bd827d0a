//! Values → Prometheus' text format.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// What every name begins with.
pub(super) const PREFIX: &str = "dalsegno";

/// One metric with its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Name without the prefix.
    pub(super) name: String,
    /// What it says.
    pub(super) help: String,
    /// Labels and value of each.
    pub(super) rows: Vec<(Vec<(&'static str, String)>, f64)>,
}

/// All of them, as the encoder of the official client writes them: it escapes what stands in labels.
#[derive(Debug)]
struct All(Vec<Measured>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for measured in self.0.iter().filter(|measured| !measured.rows.is_empty()) {
            let mut metric = encoder.encode_descriptor(&measured.name, &measured.help, None, MetricType::Gauge)?;
            for (labels, value) in &measured.rows {
                ConstGauge::new(*value).encode(metric.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// The text.
pub(super) fn text(measured: &[Measured]) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(All(measured.to_vec())));
    let mut text = String::new();
    // A String takes everything.
    let _ = prometheus_client::encoding::prometheus_text::encode(&mut text, &registry);
    text
}
