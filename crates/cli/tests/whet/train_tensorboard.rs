//! Metrics for TensorBoard while a training goes on: steps appear one by one, and after a kill and a resume each is
//! there once.
//!
//! TensorBoard's own reader (`pip install tensorboard`) agreed for a run that was killed and resumed:
//!
//! ```python
//! from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
//! seen = EventAccumulator("runs/cut/tensorboard")
//! seen.Reload()  # once while the run trains, and again after the kill and the resume
//! steps = [event.step for event in seen.Scalars("grpo/mean_reward")]
//! assert steps == list(range(1, 25)), steps
//! ```

use std::fs;
use std::path::Path;
use std::thread;

use crate::binary::whet_in;
use crate::tiny_school::{grpo, judged, school, steps, trained};
use crate::train_kill::start;

const STEPS: u64 = 24;

/// The steps of the event files in a folder, in the order of the records. A record that is being written is not
/// counted.
fn shown(folder: &Path) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut steps = Vec::new();
    for entry in entries {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        let mut rest = &bytes[..];
        while let Some((length, tail)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).expect("a small record");
            let Some(record) = tail.get(4..4 + length) else { break };
            steps.extend(step(record));
            rest = tail.get(4 + length + 4..).unwrap_or_default();
        }
    }
    steps
}

/// The step of a record: field 2 behind the time, as a varint. The head has none.
fn step(record: &[u8]) -> Option<u64> {
    let (tag, rest) = record.get(9..)?.split_first()?;
    let digits = rest.iter().enumerate().map(|(at, byte)| u64::from(byte & 0x7f) << (7 * at));
    let count = rest.iter().position(|byte| byte & 0x80 == 0)? + 1;
    (*tag == 0x10).then(|| digits.take(count).sum())
}

#[test]
fn steps_appear_while_it_trains_and_each_is_there_once_after_a_kill() {
    if !judged() {
        return;
    }
    let dir = school();
    let run = dir.path().join("runs/cut");
    let folder = run.join("tensorboard");
    let all = format!("training.max_steps={STEPS}");
    let sets = ["--set", &all, "--set", "training.save_steps=5", "--set", "run.tensorboard=true"];
    let mut child = start(dir.path(), &grpo("cut", &sets));
    let mut seen = Vec::new();
    while seen.len() < 8 {
        let ended = child.try_wait().expect("it was started here");
        assert!(ended.is_none(), "it came to an end: {ended:?}");
        let now = shown(&folder);
        assert!(now.starts_with(&seen), "{seen:?} and then {now:?}");
        seen = now;
        thread::yield_now();
    }
    child.kill().expect("it still runs");
    child.wait().expect("it was started here");
    assert!(!run.join("outputs/final_model").exists(), "too late for a kill");
    // A kill in the middle of the last record.
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    // The setting is the run's own.
    let ran = trained(dir.path(), &grpo("cut", &["--resume"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let every: Vec<u64> = (1..=STEPS).collect();
    assert_eq!(steps(dir.path(), "cut"), every);
    assert_eq!(shown(&folder), every);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "one file");

    // Made afterwards it is the same file.
    let ran = whet_in(dir.path(), &["runs", "tensorboard", "cut", "--out", "after", "--follow"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains(&format!("{STEPS} steps")), "{}", ran.err);
    let after = fs::read(dir.path().join(ran.out.trim_end())).unwrap();
    assert!(after == fs::read(&file).unwrap());
}

#[test]
fn a_run_that_trains_without_it_is_followed() {
    if !judged() {
        return;
    }
    let dir = school();
    let all = format!("training.max_steps={STEPS}");
    let mut child = start(dir.path(), &grpo("plain", &["--set", &all]));
    while steps(dir.path(), "plain").is_empty() {
        assert!(child.try_wait().expect("it was started here").is_none(), "it came to an end");
        thread::yield_now();
    }
    assert!(!dir.path().join("runs/plain/tensorboard").exists(), "nobody asked for it");
    let ran = whet_in(dir.path(), &["runs", "tensorboard", "plain", "--follow"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(child.wait().expect("it was started here").success());
    assert_eq!(shown(&dir.path().join("runs/plain/tensorboard")), (1..=STEPS).collect::<Vec<_>>());
}
