//! The act of the disk-full clock: archiving fails, the time that is left falls, an alert arrives; repair, draining, base backup, closed.

use std::path::Path;
use std::time::{Duration, Instant};

use lab::volume::{Kind, Volume};
use serde_json::Value;

use crate::filling::{self, Filling};
use crate::say::Narrator;
use crate::{Ask, Ended, Shown};

const FAILS: &str = "wal-archiving-failing-disk-clock";
const DRAINS: &str = "wal-archive-draining";
/// History before the fault, and time between two looks.
const HEALTHY: Duration = Duration::from_secs(8);
const BETWEEN: Duration = Duration::from_secs(6);
/// By now a segment waits longer than archive_timeout and an upload explain.
const SUSPECT: Duration = Duration::from_secs(12);
/// Looks until it must be critical: the volume would be full after some more.
const LOOKS: usize = 6;
/// A scrape or two.
const SCRAPED: Duration = Duration::from_secs(2);
/// Alertmanager is told within the pass, and sends on at once.
const ARRIVES: Duration = Duration::from_secs(10);

/// Plays it, unless no small volume can be had.
pub(crate) async fn act(dalsegno: &Path, say: &Narrator) -> Result<Shown, Ended> {
    say.scene("Fault 3: the archiver of another database fails, and the volume of its WAL fills");
    let volume = match Volume::mount(Kind::Memory, filling::VOLUME) {
        Ok(volume) => volume,
        Err(why) => {
            let why = why.to_string().lines().next().unwrap_or_default().to_owned();
            say.line(&format!("NOT SHOWN: {why}"));
            say.line("this act fills a real volume; nothing else is taken for one");
            return Ok(Shown::AllButTheClock(why));
        }
    };
    let filling = Filling::build(volume, say).await?;
    let ask = Ask { dalsegno, config: &filling.config, say };
    let ended = tokio::select! {
        ended = play(&filling, &ask, say) => ended,
        fault = filling.live() => Err(fault.into()),
    };
    ended.map(|()| Shown::All)
}

async fn play(filling: &Filling, ask: &Ask<'_>, say: &Narrator) -> Result<(), Ended> {
    say.line("WAL is made at some 2 GiB an hour, archived, and counted by the exporter:");
    tokio::time::sleep(HEALTHY).await;
    ask.expect(&["run"], &[0], &[]).await?;
    let before = line(ask).await?;
    if told(&before, FAILS).is_some() || seconds_left(&before).is_some() {
        return Err(Ended::Untrue(format!("the clock runs while archiving works: {}", of(&before, "clock"))));
    }

    say.line("now its keys are rotated, and the archiver is forgotten");
    filling.break_the_archiver()?;
    tokio::time::sleep(SUSPECT).await;
    let mut left: Vec<f64> = Vec::new();
    let mut critical = false;
    for look in 1..=LOOKS {
        ask.expect(&["run"], &[1], &[FAILS]).await?;
        ask.expect(&["status"], &[0], &["clock", "full "]).await?;
        let now = line(ask).await?;
        let said = seconds_left(&now).ok_or_else(|| Ended::Untrue(format!("the clock says no time: {}", of(&now, "clock"))))?;
        // A range that is wide breathes a little; it must not grow.
        if left.last().is_some_and(|last| said > last * 1.15) {
            return Err(Ended::Untrue(format!("the time that is left grows: {left:?}, then {said} s")));
        }
        left.push(said);
        critical = told(&now, FAILS) == Some("critical");
        if critical && look >= 3 {
            break;
        }
        tokio::time::sleep(BETWEEN).await;
    }
    if !critical {
        return Err(Ended::Untrue(format!("nothing became critical, with {left:?} s left")));
    }
    if left.first() <= left.last() {
        return Err(Ended::Untrue(format!("the time that is left does not fall: {left:?} s")));
    }
    let arrived = filling.alertmanager.wait_for("severity", "critical", true, ARRIVES).await?;
    let field = |name: &str| arrived.pointer(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    if field("/labels/code") != FAILS {
        return Err(Ended::Untrue(format!("another alert is critical at Alertmanager: {arrived}")));
    }
    say.line("and Alertmanager, asked through its API, holds:");
    say.line(&format!("{} {} {}", field("/labels/alertname"), field("/labels/severity"), field("/labels/subject")));
    say.line(&field("/annotations/summary"));

    say.scene("Repaired: the backlog drains");
    filling.repair().await?;
    let repaired = Instant::now();
    tokio::time::sleep(SCRAPED).await;
    say.line(&format!("the archiver has its keys again; {} segments still wait", filling.waiting()));
    ask.expect(&["run"], &[1], &[DRAINS]).await?;
    filling.alertmanager.wait_for("code", DRAINS, true, ARRIVES).await?;
    ask.expect(&["status"], &[0], &["drain"]).await?;
    gone(filling, FAILS).await?;
    say.line("the alert of the outage is resolved at Alertmanager");
    filling.drained().await?;
    tokio::time::sleep(SCRAPED).await;
    say.line(&format!(
        "{} s after the repair nothing waits any more; but only a base backup closes an outage:",
        repaired.elapsed().as_secs()
    ));
    ask.expect(&["run"], &[1], &[DRAINS, "no base backup"]).await?;
    let id = filling.back_up().await?;
    say.line(&format!("base backup {id}"));
    tokio::time::sleep(SCRAPED).await;
    ask.expect(&["run"], &[0], &[]).await?;
    ask.expect(&["status"], &[0], &["no growth"]).await?;
    let after = line(ask).await?;
    if [FAILS, DRAINS].iter().any(|code| told(&after, code).is_some()) {
        return Err(Ended::Untrue(format!("the outage is not closed: {}", of(&after, "findings"))));
    }
    gone(filling, DRAINS).await?;
    say.line("closed: no alert of it stands at Alertmanager any more");
    Ok(())
}

/// It was sent on as resolved, and Alertmanager holds none of this code any more.
async fn gone(filling: &Filling, code: &str) -> Result<(), Ended> {
    filling.alertmanager.wait_for("code", code, false, ARRIVES).await?;
    let held = filling.alertmanager.alerts().await?;
    match held.iter().find(|alert| alert.pointer("/labels/code").and_then(Value::as_str) == Some(code)) {
        Some(alert) => Err(Ended::Untrue(format!("an alert still stands at Alertmanager: {alert}"))),
        None => Ok(()),
    }
}

/// The database's line of the status.
async fn line(ask: &Ask<'_>) -> Result<Value, Ended> {
    let status = ask.json(&["status", filling::DB]).await?;
    let line = status.pointer("/lines/0").cloned();
    line.ok_or_else(|| Ended::Untrue(format!("the status has no line of {}", filling::DB)))
}

/// A field of a line, for people.
fn of<'a>(line: &'a Value, name: &str) -> &'a Value {
    line.get(name).unwrap_or(&Value::Null)
}

/// Seconds until the volume is full: the middle of the range.
fn seconds_left(line: &Value) -> Option<f64> {
    let end = |name: &str| line.pointer(&format!("/clock/{name}")).and_then(Value::as_f64);
    Some(f64::midpoint(end("hours_low")?, end("hours_high")?) * 3_600.0)
}

/// The severity of an open finding.
fn told<'a>(line: &'a Value, code: &str) -> Option<&'a str> {
    let findings = line.get("findings")?.as_array()?;
    let is_it = |open: &&Value| open.pointer("/finding/code").or_else(|| open.get("code")).and_then(Value::as_str) == Some(code);
    let open = findings.iter().find(is_it)?;
    open.pointer("/finding/severity").or_else(|| open.get("severity")).and_then(Value::as_str)
}
