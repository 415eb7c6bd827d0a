//! `dalsegno drill`: restore for real, check, measure, clean up, keep evidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::failure::say;
use super::{Failure, Out};
use crate::conductor::drill::{
    Drillable, Ground, Outlook, Over, Ready, Swept, SweptHow, Watch, choose, drill, find_evidence, outlook, ready, report,
    step_line, sweep_drills, swept_exit,
};
use crate::conductor::runbook::script;
use crate::domain::{Cx, Effect, ExitCode, Isolation, StepRecord, Touch, Undone, duration_in_words};

/// Restore for real into a sandbox, check the data, measure RPO and RTO, clean up, keep evidence.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    /// What else can be done with drills.
    pub command: Option<Command>,
    #[command(flatten)]
    /// A drill.
    pub start: Start,
}

/// What else can be done with drills.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Remove what interrupted drills left
    Gc(Gc),
    /// Show the evidence of a drill
    Report(Report),
}

/// A drill to be run.
#[derive(Clone, Debug, clap::Args)]
pub struct Start {
    /// A shipped runbook (pg-restore, cnpg-restore) or a file
    #[arg(required = true)]
    pub runbook: Option<String>,
    /// The database to restore: its name or subject
    #[arg(long, value_name = "NAME")]
    pub db: Option<String>,
    /// Where recovery ends: end, or a time such as 2026-09-30T14:00:00Z
    #[arg(long, value_name = "end|TIME")]
    pub target: Option<String>,
    /// The timeline, when it is not the archive's main one
    #[arg(long, value_name = "NUMBER")]
    pub timeline: Option<u32>,
    /// Any other parameter of the runbook; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Show every object that would be made, changed or removed, and stop
    #[arg(long)]
    pub plan: bool,
    /// The least isolation to accept: none, declared, closed, sealed
    #[arg(long, value_parser = isolation)]
    pub isolation: Option<Isolation>,
}

/// Removing left-overs.
#[derive(Clone, Debug, clap::Args)]
pub struct Gc {
    /// Show what would be removed, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Showing evidence.
#[derive(Clone, Debug, clap::Args)]
pub struct Report {
    /// The run, or the end of its id; the newest drill when left out
    pub run: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

fn isolation(word: &str) -> Result<Isolation, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| "one of none, declared, closed, sealed".to_owned())
}

/// Runs a drill: sweep, check, plan, run, report. `--plan` stops before anything is done.
pub async fn start(args: &Start, cx: &Cx, ground: &Ground<'_>, databases: &[Drillable], out: &Out) -> Result<ExitCode, Failure> {
    let swept = if args.plan { Vec::new() } else { sweep_drills(cx, ground).await? };
    tell_swept(&swept, false);
    let runbook = args.runbook.as_deref().unwrap_or("pg-restore");
    let database = choose(databases, args.db.as_deref(), runbook)?;
    let script = script(runbook)?;
    let ready = ready(cx.run, ground, database, &script, &given(args), args.isolation)?;
    if args.plan {
        return show_plan(&ready, ground, out);
    }
    let over = drill(cx, ground, &ready).await?;
    show_over(&over, out)?;
    // A left-over of an earlier drill is not this drill's: it was said above, and `drill gc` ends with 5 for it.
    Ok(over.exit)
}

/// Removes what interrupted drills left.
pub async fn gc(args: &Gc, cx: &Cx, ground: &Ground<'_>, out: &Out) -> Result<ExitCode, Failure> {
    if args.dry_run {
        let open = crate::conductor::drill::open_drills(ground.drills)?;
        out.show(&open, |_| if open.is_empty() { "nothing to do".to_owned() } else { open.join("\n") })?;
        return Ok(ExitCode::Fine);
    }
    let swept = sweep_drills(cx, ground).await?;
    let rows: Vec<SweptRow> = swept.iter().map(SweptRow::of).collect();
    out.show(&rows, |_| if rows.is_empty() { "nothing to do".to_owned() } else { swept_lines(&rows) })?;
    Ok(swept_exit(&swept))
}

/// Shows the evidence of a drill.
pub fn show_report(args: &Report, ground: &Ground<'_>, out: &Out) -> Result<ExitCode, Failure> {
    let (path, evidence) = find_evidence(ground.drills, args.run.as_deref())?;
    out.show(&evidence, |out| out.paint_words(&super::out::visible(&report(&evidence, &path.display().to_string()))))?;
    // To read a report is fine, whatever it says; `dalsegno drill` itself ended with the verdict's code.
    Ok(ExitCode::Fine)
}

/// Parameters from the command line, as texts that the runbook's types read.
fn given(args: &Start) -> BTreeMap<String, Value> {
    let named = [("target", args.target.clone()), ("timeline", args.timeline.map(|number| number.to_string()))];
    let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    named.chain(args.set.iter().cloned()).map(|(name, value)| (name, Value::String(value))).collect()
}

/// What `--plan` shows for machines.
#[derive(Serialize)]
struct PlanShown<'a> {
    plan: &'a crate::conductor::drill::Plan,
    outlook: &'a [Outlook],
}

fn show_plan(ready: &Ready, ground: &Ground<'_>, out: &Out) -> Result<ExitCode, Failure> {
    let outlook = outlook(&ready.plan, ground.acts);
    out.show(&PlanShown { plan: &ready.plan, outlook: &outlook }, |_| plan_text(ready, &outlook))?;
    let refused = outlook.iter().any(|step| step.refused.is_some());
    Ok(if refused { ExitCode::CouldNotLook } else { ExitCode::Fine })
}

/// The plan for people: one block a step, every object with what happens to it.
pub fn plan_text(ready: &Ready, outlook: &[Outlook]) -> String {
    let budget = |seconds: Option<f64>| seconds.map_or_else(|| "none".to_owned(), duration_in_words);
    let declared = &ready.declared;
    let mut text = format!("plan of {} · {} ← {}\n", ready.plan.runbook, declared.subject, declared.place);
    let _ = writeln!(
        text,
        "isolation at least {} · budgets: RTO {}, RPO {}\n",
        declared.isolation.as_str(),
        budget(declared.rto_budget_seconds),
        budget(declared.rpo_budget_seconds)
    );
    for step in outlook {
        let _ = writeln!(text, "  {:<10} {:<16} {:<8} {}", step.step, step.verb, step.risk.as_str(), step.about);
        for (name, value) in &step.with {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "  {:<10}   {name}: {}", "", super::out::visible(&value));
        }
        for Touch { effect, what } in &step.touches {
            let back = if step.taken_back && *effect == Effect::Make { " (removed at the end, whatever happens)" } else { "" };
            let _ = writeln!(text, "  {:<10}   {} {}{back}", "", effect.as_str(), super::out::visible(what));
        }
        if let Some(refused) = &step.refused {
            let _ = writeln!(text, "  {:<10}   REFUSED: {}\n  {:<10}   hint: {}", "", refused.why, "", refused.hint);
        }
    }
    text.push_str("\nnothing was done\n");
    text
}

fn show_over(over: &Over, out: &Out) -> Result<(), Failure> {
    let path = over.path.display().to_string();
    out.show(&over.evidence, |out| out.paint_words(&super::out::visible(&report(&over.evidence, &path))))
}

/// Says on stderr what the sweep at the start did; a living drill is nobody's concern.
fn tell_swept(swept: &[Swept], living_too: bool) {
    let rows: Vec<SweptRow> = swept.iter().map(SweptRow::of).filter(|row| living_too || row.state != "living").collect();
    if !rows.is_empty() {
        say(&format!("earlier drills:\n{}", swept_lines(&rows)));
    }
}

#[derive(Serialize)]
struct SweptRow {
    run: String,
    state: &'static str,
    left_over: Vec<String>,
    hint: Option<String>,
}

impl SweptRow {
    fn of(swept: &Swept) -> Self {
        let row =
            |state, left_over: &[String], hint| Self { run: swept.run.to_string(), state, left_over: left_over.to_vec(), hint };
        match &swept.how {
            SweptHow::Living => row("living", &[], None),
            SweptHow::Discarded => row("discarded", &[], None),
            SweptHow::Closed { left_over } if left_over.is_empty() => row("closed", &[], None),
            SweptHow::Closed { left_over } => {
                row("left over", left_over, Some("mend the cause, then:  dalsegno drill gc".to_owned()))
            }
            SweptHow::Stuck { why, hint } => row("stuck", std::slice::from_ref(why), Some(hint.clone())),
        }
    }
}

fn swept_lines(rows: &[SweptRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let words = match row.state {
            "living" => "still runs, left alone",
            "discarded" => "had begun nothing, removed",
            "closed" => "was interrupted; taken back and closed, see:  dalsegno drill report",
            "left over" => "LEFT OVER",
            _ => "STUCK",
        };
        let _ = writeln!(text, "  {}  {words}", row.run);
        for line in &row.left_over {
            let _ = writeln!(text, "    {}", super::out::visible(line));
        }
        if let Some(hint) = &row.hint {
            let _ = writeln!(text, "    hint: {hint}");
        }
    }
    text.trim_end().to_owned()
}

/// Says each step on stderr as it ends.
pub struct Steps;

impl Watch for Steps {
    fn waits(&self, step: &str, what: &str) {
        say(&format!("  {step:<10} {}", super::out::visible(what)));
    }

    fn ended(&self, step: &StepRecord) {
        say(&format!("  {}", super::out::visible(&step_line(step))));
    }

    fn undone(&self, step: &str, undone: &Undone) {
        match undone {
            Undone::Removed => say(&format!("  removed    {step}")),
            Undone::NothingToDo => {}
            Undone::Stuck { why } => say(&format!("  LEFT OVER  {step}: {}", super::out::visible(why))),
        }
    }
}
