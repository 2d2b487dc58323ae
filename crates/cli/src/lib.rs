//! `whet`: the command line over everything else.
//!
//! A command parses its arguments ([`cli`]), assembles its settings ([`whetstone_config`]), calls a library
//! crate, and prints through one [`printer`]. It ends in one of five ways ([`exit`]). Errors of
//! libraries arrive as one chain and are printed once, with what to do about them.
//!
//! A library, so that the tests reach what the binary does; `main` is one
//! call.

mod about;
mod bench;
mod board;
pub mod cli;
mod colour;
mod config_command;
mod data;
mod doctor;
mod env_command;
mod eval;
pub mod exit;
mod export;
mod failure;
mod figures;
mod flags;
mod generate;
mod model;
mod next;
mod observer;
pub mod printer;
mod progress;
mod prompt;
mod quickstart;
mod report;
mod rollout;
mod runs;
mod score;
mod stages;
mod summary;
mod teach;
mod train;
mod version;

use std::env;
use std::io::{self, IsTerminal};

use clap::{CommandFactory, FromArgMatches};
use nix::sys::signal::{SigSet, Signal};
use tracing_subscriber::filter::LevelFilter;

use crate::cli::{Cli, Command, ConfigCommand, TalkArgs};
use crate::colour::ColourArg;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Runs the command that was typed.
pub fn run() -> Exit {
    let cli = parse();
    hold_back_size_signal(&cli.command);
    log_to_stderr(cli.talk);
    pass_over_caught_panics();
    whetstone_record::program::announce(version::short());
    let printer = Printer::with_colour(cli.talk.quiet, cli.talk.color);
    if let Err(failure) = current_directory(&cli.command) {
        return failure::report(&failure.into(), printer);
    }
    let result = match &cli.command {
        Command::Quickstart(args) => quickstart::run(args, printer),
        Command::Run(args) => stages::run(args, printer),
        Command::Doctor(args) => doctor::run(args, printer),
        Command::Data(command) => data::run(command, printer),
        Command::Score(args) => score::run(args, printer),
        Command::Teach(args) => teach::run(args, printer),
        Command::Train(command) => train::run(command, printer),
        Command::Model(command) => model::run(command, printer),
        Command::Prompt(command) => prompt::run(command, printer),
        Command::Eval(args) => eval::run(args, printer),
        Command::Generate(args) => generate::run(args, printer),
        Command::Rollout(args) => rollout::run(args, printer),
        Command::Report(args) => report::run(args, printer),
        Command::Board(args) => board::run(args, printer),
        Command::Runs(args) => runs::run(args, printer),
        Command::Bench(args) => bench::run(args, printer),
        Command::Export(args) => export::run(args, printer),
        Command::Config(ConfigCommand::Show(args)) => config_command::show(args, printer),
        Command::Config(ConfigCommand::Check(args)) => config_command::check(args, printer),
        Command::Config(ConfigCommand::Reference(args)) => config_command::reference(args, printer),
        Command::Env(command) => env_command::run(command, printer),
        Command::Completions(args) => about::completions(args, printer),
        Command::Man(args) => about::man(args, printer),
        Command::Probe(args) => Ok(doctor::probe(args.feature)),
        Command::Judge(args) => Ok(judge(&args.arguments, printer)),
    };
    result.unwrap_or_else(|err| failure::report(&err, printer))
}

/// A file that outgrows `ulimit -f` is an error like a full disk: while SIGXFSZ is held back, the write fails with
/// EFBIG and the signal ends nothing. The judge's own processes, and with them its programs, have it as usual.
///
/// Called before any other thread exists: all of them inherit it.
fn hold_back_size_signal(command: &Command) {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    let is_of_judge = matches!(command, Command::Judge(_) | Command::Probe(_));
    // Where that is refused, the signal ends the program.
    let _ = if is_of_judge { signals.thread_unblock() } else { signals.thread_block() };
}

/// The command that was typed. Clap prints help and usage errors itself, and ends with 0 and 2 as we do.
fn parse() -> Cli {
    let arguments = flags::hyphenated(env::args_os());
    let colour = ColourArg::before_parsing(arguments.iter().cloned());
    let command = Cli::command().color(colour.of_clap());
    let matches = command.get_matches_from(arguments);
    Cli::from_arg_matches(&matches).unwrap_or_else(|err| err.exit())
}

/// Every relative path depends on it, and interpreters do not start without one. A shell keeps showing the path of a
/// directory that was deleted.
fn current_directory(command: &Command) -> Result<(), Failure> {
    if matches!(command, Command::Judge(_) | Command::Probe(_)) || env::current_dir().is_ok() {
        return Ok(());
    }
    Err(Failure::Usage {
        problem: "the current directory was deleted, or cannot be entered",
        hint: "change to another one with `cd`; if it was made again, `cd .` enters it",
    })
}

/// Runs as one of the judge's own processes.
fn judge(arguments: &[String], printer: Printer) -> Exit {
    match whetstone_sandbox::entry::run(arguments) {
        Ok(()) => Exit::Done,
        Err(problem) => {
            // The parent reads the last line of it.
            printer.talk(&problem);
            Exit::Broken
        }
    }
}

/// A panic that a library catches becomes an error, and is reported as such.
fn pass_over_caught_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !whetstone_data::source::panic_is_caught() {
            tell(panic);
        }
    }));
}

fn log_to_stderr(talk: TalkArgs) {
    let level = match (talk.quiet, talk.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    let colour = talk.color.wants(io::stderr().is_terminal());
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(colour)
        .with_writer(io::stderr)
        .init();
}
