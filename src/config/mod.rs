//! Files and environment → settings, or all mistakes at once.

mod settings;

pub use settings::{DrillSettings, NotifySettings, PassSettings, Settings, WebhookSettings};
