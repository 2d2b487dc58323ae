//! When the machine breaks, that is an error or a clear stop, and never a verdict.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use whetstone_core::judgement::{Isolation, Judgement};
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::{Suite, Tests};
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};
use whetstone_sandbox::{Judge, Options, StartError};

const HONEST: &str = "def add(a, b):\n    return a + b\n";
/// Imports something that the zygote has not imported for it.
const IMPORTING: &str = "import calendar, pprint\ndef add(a, b):\n    return a + b\n";
const SLOW: &str = "import time\ndef add(a, b):\n    time.sleep(0.05)\n    return a + b\n";
const DREAMY: &str = "import time\ndef add(a, b):\n    time.sleep(0.9)\n    return a + b\n";

fn options() -> Options {
    let mut options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    options.minimum = Isolation::Rlimit;
    options
}

fn judge(judge: &Judge, source: &str) -> Result<Judgement, Unjudged> {
    judge_within(judge, source, Duration::from_secs(2))
}

fn judge_within(judge: &Judge, source: &str, cpu: Duration) -> Result<Judgement, Unjudged> {
    let asserts = vec!["assert add(2, 3) == 5".to_owned(), "assert add(-1, 1) == 0".to_owned()];
    let tests = Tests::Asserts(Suite::new(Vec::new(), asserts).expect("there are tests"));
    let program =
        Program { language: Language::Python, source: source.to_owned(), truncated: false };
    let limits = Limits { cpu, ..Limits::default() };
    judge.judge(Job { program: &program, setup: "", tests: &tests, limits })
}

/// The processes whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("there is a /proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1) == Some(parent.to_string().as_str()) {
            found.push(pid);
        }
    }
    found
}

fn kill(pid: u32) {
    signal(pid, Signal::SIGKILL);
}

fn signal(pid: u32, signal: Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).expect("a process id"));
    let _ = nix::sys::signal::kill(pid, signal);
}

/// Zygotes and programs are killed at random while 120 honest programs are judged.
#[test]
fn a_zygote_or_a_program_that_is_killed_costs_no_program_its_verdict() {
    let target = Judge::start(&options()).unwrap();
    let over = AtomicBool::new(false);
    let mut killed = 0;
    let outcomes = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..30).map(|_| judge(&target, SLOW)).collect::<Vec<_>>()))
            .collect();
        let killer = scope.spawn(|| {
            let mut killed = 0;
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(120));
                if let Some(pid) = children(target.supervisor()).pop() {
                    kill(pid);
                    killed += 1;
                }
            }
            killed
        });
        let outcomes: Vec<_> =
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        killed = killer.join().unwrap();
        outcomes
    });
    let errors = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    println!("{killed} kills, {} programs, {errors} infrastructure errors", outcomes.len());
    assert!(killed > 3, "the test must kill something");
    for outcome in outcomes.into_iter().flatten() {
        // Killed twice by us, a program looks like one that kills itself: no better is known.
        let verdict = outcome.verdict().name();
        assert!(matches!(verdict, "pass" | "crashed"), "{verdict}");
    }
    assert!(judge(&target, HONEST).unwrap().verdict().is_pass(), "it still judges");
}

/// The wall limit is three times the CPU limit and 2 s, here 2.6 s: the pause is longer.
#[test]
fn a_machine_that_stands_still_costs_no_program_its_verdict() {
    let target = Judge::start(&options()).unwrap();
    let cpu = Duration::from_millis(200);
    let judged = std::thread::scope(|scope| {
        let caller = scope.spawn(|| judge_within(&target, DREAMY, cpu));
        std::thread::sleep(Duration::from_millis(300));
        signal(target.supervisor(), Signal::SIGSTOP);
        std::thread::sleep(Duration::from_secs(6));
        signal(target.supervisor(), Signal::SIGCONT);
        caller.join().unwrap()
    });
    assert_eq!(judged.unwrap().verdict().name(), "pass");
    // The limit is still there.
    let asleep = "import time\ntime.sleep(60)\n";
    assert_eq!(judge_within(&target, asleep, cpu).unwrap().verdict().name(), "timeout");
}

#[test]
fn a_supervisor_that_is_killed_answers_nobody_and_nobody_waits() {
    let scratch = tempfile::tempdir().unwrap();
    for ceiling in [Isolation::Full, Isolation::Landlock] {
        let options = Options { scratch: scratch.path().to_owned(), ceiling, ..options() };
        let target = Judge::start(&options).unwrap();
        let outcomes = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..4).map(|_| scope.spawn(|| judge(&target, SLOW))).collect();
            std::thread::sleep(Duration::from_millis(60));
            kill(target.supervisor());
            callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(outcomes.iter().flatten().all(|judged| judged.verdict().is_pass()));
        let error = judge(&target, HONEST).unwrap_err().to_string();
        assert!(error.contains("the judge's supervisor is gone"), "{error}");
        drop(target);
    }
    // What the dead left in the scratch folder was taken away when it was seen to be dead.
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_missing_interpreter_names_itself_and_what_to_set() {
    let options = Options { python: "no-such-python".to_owned(), ..options() };
    match Judge::start(&options) {
        Err(StartError::Refused(problem)) => {
            assert!(problem.contains("`no-such-python`"), "{problem}");
            assert!(problem.contains("`sandbox.python`"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

/// An interpreter whose files can be taken away: the executable is a copy, its library a link.
fn removable_interpreter(folder: &Path) -> Option<PathBuf> {
    let ask = "import sys, sysconfig\nprint(sys.executable)\nprint(sys.base_prefix)\n\
               print(sysconfig.get_path('stdlib'))\nprint(sysconfig.get_config_var('LIBDIR'))";
    let output = Command::new("python3").args(["-c", ask]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let [executable, _, library, shared] = lines.as_slice() else { return None };
    let (bin, lib) = (folder.join("bin"), folder.join("lib"));
    std::fs::create_dir_all(&bin).ok()?;
    std::fs::create_dir_all(&lib).ok()?;
    let copy = bin.join("python3");
    std::fs::copy(std::fs::canonicalize(executable).ok()?, &copy).ok()?;
    std::os::unix::fs::symlink(library, lib.join(Path::new(library).file_name()?)).ok()?;
    // An interpreter that is mostly a shared library looks for it beside itself.
    for entry in std::fs::read_dir(shared).ok()?.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("libpython") {
            let _ = std::os::unix::fs::symlink(entry.path(), lib.join(name));
        }
    }
    let works = Command::new(&copy).args(["-I", "-S", "-c", "import ctypes"]).output().ok()?;
    works.status.success().then_some(copy)
}

#[test]
fn an_interpreter_that_is_taken_away_is_an_error_and_not_a_failing_program() {
    // Not below `/tmp`, which is every program's own.
    let folder = tempfile::Builder::new().prefix("whet").tempdir_in("/var/tmp").unwrap();
    let home = folder.path().join("python");
    let Some(python) = removable_interpreter(&home) else {
        println!("SKIPPED: no copy of python3 runs on its own here");
        return;
    };
    let mut options = options();
    // The folder of temporary files is closed to others where the judge changes its user.
    options.ceiling = Isolation::Full;
    options.python = python.to_string_lossy().into_owned();
    let target = match Judge::start(&options) {
        Ok(target) => target,
        Err(problem) => {
            println!("SKIPPED: the copy cannot be judged with: {problem}");
            return;
        }
    };
    let judged = judge(&target, IMPORTING).unwrap();
    assert!(judged.verdict().is_pass(), "{judged:?} {:?}", target.about());
    std::fs::rename(&home, folder.path().join("elsewhere")).unwrap();
    // A program that fails for lack of a module, as one would without its library.
    let broken = "import no_such_module\n";
    let error = judge(&target, broken).unwrap_err().to_string();
    assert!(error.contains("is gone"), "{error}");
    for pid in children(target.supervisor()) {
        kill(pid);
    }
    std::thread::sleep(Duration::from_millis(50));
    // No zygote can be started any more: not one program has a verdict.
    for _ in 0..4 {
        let error = judge(&target, HONEST).unwrap_err().to_string();
        println!("{error}");
    }
}

#[test]
fn a_test_that_is_no_python_names_itself() {
    let target = Judge::start(&options()).unwrap();
    let asserts = vec!["assert add(1, 2) == 3".to_owned(), "assert add(1, 2) ==".to_owned()];
    let tests = Tests::Asserts(Suite::new(Vec::new(), asserts).expect("there are tests"));
    let program =
        Program { language: Language::Python, source: HONEST.to_owned(), truncated: false };
    let job = Job { program: &program, setup: "", tests: &tests, limits: Limits::default() };
    let error = target.judge(job).unwrap_err().to_string();
    assert!(error.contains("hidden test 2"), "{error}");
}
