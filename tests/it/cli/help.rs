//! What `--help` says, command by command: a change here is a change of what people see.

use std::fmt::Write as _;

use clap::{Args, Command};
use dalsegno::cli;

fn shown(command: Command) -> String {
    let mut command = command.term_width(100);
    command.build();
    let mut text = command.render_long_help().to_string();
    for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
        let help = below.clone().term_width(100).render_long_help();
        write!(text, "\n──── {}\n\n{help}", below.get_name()).unwrap();
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

macro_rules! help_of {
    ($($name:ident: $args:ty),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let command = <$args>::augment_args(Command::new(stringify!($name)));
                command.clone().debug_assert();
                insta::assert_snapshot!(shown(command));
            }
        )*
    };
}

help_of! {
    run: cli::run::Args,
    check: cli::check::Args,
    status: cli::status::Args,
    explain: cli::explain::Args,
    doctor: cli::doctor::Args,
    init: cli::init::Args,
    probe: cli::probe::Args,
    archive: cli::archive::Args,
    drill: cli::drill::Args,
    runbook: cli::runbook::Args,
    ledger: cli::ledger::Args,
    history: cli::history::Args,
    show: cli::show::Args,
    config: cli::config::Args,
    ack: cli::ack::Args,
    acks: cli::ack::ListArgs,
    notify: cli::notify::Args,
}

#[test]
fn a_drill_needs_a_runbook_and_its_other_commands_do_not() {
    let parse = |words: &[&str]| {
        let command = cli::drill::Args::augment_args(Command::new("drill"));
        command.try_get_matches_from(std::iter::once(&"drill").chain(words)).map(|_| ())
    };
    for good in [
        &["pg-restore", "--db", "a", "--set", "x=1", "--plan"] as &[&str],
        &["gc"],
        &["gc", "--dry-run"],
        &["report"],
        &["report", "88"],
    ] {
        assert!(parse(good).is_ok(), "{good:?}: {:?}", parse(good));
    }
    for bad in [
        &[] as &[&str],
        &["--db", "a"],
        &["pg-restore", "--set", "x"],
        &["pg-restore", "--isolation", "tight"],
        &["gc", "--db", "a"],
    ] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_probe_takes_a_configured_store_or_all_of_an_other_one() {
    let parse = |words: &[&str]| {
        let command = cli::probe::Args::augment_args(Command::new("probe"));
        command.try_get_matches_from(std::iter::once(&"probe").chain(words)).map(|_| ())
    };
    for good in [&["minio"] as &[&str], &["--endpoint", "http://a", "--bucket", "b", "--prefix", "p", "--dialect", "r2"]] {
        assert!(parse(good).is_ok(), "{good:?}: {:?}", parse(good));
    }
    for bad in [
        &[] as &[&str],
        &["--endpoint", "http://a", "--bucket", "b"],
        &["minio", "--bucket", "b"],
        &["minio", "--endpoint", "http://a", "--bucket", "b", "--prefix", "p"],
    ] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}
