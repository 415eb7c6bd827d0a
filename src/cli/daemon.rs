//! `dalsegno daemon`: the pass in a loop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::context::Context;
use super::dispatch::{Desk, one_pass, warn};
use super::failure::{Failure, say};
use crate::app::{App, Book, Ledger};
use crate::conductor::daemon::{Beat, Metrics};
use crate::conductor::{self, ExitRule, PassOutcome};
use crate::domain::{Change, ExitCode, Mode, Severity, Span, duration_in_words};

/// The pass in a loop, with /healthz and /metrics; SIGTERM ends it after the pass that runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// From one pass to the next
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub every: Duration,
    /// Where /healthz and /metrics are answered; the port alone must not be reachable from everywhere
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9460")]
    pub listen: SocketAddr,
    /// Start also where the mark of a CronJob still holds the ledger
    #[arg(long)]
    pub take_over: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0).map_err(|error| format!("{error}; {}", error.hint()))
}

/// Passes until a signal comes, or until somebody else took the ledger.
pub(super) async fn run(args: &Args, desk: &Desk<'_>, app: App, context: &Context) -> Result<ExitCode, Failure> {
    let now = context.cx.now;
    let daemon = conductor::daemon::Daemon::prepare(args.every, app.limits().0, args.listen).await?;
    let every = SignedDuration::try_from(args.every).ok();
    let mut book = app.ledger_for_passes(Mode::Daemon, args.take_over, now).await?;
    warn(book.warnings());
    // The mark first: a CronJob that starts meanwhile must see it.
    warn(&app.keep(&mut book, Mode::Daemon, context.cx.run, every, now).await?.warnings);
    say(&format!(
        "a pass every {}; http://{}/healthz and /metrics",
        duration_in_words(args.every.as_secs_f64()),
        daemon.listens()
    ));
    let metrics = metrics(&book, &app);
    let exit = daemon.run(metrics, context.cx.cancel.clone(), async || beat(desk, &mut book, every, context).await).await;
    // Whoever comes next need not wait until the mark has run out. A ledger that somebody else took is not ours to mark.
    if exit == ExitCode::Fine {
        let cx = context.again(app.limits().0);
        match app.keep(&mut book, Mode::Daemon, cx.run, Some(SignedDuration::ZERO), cx.now).await {
            Ok(kept) => warn(&kept.warnings),
            Err(error) => say(&format!("warning: the mark of this daemon stays until it runs out: {error}")),
        }
    }
    book.close().await;
    Ok(exit)
}

/// What `/metrics` answers.
fn metrics(book: &Book, app: &App) -> Metrics {
    let (ledger, expected, site) = (Ledger::clone(book), Arc::new(app.expected()), app.settings().site.clone());
    Arc::new(move || {
        let (ledger, expected, site) = (ledger.clone(), Arc::clone(&expected), site.clone());
        Box::pin(async move {
            let page = conductor::metrics::render(&ledger, &expected, &site, Timestamp::now()).await;
            page.map_err(|error| error.to_string())
        })
    })
}

/// One pass, with the configuration as it is now.
async fn beat(desk: &Desk<'_>, book: &mut Book, every: Option<SignedDuration>, context: &Context) -> Beat {
    let app = match desk.app() {
        Ok(app) => app,
        Err(failure) => return failed(failure),
    };
    let cx = context.again(app.limits().0);
    warn(&app.exchange_evidence(book).await);
    let rule = ExitRule { threshold: Severity::Critical, by_work: true };
    let outcome = match one_pass(&app, book, rule, None, &cx).await {
        Ok(outcome) => outcome,
        Err(error) => return failed(error.into()),
    };
    say(&told(&outcome));
    match app.keep(book, Mode::Daemon, cx.run, every, cx.now).await {
        Ok(kept) => {
            warn(&kept.warnings);
            Beat::Worked
        }
        Err(error) => failed(error.into()),
    }
}

/// Says it. Who lost the ledger to somebody else, or finds it damaged, must not go on.
fn failed(failure: Failure) -> Beat {
    failure.print(false);
    match failure.exit() {
        exit @ (ExitCode::LostRace | ExitCode::Stuck | ExitCode::Bug) => Beat::Ends(exit),
        _ => Beat::Failed(failure.text().lines().next().unwrap_or_default().to_owned()),
    }
}

fn told(outcome: &PassOutcome) -> String {
    let changed = |word: &str, count: usize| if count == 0 { String::new() } else { format!(" · {count} {word}") };
    let new = outcome.changes.iter().filter(|change| matches!(change, Change::New { .. })).count();
    let cleared = outcome.changes.iter().filter(|change| matches!(change, Change::Cleared { .. })).count();
    format!(
        "run {} · looked at {} subjects in {} · {}{}{}",
        outcome.number,
        outcome.seen.len(),
        duration_in_words(outcome.seconds),
        super::check::counted(outcome.counted),
        changed("new", new),
        changed("cleared", cleared)
    )
}
