//! The judge as the commands use it: started from the settings, by this same binary.

use std::thread;
use std::time::Duration;

use whetstone_core::config::{Config, SandboxConfig};
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::{Judge, Options, StartError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The hidden command under which this binary is the judge's supervisor and its zygotes.
pub(crate) const COMMAND: &str = "__judge";

/// Starts a judge. Before anything large is loaded: the supervisor is a child of this process.
pub(crate) fn start(config: &Config) -> Result<Judge, StartError> {
    Judge::start(&options(&config.sandbox))
}

/// For a command that cannot do without one.
pub(crate) fn failure(err: &StartError) -> Failure {
    let hint = "`whet doctor` looks at everything the judge needs";
    Failure::Judge { problem: err.to_string(), hint }
}

/// The same, with another seed of Python's hashes of text than 0.
pub(crate) fn start_with_hashes(config: &Config, hash_seed: u32) -> Result<Judge, StartError> {
    Judge::start(&Options { hash_seed, ..options(&config.sandbox) })
}

/// Programs that run at the same time.
pub(crate) fn workers(config: &Config) -> usize {
    match config.sandbox.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        workers => workers as usize,
    }
}

/// Threads that ask the judge: as many as it has slots, and some that read and send meanwhile.
pub(crate) fn callers(config: &Config) -> usize {
    let workers = workers(config);
    let slots = whetstone_sandbox::slots(u32::try_from(workers).unwrap_or(u32::MAX));
    workers + slots as usize
}

/// What a program may use.
pub(crate) fn limits(config: &Config) -> Limits {
    let SandboxConfig { cpu_seconds, memory_mib, .. } = config.sandbox;
    Limits { cpu: Duration::from_secs_f64(cpu_seconds), memory: u64::from(memory_mib) << 20 }
}

fn options(config: &SandboxConfig) -> Options {
    // The running binary itself, even if its file has been replaced since.
    let command = vec!["/proc/self/exe".to_owned(), COMMAND.to_owned()];
    Options {
        python: config.python.clone(),
        workers: config.workers,
        minimum: config.min_isolation,
        ..Options::new(command)
    }
}

/// Runs as one of the judge's own processes.
pub(crate) fn run(arguments: &[String], printer: Printer) -> Exit {
    match whetstone_sandbox::entry::run(arguments) {
        Ok(()) => Exit::Done,
        Err(problem) => {
            // The parent reads the last line of it.
            printer.talk(&problem);
            Exit::Broken
        }
    }
}
