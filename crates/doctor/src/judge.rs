//! The judge itself: which isolation it gives here, whether it can be fooled, and how fast it is.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use whetstone_core::config::{Config, SandboxConfig};
use whetstone_core::judgement::Isolation;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::{Suite, Tests};
use whetstone_env::judge;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{SCRATCH_BYTES, free_bytes};

use crate::Finding;

const START_HINT: &str =
    "the message names what is missing; `sandbox.python` and `sandbox.min_isolation` are settings";

const ROOM_HINT: &str = "each program at a time may use 64 MiB of the folder for temporary files: free some \
                         space, or set TMPDIR to another folder";

/// The isolation level of programs, and why it is not higher.
pub fn isolation(config: &Config) -> Finding {
    const CHECK: &str = "isolation";
    let wanted = config.sandbox.min_isolation;
    // The best level of the machine is wanted here, not the configured one.
    let sandbox = SandboxConfig { min_isolation: Isolation::Rlimit, ..config.sandbox.clone() };
    let config = Config { sandbox, ..config.clone() };
    let about = match judge::start(&config) {
        Ok(judge) => judge.about().clone(),
        Err(err) => return Finding::fail(CHECK, err.to_string(), START_HINT),
    };
    let level = about.isolation.name();
    let groups = if about.control_groups { "with" } else { "without" };
    let mut detail = format!("`{level}`, {groups} control groups, {} at a time", about.workers);
    if let Some(why) = &about.why_not_better {
        detail.push_str("; a higher level does not work: ");
        detail.push_str(why);
    }
    let folder = env::temp_dir();
    let free = free_bytes(&folder).filter(|_| about.isolation < Isolation::Full);
    if let Some(free) = free {
        let _ = write!(detail, "; {}", room(free, &folder));
    }
    if about.isolation < wanted {
        let hint = "`sandbox.min_isolation` requires more than this machine supports";
        return Finding::fail(CHECK, detail, hint);
    }
    if free.is_some_and(|free| free < u64::from(about.workers) * SCRATCH_BYTES) {
        return Finding::warn(CHECK, detail, ROOM_HINT);
    }
    if about.isolation < Isolation::Full {
        let hint = "programs are still held; fresh namespaces would make the walls higher";
        return Finding::warn(CHECK, detail, hint);
    }
    Finding::pass(CHECK, detail)
}

/// Free space of the folder that programs write to, where they cannot mount one of their own.
fn room(free: u64, folder: &Path) -> String {
    format!("{} MiB free in {} for programs' files", free >> 20, folder.display())
}

/// Programs that would be paid by a judge that can be fooled.
const HOSTILE: [(&str, &str); 3] = [
    ("leaves with status 0", "import sys\nsys.exit(0)\n"),
    (
        "equals everything",
        "class Yes:\n    def __eq__(self, other):\n        return True\n\ndef add(a, b):\n    \
         return Yes()\n",
    ),
    (
        "starts a shell",
        "import os\n\ndef add(a, b):\n    return a + b if os.system('true') == 0 else None\n",
    ),
];
const HONEST: &str = "def add(a, b):\n    return a + b\n";

/// Three hostile programs get nothing, and an honest one passes.
pub fn self_test(config: &Config) -> Finding {
    const CHECK: &str = "judge";
    let judge = match judge::start(config) {
        Ok(judge) => judge,
        Err(err) => return Finding::fail(CHECK, err.to_string(), START_HINT),
    };
    let tests = hidden_tests();
    for (what, source) in HOSTILE {
        match run(&judge, source, &tests) {
            Ok(false) => {}
            Ok(true) => {
                let detail = format!("rewarded a program that {what}");
                return Finding::fail(CHECK, detail, "do not train on this machine; report it");
            }
            Err(err) => return Finding::fail(CHECK, err, START_HINT),
        }
    }
    match run(&judge, HONEST, &tests) {
        Ok(true) => {}
        Ok(false) => {
            return Finding::fail(CHECK, "an honest program does not pass", START_HINT);
        }
        Err(err) => return Finding::fail(CHECK, err, START_HINT),
    }
    let rate = match rate(&judge, &tests, 2 * judge.about().workers) {
        Ok(rate) => rate,
        Err(err) => return no_threads(CHECK, &err),
    };
    let detail =
        format!("3 hostile programs got nothing, an honest one passed; {rate:.0} programs/s");
    Finding::pass(CHECK, detail)
}

/// Programs judged in a second, asked for by so many threads.
fn rate(judge: &dyn Judging, tests: &Tests, threads: u32) -> io::Result<f64> {
    let began = Instant::now();
    let done = AtomicU32::new(0);
    let work = || {
        while began.elapsed() < Duration::from_secs(1) && run(judge, HONEST, tests).is_ok() {
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        (0..threads).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, work).map(drop))
    })?;
    Ok(f64::from(done.into_inner()) / began.elapsed().as_secs_f64())
}

/// A training needs more threads than this check.
fn no_threads(check: &'static str, err: &io::Error) -> Finding {
    let detail = format!("the threads that ask the judge cannot be started: {err}");
    Finding::fail(check, detail, "raise `ulimit -u`, or lower `sandbox.workers`")
}

fn run(judge: &dyn Judging, source: &str, tests: &Tests) -> Result<bool, String> {
    let program =
        Program { language: Language::Python, source: source.to_owned(), truncated: false };
    let limits = Limits { cpu: Duration::from_secs(2), ..Limits::default() };
    let judged = judge.judge(Job { program: &program, setup: "", tests, limits });
    judged.map(|judgement| judgement.verdict().is_pass()).map_err(|err| err.to_string())
}

fn hidden_tests() -> Tests {
    let asserts = ["assert add(2, 3) == 5", "assert add(-1, 1) == 0"].map(str::to_owned);
    #[expect(clippy::expect_used, reason = "two tests are not none")]
    Tests::Asserts(Suite::new(Vec::new(), asserts.to_vec()).expect("there are tests"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn threads_that_cannot_be_started_are_a_finding_that_names_the_limit() {
        let finding = no_threads("judge", &io::Error::from(io::ErrorKind::WouldBlock));
        assert_eq!(finding.status, Status::Fail);
        assert!(finding.detail.contains("the threads that ask the judge cannot be started"));
        assert!(finding.hint.unwrap().contains("raise `ulimit -u`"), "{finding:?}");
    }

    #[test]
    fn free_space_is_told_with_its_folder_and_the_hint_names_what_a_program_may_use() {
        assert_eq!(
            room(SCRATCH_BYTES, Path::new("/tmp")),
            "64 MiB free in /tmp for programs' files"
        );
        assert!(ROOM_HINT.contains(&format!("{} MiB", SCRATCH_BYTES >> 20)));
    }
}
