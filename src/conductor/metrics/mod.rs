//! Metrics for Prometheus, read from the ledger: for `/metrics` of the daemon, a Pushgateway, or a file.
//!
//! Names are `dalsegno_<thing>_<unit>`; moments are `…_timestamp_seconds`, and ages are left to PromQL: an age that was written down is
//! wrong a minute later. The table is closed ([`MEASURES`]); samples of the closed table of docs/reference/metrics.md come beside it, as
//! `dalsegno_` and their name.

mod read;
mod render;
mod table;

use jiff::Timestamp;

use super::pass::Pass;
use crate::domain::{Expected, Message};
use crate::ledger::{Ledger, LedgerError};
use crate::notify::{self, About};

pub use table::MEASURES;

/// Everything as text in Prometheus' format 0.0.4. `expected` gives the policies, so that rules can compare with them.
pub async fn render(ledger: &Ledger, expected: &Expected, site: &str, now: Timestamp) -> Result<String, LedgerError> {
    Ok(render::text(&read::read(ledger, expected, site, now).await?))
}

/// Hands the metrics of a finished pass to the channels that take them.
pub(super) async fn tell(work: &Pass<'_>, about: &About, now: Timestamp) -> Result<(), LedgerError> {
    let Some(notify) = work.notify.filter(|notify| notify.channels.iter().any(notify::Channel::takes_metrics)) else {
        return Ok(());
    };
    let text = render(work.ledger, work.expected, work.site, now).await?;
    let messages: Vec<Message> = notify.channels.iter().filter_map(|channel| notify::metrics(channel, about, &text)).collect();
    work.ledger.queue(about.run, now, &messages).await?;
    notify.deliver(work.ledger, now, false).await?;
    Ok(())
}
