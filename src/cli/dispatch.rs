//! From a command to what it works with: opens what `app` gives, runs, closes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::context::Context;
use super::drill::Steps;
use super::failure::say;
use super::{
    Failure, Out, ack, archive, check, daemon, doctor, drill, history, ledger, notify, probe, run, runbook, show, status,
};
use crate::app::{App, AppError, Book, Source, look_at_manifests, probe_named, verbs};
use crate::conductor::{self, Before, ExitRule, Pass, PassOutcome};
use crate::domain::{Cx, ExitCode, Expected, Known, Mode, Progress};

/// A drill may take a day; what a step may take is in the runbook.
const DRILL_LIMIT: Duration = Duration::from_hours(24);
/// A person waits for an audit of a large archive.
const AUDIT_LIMIT: Duration = Duration::from_hours(1);
/// Texts are read at once; this only ends what hangs.
const MANIFESTS_LIMIT: Duration = Duration::from_mins(2);

/// What commands share: where the configuration lies, and where progress goes.
pub(super) struct Desk<'a> {
    /// Files, or what a bucket gave.
    pub(super) source: &'a Source,
    /// Where progress is told.
    pub(super) progress: &'a Arc<dyn Progress>,
    /// Where data goes.
    pub(super) out: &'a Out,
}

impl Desk<'_> {
    pub(super) fn app(&self) -> Result<App, Failure> {
        let app = App::load_with(&self.source.sources()?, self.source.env())?;
        for warning in app.warnings() {
            say(&format!("warning: {warning}"));
        }
        Ok(app)
    }

    /// One pass.
    pub(super) async fn run(&self, args: &run::Args) -> Result<ExitCode, Failure> {
        self.source.must_record("run")?;
        let app = self.app()?;
        app.must_know(&app.looks(), None)?;
        let context = Context::begin(self.progress, app.limits().0)?;
        let mut book = app.ledger_for_passes(Mode::Cronjob, false, context.cx.now).await?;
        warn(book.warnings());
        let outcome = one_pass(&app, &book, args.rule(), args.metrics_file.as_deref(), &context.cx).await;
        let kept = match &outcome {
            Ok(_) => {
                app.keep(&mut book, Mode::Cronjob, context.cx.run, None, context.cx.now).await.map(|kept| warn(&kept.warnings))
            }
            Err(_) => Ok(()),
        };
        book.close().await;
        // What was found is shown also where it could not be kept.
        let exit = run::show(&outcome?, &app.settings().site, self.out)?;
        kept?;
        Ok(context.exit(exit))
    }

    /// The pass in a loop.
    pub(super) async fn daemon(&self, args: &daemon::Args) -> Result<ExitCode, Failure> {
        self.source.must_record("daemon")?;
        let app = self.app()?;
        app.must_know(&app.looks(), None)?;
        let context = Context::begin(self.progress, app.limits().0)?;
        let exit = daemon::run(args, self, app, &context).await?;
        Ok(context.exit(exit))
    }

    /// Looks now and judges; nothing is recorded.
    pub(super) async fn check(&self, args: &check::Args) -> Result<ExitCode, Failure> {
        if let Some(folder) = &args.replay {
            let outcome = crate::app::replay(folder, args.rule()).await?;
            return run::show(&outcome, &folder.display().to_string(), self.out);
        }
        if !args.manifests.is_empty() {
            return self.check_manifests(args).await;
        }
        let mut app = self.app()?;
        let (limit, provider_limit) = app.limits();
        let context = Context::begin(self.progress, limit)?;
        let mut looks = app.looks();
        app.must_know(&looks, args.subject.as_deref())?;
        let mut making = None;
        if let Some(folder) = &args.record {
            let (recording, begun) = app.record(folder, context.cx.now)?;
            (app, making) = (recording, Some((begun, folder)));
            looks = app.looks(); // over stores that write down what they answer
        }
        // The ledger is only read here, for proofs and what vanished; without one there is less to say, and it is said.
        let book = existing_ledger(&app, context.cx.now).await?;
        let expected = app.expected();
        // A recording begins with no memory of earlier looks, so that everything is asked that a replay will ask.
        let before = match &book {
            None => Before::Nothing,
            Some(book) if making.is_some() => Before::Proofs(book),
            Some(book) => Before::Everything(book),
        };
        let checked =
            conductor::check(&looks, &expected, before, args.subject.as_deref(), provider_limit, args.rule(), &context.cx);
        let checked = checked.await?;
        app.must_have_met(&looks, &checked, args.subject.as_deref())?;
        let exit = args.show(&checked, &app.settings().site, self.out)?;
        if let Some((making, folder)) = making {
            app.end_recording(making, book.as_deref()).await?;
            say(&format!(
                "recorded into {}; judge it again with:  dalsegno check --replay {}",
                folder.display(),
                folder.display()
            ));
        }
        Ok(context.exit(exit))
    }

    /// Judges what would be applied; asks nobody and needs no configuration.
    async fn check_manifests(&self, args: &check::Args) -> Result<ExitCode, Failure> {
        let context = Context::begin(self.progress, MANIFESTS_LIMIT)?;
        let looks = look_at_manifests(&args.manifests)?;
        let (expected, rule) = (Expected::default(), args.rule());
        let checked = conductor::check(&looks, &expected, Before::Nothing, None, MANIFESTS_LIMIT, rule, &context.cx).await?;
        let mut sites: Vec<&str> = args.manifests.iter().map(|one| one.site.as_str()).collect();
        sites.dedup();
        Ok(context.exit(args.show(&checked, &sites.join(", "), self.out)?))
    }

    /// What the last pass saw.
    pub(super) async fn status(&self, args: &status::Args) -> Result<ExitCode, Failure> {
        let app = self.app()?;
        let now = Timestamp::now();
        let book = app.ledger(now).await?;
        let looks = app.looks();
        app.must_know(&looks, args.subject.as_deref())?;
        let mut expected = app.expected();
        expected.covers = looks.iter().flat_map(|look| look.observer.covers(&Known::default())).collect();
        let status = conductor::status(&book, &expected, &app.settings().site, now).await?;
        status::show(status, args, self.out)
    }

    /// How to get there, provider by provider, and what a drill would lack.
    pub(super) async fn doctor(&self, args: &doctor::Args) -> Result<ExitCode, Failure> {
        let app = self.app()?;
        let (limit, provider_limit) = app.limits();
        let context = Context::begin(self.progress, limit)?;
        let (looks, expected, drills) = (app.looks(), app.expected(), app.drills()?);
        let only = args.provider.as_deref();
        app.must_know(&looks, only.filter(|only| *only != conductor::DRILLS))?;
        let patient = conductor::Patient {
            looks: &looks,
            placeholders: &expected.placeholders,
            rests_on: &expected.rests_on,
            restorer: &drills.restorer,
            only,
            limit: provider_limit,
        };
        let found = conductor::examine(&patient, &context.cx).await?;
        Ok(context.exit(doctor::show(&found, self.out)?))
    }

    /// What a store can and cannot do. Without a configured store none is read.
    pub(super) async fn probe(&self, args: &probe::Args) -> Result<ExitCode, Failure> {
        let now = Timestamp::now();
        let report = match (args.named(), &args.store) {
            (Some(named), _) => probe_named(&named, args.read_only, now).await?,
            (None, name) => self.app()?.probe(name.as_deref().unwrap_or_default(), args.read_only, now).await?,
        };
        probe::show(&report, self.out)
    }

    /// Drills, their left-overs and their evidence.
    pub(super) async fn drill(&self, args: &drill::Args) -> Result<ExitCode, Failure> {
        let app = self.app()?;
        let context = Context::begin(self.progress, DRILL_LIMIT)?;
        let drills = app.drills()?;
        let site = app.settings().site.clone();
        let actors = drills.actors();
        let ground = actors.ground(&site, &Steps);
        let exit = match &args.command {
            None => {
                app.must_be_usable(args.start.db.as_deref())?;
                drill::start(&args.start, &context.cx, &ground, &drills.databases, self.out).await?
            }
            Some(drill::Command::Gc(gc)) => drill::gc(gc, &context.cx, &ground, self.out).await?,
            Some(drill::Command::Report(report)) => drill::show_report(report, &ground, self.out)?,
        };
        let made = args.command.is_none() && !args.start.plan;
        if made && let Some(told) = app.hand_in().await {
            say(&format!("warning: {told}"));
        }
        Ok(context.exit(exit))
    }

    /// Runbooks, on paper.
    pub(super) fn runbook(&self, args: &runbook::Args) -> Result<ExitCode, Failure> {
        runbook::run(args, &verbs(), self.out)
    }

    /// What lies in an archive.
    pub(super) async fn archive(&self, args: &archive::Args) -> Result<ExitCode, Failure> {
        let app = self.app()?;
        let context = Context::begin(self.progress, AUDIT_LIMIT)?;
        let which = args.command.which().subject.as_deref();
        let seen = app.audit(&context.cx, which, args.command.needs_headers()).await?;
        let looked = archive::Looked::of(seen);
        Ok(context.exit(archive::show(&args.command, &looked, context.cx.now, self.out)?))
    }

    /// Acknowledges a finding.
    pub(super) async fn ack(&self, args: &ack::Args) -> Result<ExitCode, Failure> {
        let (book, now) = self.ledger_now().await?;
        ack::run(args, &book, now, self.out).await
    }

    /// What is acknowledged.
    pub(super) async fn acks(&self, args: &ack::ListArgs) -> Result<ExitCode, Failure> {
        let (book, now) = self.ledger_now().await?;
        ack::list(args, &book, now, self.out).await
    }

    /// Tries channels out.
    pub(super) async fn notify(&self, args: &notify::Args) -> Result<ExitCode, Failure> {
        let notify::Command::Test(test) = &args.command;
        let app = self.app()?;
        let Some(channels) = app.notify(None)? else { return Err(notify::TestError::Nobody.into()) };
        let tried = conductor::try_channels(&channels, &app.settings().site, test.channel.as_deref(), Timestamp::now()).await;
        let unknown = |known| notify::TestError::Unknown { asked: test.channel.clone().unwrap_or_default(), known };
        notify::show(&tried.map_err(unknown)?, self.out)
    }

    /// Recorded runs.
    pub(super) async fn history(&self, args: &history::Args) -> Result<ExitCode, Failure> {
        let (app, now) = (self.app()?, Timestamp::now());
        let book = app.ledger(now).await?;
        history::run(args, &book, |subject| app.must_know(&app.looks(), Some(subject)), now, self.out).await
    }

    /// One recorded run.
    pub(super) async fn show(&self, args: &show::Args) -> Result<ExitCode, Failure> {
        let (book, now) = self.ledger_now().await?;
        show::run(args, &book, now, self.out).await
    }

    /// The ledger itself.
    pub(super) async fn ledger(&self, args: &ledger::Args) -> Result<ExitCode, Failure> {
        if let ledger::Command::Rewind(rewind) = &args.command {
            let rewound = self.app()?.rewind(&rewind.snapshot, Timestamp::now()).await?;
            return ledger::show_rewound(&rewound, self.out);
        }
        let (book, _) = self.ledger_now().await?;
        ledger::run(args, &book, self.out).await
    }

    async fn ledger_now(&self) -> Result<(Book, Timestamp), Failure> {
        let now = Timestamp::now();
        Ok((self.app()?.ledger(now).await?, now))
    }
}

/// The ledger where there is one: to look must not make it.
async fn existing_ledger(app: &App, now: Timestamp) -> Result<Option<Book>, AppError> {
    if !app.has_ledger() {
        return Ok(None);
    }
    app.ledger(now).await.map(Some)
}

/// Looks, says, remembers.
pub(super) async fn one_pass(
    app: &App,
    book: &Book,
    rule: ExitRule,
    metrics_file: Option<&Path>,
    cx: &Cx,
) -> Result<PassOutcome, AppError> {
    let drills = app.drills()?;
    let (looks, expected, budgets, notify) = (app.looks(), app.expected(), app.budgets(), app.notify(metrics_file)?);
    let (site, handed_in) = (&app.settings().site, book.handed_in());
    let work = Pass {
        site,
        looks: &looks,
        expected: &expected,
        ledger: book,
        budgets: &budgets,
        provider_limit: app.limits().1,
        drills: &drills.folder,
        handed_in: handed_in.as_deref(),
        sweep: &|cx| drills.sweep(site, cx),
        notify: notify.as_ref(),
        exit: rule,
    };
    Ok(conductor::pass(&work, cx).await?)
}

/// Says what could not be done beside the work.
pub(super) fn warn(warnings: &[String]) {
    for warning in warnings {
        say(&format!("warning: {warning}"));
    }
}
