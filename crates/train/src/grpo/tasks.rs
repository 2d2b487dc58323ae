//! Which tasks a step takes, and their rollouts.

use std::time::Instant;

use whetstone_core::config::{Config, Curriculum};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;
use whetstone_infer::{Local, Rule, Usage};
use whetstone_rollout::collect::{
    Asked, Collecting, Gathered, Progress as Collected, RenderError, Supply, Timeline, collect,
    collect_alive,
};

use super::Grpo;
use super::metrics::Measured;
use crate::error::TrainError;
use crate::example::Example;
use crate::order::{Endless, shuffled};
use crate::plan::Plan;
use crate::session::Progress;
use crate::student::Student;
use crate::watch::Phase;

/// A task, and what the teacher said of it.
#[derive(Debug, Clone, Copy)]
pub struct TaskWithTraces<'a> {
    /// What is to be solved.
    pub task: &'a Task,
    /// Passing traces, as the student would say them.
    pub rows: &'a [Example],
}

/// What a step has to learn from.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Drawn {
    /// All that were sampled, in the order of their tasks.
    pub(super) groups: Vec<Gathered>,
    /// The teacher's rows of the same tasks.
    pub(super) teacher: Vec<Example>,
    /// Tasks that were taken.
    pub(super) consumed: usize,
    pub(super) usage: Usage,
    pub(super) timeline: Timeline,
}

/// The tasks, and in which order they come.
#[derive(Debug)]
pub(super) struct Tasks<'a> {
    all: &'a [TaskWithTraces<'a>],
    order: Endless,
    seed: Seed,
}

impl<'a> Tasks<'a> {
    pub(super) fn new(config: &Config, all: &'a [TaskWithTraces<'a>]) -> Result<Self, TrainError> {
        if all.is_empty() {
            return Err(TrainError::Nothing("there are no tasks".to_owned()));
        }
        let seed = Seed::new(config.seed);
        Ok(Self { all, order: Endless::new(seed.derive("grpo tasks", 0), all.len()), seed })
    }

    /// The rollouts of a step; `None` if it was told to stop meanwhile.
    pub(super) fn sample(
        &mut self,
        student: &Student,
        it: &Grpo<'_>,
        (plan, progress): (&Plan, &mut Progress),
        measured: &mut Measured,
    ) -> Result<Option<Drawn>, TrainError> {
        it.watch.phase(Phase::Sampling);
        let began = Instant::now();
        let drawn = self.collect(student, it, (plan, progress));
        if it.watch.stopped() {
            return Ok(None);
        }
        let mut drawn = drawn?;
        measured.sampling = began.elapsed();
        let before = progress.position;
        for position in before..before + drawn.consumed as u64 {
            drawn.teacher.extend(self.teacher(it.config, (position, progress)));
        }
        self.count(it.config, &drawn, progress);
        Ok(Some(drawn))
    }

    fn collect(
        &mut self,
        student: &Student,
        it: &Grpo<'_>,
        (plan, progress): (&Plan, &Progress),
    ) -> Result<Drawn, TrainError> {
        let config = it.config;
        let wanted = usize::try_from(plan.items_per_step).unwrap_or(usize::MAX);
        let all = wanted * config.grpo.num_samples_per_prompt as usize;
        let render = |messages: &[whetstone_core::Message]| {
            student.prompt(messages).map_err(|err| RenderError::from(err.to_string()))
        };
        let completion = config.grpo.max_completion_length as usize;
        let collecting = Collecting {
            environment: it.environment,
            render: &render,
            rule: rule(config),
            max_tokens: completion,
            max_prompt_tokens: (config.training.max_length as usize).saturating_sub(completion),
            max_turns: 1,
            judges: it.judges,
            on_event: &|now: Collected| {
                (it.watch.on_phase)(Phase::Sampling, (now.over + now.dropped, all));
            },
        };
        let mut generator = Local::new(&student.decoder, &student.model.tokenizer, it.limits);
        let mut position = progress.position;
        let mut asked = std::iter::from_fn(|| {
            let at = self.at(config, (position, progress));
            let seed = self.seed.derive("rollouts", position);
            position += 1;
            let samples = config.grpo.num_samples_per_prompt as usize;
            Some(Asked { task: self.all[at].task, samples, seed })
        });
        let rounds = config.grpo.dynamic_sampling_rounds as usize;
        if rounds == 0 {
            let asked: Vec<Asked<'_>> = asked.take(wanted).collect();
            let found = collect(&collecting, &mut generator, &asked)?;
            let (groups, usage, timeline) = (found.groups, found.usage, found.timeline);
            return Ok(Drawn { groups, teacher: Vec::new(), consumed: wanted, usage, timeline });
        }
        let supply = Supply { wanted, max_rounds: rounds + 1 };
        let found = collect_alive(&collecting, &mut generator, supply, &mut asked)?;
        let groups = found.live.into_iter().chain(found.dead).collect();
        let (consumed, usage, timeline) = (found.consumed, found.usage, found.timeline);
        Ok(Drawn { groups, teacher: Vec::new(), consumed, usage, timeline })
    }

    /// Which task stands at a position.
    fn at(&mut self, config: &Config, (position, progress): (u64, &Progress)) -> usize {
        let all = self.all;
        let by_difficulty = |&at: &usize| all[at].task.difficulty.as_deref().and_then(level);
        // Solved half of the time first, never or always last; the unknown before these.
        let by_rate = |&at: &usize| {
            let [seen, passed, ..] =
                progress.solved.get(all[at].task.id.as_str()).copied().unwrap_or_default();
            if seen == 0 { 500 } else { (1000 * passed / seen).abs_diff(500) }
        };
        self.order.at(position, |order| match config.grpo.curriculum {
            Curriculum::Shuffled => {}
            Curriculum::Difficulty => order.sort_by_key(by_difficulty),
            Curriculum::PassRate => order.sort_by_key(by_rate),
        })
    }

    /// Rows of the teacher for the task at a position, another choice each time.
    fn teacher(&mut self, config: &Config, (position, progress): (u64, &Progress)) -> Vec<Example> {
        let rows = self.all[self.at(config, (position, progress))].rows;
        let order = shuffled(self.seed.derive("traces", position), 0, rows.len());
        let count = config.dual_source.teacher_traces_per_task as usize;
        order.into_iter().take(count).map(|row| rows[row].clone()).collect()
    }

    /// Counts who was solved; an epoch's order is made from what was known at its beginning.
    fn count(&mut self, config: &Config, drawn: &Drawn, progress: &mut Progress) {
        progress.count(&drawn.groups);
        let epoch = |position: u64| position / self.all.len() as u64;
        let after = progress.position + drawn.consumed as u64;
        if config.grpo.curriculum == Curriculum::PassRate
            && epoch(after) != epoch(progress.position)
        {
            progress.begin_epoch();
            self.order.forget();
        }
    }
}

/// How tokens are chosen: by the policy itself, since that is what is trained.
pub(super) fn rule(config: &Config) -> Rule {
    #[expect(clippy::cast_possible_truncation, reason = "a small number, used in f32")]
    let temperature = config.grpo.temperature as f32;
    Rule { temperature, ..Rule::default() }
}

/// The number in a difficulty, or the place of its name.
fn level(difficulty: &str) -> Option<u64> {
    const NAMES: [&str; 6] = ["introductory", "easy", "interview", "medium", "competition", "hard"];
    let named = || NAMES.iter().position(|name| *name == difficulty).map(|at| at as u64);
    difficulty.parse().ok().or_else(named)
}
