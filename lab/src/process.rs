//! Child processes that never outlive us: in a process group of their own, noted for the janitor,
//! ended when dropped.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::{LabError, home};

/// The user that servers which refuse root are run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    ids: Option<(u32, u32)>,
    name: Option<&'static str>,
}

impl User {
    /// Ourselves, or when we are root `postgres`, else `nobody`.
    pub fn unprivileged() -> Result<User, LabError> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(User { ids: None, name: None });
        }
        for name in ["postgres", "nobody"] {
            if let Ok(Some(user)) = nix::unistd::User::from_name(name) {
                return Ok(User { ids: Some((user.uid.as_raw(), user.gid.as_raw())), name: Some(name) });
            }
        }
        Err(LabError::Other("running as root and there is neither a user `postgres` nor `nobody`".into()))
    }

    /// Whoever we are.
    pub fn same() -> User {
        User { ids: None, name: None }
    }

    /// Makes `command` run as this user.
    pub fn apply(self, command: &mut Command) {
        if let Some((uid, gid)) = self.ids {
            command.gid(gid).uid(uid);
        }
    }

    /// Gives a file or folder to this user.
    pub fn own(self, path: &Path) -> Result<(), LabError> {
        match self.ids {
            Some((uid, gid)) => std::os::unix::fs::chown(path, Some(uid), Some(gid)).map_err(LabError::file(path)),
            None => Ok(()),
        }
    }

    /// The name of the user to switch to; none when we are not root.
    pub fn name(self) -> Option<&'static str> {
        self.name
    }

    /// The uid and gid to switch to; none when we are not root.
    pub fn ids(self) -> Option<(u32, u32)> {
        self.ids
    }
}

/// A running server.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    pid: u32,
    stop: Signal,
    note: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output in `log`; `stop` is the signal that ends it politely.
    pub(crate) fn spawn(mut command: Command, log: &Path, stop: Signal, user: User) -> Result<Process, LabError> {
        let running = home::path()?.join("running");
        let out = fs::OpenOptions::new().create(true).append(true).open(log).map_err(LabError::file(log))?;
        let err = out.try_clone().map_err(LabError::file(log))?;
        user.apply(&mut command);
        let program = PathBuf::from(command.get_program());
        let child =
            command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0).spawn().map_err(LabError::file(program))?;
        let pid = child.id();
        let note = running.join(pid.to_string());
        let start = start_time(pid).unwrap_or_default();
        let name = stop.as_str().trim_start_matches("SIG");
        fs::write(&note, format!("{name} {pid} {start}\n")).map_err(LabError::file(&note))?;
        Ok(Process { child: Some(child), pid, stop, note, log: log.to_path_buf() })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// The end of its log.
    pub fn log_end(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        end_of(&String::from_utf8_lossy(&text))
    }

    /// Asks it to end, waits up to `grace`, then kills its group.
    pub fn stop(&mut self, grace: Duration) {
        self.signal(self.stop);
        self.reap(grace);
    }

    /// SIGKILL, as a power cut would.
    pub fn kill(&mut self) {
        self.reap(Duration::ZERO);
    }

    /// Sends a signal to the process itself.
    pub fn signal(&self, signal: Signal) {
        if let (Some(_), Ok(pid)) = (&self.child, i32::try_from(self.pid)) {
            let _ = kill(Pid::from_raw(pid), signal); // it may be gone already
        }
    }

    fn reap(&mut self, grace: Duration) {
        let Some(mut child) = self.child.take() else { return };
        let until = Instant::now() + grace;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Ok(pid) = i32::try_from(self.pid) {
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL); // the group may be empty
        }
        let _ = child.wait();
        let _ = fs::remove_file(&self.note);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // QUIT is PostgreSQL's immediate stop and leaves no shared memory behind; others are killed.
        let grace = if self.stop == Signal::SIGQUIT { Duration::from_secs(5) } else { Duration::ZERO };
        self.stop(grace);
    }
}

/// Field 22 of `/proc/<pid>/stat`: with the pid it names a process for good.
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = stat.rsplit_once(") ")?.1;
    rest.split(' ').nth(19).map(str::to_owned)
}

/// Runs a command to its end; an error carries the end of its output.
pub(crate) async fn run(mut command: Command, user: User) -> Result<Output, LabError> {
    user.apply(&mut command);
    command.stdin(Stdio::null());
    let name = words(&command);
    let mut command = tokio::process::Command::from(command);
    let output = command.kill_on_drop(true).output().await.map_err(LabError::file(&name))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(LabError::Command { command: name, status: output.status.to_string(), output: end_of(&text) })
}

/// The command line in words (credentials travel in the environment, never here).
pub(crate) fn words(command: &Command) -> String {
    let mut all = vec![command.get_program().to_string_lossy().into_owned()];
    all.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    all.join(" ")
}

/// The last lines of a text.
pub(crate) fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(12).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
