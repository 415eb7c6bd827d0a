//! Installs every server of the lab into the cache (`make lab-tools`).

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = std::io::stderr();
    let mut failed = false;
    for tool in lab::tools::ALL {
        let said = tool.install(&|line| {
            let _ = writeln!(std::io::stderr(), "{line}");
        });
        let line = match said {
            Ok(path) => format!("{tool}: {}", path.display()),
            Err(e) => {
                failed = true;
                format!("{tool}: FAILED: {e}")
            }
        };
        let _ = writeln!(out, "{line}");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
