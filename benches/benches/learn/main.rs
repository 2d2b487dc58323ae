//! A step of GRPO beside TRL's, in one run: 8 prompts, 8 completions of 128 tokens each, every weight
//! of a Qwen3 with 6 layers of 256 and 6,400 tokens trained.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench learn -- --tokenizer tokenizer.json       # ours alone
//! cargo bench -p whetstone-benches --bench learn -- --tokenizer tokenizer.json \
//!     --python v/bin/python --peer trl_step.py [--json]
//! cargo bench -p whetstone-benches --bench learn -- --ppo --tokenizer tokenizer.json \
//!     --python v/bin/python [--json]                                # a step of PPO instead: `ppo/mod.rs`
//! ```
//!
//! The step is all of it: sampling, rewards, advantages, forward, backward, update and the record of it.
//! `trivial` pays for the letters of a completion, as the peer's script does. `judged` runs a real
//! program for each completion besides: in our jail, and there as a plain subprocess, as many at a time
//! as there are cores. Ours and the peer's in turns, a process each; the median of the steps after the
//! first, and of several rounds the fastest, for both.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod letters;
mod model;
mod ours;
mod ppo;

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::{Map, Value, json};
use whetstone_core::Seed;
use whetstone_core::tests::Tests;

/// The hidden command under which this binary is the judge's processes.
const JUDGE: &str = "__judge";
const ROUNDS: usize = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ran = if args.first().is_some_and(|first| first == JUDGE) {
        whetstone_sandbox::entry::run(&args[1..]).map_err(Into::into)
    } else {
        run(&args)
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            println!("{err}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let tokenizer = PathBuf::from(value("--tokenizer").ok_or("--tokenizer tokenizer.json?")?);
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if has("--ppo") {
        if has("--child") {
            return ppo::print_steps(&tokenizer);
        }
        return ppo::run(&tokenizer, value("--python").as_deref(), has("--json"));
    }
    if let Some(what) = value("--child") {
        println!("{}", json!(ours::steps(&tokenizer, what == "judged")?));
        return Ok(());
    }
    let peer = value("--python").zip(value("--peer"));
    let mut all = Map::new();
    for what in ["trivial", "judged"] {
        let one = compare(what, &tokenizer, peer.as_ref())?;
        println!("{what:<8} {one}");
        all.insert(what.to_owned(), one);
    }
    if has("--json") {
        println!("{:#}", Value::from(all));
    }
    Ok(())
}

/// Ours and the peer's in turns; the fastest round of each.
fn compare(
    what: &str,
    tokenizer: &Path,
    peer: Option<&(String, String)>,
) -> Result<Value, Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(median(run_ours(what, tokenizer)?)?);
        if let Some((python, script)) = peer {
            theirs.push(median(run_peer(what, tokenizer, python, script)?)?);
        }
    }
    let fastest = |of: Vec<f64>| of.into_iter().min_by(f64::total_cmp);
    let ours = fastest(ours).ok_or("no round")?;
    Ok(match fastest(theirs) {
        None => json!({"ours_s": rounded(ours)}),
        Some(theirs) => json!({
            "ours_s": rounded(ours), "trl_s": rounded(theirs), "ratio": rounded(theirs / ours),
        }),
    })
}

fn run_ours(what: &str, tokenizer: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let done = Command::new(std::env::current_exe()?)
        .args(["--child", what, "--tokenizer"])
        .arg(tokenizer)
        .output()?;
    let text = String::from_utf8(done.stdout)?;
    serde_json::from_str(text.trim()).map_err(|_| format!("ours: {text}").into())
}

fn run_peer(
    what: &str,
    tokenizer: &Path,
    python: &str,
    script: &str,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("learn/peer.py");
    let mut command = Command::new(std::path::absolute(python)?);
    command.arg(ours).arg(std::path::absolute(script)?).arg(std::path::absolute(tokenizer)?);
    if what == "judged" {
        let programs = dir.path().join("programs.json");
        std::fs::write(&programs, serde_json::to_vec(&programs_with_tests())?)?;
        command.arg(programs);
    }
    let done = command.current_dir(dir.path()).output()?;
    let text = String::from_utf8_lossy(&done.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("step times "));
    let line = line.ok_or_else(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    Ok(serde_json::from_str(line)?)
}

/// References of embedded tasks, each with its hidden tests as assertions behind it.
fn programs_with_tests() -> Vec<String> {
    let made = whetstone_data::embedded::generate(Seed::new(1), 64);
    let text = |task: &whetstone_core::Task| {
        let Tests::Calls { entry_point, suite } = &task.tests else { return String::new() };
        let mut program = task.reference.clone().unwrap_or_default();
        program.push_str("\nimport json\n");
        for call in suite.hidden.for_the_judge() {
            let args: Vec<&str> = call.args.iter().map(|arg| arg.get()).collect();
            let args = format!("[{}]", args.join(","));
            let expected = call.expected.get();
            let _ = writeln!(
                program,
                "assert {entry_point}(*json.loads({args:?})) == json.loads({expected:?})"
            );
        }
        program
    };
    made.iter().map(|made| text(&made.task)).collect()
}

/// The median of the steps after the first.
fn median(mut steps: Vec<f64>) -> Result<f64, Box<dyn Error>> {
    if steps.len() < 2 {
        return Err("no steps".into());
    }
    steps.remove(0);
    steps.sort_by(f64::total_cmp);
    Ok(steps[steps.len() / 2])
}

pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
