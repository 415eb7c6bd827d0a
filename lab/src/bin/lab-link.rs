//! A slow link on the command line: `lab-link PORT UPSTREAM ROUND_TRIP_MS [MIB_PER_SECOND]`.
//! Prints `ready` when it carries, and carries until it is ended.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use lab::link::{Link, Shape};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let started = start(&args);
    match started {
        Ok(link) => {
            let _ = writeln!(std::io::stdout(), "ready {}", link.endpoint());
            loop {
                std::thread::park();
            }
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "lab-link: {e}\nusage: lab-link PORT UPSTREAM ROUND_TRIP_MS [MIB_PER_SECOND]");
            ExitCode::from(2)
        }
    }
}

fn start(args: &[String]) -> Result<Link, Box<dyn std::error::Error>> {
    let mut args = args.iter();
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let port = next("PORT")?.parse()?;
    let upstream = next("UPSTREAM")?.clone();
    let round_trip = Duration::from_millis(next("ROUND_TRIP_MS")?.parse()?);
    let rate = match next("MIB_PER_SECOND") {
        Ok(text) => Some(text.parse::<u64>()? * 1024 * 1024),
        Err(_) => None,
    };
    Ok(Link::start_at(port, &upstream, Shape { one_way: round_trip / 2, bytes_per_second: rate })?)
}
