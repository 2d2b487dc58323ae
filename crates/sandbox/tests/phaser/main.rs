//! Programs that use Phaser: honest ones, what input does, and hostile ones.
//!
//! Phaser is no part of this repository. The tests that need it look for the archive of its package in
//! the environment variable `WHET_PHASER_TGZ` (several, separated by `:`), and say so where there is none.

#![expect(clippy::float_cmp, reason = "numbers of snapshots are rounded")]

mod hostile;
mod input;
mod runs;
mod seen;

use std::path::Path;
use std::time::Duration;

use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{FailureClass, PlayJob, Run, Settings, install};
use whetstone_sandbox::{Judge, Options};

/// A judge with each Phaser that there is; none without one.
fn judges() -> Vec<Judge> {
    let archives = std::env::var("WHET_PHASER_TGZ").unwrap_or_default();
    let judges: Vec<Judge> = archives
        .split(':')
        .filter(|path| !path.is_empty())
        .map(|path| judge(Path::new(path)))
        .collect();
    if judges.is_empty() {
        say(
            "skipped: set WHET_PHASER_TGZ to phaser-3.90.0.tgz, as `npm pack phaser@3.90.0` makes it",
        );
    }
    judges
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn say(words: &str) {
    eprintln!("{words}");
}

fn judge(archive: &Path) -> Judge {
    let data = tempfile::tempdir().expect("a folder");
    let mut options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    options.workers = 2;
    options.phaser = Some(install(archive, data.path()).expect("Phaser is installed"));
    // Zygotes read it when they start: it must stay there.
    let _ = data.keep();
    Judge::start(&options).expect("the judge starts")
}

fn limits() -> Limits {
    Limits { cpu: Duration::from_secs(2), memory: 256 << 20 }
}

fn play(judge: &Judge, source: &str, settings: &Settings) -> Run {
    judge.play(PlayJob { source, settings, limits: limits() }).expect("nothing is broken")
}

/// A game of one scene with these bodies of `create` and `update`.
fn game(create: &str, update: &str) -> String {
    format!(
        "class Main extends Phaser.Scene {{\n\
         create() {{ {create} }}\n\
         update(time, delta) {{ {update} }}\n\
         }}\n\
         const config = {{ width: 800, height: 600, physics: {{ default: 'arcade', arcade: {{ gravity: {{ y: 300 }} }} }}, scene: Main }};\n\
         const game = new Phaser.Game(config);\n"
    )
}

fn class(run: &Run) -> Option<FailureClass> {
    run.class
}

#[test]
fn without_phaser_there_is_no_run_and_no_verdict() {
    let options = Options::new(vec![env!("CARGO_BIN_EXE_whet-judge").to_owned()]);
    let judge = Judge::start(&options).unwrap();
    let settings = Settings::default();
    let job = PlayJob { source: "", settings: &settings, limits: limits() };
    let problem = judge.play(job).unwrap_err();
    assert!(problem.0.contains("Phaser is not installed"), "{problem}");
}
