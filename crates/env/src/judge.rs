//! The judge as the settings say, started by the running binary itself.
//!
//! A binary that starts judges runs [`whetstone_sandbox::entry::run`] under its hidden command [`COMMAND`].

use std::thread;

use whetstone_core::config::{Config, SandboxConfig};
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::{Suite, Tests};
use whetstone_sandbox::job::{Job, Judging};
use whetstone_sandbox::{Judge, Options, StartError};

use crate::environment::Setup;
use crate::python::limits;

/// The hidden command under which this binary is the judge's supervisor and its zygotes.
pub const COMMAND: &str = "__judge";

/// Starts a judge. Before anything large is loaded: the supervisor is a child of this process.
pub fn start(config: &Config) -> Result<Judge, StartError> {
    Judge::start(&options(&config.sandbox))
}

/// Like [`start`], with a `PYTHONHASHSEED` other than 0.
pub fn start_with_hashes(config: &Config, hash_seed: u32) -> Result<Judge, StartError> {
    Judge::start(&Options { hash_seed, ..options(&config.sandbox) })
}

/// What environments are built from, with this binary as the judge of programs.
pub fn with_setup<T>(config: &Config, build: impl FnOnce(&Setup<'_>) -> T) -> T {
    build(&Setup::new(config, &|| start(config)))
}

/// Programs that run at the same time.
pub fn workers(config: &Config) -> usize {
    match config.sandbox.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        workers => workers as usize,
    }
}

/// Threads that ask the judge: as many as it has slots, and some that read and send meanwhile.
pub fn callers(config: &Config) -> usize {
    let workers = workers(config);
    let slots = whetstone_sandbox::slots(u32::try_from(workers).unwrap_or(u32::MAX));
    workers + slots as usize
}

/// A test that [`WARM_UP`] passes.
const WARM_UP_TEST: &str = "assert f() == 1";
const WARM_UP: &str = "def f():\n    return 1\n";

/// Lets interpreters start before time is taken: a probe of one task would measure little else.
pub fn warm_up(judge: &dyn Judging, config: &Config) {
    let Ok(suite) = Suite::new(Vec::new(), vec![WARM_UP_TEST.to_owned()]) else { return };
    let tests = Tests::Asserts(suite);
    let source = WARM_UP.to_owned();
    let program = Program { language: Language::Python, source, truncated: false };
    let job = Job { program: &program, setup: "", tests: &tests, limits: limits(config) };
    thread::scope(|scope| {
        for _ in 0..callers(config) {
            // A problem with the judge or with threads shows up in the probe itself.
            let _ = thread::Builder::new().spawn_scoped(scope, || drop(judge.judge(job)));
        }
    });
}

fn options(config: &SandboxConfig) -> Options {
    // The running binary itself, even if its file has been replaced since.
    let command = vec!["/proc/self/exe".to_owned(), COMMAND.to_owned()];
    Options {
        python: config.python.clone(),
        workers: config.workers,
        minimum: config.min_isolation,
        // What is damaged is named where Phaser is needed.
        phaser: crate::phaser::installed().ok().flatten(),
        ..Options::new(command)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use whetstone_core::judgement::{Infrastructure, Judgement};
    use whetstone_sandbox::job::Unjudged;

    use super::*;

    /// Records its requests.
    struct Listener(Mutex<Vec<String>>);

    impl Judging for Listener {
        fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
            self.0.lock().expect("nobody panics").push(job.program.source.clone());
            Err(Unjudged::Machine(Infrastructure("it only listens".to_owned())))
        }
    }

    #[test]
    fn every_caller_asks_once_and_a_judge_that_fails_is_no_reason_to_stop() {
        let listener = Listener(Mutex::default());
        let mut config = Config::default();
        config.sandbox.workers = 3;
        warm_up(&listener, &config);
        let asked = listener.0.into_inner().expect("nobody panics");
        assert_eq!(asked, vec![WARM_UP; callers(&config)]);
    }
}
