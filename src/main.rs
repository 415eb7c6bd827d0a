//! The binary: hands argv to the command line room, and turns what comes back into an exit code.

use std::ffi::OsString;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode as ProcessExit;
use std::sync::atomic::{AtomicBool, Ordering};

use dalsegno::cli::{self, Out, argv, failure, internal, progress};
use dalsegno::domain::ExitCode;
use dalsegno::restore;
use dalsegno::telemetry;

/// Processes that we start of ourselves, by the word behind `internal`.
const INTERNAL: &[(&str, internal::Inner)] = &[
    ("hold", |args| restore::hold::hold(args).number()),
    ("exec", |args| restore::hold::exec(args).number()),
    ("try", |args| restore::hold::try_out(args).number()),
];

/// Whether any thread has panicked. A task that panics must not end in exit code 0.
static PANICKED: AtomicBool = AtomicBool::new(false);

fn main() -> ProcessExit {
    let argv: Vec<OsString> = std::env::args_os().collect();
    // Before any thread exists: these fork, watch pipes and change what the process is.
    if let Some(rest) = internal::asked(&argv) {
        return ProcessExit::from(internal::run(rest, INTERNAL));
    }
    std::panic::set_hook(Box::new(tell_of_panic));
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| start(&argv))).unwrap_or(ExitCode::Bug);
    let outcome = if PANICKED.load(Ordering::SeqCst) { outcome.worse(ExitCode::Bug) } else { outcome };
    ProcessExit::from(outcome.number())
}

/// Parses, starts logs and runtime, runs the command.
fn start(argv: &[OsString]) -> ExitCode {
    let cli = match argv::parse(argv) {
        Ok(cli) => cli,
        Err(told) => return tell(&told, argv),
    };
    let out = Out::of_terminal(cli.global.output);
    let shown = progress::choose(out.for_machines());
    telemetry::start(cli.global.log_format, cli.global.verbose, shown.bars.clone());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            failure::say(&format!(
                "error: cannot start threads\n  because {error}\n\nhint: is a limit on processes or memory reached?"
            ));
            return ExitCode::CouldNotLook;
        }
    };
    match runtime.block_on(cli.run(&out, &shown.progress)) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print(out.for_machines());
            failure.exit()
        }
    }
}

/// What the parser has to say: a mistake, or the help and version that were asked for.
fn tell(told: &clap::Error, argv: &[OsString]) -> ExitCode {
    if told.use_stderr() {
        if failure::wants_json(argv) {
            failure::say(&failure::usage_as_json(&told.render().to_string()));
        } else {
            // A closed stderr is nobody's concern.
            let _ = told.print();
        }
        return ExitCode::Usage;
    }
    let printed = told.print().and_then(|()| std::io::stdout().flush());
    match printed {
        // Whoever reads has seen enough (`| head`).
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let failure = cli::Failure::from(cli::out::OutError::Stdout(error));
            failure.print(false);
            failure.exit()
        }
        _ => ExitCode::Fine,
    }
}

/// A panic is a bug of ours, and is said so.
fn tell_of_panic(info: &std::panic::PanicHookInfo<'_>) {
    PANICKED.store(true, Ordering::SeqCst);
    let what = info.payload_as_str().unwrap_or("(no text)");
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    failure::say(&format!(
        "error: this is a bug in dalsegno {}: {what}\n  at {place}\n\nhint: please report it with the command and the lines above; \
         what a drill left is removed by: dalsegno drill gc",
        env!("CARGO_PKG_VERSION"),
    ));
}
