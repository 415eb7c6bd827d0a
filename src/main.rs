//! The binary: hands argv to the command line room.

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Before any runtime: the keeper of a sandbox and the postmaster's first breath need a process of one thread.
    if args.first().is_some_and(|word| word == "internal") {
        let rest = args.get(1..).unwrap_or_default();
        return std::process::ExitCode::from(dalsegno::restore::hold::main(rest).number());
    }
    std::process::ExitCode::SUCCESS
}
