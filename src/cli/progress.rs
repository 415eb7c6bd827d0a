//! Progress: bars with rate and time left on a terminal, else a line now and then in the log.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::domain::{Progress, Quiet, bytes_in_words, duration_in_words, rate};

/// How often a task says something in a log.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// Bars are drawn at most this often.
const DRAWS_PER_SECOND: u8 = 8;

/// Where progress goes, with the bars that log lines must be printed above of.
pub struct Shown {
    /// What `Cx.progress` is given.
    pub progress: Arc<dyn Progress>,
    /// The bars, when there are any.
    pub bars: Option<MultiProgress>,
}

/// Bars when stderr is a terminal, log lines when not; nothing when a machine reads on a terminal-less run.
pub fn choose(for_machines: bool) -> Shown {
    if std::io::stderr().is_terminal() {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        return Shown { progress: Arc::new(Bars::new(bars.clone(), no_colour())), bars: Some(bars) };
    }
    if for_machines {
        return Shown { progress: Arc::new(Quiet), bars: None };
    }
    Shown { progress: Arc::new(Lines::new(LINE_EVERY)), bars: None }
}

fn no_colour() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) == anstream::ColorChoice::Never
}

/// Bars on a terminal.
pub struct Bars {
    all: MultiProgress,
    plain: bool,
    by_task: Mutex<HashMap<String, ProgressBar>>,
}

impl Bars {
    /// Draws into `all`; `plain` leaves colours out.
    pub fn new(all: MultiProgress, plain: bool) -> Self {
        Self { all, plain, by_task: Mutex::new(HashMap::new()) }
    }

    fn style(&self, total: u64, unit: &str) -> ProgressStyle {
        let bar = if self.plain { "{bar:24}" } else { "{bar:24.cyan}" };
        let template = match (unit, total) {
            ("B", 0) => "  {prefix:12} {bytes}  {bytes_per_sec}".to_owned(),
            ("B", _) => format!("  {{prefix:12}} {{bytes}} / {{total_bytes}}  {bar}  {{bytes_per_sec}}  {{eta}} left"),
            (_, 0) => "  {prefix:12} {pos} {msg}  {per_sec}".to_owned(),
            (_, _) => format!("  {{prefix:12}} {{pos}} / {{len}} {{msg}}  {bar}  {{per_sec}}  {{eta}} left"),
        };
        ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▓░")
    }
}

impl Progress for Bars {
    fn tell(&self, what: &str, done: u64, total: u64, unit: &str) {
        let mut bars = self.by_task.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bars.entry(what.to_owned()).or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new(total));
            bar.set_style(self.style(total, unit));
            bar.set_prefix(what.to_owned());
            bar.set_message(unit.to_owned());
            bar
        });
        if total != 0 && bar.length() != Some(total) {
            if bar.length() == Some(0) {
                bar.set_style(self.style(total, unit));
            }
            bar.set_length(total);
        }
        bar.set_position(done);
    }

    fn done(&self, what: &str) {
        let bar = self.by_task.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
        if let Some(bar) = bar {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }
}

/// What is known of a task between two lines.
struct Told {
    began: Instant,
    last_line: Instant,
    last_done: u64,
    done: u64,
    unit: String,
}

/// A log line per task each `every`, and one at its end when it took longer than that.
pub struct Lines {
    every: Duration,
    tasks: Mutex<HashMap<String, Told>>,
}

impl Lines {
    /// A line each `every`.
    pub fn new(every: Duration) -> Self {
        Self { every, tasks: Mutex::new(HashMap::new()) }
    }
}

impl Progress for Lines {
    fn tell(&self, what: &str, done: u64, total: u64, unit: &str) {
        let now = Instant::now();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let told = tasks.entry(what.to_owned()).or_insert_with(|| Told {
            began: now,
            last_line: now,
            last_done: done,
            done,
            unit: unit.to_owned(),
        });
        told.done = done;
        let since = now.duration_since(told.last_line);
        if since < self.every {
            return;
        }
        let line = line(what, done, total, unit, done.saturating_sub(told.last_done), since.as_secs_f64());
        told.last_line = now;
        told.last_done = done;
        drop(tasks);
        tracing::info!("{line}");
    }

    fn done(&self, what: &str) {
        let told = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
        if let Some(told) = told.filter(|told| told.began.elapsed() >= self.every) {
            let seconds = told.began.elapsed().as_secs_f64();
            tracing::info!("{what}: done, {} in {}", amount(told.done, &told.unit), duration_in_words(seconds));
        }
    }
}

fn amount(number: u64, unit: &str) -> String {
    if unit == "B" { bytes_in_words(number) } else { format!("{number} {unit}") }
}

/// `base: 1.7 GiB of 2.4 GiB, 214 MiB/s, 3 s left`. The rate is that since the last line.
fn line(what: &str, done: u64, total: u64, unit: &str, fresh: u64, seconds: f64) -> String {
    let speed = if unit == "B" { rate(fresh, seconds) } else { format!("{:.1} {unit}/s", fresh as f64 / seconds.max(0.001)) };
    if total == 0 {
        return format!("{what}: {}, {speed}", amount(done, unit));
    }
    let left = if fresh == 0 {
        "stalled".to_owned()
    } else {
        format!("{} left", duration_in_words(total.saturating_sub(done) as f64 * seconds / fresh as f64))
    };
    format!("{what}: {} of {}, {speed}, {left}", amount(done, unit), amount(total, unit))
}
