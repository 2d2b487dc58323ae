//! Replies of a model to tasks, which nobody judges: what `whet rollout` does.
//!
//! ```text
//! tasks ─► prompts ─► generator ─► replies ─► journal ─► rollouts.jsonl
//! ```
//!
//! A reply is stored as soon as it is sampled, and not with its group: a killed process samples only what is
//! missing, and asks a server for nothing that was answered. Since a reply depends only on the seed, the step,
//! the task and its number, a local model ends with the bytes of an undisturbed run.
//!
//! A prompt has all samples of its task, which share its prefill; of a group that is there in part, the missing
//! numbers are asked for ([`Prompt::first_sample`]).
//!
//! Not here: episodes of several turns, whose later prompts only a judge can make (`collect`), and what
//! replies are worth (`score`).

mod error;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use whetstone_core::message::Message;
use whetstone_core::{Seed, Task};
use whetstone_infer::{Generator, Prompt, Rule, SampledCompletion};
use whetstone_record::batch::{Earlier, Head, path_beside};
use whetstone_record::error::FileError;

use crate::collect::record::{Recording, UnjudgedReply, remove_tokens, unjudged_line};
use crate::collect::{RenderError, Turn, check_stop};
use crate::kept::KeptRollouts;

pub use self::error::SampleError;
use self::summary::Counts;
pub use self::summary::SampleSummary;

/// The version of the journal.
const VERSION: u64 = 1;

/// A task as a model is asked it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPrompt {
    /// The conversation.
    pub messages: Arc<[Message]>,
    /// Its tokens; none for a generator that renders conversations itself.
    pub tokens: Arc<[u32]>,
}

/// Makes the prompt of a task.
pub type MakePrompt<'a> = dyn Fn(&Task) -> Result<TaskPrompt, RenderError> + 'a;

/// The settings of sampling.
pub struct Sampling<'a> {
    /// Makes the prompt of a task.
    pub prompt: &'a MakePrompt<'a>,
    /// Tokens of a prompt at most. A task with a longer one is left out.
    pub max_prompt_tokens: usize,
    /// Sampling parameters.
    pub rule: Rule,
    /// Strings that end a reply.
    pub stop_strings: &'a [String],
    /// Tokens of a reply at most.
    pub max_tokens: usize,
    /// The name of the model, for the lines.
    pub model: &'a str,
    /// The digest of the model's vocabulary, if that is known; replies say it beside their tokens.
    pub tokenizer: Option<&'a str>,
    /// Whether a prompt ends inside the thinking tag.
    pub thinking_opened: bool,
    /// Whether lines keep token ids and log-probabilities, which learning from them needs.
    pub keeps_tokens: bool,
    /// The optimizer step that stands in the lines.
    pub step: u64,
    /// Replies to each task.
    pub group_size: usize,
    /// Replies that are asked for together; at least those to one task.
    pub replies_at_a_time: usize,
    /// The seed of sampling.
    pub seed: Seed,
    /// The file of rollouts.
    pub output: &'a Path,
    /// Inputs and settings that decide a reply: a journal with others is not resumed.
    pub settings: &'a BTreeMap<String, String>,
    /// What to do with unfinished or finished rollouts in the same place.
    pub earlier: Earlier,
    /// Told how many replies there are, of all; at first, those of an earlier process.
    pub on_progress: &'a dyn Fn(usize, usize),
    /// Set to stop: checked after every reply.
    pub stop: &'a AtomicBool,
}

/// Samples replies to the tasks; `None` if it was stopped. Replies until then are kept.
///
/// # Errors
///
/// If other work is in the same place, nothing could be sampled, or files cannot be written.
pub fn sample(
    sampling: &Sampling<'_>,
    generator: &mut dyn Generator,
    tasks: &[Task],
) -> Result<Option<SampleSummary>, SampleError> {
    let began = Instant::now();
    make_room(sampling.output, sampling.earlier)?;
    let head = Head::new("sampling", VERSION).with_entries("settings", sampling.settings);
    let kept = KeptRollouts::open(sampling.output, &head, sampling.earlier)?;
    let mut work = Work { sampling, resumed: kept.len(), kept, too_long: 0, tasks };
    let incomplete = work.incomplete();
    for piece in incomplete.chunks((sampling.replies_at_a_time / sampling.group_size).max(1)) {
        if work.piece(generator, piece)?.is_break() {
            return Ok(None);
        }
    }
    work.finish(began).map(Some)
}

/// Makes the folder of the output. Finished rollouts that are there are not replaced unasked.
///
/// # Errors
///
/// If there are some, or the folder cannot be made.
pub fn make_room(output: &Path, earlier: Earlier) -> Result<(), SampleError> {
    if earlier == Earlier::Resume && output.exists() && !path_beside(output).exists() {
        return Err(SampleError::Exists { path: output.to_owned() });
    }
    let Some(folder) = output.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(FileError::at("create the folder", folder))?;
    Ok(())
}

/// Sampling under way.
struct Work<'a> {
    sampling: &'a Sampling<'a>,
    tasks: &'a [Task],
    kept: KeptRollouts,
    /// Replies that an earlier process sampled.
    resumed: usize,
    /// Tasks whose prompt is too long.
    too_long: usize,
}

/// Some samples of a task that a generator is asked for.
struct AskedSamples<'t> {
    task: &'t Task,
    messages: Arc<[Message]>,
    tokens: Arc<[u32]>,
}

impl<'a> Work<'a> {
    /// The tasks that lack replies.
    fn incomplete(&self) -> Vec<&'a Task> {
        let Sampling { step, group_size, .. } = *self.sampling;
        let lacks = |task: &&Task| self.kept.count(step, &task.id) < group_size;
        self.tasks.iter().filter(lacks).collect()
    }

    /// Samples what some tasks lack; returns whether to continue.
    fn piece(
        &mut self,
        generator: &mut dyn Generator,
        tasks: &[&'a Task],
    ) -> Result<ControlFlow<()>, SampleError> {
        self.tell();
        let (mut asked, mut prompts) = (Vec::new(), Vec::new());
        for task in tasks {
            self.ask(task, &mut asked, &mut prompts)?;
        }
        let stop = self.sampling.stop;
        if check_stop(stop).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut kept = Ok(());
        generator.generate(&prompts, &mut |sampled| {
            if kept.is_ok() {
                kept = self.keep(&asked[sampled.prompt], sampled);
            }
            self.tell();
            if kept.is_err() { ControlFlow::Break(()) } else { check_stop(stop) }
        })?;
        kept?;
        Ok(check_stop(stop))
    }

    /// Adds prompts for the replies that a task lacks.
    fn ask(
        &mut self,
        task: &'a Task,
        asked: &mut Vec<AskedSamples<'a>>,
        prompts: &mut Vec<Prompt>,
    ) -> Result<(), SampleError> {
        let Sampling { step, group_size, rule, max_tokens, seed, .. } = *self.sampling;
        let no_prompt = |source| SampleError::Prompt { task: task.id.clone(), source };
        let TaskPrompt { messages, tokens } = (self.sampling.prompt)(task).map_err(no_prompt)?;
        if tokens.len() > self.sampling.max_prompt_tokens {
            self.too_long += 1;
            return Ok(());
        }
        // The seed of a task does not depend on its neighbours.
        let seed = seed.derive("rollout", step).derive(task.id.as_str(), 0);
        for missing in self.kept.missing(step, &task.id, group_size as u64) {
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            asked.push(AskedSamples {
                task,
                messages: Arc::clone(&messages),
                tokens: Arc::clone(&tokens),
            });
            prompts.push(Prompt {
                tokens: tokens.to_vec(),
                messages: Arc::clone(&messages),
                samples: number(missing.end - missing.start),
                first_sample: number(missing.start),
                rule,
                seed,
                max_tokens,
                stop: self.sampling.stop_strings.to_vec(),
            });
        }
        Ok(())
    }

    fn keep(
        &mut self,
        asked: &AskedSamples<'_>,
        sampled: SampledCompletion,
    ) -> Result<(), SampleError> {
        let sampling = self.sampling;
        let turn = Turn {
            prompt: Arc::clone(&asked.tokens),
            asked: Arc::clone(&asked.messages),
            completion: sampled.completion,
        };
        let recording = Recording {
            step: sampling.step,
            rule: sampling.rule,
            max_tokens: Some(sampling.max_tokens),
            model: Some(sampling.model),
            tokenizer: sampling.tokenizer,
            advantages: &[],
            estimates: &[],
            thinking_opened: sampling.thinking_opened,
        };
        let reply = UnjudgedReply { task: &asked.task.id, sample: sampled.sample, turn: &turn };
        let mut line = unjudged_line(&reply, &recording);
        if !sampling.keeps_tokens {
            remove_tokens(&mut line);
        }
        Ok(self.kept.keep(line)?)
    }

    fn tell(&self) {
        (self.sampling.on_progress)(self.kept.len(), self.all());
    }

    /// Replies that there will be.
    fn all(&self) -> usize {
        (self.tasks.len() - self.too_long) * self.sampling.group_size
    }

    /// Writes the rollouts. The journal goes once nothing is to be asked for again.
    fn finish(self, began: Instant) -> Result<SampleSummary, SampleError> {
        let (sampling, all, rollouts) = (self.sampling, self.all(), self.kept.len());
        if self.tasks.len() == self.too_long {
            let (tasks, limit_tokens) = (self.too_long, sampling.max_prompt_tokens);
            return Err(SampleError::NothingFits { tasks, limit_tokens });
        }
        if rollouts == 0 {
            return Err(SampleError::NothingSampled { asked: all });
        }
        let mut counts = Counts::default();
        self.kept.write(sampling.output, self.tasks, &mut |line| counts.add(line))?;
        let missing = all.saturating_sub(rollouts);
        if missing == 0 {
            self.kept.remove()?;
        }
        Ok(SampleSummary {
            v: 1,
            out: sampling.output.to_owned(),
            model: sampling.model.to_owned(),
            step: sampling.step,
            prompts: self.tasks.len() - self.too_long,
            rollouts,
            resumed: self.resumed,
            missing,
            too_long: self.too_long,
            cut_off: counts.cut_off,
            tokens: counts.tokens(),
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}
