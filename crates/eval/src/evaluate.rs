//! A model on a suite, with every sample kept: what `whet eval` does.
//!
//! ```text
//! tasks ─► pieces ─► samples, judged ─► journal ─► rollouts.jsonl ─► counts ─► evaluation_results.json
//! ```
//!
//! There are several passes over the tasks: `samples` of each at the temperature, one with greedy
//! decoding, and as many again at each further temperature; each is reported separately. The samples of a task are stored as soon as all of them
//! are judged. A killed evaluation samples only what is missing; since the samples of a task depend
//! only on the seed and the task's name, it ends with the same samples.

use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use whetstone_core::judgement::Infrastructure;
use whetstone_core::{Seed, Task};
use whetstone_infer::{Generator, Rule, Usage};
use whetstone_record::batch::{Earlier, Head, path_beside};
use whetstone_record::error::FileError;
use whetstone_rollout::collect::record::{Recording, lines, remove_tokens};
use whetstone_rollout::collect::{
    Asked, CollectError, Collecting, Group, Progress, Timeline, check_stop, collect_each,
};
use whetstone_rollout::kept::KeptRollouts;

use crate::decoding::Decoding;
use crate::error::EvalError;
use crate::measure::{Sampled, ask};
use crate::results::{About, RESULTS, Results};
use crate::sample_kind::SampleKind;

/// The samples, in the directory of an evaluation.
pub const ROLLOUTS: &str = "rollouts.jsonl";

/// The version of the journal.
const VERSION: u64 = 1;

/// The settings of an evaluation.
pub struct Evaluating<'a> {
    /// How rollouts are collected; its progress callback is replaced by `on_progress`.
    pub collecting: Collecting<'a>,
    /// Description of the model and the settings, for the results.
    pub about: &'a About,
    /// The digest of the model's vocabulary, if that is known; samples say it beside their tokens.
    pub tokenizer: Option<&'a str>,
    /// Whether samples keep their tokens and log-probabilities, which learning from them needs.
    pub keeps_tokens: bool,
    /// Samples of each task.
    pub samples: usize,
    /// Whether a greedy sample is taken as well.
    pub with_greedy: bool,
    /// Further temperatures, other than that of the rule and 0.
    pub further: &'a [Decoding],
    /// Samples that are asked for together; at least those of one task. Between two such pieces nothing
    /// is sampled while the last is judged.
    pub samples_at_a_time: usize,
    /// The seed of sampling.
    pub seed: Seed,
    /// The directory that results and samples go to.
    pub directory: &'a Path,
    /// What to do with an interrupted or finished evaluation in the same place.
    pub earlier: Earlier,
    /// Told how far it is; at first, what an earlier process had done.
    pub on_progress: &'a dyn Fn(Sampled),
    /// Set to stop: checked after every sample.
    pub stop: &'a AtomicBool,
}

/// The results of an evaluation and its timings.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The figures: they follow from the settings and the samples.
    pub results: Results,
    /// Timings since the evaluation was started or resumed.
    pub times: Times,
}

/// Timings by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Prompts went through the model; nothing where a server does that.
    pub prompts: Duration,
    /// Tokens were sampled, and programs judged meanwhile.
    pub sampling: Duration,
    /// All was sampled, and the last programs were judged.
    pub judging: Duration,
    /// Samples were counted, and figures made of them.
    pub counting: Duration,
    /// Samples that were drawn.
    pub samples: usize,
    /// Their tokens.
    pub tokens: usize,
}

/// One way over the tasks.
struct Pass {
    /// The `step` of its lines: what one pass sampled of a task is one group.
    step: u64,
    samples: usize,
    rule: Rule,
    kind: SampleKind,
}

/// Evaluates a model; `None` if it was stopped. Samples judged until then are kept.
///
/// # Errors
///
/// If there are no tasks, another evaluation is in the same place, nothing could be judged, or
/// files cannot be written.
pub fn evaluate(
    evaluating: &Evaluating<'_>,
    generator: &mut dyn Generator,
    tasks: &[Task],
) -> Result<Option<Evaluated>, EvalError> {
    if tasks.is_empty() {
        return Err(EvalError::NoTasks);
    }
    make_room(evaluating.directory, evaluating.earlier)?;
    let head =
        Head::new("evaluating", VERSION).with_entries("settings", &evaluating.about.settings);
    let output = evaluating.directory.join(ROLLOUTS);
    let store = KeptRollouts::open(&output, &head, evaluating.earlier)?;
    let passes = evaluating.passes();
    let all = tasks.len() * passes.iter().map(|pass| pass.samples).sum::<usize>();
    let mut work =
        Work { evaluating, store, all, given_up: 0, first: None, times: Times::default() };
    for pass in passes {
        let tasks_at_a_time = (evaluating.samples_at_a_time / pass.samples).max(1);
        for piece in work.missing(&pass, tasks).chunks(tasks_at_a_time) {
            if check_stop(evaluating.stop).is_break()
                || work.piece(&pass, generator, piece)?.is_break()
            {
                return Ok(None);
            }
        }
    }
    work.finish(tasks).map(Some)
}

/// Makes the directory of an evaluation. A finished one that is there is not replaced unasked.
///
/// # Errors
///
/// If there is one, or the directory cannot be made.
pub fn make_room(directory: &Path, earlier: Earlier) -> Result<(), EvalError> {
    let results = directory.join(RESULTS);
    let unfinished = path_beside(&directory.join(ROLLOUTS)).exists();
    if earlier == Earlier::Resume && results.exists() && !unfinished {
        return Err(EvalError::Exists { path: results });
    }
    fs::create_dir_all(directory).map_err(|source| {
        FileError { step: "create the directory", path: directory.to_owned(), source }.into()
    })
}

impl Evaluating<'_> {
    fn passes(&self) -> Vec<Pass> {
        let rule = self.collecting.rule;
        let samples = self.samples.max(1);
        let sampled = Pass { step: 0, samples, rule, kind: SampleKind::Main };
        let likeliest = Rule { temperature: 0.0, ..rule };
        let greedy = Pass { step: 1, samples: 1, rule: likeliest, kind: SampleKind::Greedy };
        let further = (2..).zip(self.further).map(|(step, &decoding)| {
            let temperature = Rule::at(decoding.temperature()).temperature;
            let rule = Rule { temperature, ..rule };
            Pass { step, samples, rule, kind: SampleKind::Further(decoding) }
        });
        [sampled].into_iter().chain(self.with_greedy.then_some(greedy)).chain(further).collect()
    }
}

/// An evaluation under way.
struct Work<'a> {
    evaluating: &'a Evaluating<'a>,
    store: KeptRollouts,
    /// Samples of all passes.
    all: usize,
    /// Samples that could not be judged.
    given_up: usize,
    /// Why the first of them could not.
    first: Option<Infrastructure>,
    times: Times,
}

impl Work<'_> {
    /// The tasks that a pass lacks samples of.
    fn missing<'t>(&self, pass: &Pass, tasks: &'t [Task]) -> Vec<&'t Task> {
        let lacks = |task: &&Task| self.store.count(pass.step, &task.id) < pass.samples;
        tasks.iter().filter(lacks).collect()
    }

    /// Samples some tasks and stores what could be judged; returns whether to continue.
    fn piece(
        &mut self,
        pass: &Pass,
        generator: &mut dyn Generator,
        piece: &[&Task],
    ) -> Result<ControlFlow<()>, EvalError> {
        let (before, all) = (self.store.len() + self.given_up, self.all);
        let Evaluating { on_progress, stop, .. } = *self.evaluating;
        let broken = Cell::new(false);
        let told = |now: Progress<'_>| {
            on_progress(Sampled::of(now, before, all));
            if broken.get() { ControlFlow::Break(()) } else { check_stop(stop) }
        };
        let _ = told(Progress::default());
        let collecting =
            Collecting { on_event: &told, rule: pass.rule, ..self.evaluating.collecting };
        let seed = self.evaluating.seed;
        let asked: Vec<Asked<'_>> =
            piece.iter().copied().map(|task| ask(task, pass.samples, seed)).collect();
        let mut kept = Ok(());
        let mut keep = |_, group: Group| {
            if kept.is_ok() {
                kept = self.keep(pass, &group);
                broken.set(kept.is_err());
            }
        };
        let collected = collect_each(&collecting, generator, &asked, &mut keep);
        kept?;
        match collected {
            Err(CollectError::Stopped) => Ok(ControlFlow::Break(())),
            collected => {
                let (usage, timeline) = collected?;
                self.times.add(usage, &timeline);
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    fn keep(&mut self, pass: &Pass, group: &Group) -> Result<(), EvalError> {
        self.given_up += group.dropped.len();
        self.times.samples += group.rollouts.len() + group.dropped.len();
        let failed = group.dropped.first().map(|dropped| dropped.reason.clone());
        self.first = self.first.take().or(failed);
        let (step, rule, max_tokens) =
            (pass.step, pass.rule, self.evaluating.collecting.max_tokens);
        let thinking_opened = self.evaluating.collecting.thinking_opened;
        let recording = Recording {
            step,
            rule,
            max_tokens: Some(max_tokens),
            model: Some(&self.evaluating.about.model),
            tokenizer: self.evaluating.tokenizer,
            advantages: &[],
            estimates: &[],
            thinking_opened,
        };
        for mut line in lines(group, &recording) {
            if !self.evaluating.keeps_tokens {
                remove_tokens(&mut line);
            }
            self.store.keep(pass.kind.mark(line))?;
        }
        Ok(())
    }

    /// Writes samples and results. The journal goes once nothing is to be asked for again.
    fn finish(self, tasks: &[Task]) -> Result<Evaluated, EvalError> {
        let Self { evaluating, store, all, first, mut times, .. } = self;
        let began = Instant::now();
        if let (0, Some(first)) = (store.len(), first) {
            return Err(CollectError::NothingJudged { dropped: all, first }.into());
        }
        let output = evaluating.directory.join(ROLLOUTS);
        store.write(&output, tasks, &mut |_| {})?;
        let results = Results::count(evaluating.about, tasks, &output)?;
        results.write(&evaluating.directory.join(RESULTS))?;
        if results.errors == 0 {
            store.remove()?;
        }
        times.counting = began.elapsed();
        Ok(Evaluated { results, times })
    }
}

impl Times {
    fn add(&mut self, usage: Usage, timeline: &Timeline) {
        self.prompts += usage.prefill_time;
        self.sampling += timeline.sampling_time().saturating_sub(usage.prefill_time);
        self.judging += timeline.judging_after_sampling();
        self.tokens += usage.sampled;
    }
}
