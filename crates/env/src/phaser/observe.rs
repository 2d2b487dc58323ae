//! A program of a task, run with its input and, where a check asks what input changes, without it.

use whetstone_core::Infrastructure;
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{FailureClass, InputScript, PlayJob, Run, Settings, SourceKind};

use super::checks::{CheckResult, Evidence, GameTask};

/// A program and how it is run.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Its source.
    pub source: &'a str,
    /// A script or a module.
    pub kind: SourceKind,
    /// The seed of its randomness.
    pub seed: u64,
    /// Its limits, of each run.
    pub limits: Limits,
}

/// What was seen of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Its run with the task's input.
    pub run: Run,
    /// Its run without input, where that was needed.
    pub control: Option<Run>,
    /// The results of the task's checks, in their order.
    pub checks: Vec<CheckResult>,
}

/// Runs a program as its task says, and evaluates the task's checks.
///
/// Of a program that breaks, the frames before are evaluated; of one that ran into a limit nothing is, since what it had
/// got to differs from machine to machine. The control run is only made of a program that did not fail.
pub fn observe(
    judge: &Judge,
    program: Program<'_>,
    task: &GameTask,
) -> Result<Observation, Infrastructure> {
    let run = play(judge, program, task, task.input().clone())?;
    let control = if run.ok && task.needs_control() {
        Some(play(judge, program, task, InputScript::default())?)
    } else {
        None
    };
    let trace = run.class.is_none_or(FailureClass::pays_frames_before).then_some(&run.trace);
    let checks = match trace {
        Some(trace) => {
            let control = control.as_ref().filter(|control| control.ok);
            task.evaluate(Evidence { trace, control: control.map(|control| &control.trace) })
        }
        None => task.all_failed("the program ends its own measurement"),
    };
    Ok(Observation { run, control, checks })
}

fn play(
    judge: &Judge,
    program: Program<'_>,
    task: &GameTask,
    input: InputScript,
) -> Result<Run, Infrastructure> {
    let settings = Settings {
        kind: program.kind,
        frames: task.frames(),
        seed: program.seed,
        input,
        ..Settings::default()
    };
    judge.play(PlayJob { source: program.source, settings: &settings, limits: program.limits })
}
