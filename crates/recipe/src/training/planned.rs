//! The plan of a training that has not started.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_train::dpo::Dpo;
use whetstone_train::grpo::Source;
use whetstone_train::inputs::Files;
use whetstone_train::plan::Plan;
use whetstone_train::ppo::Ppo;
use whetstone_train::probe::Probe;
use whetstone_train::process_reward::Prm;
use whetstone_train::reward_model::{Rm, TokenPair};
use whetstone_train::{Example, SampledSequences, Student, TrainError};

use super::End;
use super::steps::Training;
use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::text::counted;

/// A training that has not started.
pub(crate) struct Planned<'a> {
    /// The run's name.
    pub(crate) name: &'a str,
    pub(crate) student: &'a Student,
    pub(crate) config: &'a Config,
    pub(crate) plan: &'a Plan,
}

/// Pairs to learn from, and to measure by.
#[derive(Clone, Copy)]
struct TokenSplit<'a> {
    pairs: &'a [TokenPair],
    held_out: &'a [TokenPair],
}

impl Planned<'_> {
    /// The plan of `whet train sft` with these rows of a file of traces.
    pub(super) fn sft(&self, rows: &[Example], traces: &Path) -> DryRun {
        let (plan, config) = (self.plan, self.config);
        let mut whole = DryRun::of("whet train sft");
        whole.reads(format!("{}: {}", traces.display(), counted(rows.len(), "row")));
        whole.count("rows", rows.len() as u64);
        let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
        let sequences = plan.steps * plan.items_per_step;
        whole.count("tokens", tokens as u64 * sequences / plan.items.max(1));
        whole.does(plan.arithmetic("rows", config.training.max_steps == 0));
        whole.memory("to train", &self.student.sft_memory(config));
        self.run(&mut whole, "settings, events, checkpoints, the final model");
        whole
    }

    /// The plan of `whet train rm` with the pairs of these files.
    pub(super) fn rm(&self, training: &Rm<'_>, files: &Files) -> DryRun {
        let mut whole = DryRun::of("whet train rm");
        let (pairs, held_out) = (training.pairs, training.held_out);
        self.pairs(TokenSplit { pairs, held_out }, files, &mut whole);
        whole.memory("to train", &self.student.rm_memory(self.config));
        self.run(&mut whole, "settings, events, checkpoints, the reward model");
        whole
    }

    /// The plan of `whet train dpo` with the pairs of these files.
    pub(super) fn dpo(&self, training: &Dpo<'_>, files: &Files) -> DryRun {
        let mut whole = DryRun::of("whet train dpo");
        let (pairs, held_out) = (training.pairs, training.held_out);
        self.pairs(TokenSplit { pairs, held_out }, files, &mut whole);
        whole.memory("to train", &self.student.dpo_memory(self.config));
        self.run(&mut whole, "settings, events, checkpoints, the final model");
        whole
    }

    /// Pairs to learn from and to measure by, and their arithmetic.
    fn pairs(&self, split: TokenSplit<'_>, files: &Files, whole: &mut DryRun) {
        let TokenSplit { pairs, held_out } = split;
        let (plan, config) = (self.plan, self.config);
        for (path, what) in [
            (&files.pairs, format!("{} to learn from", counted(pairs.len(), "pair"))),
            (&files.held_out_pairs, format!("{} to measure by", counted(held_out.len(), "pair"))),
            (&files.adapter, "the adapter to begin with".to_owned()),
        ] {
            if let Some(path) = path {
                whole.reads(format!("{}: {what}", path.display()));
            }
        }
        whole.count("pairs", pairs.len() as u64);
        whole.count("held_out_pairs", held_out.len() as u64);
        let tokens: usize = pairs.iter().map(|pair| pair.chosen.len() + pair.rejected.len()).sum();
        whole.count("tokens", tokens as u64 * plan.steps * plan.items_per_step / plan.items.max(1));
        whole.does(plan.scored_arithmetic("pairs", config.training.max_steps == 0));
    }

    /// The plan of `whet train prm` with the episodes of these files.
    pub(super) fn prm(&self, training: &Prm<'_>, files: &Files) -> DryRun {
        let (plan, config) = (self.plan, self.config);
        let mut whole = DryRun::of("whet train prm");
        for (paths, what) in
            [(&files.episodes, "to learn from"), (&files.held_out_episodes, "to measure by")]
        {
            for path in paths {
                whole.reads(format!("{}: episodes {what}", path.display()));
            }
        }
        if let Some(path) = &files.adapter {
            whole.reads(format!("{}: the adapter to begin with", path.display()));
        }
        let transitions = training.transitions;
        whole.count("transitions", transitions.len() as u64);
        whole.count("held_out_transitions", training.held_out.len() as u64);
        let tokens: usize = transitions.iter().map(|one| one.tokens.len()).sum();
        whole.count("tokens", tokens as u64 * plan.steps * plan.items_per_step / plan.items.max(1));
        whole.does(plan.scored_arithmetic("transitions", config.training.max_steps == 0));
        whole.memory("to train", &self.student.prm_memory(config));
        self.run(&mut whole, "settings, events, checkpoints, the process reward model");
        whole
    }

    /// The plan of `whet train grpo` with tasks from these files.
    pub(super) fn grpo(&self, training: &Training<'_>, files: &Files) -> DryRun {
        let mut whole = DryRun::of("whet train grpo");
        let mut reads = |path: &Option<PathBuf>, what: String| {
            if let Some(path) = path {
                whole.reads(format!("{}: {what}", path.display()));
            }
        };
        match training.source {
            Source::Tasks(tasks) => {
                reads(&files.tasks, counted(tasks.len(), "task"));
                let taught = tasks.iter().filter(|task| !task.rows.is_empty()).count();
                reads(&files.traces, format!("passing traces of {}", counted(taught, "task")));
            }
            Source::Recorded(recorded) => {
                reads(&files.rollouts, counted(recorded.counts.groups, "group"));
                reads(&files.traces, "the teacher's traces".to_owned());
            }
        }
        let held_out = counted(training.held_out.len(), "task");
        reads(&files.held_out, format!("{held_out} to measure by"));
        reads(&files.reward_model, "the reward model".to_owned());
        reads(&files.process_model, "the process reward model".to_owned());
        if let Some(teacher) = training.teacher {
            whole.reads(format!("{}: the teacher of distillation", teacher.name()));
        }
        match training.source {
            Source::Tasks(_) => self.rollouts(training.held_out.len(), &mut whole),
            Source::Recorded(_) => {
                whole.does(self.plan.recorded_arithmetic());
                whole.count("groups", self.plan.items);
                whole.memory("to train", &self.student.grpo_memory(self.config, 1).0);
            }
        }
        self.run(&mut whole, "settings, events, rollouts, checkpoints, the final model");
        whole
    }

    /// The plan of `whet train ppo` with tasks from these files.
    pub(super) fn ppo(&self, training: &Ppo<'_>, files: &Files) -> DryRun {
        let (plan, config) = (self.plan, self.config);
        let mut whole = DryRun::of("whet train ppo");
        for (path, what) in [
            (&files.tasks, counted(training.tasks.len(), "task")),
            (
                &files.held_out,
                format!("{} to measure by", counted(training.held_out.len(), "task")),
            ),
            (&files.adapter, "the adapter that the policy begins with".to_owned()),
            (&files.reward_model, "the reward model".to_owned()),
            (&files.process_model, "the process reward model".to_owned()),
        ] {
            if let Some(path) = path {
                whole.reads(format!("{}: {what}", path.display()));
            }
        }
        let all = plan.steps * plan.items_per_step * plan.samples;
        whole.does(plan.ppo_arithmetic(config));
        whole.count("tasks", plan.items);
        whole.count("rollouts", all);
        let length = u64::from(config.ppo.max_completion_length);
        whole.count("sampled_tokens_at_most", all * length);
        let (to_train, to_sample) = self.student.ppo_memory(config, training.limits.sequences);
        whole.memory("to train", &to_train);
        whole.sampling(&to_sample, training.limits);
        self.run(&mut whole, "settings, events, rollouts, checkpoints, the final model");
        whole
    }

    /// Tasks, rollouts and memory of GRPO.
    pub(crate) fn rollouts(&self, held_out: usize, whole: &mut DryRun) {
        let (plan, config) = (self.plan, self.config);
        let (tasks, samples) = (plan.items_per_step, plan.samples);
        let all = plan.steps * tasks * samples;
        let length = config.grpo.max_completion_length;
        whole.does(plan.arithmetic("tasks", config.training.max_steps == 0));
        whole.does(format!("{tasks} tasks × {samples} samples a step, of at most {length} tokens"));
        whole.count("tasks", plan.items);
        whole.count("steps", plan.steps);
        whole.count("rollouts", all);
        whole.count("sampled_tokens_at_most", all * u64::from(length));
        let sequences = SampledSequences::new(plan, config, held_out);
        let limits = self.student.grpo_limits(config, sequences);
        let (training, sampling) = self.student.grpo_memory(config, limits.sequences);
        whole.memory("to train", &training);
        whole.sampling(&sampling, limits);
    }

    fn run(&self, whole: &mut DryRun, writes: &str) {
        whole.count("steps", self.plan.steps);
        whole.reads(format!("{}: the student", self.config.student.model_name));
        let dir = Path::new(&self.config.run.dir).join(self.name);
        whole.writes(format!("{}: {writes}", dir.display()));
    }
}

/// The plan with the time of one step.
pub(super) fn probed(
    mut whole: DryRun,
    probed: Result<Option<Probe>, TrainError>,
) -> Result<Outcome<End>, Failure> {
    match probed? {
        Some(probe) => whole.stepped(&probe),
        None => whole.note("stopped before the step was done"),
    }
    Ok(Outcome::plan(whole))
}
