//! Runs a command and appends `<wall seconds> <peak resident KiB of the process itself> <exit code>`
//! to a file: `lab-measure FILE COMMAND [ARGUMENT …]`. Children are not counted (a drill's
//! PostgreSQL is not the drill).

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(file), Some(program)) = (args.next(), args.next()) else {
        let _ = writeln!(std::io::stderr(), "usage: lab-measure FILE COMMAND [ARGUMENT …]");
        return ExitCode::from(2);
    };
    let begin = Instant::now();
    let mut child = match Command::new(&program).args(args).spawn() {
        Ok(child) => child,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "lab-measure: {}: {e}", program.display());
            return ExitCode::from(2);
        }
    };
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The kernel keeps the high-water mark, so a look now and then loses only the last moment.
    let status = loop {
        peak = peak.max(high_water(&status_file));
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return ExitCode::FAILURE,
        }
    };
    let wall = begin.elapsed().as_secs_f64();
    let code = status.code().unwrap_or(255);
    let line = format!("{wall:.3} {peak} {code}\n");
    let written =
        std::fs::OpenOptions::new().create(true).append(true).open(&file).and_then(|mut f| f.write_all(line.as_bytes()));
    if written.is_err() {
        return ExitCode::from(2);
    }
    ExitCode::from(u8::try_from(code).unwrap_or(255))
}

/// `VmHWM` in KiB.
fn high_water(status_file: &str) -> u64 {
    let text = std::fs::read_to_string(status_file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")).and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}
