//! `whet train grpo` and `whet train ppo` killed with SIGKILL at random moments, again and again.
//!
//! In even rounds a kill falls a random time after something new was recorded and outside of a
//! checkpoint, whose files take most of a small student's time; in odd ones when a checkpoint is being
//! written. In the end there must be what a run has that nobody disturbed:
//! the adapter, the optimizer and the progress byte for byte, every step's measurements once and in
//! order, every rollout. Only what clocks say may differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use whetstone_core::seed::Seed;

use crate::tiny_school::{files, grpo, judged, ppo, records, school, steps, trained};

const KILLS: u64 = 10;

/// Bytes of a run's record.
fn written(run: &Path) -> u64 {
    let size = |file: &str| fs::metadata(run.join(file)).map_or(0, |meta| meta.len());
    size("events.jsonl") + size("rollouts/rollouts.jsonl")
}

/// Whether a checkpoint is being written: a directory that does not have its name yet.
fn is_saving(run: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(run.join("outputs")) else { return false };
    entries.any(|entry| entry.is_ok_and(|file| file.file_name().to_string_lossy().starts_with('.')))
}

/// Starts a run, and hears nothing of it.
pub(crate) fn start(dir: &Path, args: &[String]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("whet starts")
}

/// Kills a child when something is so.
fn kill_when(mut child: Child, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        let ended = child.try_wait().expect("it was started here");
        assert!(ended.is_none(), "it came to an end: {ended:?}");
        thread::yield_now();
    }
    child.kill().expect("it still runs");
    child.wait().expect("it was started here");
}

/// Measurements by step, without what clocks say.
fn measured(run: &Path) -> Vec<(u64, BTreeMap<String, Value>)> {
    let clocks = |name: &str| {
        name.starts_with("time/")
            || name.starts_with("speed/")
            || name == "rollout/judged_while_sampling"
    };
    let metrics = records(&run.join("events.jsonl")).into_iter();
    let plain = |event: Value| {
        let values = event["values"].as_object().expect("measurements").clone();
        let plain = values.into_iter().filter(|(name, _)| !clocks(name)).collect();
        (event["step"].as_u64().expect("a step"), plain)
    };
    metrics.filter(|event| event["type"] == "metrics").map(plain).collect()
}

/// Rollouts, without what clocks say.
fn rollouts(run: &Path) -> Vec<Value> {
    let mut all = records(&run.join("rollouts/rollouts.jsonl"));
    for rollout in &mut all {
        assert!(rollout["validation"]["cpu_ms"].take().is_number());
    }
    all
}

/// A training that is killed.
struct Killed {
    /// Its arguments: the name of the run, and flags.
    command: fn(&str, &[&str]) -> Vec<String>,
    steps: u64,
    /// Files that its final model must have.
    has: &'static [&'static str],
}

#[test]
fn grpo_killed_at_random_moments_learns_the_same_bits_and_records_every_step_once() {
    let has = &["adapter_model.safetensors", "optimizer.safetensors"];
    killed(&Killed { command: grpo, steps: 60, has });
}

/// GRPO with distillation from a model on this machine, and with replay.
fn distilled(run: &str, flags: &[&str]) -> Vec<String> {
    let settings = [
        "dual_source.distill_weight=0.5",
        "dual_source.distill_teacher=student",
        "dual_source.replay=1",
        "grpo.mini_batches=2",
    ];
    let sets = settings.iter().flat_map(|set| ["--set", set]);
    let sets: Vec<&str> = if flags.contains(&"--resume") { Vec::new() } else { sets.collect() };
    grpo(run, &[flags, &sets].concat())
}

#[test]
fn distillation_and_replay_killed_at_random_moments_learn_the_same_bits() {
    let has = &["adapter_model.safetensors", "optimizer.safetensors"];
    killed(&Killed { command: distilled, steps: 30, has });
}

#[test]
fn ppo_killed_at_random_moments_learns_the_same_bits_and_records_every_step_once() {
    let has = &[
        "adapter_model.safetensors",
        "optimizer.safetensors",
        "critic/adapter_model.safetensors",
        "critic/value_head.safetensors",
    ];
    killed(&Killed { command: ppo, steps: 40, has });
}

#[expect(clippy::print_stdout, reason = "how many kills fell where")]
fn killed(training: &Killed) {
    if !judged() {
        return;
    }
    let Killed { command, steps: all_steps, has } = *training;
    let dir = school();
    let run = |name: &str| -> PathBuf { dir.path().join("runs").join(name) };
    let (steps_set, save) = (format!("training.max_steps={all_steps}"), "training.save_steps=3");
    let begin = |name| command(name, &["--set", &steps_set, "--set", save]);
    let began = Instant::now();
    let ran = trained(dir.path(), &begin("whole"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let round = began.elapsed() / u32::try_from(KILLS).expect("a few");

    let (whole, cut) = (run("whole"), run("cut"));
    let total = written(&whole);
    let mut torn = 0;
    for kill in 0..KILLS {
        let args = if kill == 0 { begin("cut") } else { command("cut", &["--resume"]) };
        let drawn = Seed::new(7).derive("kill", kill).get();
        let (chance, wait) =
            (drawn % 1000, round / 1000 * u32::try_from(drawn % 997).expect("small"));
        // Somewhere in this round's share of what is not recorded yet; the last part is left over,
        // so that a kill that comes late still comes in time.
        let known = written(&cut);
        let share = (total * 7 / 10).saturating_sub(known) / (KILLS - kill);
        let target = known + 1 + share * chance / 1000;
        let (mut is_late, mut since) = (false, None);
        kill_when(start(dir.path(), &args), || {
            let there = written(&cut);
            is_late = is_late || there >= target;
            if there > known {
                since.get_or_insert_with(Instant::now);
            }
            let in_time = since.is_some_and(|since| since.elapsed() >= wait);
            let saving = is_saving(&cut);
            if kill % 2 == 0 { (is_late || in_time) && !saving } else { is_late && saving }
        });
        torn += u64::from(is_saving(&cut));
        assert!(!cut.join("outputs/final_model").exists(), "too late for a kill");
    }
    let ran = trained(dir.path(), &command("cut", &["--resume"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    println!("{KILLS} kills, {torn} of them in the middle of a checkpoint");
    assert!(0 < torn && torn < KILLS, "kills no longer fall both into checkpoints and outside");

    let model = |run: &Path| files(&run.join("outputs/final_model"));
    let names: Vec<PathBuf> = model(&whole).into_iter().map(|(name, _)| name).collect();
    for file in has {
        assert!(names.contains(&file.into()), "no {file} in {names:?}");
    }
    assert!(model(&whole) == model(&cut), "the final models differ");
    assert_eq!(steps(dir.path(), "cut"), (1..=all_steps).collect::<Vec<_>>());
    assert_eq!(measured(&whole), measured(&cut));
    let (expected, found) = (rollouts(&whole), rollouts(&cut));
    assert_eq!(expected.len() as u64, 4 * all_steps);
    assert_eq!(found.len(), expected.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(found, expected);
    }
    let rewards: f64 =
        expected.iter().filter_map(|rollout| rollout["reward"]["total"].as_f64()).sum();
    assert!(rewards > 0.0, "a student that is never paid proves little");
}

/// What follows `&&` must not run; a resumed run that is done ends with 0 again.
#[test]
fn a_training_that_is_stopped_by_a_signal_ends_with_130() {
    if !judged() {
        return;
    }
    let dir = school();
    let events = dir.path().join("runs/run/events.jsonl");
    for (signal, extra) in [(Signal::SIGINT, None), (Signal::SIGTERM, Some("--resume"))] {
        let flags = ["--set=training.max_steps=4000", "--set=training.save_steps=0"];
        let flags = extra.as_ref().map_or(&flags[..], std::slice::from_ref);
        let before = steps(dir.path(), "run").len();
        let mut child = start(dir.path(), &grpo("run", flags));
        while steps(dir.path(), "run").len() == before {
            assert_eq!(child.try_wait().expect("it was started here"), None);
            thread::yield_now();
        }
        kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it still runs");
        assert_eq!(child.wait().expect("it was started here").code(), Some(130), "{signal}");
        let last = records(&events).pop().expect("an event");
        assert_eq!(last["outcome"], "interrupted", "{last}");
    }
}
