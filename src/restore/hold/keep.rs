//! The keeper of one sandbox.

use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::line::{Order, Said, StartOrder};
use crate::domain::ExitCode;
use crate::restore::process::ProcessMark;
use crate::restore::sandbox::{KEEPER, POSTMASTER, Sandbox, write_json};

/// How long the postmaster may take before it is killed. Its data is about to be removed, so it is stopped at once (SIGQUIT)
/// and not asked to write a checkpoint first.
const PATIENCE: Duration = Duration::from_secs(5);

enum Heard {
    Order(Order),
    Nonsense(String),
    /// The pipe was closed, or a signal came.
    Over,
}

/// `internal hold <folder>`: ends when the pipe does.
pub(super) fn keep(args: &[String]) -> ExitCode {
    let Some(folder) = args.first() else {
        return ExitCode::Usage;
    };
    let sandbox = Sandbox::at(&PathBuf::from(folder));
    if sandbox.marker().is_none() || std::env::set_current_dir(sandbox.folder()).is_err() {
        say(&Said::Failed { why: format!("{folder} is not a sandbox of ours") });
        return ExitCode::Usage;
    }
    // Held for life: whoever sweeps must get it first.
    let Ok(Some(lock)) = sandbox.lock() else {
        say(&Said::Failed { why: format!("{folder} is held by another process") });
        return ExitCode::Usage;
    };
    let pid = std::process::id();
    if let Some(mark) = ProcessMark::of(pid) {
        let _ = write_json(&sandbox.folder().join(KEEPER), &mark);
    }
    // Blocked before the other threads are made, so that only the one that waits for them gets them.
    let signals = signals();
    let _ = signals.thread_block();
    let (tell, heard) = channel();
    listen_to_signals(signals, tell.clone());
    listen_to_orders(tell);
    say(&Said::Holding { pid: i32::try_from(pid).unwrap_or_default() });
    Keeper { sandbox, postmaster: None, lock }.run(&heard)
}

fn signals() -> SigSet {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals
}

fn listen_to_signals(signals: SigSet, tell: Sender<Heard>) {
    std::thread::spawn(move || {
        if signals.wait().is_ok() {
            let _ = tell.send(Heard::Over);
        }
    });
}

fn listen_to_orders(tell: Sender<Heard>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let heard = serde_json::from_str(&line).map_or_else(|error| Heard::Nonsense(error.to_string()), Heard::Order);
            if tell.send(heard).is_err() {
                return;
            }
        }
        let _ = tell.send(Heard::Over);
    });
}

/// Our parent may be dead: then nobody reads, and that is fine.
fn say(said: &Said) {
    if let Ok(mut line) = serde_json::to_vec(said) {
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

struct Keeper {
    sandbox: Sandbox,
    postmaster: Option<Child>,
    lock: File,
}

impl Keeper {
    fn run(mut self, heard: &Receiver<Heard>) -> ExitCode {
        loop {
            match heard.recv_timeout(Duration::from_millis(20)) {
                Ok(Heard::Order(Order::Start(order))) => match self.start(&order) {
                    Ok(pid) => say(&Said::Started { pid }),
                    Err(why) => say(&Said::Failed { why }),
                },
                Ok(Heard::Order(Order::Stop)) => self.stop(),
                Ok(Heard::Nonsense(why)) => say(&Said::Failed { why }),
                Ok(Heard::Order(Order::Remove) | Heard::Over) | Err(RecvTimeoutError::Disconnected) => return self.remove(),
                Err(RecvTimeoutError::Timeout) => self.reap(),
            }
        }
    }

    fn start(&mut self, order: &StartOrder) -> Result<i32, String> {
        self.reap();
        if self.postmaster.is_some() {
            return Err("a postmaster is running already".to_owned());
        }
        let own = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
        let path = self.sandbox.log();
        let log = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let log = log.map_err(|error| format!("{}: {error}", path.display()))?;
        let mut command = Command::new(own);
        command.args(["internal", "exec", "--parent", &std::process::id().to_string()]);
        if let Some((uid, gid)) = order.user {
            let _ = chown(&path, Some(uid), Some(gid));
            command.args(["--user", &format!("{uid}:{gid}")]);
        }
        if order.seal {
            command.arg("--seal");
        }
        if order.fence {
            command.arg("--fence").arg(self.sandbox.folder());
        }
        command.arg("--").arg(&order.postgres).args(&order.arguments);
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(|error| error.to_string())?).stderr(log);
        // Forked from the main thread, which lives as long as this process: the parent-death signal belongs to the thread.
        let child = command.spawn().map_err(|error| format!("{}: {error}", order.postgres.display()))?;
        let pid = child.id();
        self.postmaster = Some(child);
        self.write_down(pid, order);
        Ok(i32::try_from(pid).unwrap_or_default())
    }

    /// Who the postmaster is, once it is it: the same process number runs `exec` first and changes its folder later.
    fn write_down(&self, pid: u32, order: &StartOrder) {
        let Some(now) = ProcessMark::of(pid) else { return };
        let executable = order.postgres.canonicalize().unwrap_or_else(|_| order.postgres.clone());
        let mark = ProcessMark { executable, folder: self.sandbox.data(), ..now };
        let _ = write_json(&self.sandbox.folder().join(POSTMASTER), &mark);
    }

    fn reap(&mut self) {
        if let Some(child) = &mut self.postmaster
            && let Ok(Some(status)) = child.try_wait()
        {
            self.postmaster = None;
            ended(status);
        }
    }

    fn stop(&mut self) {
        let Some(child) = &mut self.postmaster else {
            return say(&Said::Ended { ran: false, status: "was not running".to_owned(), signal: None });
        };
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let _ = kill(pid, Signal::SIGQUIT);
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => {
                    let _ = child.kill();
                    break child.wait().ok();
                }
            }
        };
        self.postmaster = None;
        match status {
            Some(status) => ended(status),
            None => say(&Said::Ended { ran: true, status: "could not be asked".to_owned(), signal: None }),
        }
    }

    fn remove(mut self) -> ExitCode {
        if self.postmaster.is_some() {
            self.stop();
        }
        let _ = std::env::set_current_dir("/");
        // Removing takes it itself.
        drop(self.lock);
        // Writers of our parent may still be at work in the moment they are told to end: a second look finds what they made.
        for _ in 0..50 {
            match self.sandbox.remove() {
                Ok(_) => {
                    say(&Said::Removed);
                    return ExitCode::Fine;
                }
                Err(_) if self.sandbox.marker().is_none() => break,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        say(&Said::Failed { why: format!("could not remove {}", self.sandbox.folder().display()) });
        ExitCode::Stuck
    }
}

fn ended(status: ExitStatus) {
    say(&Said::Ended { ran: true, status: status.to_string(), signal: status.signal() });
}
