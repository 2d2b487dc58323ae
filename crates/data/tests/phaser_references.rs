//! Every reference of the embedded prompt seeds passes all checks of its task, a game that shows nothing passes none,
//! and half-good mock programs lie between.
//!
//! Phaser is no part of this repository: its package is looked for in `WHET_PHASER_TGZ`, and without it this test says
//! that it is skipped. The binary is its own judge: it is started again as supervisor and zygote, which the usual test
//! harness would not allow.

#![expect(clippy::print_stdout, reason = "a test with a `main` of its own reports")]

use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use whetstone_data::phaser::mock::half_good;
use whetstone_data::phaser::{PromptSeed, embedded};
use whetstone_env::phaser::checks::CheckOutcome;
use whetstone_env::phaser::{Observation, Program, observe};
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{SourceKind, install};
use whetstone_sandbox::{Judge, Options, entry};

const TEST: &str = "references_pass_all_checks_and_an_empty_game_none";
const EMPTY: &str = "class Main extends Phaser.Scene { create() {} }\n\
                     new Phaser.Game({ width: 800, height: 600, scene: Main });";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if matches!(arguments.first().map(String::as_str), Some("supervise" | "zygote")) {
        return entry::run(&arguments);
    }
    // What cargo-nextest asks a test binary for.
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("{TEST}: test");
        }
        return Ok(());
    }
    let archives = env::var("WHET_PHASER_TGZ").unwrap_or_default();
    for archive in archives.split(':').filter(|path| !path.is_empty()) {
        references_pass_all_checks_and_an_empty_game_none(Path::new(archive));
    }
    if archives.is_empty() {
        println!("{TEST}: skipped, as WHET_PHASER_TGZ names no package of Phaser");
    }
    Ok(())
}

/// Checks that programs passed, of all.
#[derive(Debug, Default)]
struct Tally {
    programs_with_all: usize,
    programs_with_none: usize,
    passed: usize,
    checks: usize,
}

impl Tally {
    fn add(&mut self, seen: &Observation) {
        let passed = passed(seen);
        self.programs_with_all += usize::from(passed == seen.checks.len());
        self.programs_with_none += usize::from(passed == 0);
        self.passed += passed;
        self.checks += seen.checks.len();
    }
}

fn passed(seen: &Observation) -> usize {
    seen.checks.iter().filter(|check| check.outcome == CheckOutcome::Passed).count()
}

fn references_pass_all_checks_and_an_empty_game_none(archive: &Path) {
    let data = tempfile::tempdir().expect("a folder");
    let this = env::current_exe().expect("a running test has a path");
    let mut options = Options::new(vec![this.to_string_lossy().into_owned()]);
    options.phaser = Some(install(archive, data.path()).expect("Phaser is installed"));
    let judge = Judge::start(&options).expect("programs can be held here");
    let seeds = embedded();
    let start = Instant::now();
    let (mut good, mut half, mut empty) = (Tally::default(), Tally::default(), Tally::default());
    let mut failures = Vec::new();
    for seed in &seeds {
        let reference = seed.reference.as_deref().expect("embedded seeds have references");
        let seen = play(&judge, reference, seed);
        good.add(&seen);
        if passed(&seen) < seen.checks.len() {
            failures.push(format!("{}: {:?} {:?}", name(seed), seen.checks, seen.run.error));
        }
        let seen = play(&judge, EMPTY, seed);
        empty.add(&seen);
        if passed(&seen) > 0 {
            failures.push(format!("{}: the empty game passes {:?}", name(seed), seen.checks));
        }
        let seen = play(&judge, &half_good(reference), seed);
        half.add(&seen);
        if passed(&seen) == seen.checks.len() || passed(&seen) == 0 {
            failures.push(format!(
                "{}: half of it: {:?} {:?}",
                name(seed),
                seen.checks,
                seen.run.error
            ));
        }
    }
    println!("{} seeds, after {:.1?}", seeds.len(), start.elapsed());
    println!("references {good:?}\nhalf-good {half:?}\nempty {empty:?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    println!("{TEST}: ok");
}

fn name(seed: &PromptSeed) -> String {
    format!("{} {}", seed.id, seed.family.as_deref().unwrap_or_default())
}

fn play(judge: &Judge, source: &str, seed: &PromptSeed) -> Observation {
    let limits = Limits { cpu: Duration::from_secs(5), memory: 256 << 20 };
    let program = Program { source, kind: SourceKind::Script, seed: 7, limits };
    observe(judge, program, &seed.game).expect("nothing is broken")
}
