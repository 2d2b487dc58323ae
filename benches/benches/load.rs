//! The judge under load: replies of which a tenth are the costliest that we know, beside honest ones
//! alone: see `benches/judge/README.md`.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench load                          # a table
//! cargo bench -p whetstone-benches --bench load -- --json --cpu-ms 1000  # other limits
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::print_stderr, reason = "and says what it is doing")]

mod told;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_sandbox::job::{Job, Judging, Limits};
use whetstone_sandbox::{Judge, Options};

const HIDDEN: &str = "__judge";
const REPLIES: usize = 2000;
/// One in this many replies is costly.
const ONE_IN: usize = 10;

const CALLS: &str = r#"{"kind":"calls","entry_point":"gap","hidden":[
    {"args":[3,10],"expected":7},{"args":[-4,4],"expected":8},{"args":[6,6],"expected":0}]}"#;

const HONEST: &str = "def gap(a, b):\n    return abs(a - b)\n";

/// Programs that use as much of something as they can, each with what it is.
const COSTLY: [(&str, &str); 8] = [
    ("computes", "while True: pass\n"),
    ("sleeps", "import time\ntime.sleep(10 ** 6)\n"),
    (
        "memory",
        "held = []\ntry:\n    while True: held.append(b'x' * (1 << 20))\nexcept MemoryError: pass\nwhile True: held[0] = b'x'\n",
    ),
    ("output", "import os\nwhile True: os.write(1, b'7' * 4096)\n"),
    ("output by bytes", "import os\nwhile True: os.write(1, b'7')\n"),
    (
        "drips",
        "import os, time\ndef gap(a, b):\n    os.write(3, b'\\x00\\x00\\x10\\x00v')\n    while True:\n        os.write(3, b'x')\n        time.sleep(0.003)\n",
    ),
    (
        "files",
        "import os\nfor n in range(3000):\n    os.makedirs(f'{n}/d')\n    open(f'{n}/d/f', 'w').write('x' * 4096)\nwhile True: os.listdir('.')\n",
    ),
    ("many runs", "import time\ntime.sleep(1)\nprint(7)\n"),
];

type Failure = Box<dyn Error>;

struct Work {
    program: Program,
    tests: Tests,
    /// Which of [`COSTLY`] it is.
    kind: Option<usize>,
}

/// What one pass over replies took: in all, and each in the order of the replies.
struct Pass {
    wall: Duration,
    each: Vec<Duration>,
    /// When the last honest one was done.
    honest: Duration,
    own_cpu: Duration,
    /// CPU time of the costly programs themselves.
    costly_cpu: Duration,
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
    match measure(&arguments) {
        Ok(measured) => {
            told::tell(&measured);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[String]) -> Result<Value, Failure> {
    let given = arguments.iter().position(|word| word == "--cpu-ms");
    let given = given.and_then(|at| arguments.get(at + 1)).map_or(Ok(500), |word| word.parse())?;
    let limits = Limits { cpu: Duration::from_millis(given), memory: 256 << 20 };
    let honest: Vec<Work> = (0..REPLIES).map(|_| work(None)).collect::<Result<_, _>>()?;
    let costly = |at: usize| at.is_multiple_of(ONE_IN).then_some(at / ONE_IN % COSTLY.len());
    let mixed: Vec<Work> = (0..REPLIES).map(|at| work(costly(at))).collect::<Result<_, _>>()?;
    let judge = Judge::start(&Options::new(vec!["/proc/self/exe".to_owned(), HIDDEN.to_owned()]))?;
    let callers = (judge.about().slots + judge.about().workers) as usize;
    pass(&judge, &honest[..100], limits, callers)?;
    eprintln!("each costly program alone");
    let single: Vec<Work> =
        (0..COSTLY.len()).map(|kind| work(Some(kind))).collect::<Result<_, _>>()?;
    let single = pass(&judge, &single, limits, 1)?;
    eprintln!("{REPLIES} honest replies");
    let alone = pass(&judge, &honest, limits, callers)?;
    eprintln!("{REPLIES} replies, {} of them costly", REPLIES / ONE_IN);
    let both = pass(&judge, &mixed, limits, callers)?;
    let passes = &Passes { single: &single, alone: &alone, both: &both };
    Ok(figures(&mixed, passes, limits, judge.about().workers))
}

struct Passes<'a> {
    /// The costly programs one after the other.
    single: &'a Pass,
    /// Honest replies alone.
    alone: &'a Pass,
    /// Honest and costly ones.
    both: &'a Pass,
}

fn figures(mixed: &[Work], passes: &Passes<'_>, limits: Limits, workers: u32) -> Value {
    let Passes { single, alone, both } = passes;
    // As in the judge: three times the CPU time and 2 s; all runs of a script twice that.
    let wall = 3 * limits.cpu + Duration::from_secs(2);
    let rate = |wall: Duration| whole(REPLIES) / wall.as_secs_f64();
    let mut figures = Map::new();
    let mut put = |name: String, value: f64| {
        figures.insert(name, json!((value * 1e3).round() / 1e3));
    };
    put("cpu_limit_s".to_owned(), limits.cpu.as_secs_f64());
    put("wall_limit_s".to_owned(), wall.as_secs_f64());
    put("honest_replies_per_s".to_owned(), rate(alone.wall));
    put("mixed_replies_per_s".to_owned(), rate(both.wall));
    put("mixed_share".to_owned(), alone.wall.as_secs_f64() / both.wall.as_secs_f64());
    // With nothing lost but the CPU time that limits give to the costly programs.
    let honest = alone.wall.mul_f64(1.0 - 1.0 / whole(ONE_IN));
    let least = honest + both.costly_cpu / workers;
    put("possible_share".to_owned(), alone.wall.as_secs_f64() / least.as_secs_f64());
    put("share_of_possible".to_owned(), least.as_secs_f64() / both.wall.as_secs_f64());
    put("costly_cpu_s".to_owned(), both.costly_cpu.as_secs_f64());
    put("last_honest_s".to_owned(), both.honest.as_secs_f64());
    put("honest_own_cpu_ms".to_owned(), alone.own_cpu.as_secs_f64() * 1e3 / whole(REPLIES));
    put("mixed_own_cpu_ms".to_owned(), both.own_cpu.as_secs_f64() * 1e3 / whole(REPLIES));
    for (kind, (name, _)) in COSTLY.iter().enumerate() {
        let pairs = mixed.iter().zip(&both.each).filter(|(work, _)| work.kind == Some(kind));
        let times = pairs.map(|(_, time)| time.as_secs_f64());
        let name = name.replace(' ', "_");
        put(format!("{name}_alone_s"), single.each[kind].as_secs_f64());
        put(format!("{name}_longest_s"), times.fold(0.0, f64::max));
    }
    Value::Object(figures)
}

fn work(kind: Option<usize>) -> Result<Work, Failure> {
    let (name, source) = kind.map_or(("honest", HONEST), |kind| COSTLY[kind]);
    let tests = if name == "many runs" {
        let one = r#"{"input":"","output":"7\n"}"#;
        format!(r#"{{"kind":"stdio","hidden":[{}]}}"#, vec![one; 100].join(","))
    } else {
        CALLS.to_owned()
    };
    let program =
        Program { language: Language::Python, source: source.to_owned(), truncated: false };
    Ok(Work { program, tests: serde_json::from_str(&tests)?, kind })
}

/// Judges everything with this many callers; each reply's time is from when its judge begins it, as
/// far as callers can tell: their waiting in the judge's queue is part of it.
fn pass(judge: &Judge, work: &[Work], limits: Limits, callers: usize) -> Result<Pass, Failure> {
    let next = AtomicUsize::new(0);
    let each = Mutex::new(vec![Duration::ZERO; work.len()]);
    let honest = Mutex::new(Duration::ZERO);
    let costly_ns = AtomicU64::new(0);
    let before = own_cpu(judge.supervisor())?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(Work { program, tests, kind }) = work.get(at) else { return };
                    let start = Instant::now();
                    let judged = judge.judge(Job { program, setup: "", tests, limits });
                    let passed = judged.as_ref().is_ok_and(|judged| judged.verdict().is_pass());
                    if passed != kind.is_none() {
                        eprintln!("reply {at} of kind {kind:?}: {judged:?}");
                    }
                    if let (Ok(judged), Some(_)) = (&judged, kind) {
                        let used = Duration::from_secs_f64(judged.cpu_ms() / 1e3).as_nanos();
                        let used = u64::try_from(used).unwrap_or(u64::MAX);
                        costly_ns.fetch_add(used, Ordering::Relaxed);
                    }
                    if let (Ok(mut each), Ok(mut honest)) = (each.lock(), honest.lock()) {
                        each[at] = start.elapsed();
                        if kind.is_none() {
                            *honest = began.elapsed();
                        }
                    }
                }
            });
        }
    });
    let wall = began.elapsed();
    let own_cpu = own_cpu(judge.supervisor())?.saturating_sub(before);
    let each = each.into_inner().unwrap_or_default();
    let honest = honest.into_inner().unwrap_or_default();
    let costly_cpu = Duration::from_nanos(costly_ns.into_inner());
    Ok(Pass { wall, each, honest, own_cpu, costly_cpu })
}

/// CPU time of the supervisor without its children.
fn own_cpu(pid: u32) -> Result<Duration, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 =
        rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn whole(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}
