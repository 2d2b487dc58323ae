//! When the machine breaks, that is an error or a clear stop, and never a verdict.

use std::io::Write as _;
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
        assert!(matches!(verdict, "pass" | "crashed"), "{verdict}: {outcome:?}");
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

/// A judge whose folder for programs' files is a file system of its own, with so many MiB; `None`, and a word about
/// it, where none can be mounted.
#[expect(clippy::print_stdout, reason = "a skip is said aloud")]
fn judge_on_small_disk(folder: &Path, mebibytes: u32) -> Option<Result<Judge, StartError>> {
    // The command starts zygotes too, inside what the first has mounted.
    let mount = format!(
        r#"mountpoint -q "$0" || mount -t tmpfs -o size={mebibytes}m,mode=1777 none "$0" && exec "$@""#
    );
    let (place, judge) = (folder.to_str()?, env!("CARGO_BIN_EXE_whet-judge"));
    let can_mount =
        Command::new("unshare").args(["-m", "sh", "-c", &mount, place, "true"]).status();
    if !can_mount.is_ok_and(|status| status.success()) {
        println!("SKIPPED: no small disk can be mounted here");
        return None;
    }
    let command = ["unshare", "-m", "sh", "-c", &mount, place, judge];
    let mut options = options();
    options.command = command.map(str::to_owned).to_vec();
    options.ceiling = Isolation::Landlock;
    options.workers = 1;
    folder.clone_into(&mut options.scratch);
    Some(Judge::start(&options))
}

#[test]
fn a_judge_whose_programs_have_no_room_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let Some(started) = judge_on_small_disk(folder.path(), 63) else { return };
    match started {
        Err(StartError::Refused(problem)) => {
            assert!(problem.contains("has 63 MiB free, and a program may use 64"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

/// Fails where its folder is full, and only there.
const WRITING: &str = "import tempfile\n\ndef add(a, b):\n    with tempfile.TemporaryFile() as file:\n        \
                       file.write(b'1' * 100_000)\n        file.flush()\n    return a + b\n";
/// Fills its folder nearly up to what it may have there, and stops at that.
const FILLING: &str = "def add(a, b):\n    for number in range(4):\n        \
                       with open(f'{number}', 'wb') as file:\n            \
                       file.write(bytes(15 << 20))\n    raise OSError(28, 'No space left on device')\n";

#[test]
fn a_full_disk_is_an_error_and_a_program_that_fills_its_own_folder_has_a_verdict() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("small");
    std::fs::create_dir(&folder).unwrap();
    let Some(started) = judge_on_small_disk(&folder, 96) else { return };
    let target = started.unwrap();
    // The path by which others see it.
    let seen = PathBuf::from(format!("/proc/{}/root", target.supervisor()));
    let seen = seen.join(folder.strip_prefix("/").unwrap());
    assert_eq!(target.about().isolation, Isolation::Landlock);
    assert!(judge(&target, WRITING).unwrap().verdict().is_pass());
    assert_eq!(judge(&target, FILLING).unwrap().verdict().name(), "raised");
    // Somebody else takes all there is.
    let filler = seen.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let block = vec![1; 1 << 20];
    let full = (0..97).find_map(|_| file.write_all(&block).err()).unwrap();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let error = judge(&target, WRITING).unwrap_err().to_string();
    assert!(error.contains("has 0 MiB free, and a program may use 64"), "{error}");
    assert!(judge(&target, HONEST).unwrap().verdict().is_pass(), "it needs no room");
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    assert!(judge(&target, WRITING).unwrap().verdict().is_pass());
}

/// A judge under limits that were set by the options of `prlimit`; `None`, and a word about it, where there is
/// no such command.
#[expect(clippy::print_stdout, reason = "a skip is said aloud")]
fn judge_under(limits: &[&str], ceiling: Isolation) -> Option<Result<Judge, StartError>> {
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("SKIPPED: there is no `prlimit` here");
        return None;
    }
    let mut options = options();
    let command = ["prlimit"].into_iter().chain(limits.iter().copied());
    let command = command.chain([env!("CARGO_BIN_EXE_whet-judge")]);
    options.command = command.map(str::to_owned).collect();
    options.ceiling = ceiling;
    Some(Judge::start(&options))
}

#[test]
fn a_server_without_core_dumps_judges() {
    const CRASHING: &str = "import os\ndef add(a, b):\n    os.abort()\n";
    for ceiling in [Isolation::Full, Isolation::Landlock] {
        let Some(started) = judge_under(&["--core=0:0"], ceiling) else { return };
        let target = started.unwrap();
        assert!(judge(&target, HONEST).unwrap().verdict().is_pass(), "{ceiling:?}");
        let crashed = judge(&target, CRASHING).unwrap();
        assert_eq!(crashed.verdict().name(), "crashed", "{ceiling:?}");
    }
}

#[test]
fn a_hard_limit_that_is_too_low_is_named_with_what_is_needed() {
    let limits = [
        ("--stack=8388608", "`ulimit -Hs` (stack) is 8 MiB, and a program needs 64 MiB: raise it"),
        (
            "--fsize=1048576",
            "`ulimit -Hf` (file size) is 1 MiB, and a program needs 16 MiB: raise it",
        ),
        ("--cpu=5", "`ulimit -Ht` (CPU time) is 5 s, and a program needs 7 s: raise it"),
    ];
    for (limit, expected) in limits {
        let Some(started) = judge_under(&[limit], Isolation::Landlock) else { return };
        match started {
            Err(StartError::Refused(problem)) => assert!(problem.contains(expected), "{problem}"),
            other => panic!("{limit}: {other:?}"),
        }
    }
}
