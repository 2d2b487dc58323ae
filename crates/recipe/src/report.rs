//! The results of a quickstart, as a document.
//!
//! Everything but `times` follows from the settings and the seed.

#![expect(missing_docs, reason = "fields are the keys of `quickstart.json`")]

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_data::prepare::{TRAIN, VAL};
use whetstone_eval::{
    BetterTemperature, Compared, DecodedSide, Decoding, Difference, Estimate, EvalError, Measured,
    compare, pass_at_k,
};
use whetstone_record::atomic;
use whetstone_record::report::default_path;
use whetstone_record::run_dir::RunView;
use whetstone_train::TrainError;
use whetstone_train::session::FINAL_MODEL;

use crate::phases::{Phases, Trained, When, own_decoding};
use crate::shell::quoted;
use crate::{TRACES, number};

/// The document in its run.
const FILE: &str = "quickstart.json";

/// The results of a quickstart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuickstartReport {
    v: u64,
    done: bool,
    pub seed: u64,
    pub tasks: TaskCounts,
    pub traces: TraceCounts,
    pub training: Learnt,
    /// Completions of each held-out task, and the temperature that they were drawn at.
    pub samples: u32,
    pub temperature: f64,
    /// By k.
    pub pass_at_k: BTreeMap<u32, Figures>,
    /// pass@1 at each temperature that both sides were measured at.
    pub by_temperature: BTreeMap<Decoding, Compared>,
    /// pass@1 at the better temperature of each side: what is claimed for this seed.
    pub better_temperature: Option<BetterTemperature>,
    pub before: Side,
    pub after: Side,
    pub times: Times,
    pub files: Files,
    /// The command of the next step.
    pub next: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCounts {
    pub train: usize,
    pub held_out: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceCounts {
    pub judged: u64,
    pub passing: u64,
}

/// The results of training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learnt {
    pub steps: u64,
    pub rollouts: u64,
    pub sampled_tokens: u64,
    /// The part of rollouts that passed in the first quarter of the steps.
    pub first_pass_rate: f64,
    /// And in the last.
    pub last_pass_rate: f64,
}

/// One pass@k before and after, and the difference, paired by tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    pub before: Estimate,
    pub after: Estimate,
    pub difference: Difference,
}

/// One measurement beside its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    pub verdicts: BTreeMap<String, u64>,
    /// Completions that could not be judged, which count nowhere.
    pub unjudged: u64,
    /// Completions that the limit on tokens cut off.
    pub cut_off: u64,
    pub sampled_tokens: u64,
    /// Their mean surprise in nats: how undecided the student is.
    pub surprise: f64,
}

/// The timings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Times {
    /// By phase.
    pub seconds: Seconds,
    pub all_seconds: f64,
    /// While rollouts of the training were sampled and judged.
    pub training_tokens_per_s: f64,
    pub training_programs_per_s: f64,
}

/// Seconds of each phase that takes any.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seconds {
    pub tasks: f64,
    pub traces: f64,
    pub before: f64,
    pub training: f64,
    pub after: f64,
}

/// The paths of all outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Files {
    pub run: String,
    pub student: String,
    pub final_model: String,
    pub rollouts: String,
    pub events: String,
    pub report: String,
    pub page: String,
}

/// A quickstart that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopped {
    v: u64,
    done: bool,
    run: String,
    /// The command that resumes it.
    pub resume: String,
}

impl Stopped {
    /// The document of a run in `dir` that goes on with the command `resume`.
    pub fn new(dir: &Path, resume: &str) -> Self {
        let (run, resume) = (dir.display().to_string(), resume.to_owned());
        Self { v: 1, done: false, run, resume }
    }
}

impl QuickstartReport {
    /// The report of phases that are all done.
    ///
    /// # Errors
    ///
    /// If a pass@k cannot be computed of what was measured.
    ///
    /// # Panics
    ///
    /// If a phase is not done.
    pub fn new(config: &Config, view: &RunView, phases: &Phases) -> Result<Self, EvalError> {
        let missing = "every phase is done";
        let (tasks, traces) =
            (phases.tasks.as_ref().expect(missing), phases.traces.as_ref().expect(missing));
        let (before, after) =
            (phases.before.as_ref().expect(missing), phases.after.as_ref().expect(missing));
        let training = phases.training.as_ref().expect(missing);
        let of = |&k: &u32| Ok((k, Figures::new(before, after, k)?));
        let measured =
            [When::Before, When::After].map(|when| phases.measured(when, own_decoding(config)));
        let sides = measured.each_ref().map(decoded);
        let [seconds_before, seconds_after] =
            measured.map(|found| found.values().map(|found| found.seconds).sum());
        let seconds = Seconds {
            tasks: tasks.seconds,
            traces: traces.seconds,
            before: seconds_before,
            training: training.seconds,
            after: seconds_after,
        };
        Ok(Self {
            v: 1,
            done: true,
            seed: config.seed,
            tasks: TaskCounts { train: tasks.train, held_out: tasks.held_out },
            traces: TraceCounts { judged: traces.traces, passing: traces.passing },
            training: Learnt::new(training),
            samples: config.eval.num_samples,
            temperature: config.eval.temperature,
            pass_at_k: config.eval.k.iter().map(of).collect::<Result<_, EvalError>>()?,
            by_temperature: sides[0].compare(&sides[1]),
            better_temperature: BetterTemperature::of(&sides[0], &sides[1]),
            before: Side::new(before),
            after: Side::new(after),
            times: Times::new(seconds, training),
            files: Files::new(config, view),
            next: next(view),
        })
    }

    /// Writes it into the run.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    ///
    /// # Panics
    ///
    /// Never: the report is plain data.
    pub fn write(&self, dir: &Path) -> Result<(), TrainError> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        Ok(atomic::replace(&dir.join(FILE), &text)?)
    }
}

/// A side by temperature.
fn decoded(found: &BTreeMap<Decoding, &Measured>) -> DecodedSide {
    let mut side = DecodedSide::default();
    for (&decoding, found) in found {
        side.add_tallies(decoding, &found.tallies);
    }
    side
}

impl Figures {
    fn new(before: &Measured, after: &Measured, k: u32) -> Result<Self, EvalError> {
        let (before, after, k) = (&before.tallies, &after.tallies, u64::from(k));
        Ok(Self {
            before: pass_at_k(before, k)?,
            after: pass_at_k(after, k)?,
            difference: compare(before, after, k)?,
        })
    }
}

impl Learnt {
    fn new(trained: &Trained) -> Self {
        let [first_pass_rate, last_pass_rate] = trained.pass_rate;
        let Trained { steps, rollouts, sampled_tokens, .. } = *trained;
        Self { steps, rollouts, sampled_tokens, first_pass_rate, last_pass_rate }
    }
}

impl Side {
    fn new(measured: &Measured) -> Self {
        let Measured { unjudged, cut_off, sampled_tokens, surprise, .. } = *measured;
        Self { verdicts: measured.verdicts.clone(), unjudged, cut_off, sampled_tokens, surprise }
    }
}

impl Times {
    fn new(seconds: Seconds, training: &Trained) -> Self {
        let sampling = training.sampling_seconds.max(1e-9);
        Self {
            all_seconds: seconds.rows().iter().map(|(_, seconds)| seconds).sum(),
            seconds,
            training_tokens_per_s: number(training.sampled_tokens) / sampling,
            training_programs_per_s: number(training.rollouts) / sampling,
        }
    }
}

impl Seconds {
    /// By name, in their order.
    pub fn rows(&self) -> [(&'static str, f64); 5] {
        let Self { tasks, traces, before, training, after } = *self;
        [
            ("tasks", tasks),
            ("traces", traces),
            ("before", before),
            ("training", training),
            ("after", after),
        ]
    }
}

impl Files {
    fn new(config: &Config, view: &RunView) -> Self {
        let text = |path: &Path| path.display().to_string();
        Self {
            run: text(view.dir()),
            student: config.student.model_name.clone(),
            final_model: text(&view.outputs_dir().join(FINAL_MODEL)),
            rollouts: text(&view.rollouts_dir().join("rollouts.jsonl")),
            events: text(&view.events_path()),
            report: text(&view.dir().join(FILE)),
            page: text(&default_path(view)),
        }
    }
}

/// The equivalent `whet train grpo` command on the same files.
fn next(view: &RunView) -> String {
    let path = |path: &Path| quoted(&path.display().to_string());
    let [tasks, traces, held_out] = [TRAIN, TRACES, VAL].map(|name| path(&view.dir().join(name)));
    let config = path(&view.config_path());
    format!(
        "whet train grpo --config {config} --tasks {tasks} --traces {traces} --held-out {held_out} --run grpo-1"
    )
}
