//! The results of a quickstart, as a document.
//!
//! Everything but `times` follows from the settings and the seed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use whetstone_core::config::Config;
use whetstone_data::prepare::{TRAIN, VAL};
use whetstone_eval::{Difference, Estimate, EvalError, Measured, compare, pass_at_k};
use whetstone_record::atomic;
use whetstone_record::report::default_path;
use whetstone_record::run_dir::RunView;
use whetstone_train::TrainError;
use whetstone_train::session::FINAL_MODEL;

use super::phases::{Phases, Trained};
use super::summary::number;
use super::traces;

/// The document in its run.
const FILE: &str = "quickstart.json";

/// The results of a quickstart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    v: u64,
    done: bool,
    pub(super) seed: u64,
    pub(super) tasks: TaskCounts,
    pub(super) traces: TraceCounts,
    pub(super) training: Learnt,
    /// Completions of each held-out task, and the temperature that they were drawn at.
    pub(super) samples: u32,
    pub(super) temperature: f64,
    /// By k.
    pub(super) pass_at_k: BTreeMap<u32, Figures>,
    pub(super) before: Side,
    pub(super) after: Side,
    pub(super) times: Times,
    pub(super) files: Files,
    /// The command of the next step.
    pub(super) next: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct TaskCounts {
    pub(super) train: usize,
    pub(super) held_out: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct TraceCounts {
    pub(super) judged: u64,
    pub(super) passing: u64,
}

/// The results of training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Learnt {
    pub(super) steps: u64,
    pub(super) rollouts: u64,
    pub(super) sampled_tokens: u64,
    /// The part of rollouts that passed in the first quarter of the steps.
    pub(super) first_pass_rate: f64,
    /// And in the last.
    pub(super) last_pass_rate: f64,
}

/// One pass@k before and after, and the difference, paired by tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Figures {
    pub(super) before: Estimate,
    pub(super) after: Estimate,
    pub(super) difference: Difference,
}

/// One measurement beside its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Side {
    pub(super) verdicts: BTreeMap<String, u64>,
    /// Completions that could not be judged, which count nowhere.
    pub(super) unjudged: u64,
    /// Completions that the limit on tokens cut off.
    pub(super) cut_off: u64,
    pub(super) sampled_tokens: u64,
    /// Their mean surprise in nats: how undecided the student is.
    pub(super) surprise: f64,
}

/// The timings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Times {
    /// By phase.
    pub(super) seconds: Seconds,
    pub(super) all_seconds: f64,
    /// While rollouts of the training were sampled and judged.
    pub(super) training_tokens_per_s: f64,
    pub(super) training_programs_per_s: f64,
}

/// Seconds of each phase that takes any.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Seconds {
    pub(super) tasks: f64,
    pub(super) traces: f64,
    pub(super) before: f64,
    pub(super) training: f64,
    pub(super) after: f64,
}

/// The paths of all outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Files {
    pub(super) run: String,
    pub(super) student: String,
    pub(super) final_model: String,
    pub(super) rollouts: String,
    pub(super) events: String,
    pub(super) report: String,
    pub(super) page: String,
}

/// A quickstart that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Stopped {
    v: u64,
    done: bool,
    run: String,
    resume: String,
}

impl Stopped {
    pub(super) fn new(dir: &Path, resume: &str) -> Self {
        let (run, resume) = (dir.display().to_string(), resume.to_owned());
        Self { v: 1, done: false, run, resume }
    }
}

impl Report {
    /// The report of phases that are all done.
    pub(super) fn new(config: &Config, view: &RunView, phases: &Phases) -> Result<Self, EvalError> {
        let missing = "every phase is done";
        let (tasks, traces) =
            (phases.tasks.as_ref().expect(missing), phases.traces.as_ref().expect(missing));
        let (before, after) =
            (phases.before.as_ref().expect(missing), phases.after.as_ref().expect(missing));
        let training = phases.training.as_ref().expect(missing);
        let of = |&k: &u32| Ok((k, Figures::new(before, after, k)?));
        let seconds = Seconds {
            tasks: tasks.seconds,
            traces: traces.seconds,
            before: before.seconds,
            training: training.seconds,
            after: after.seconds,
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
            before: Side::new(before),
            after: Side::new(after),
            times: Times::new(seconds, training),
            files: Files::new(config, view),
            next: next(view),
        })
    }

    /// Writes it into the run.
    pub(super) fn write(&self, dir: &Path) -> Result<(), TrainError> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        Ok(atomic::replace(&dir.join(FILE), &text)?)
    }
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
    pub(super) fn rows(&self) -> [(&'static str, f64); 5] {
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
    let dir = view.dir().display();
    format!(
        "whet train grpo --config {} --tasks {dir}/{TRAIN} --traces {dir}/{} --held-out {dir}/{VAL} \
         --run grpo-1 --set training.max_steps=120",
        view.config_path().display(),
        traces::FILE,
    )
}

#[cfg(test)]
pub(super) mod tests {
    use whetstone_record::run_dir::RunDir;
    use whetstone_rollout::measure::Tally;

    use super::*;
    use crate::quickstart::phases::{Prepared, Taught};

    /// Two tasks with four samples each, of which the given numbers passed.
    fn measured(passed: [u64; 2], seconds: f64) -> Measured {
        let tally = |(name, passed): (&str, u64)| {
            let task = name.to_owned().try_into().unwrap();
            Tally { task, samples: 4, passed }
        };
        let all: u64 = passed.iter().sum();
        let verdicts = [("pass", all), ("wrong", 7 - all), ("no_code", 1)];
        Measured {
            tallies: ["a", "b"].into_iter().zip(passed).map(tally).collect(),
            verdicts: verdicts.map(|(name, count)| (name.to_owned(), count)).into(),
            unjudged: 0,
            cut_off: 8 - all,
            sampled_tokens: 100,
            surprise: seconds / 4.0,
            seconds,
        }
    }

    /// The report of a run in which one of two tasks was learnt.
    pub(in crate::quickstart) fn report() -> Report {
        let mut phases = Phases::default();
        phases.tasks = Some(Prepared { train: 6, held_out: 2, seconds: 0.25 });
        phases.traces = Some(Taught { traces: 6, passing: 5, seconds: 0.5 });
        phases.before = Some(measured([0, 1], 1.0));
        phases.training = Some(Trained {
            steps: 3,
            rollouts: 24,
            sampled_tokens: 2400,
            pass_rate: [0.125, 0.5],
            seconds: 20.0,
            sampling_seconds: 12.0,
        });
        phases.after = Some(measured([4, 1], 2.0));
        let mut config = Config::default();
        config.student.model_name = "runs/q/student".to_owned();
        config.eval.k = vec![4, 1];
        config.eval.num_samples = 4;
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::create(dir.path(), "q", "", 0).unwrap();
        let mut report = Report::new(&config, run.view(), &phases).unwrap();
        let root = format!("{}/", dir.path().display());
        report.next = report.next.replace(&root, "runs/");
        let files = &mut report.files;
        for path in [
            &mut files.run,
            &mut files.final_model,
            &mut files.rollouts,
            &mut files.events,
            &mut files.report,
            &mut files.page,
        ] {
            *path = path.replace(&root, "runs/");
        }
        report
    }

    #[test]
    fn a_task_that_was_learnt_is_a_gain() {
        let report = report();
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        };
        let [single, four] = [1, 4].map(|k| report.pass_at_k[&k]);
        near(single.before.value, 0.125);
        near(single.after.value, 0.625);
        near(single.difference.value, 0.5);
        near(four.difference.value, 0.5);
        assert_eq!((report.before.verdicts["pass"], report.after.verdicts["pass"]), (1, 5));
        near(report.times.all_seconds, 23.75);
        near(report.times.training_tokens_per_s, 200.0);
        near(report.times.training_programs_per_s, 2.0);
    }
}
