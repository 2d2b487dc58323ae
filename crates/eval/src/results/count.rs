//! From judged samples to figures.
//!
//! Samples are read one line at a time, and of each only its verdict, its figures and its place are kept.
//!
//! A sample that could not be judged counts as one that did not pass, so that no program gains by it.
//! Only where not a single sample of a task could be judged, the task or the machine is at fault, and
//! the task is left out.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::de::IgnoredAny;
use whetstone_algo::Mean;
use whetstone_core::Task;
use whetstone_core::completion::Finish;
use whetstone_core::jsonl::{LineError, LineProblem, MAX_LINE_BYTES, Records};
use whetstone_core::outcome::{Evidence, Outcome};
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::{Input, Line};
use whetstone_rollout::collect::record::TOKENS;
use whetstone_rollout::measure::Tally;

use super::{About, Part, Results, VERSION, decoded, suite};
use crate::code::CodeFigures;
use crate::decoding::Decoding;
use crate::diversity::{self, ComparedSamples};
use crate::episodes::{EpisodeSums, Episodes, curve};
use crate::error::EvalError;
use crate::estimate::{Estimate, pass_at_k};
use crate::figure::{Figure, FigureSums};
use crate::sample_kind::SampleKind;
use crate::task_count::{Replies, TaskCount, TemperatureCount};

/// The label of tasks without a source or a difficulty.
const UNNAMED: &str = "none";

/// Distinct reasons; the rest are counted together.
const REASONS: usize = 30;

/// The label of further reasons.
const OTHERS: &str = "other reasons";

/// Characters of a reason that are kept.
const REASON_CHARACTERS: usize = 300;

impl Results {
    /// Counts the judged samples of a file, and estimates.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or no task has as many samples as the largest k.
    pub fn count(about: &About, tasks: &[Task], samples: &Path) -> Result<Self, EvalError> {
        let mut results = Self {
            v: VERSION,
            model: about.model.clone(),
            tasks: tasks.len(),
            suite: suite(tasks),
            settings: about.settings.clone(),
            by_task: tasks.iter().map(|task| TaskCount::none(&task.id)).collect(),
            ..Self::default()
        };
        let places: HashMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
        let of = |task: &Task| TaskSamples::of(about, task);
        let mut read: Vec<TaskSamples> = tasks.iter().map(of).collect();
        let files = [samples.to_owned()];
        let mut lines = Input { noun: diversity::NOUN, files: &files }.lines();
        while let Some(line) = lines.next()? {
            let Some(rollout) = parse(&line)? else { continue };
            if let Some(&at) = places.get(&rollout.prompt_id) {
                results.add(at, rollout, &line, &mut read[at]);
            }
        }
        let max_turns = max_turns(&read);
        let curve = curve(max_turns);
        for (task, read) in results.by_task.iter_mut().zip(&read) {
            task.include(read, &curve);
        }
        results.mean_tokens = mean_tokens(&read);
        let compared: Vec<ComparedSamples> = read.into_iter().map(|read| read.compared).collect();
        let diversities = diversity::figures(samples, tasks, &compared)?;
        for (task, mut more) in results.by_task.iter_mut().zip(diversities) {
            task.figures.append(&mut more);
        }
        results.estimate(about, tasks, max_turns)?;
        Ok(results)
    }

    /// Counts a sample of the task in this place.
    fn add(
        &mut self,
        at: usize,
        mut rollout: RolloutLine,
        line: &Line<'_>,
        read: &mut TaskSamples,
    ) {
        let kind = SampleKind::of(&rollout.meta);
        let is_greedy = kind == SampleKind::Greedy;
        let cause = rollout.cause();
        let mut failed = |reason: &str| {
            match kind {
                SampleKind::Main => read.unjudged += 1,
                SampleKind::Greedy => read.greedy_unjudged = true,
                SampleKind::Further(decoding) => read.further(decoding).unjudged += 1,
            }
            self.failed(reason);
        };
        let outcome = match &rollout.score {
            Some(Score::Failed(reason)) => return failed(&reason.0),
            Some(Score::Scored { outcome, .. }) if outcome.evidence != Evidence::NotRun => outcome,
            Some(Score::Scored { .. }) | None => return failed("it was not judged"),
        };
        let turns = turns(&mut rollout.meta, outcome);
        let evidence = &outcome.evidence;
        let passed = evidence.solved() == Some(true);
        let is_episode = read.may_go_on || matches!(evidence, Evidence::Observed(_));
        if let SampleKind::Further(decoding) = kind {
            let further = read.further(decoding);
            (further.samples, further.passed) =
                (further.samples + 1, further.passed + u64::from(passed));
            if is_episode {
                further.episodes.add(outcome, turns);
            }
            return;
        }
        let has_code = evidence.judgement().map(|found| *found.verdict() != Verdict::NoCode);
        let (task, verdicts) = (&mut self.by_task[at], &mut self.verdicts);
        let verdicts = if is_greedy { &mut self.greedy_verdicts } else { verdicts };
        *verdicts.entry(evidence.name().to_owned()).or_default() += 1;
        if let (Some(judgement), Some(cause)) = (evidence.judgement(), cause) {
            let causes = if is_greedy { &mut self.greedy_causes } else { &mut self.causes };
            causes.add(judgement.verdict(), cause);
        }
        if let Some(has_code) = has_code {
            let replies = if is_greedy { Replies::Greedy } else { Replies::Sampled };
            task.no_code.get_or_insert_default().add(replies, has_code);
        }
        if is_greedy {
            task.greedy = Some(passed);
            if is_episode {
                read.greedy_episodes.add(outcome, turns);
            }
            return;
        }
        task.samples += 1;
        task.passed += u64::from(passed);
        read.figures.add(outcome);
        if is_episode {
            read.episodes.add(outcome, turns);
        }
        if has_code == Some(true) {
            read.compared.note(line, passed);
        }
        // A line from elsewhere may say anything there.
        let finish: Option<Finish> = rollout.meta.take("finish").ok().flatten();
        self.cut_off += u64::from(finish == Some(Finish::Length));
        let tokens: Option<u64> = rollout.meta.take(TOKENS).ok().flatten();
        if let Some(tokens) = tokens.and_then(|tokens| u32::try_from(tokens).ok()) {
            read.tokens.add(f64::from(tokens));
        }
    }

    fn failed(&mut self, reason: &str) {
        self.errors += 1;
        let known =
            self.errors_by_reason.len() < REASONS || self.errors_by_reason.contains_key(reason);
        let reason = if known { reason } else { OTHERS };
        let reason: String = reason.chars().take(REASON_CHARACTERS).collect();
        *self.errors_by_reason.entry(reason).or_default() += 1;
    }

    fn estimate(&mut self, about: &About, tasks: &[Task], max_turns: u32) -> Result<(), EvalError> {
        let counts: Vec<&TaskCount> = self.by_task.iter().collect();
        let tallies: Vec<Tally> = counts.iter().map(|count| count.tally()).collect();
        let of = |&k: &u32| Ok((k, pass_at_k(&tallies, u64::from(k))?));
        self.pass_at_k = about.k.iter().map(of).collect::<Result<_, EvalError>>()?;
        self.num_samples = tallies.iter().map(|tally| tally.samples).max().unwrap_or_default();
        self.greedy = greedy(&counts);
        self.code = CodeFigures::of(&self.by_task, Replies::Sampled);
        self.greedy_code = CodeFigures::of(&self.by_task, Replies::Greedy);
        self.episodes = episodes(&counts, max_turns);
        self.greedy_episodes =
            Episodes::of(counts.iter().map(|count| count.greedy_episodes.as_ref()), max_turns);
        self.by_temperature = decoded::by_temperature(&counts, &about.k, max_turns);
        let figure = |figure: Figure| {
            Some((figure, figure.estimate(counts.iter().map(|count| &count.figures))?))
        };
        self.figures = Figure::ALL.into_iter().filter_map(figure).collect();
        let by = |name: &dyn Fn(&Task) -> Option<&String>| {
            let mut parts: BTreeMap<String, Vec<&TaskCount>> = BTreeMap::new();
            for (task, count) in tasks.iter().zip(&counts) {
                let name = name(task).map_or(UNNAMED, String::as_str);
                parts.entry(name.to_owned()).or_default().push(count);
            }
            let of = |(name, counts): (String, Vec<&TaskCount>)| {
                let part = Part::of(&counts, &about.k);
                (name, Part { episodes: episodes(&counts, max_turns), ..part })
            };
            parts.into_iter().map(of).collect()
        };
        let by_source = by(&|task| task.source.as_ref());
        let by_difficulty = by(&|task| task.difficulty.as_ref());
        (self.by_source, self.by_difficulty) = (by_source, by_difficulty);
        Ok(())
    }
}

impl Part {
    fn of(counts: &[&TaskCount], k: &[u32]) -> Self {
        let tallies: Vec<Tally> = counts.iter().map(|count| count.tally()).collect();
        let figure = |&k: &u32| Some((k, pass_at_k(&tallies, u64::from(k)).ok()?));
        let pass_at_k = k.iter().filter_map(figure).collect();
        Self { tasks: counts.len(), pass_at_k, greedy: greedy(counts), episodes: None }
    }
}

/// What is known of a task's samples beside its counts.
#[derive(Debug, Clone, Default)]
struct TaskSamples {
    /// Samples that could not be judged, without the greedy one.
    unjudged: u64,
    /// The greedy one could not be judged.
    greedy_unjudged: bool,
    figures: FigureSums,
    compared: ComparedSamples,
    /// An episode may have several replies.
    may_go_on: bool,
    /// Replies at most, if that is known.
    max_turns: u32,
    episodes: EpisodeSums,
    greedy_episodes: EpisodeSums,
    /// Samples at further temperatures.
    further: BTreeMap<Decoding, FurtherSamples>,
    /// Tokens of a sample.
    tokens: Mean,
}

/// A task's samples at a further temperature.
#[derive(Debug, Clone, Default)]
struct FurtherSamples {
    samples: u64,
    passed: u64,
    unjudged: u64,
    episodes: EpisodeSums,
}

impl TaskSamples {
    fn of(about: &About, task: &Task) -> Self {
        let max_turns = about.max_turns.get(&task.id).copied().unwrap_or(1);
        Self { may_go_on: max_turns > 1, max_turns, ..Self::default() }
    }

    fn further(&mut self, decoding: Decoding) -> &mut FurtherSamples {
        self.further.entry(decoding).or_default()
    }

    /// Replies of the longest episode.
    fn most_turns(&self) -> u32 {
        let further = self.further.values().map(|further| &further.episodes);
        let all = [&self.episodes, &self.greedy_episodes].into_iter().chain(further);
        all.map(|episodes| episodes.most_turns).max().unwrap_or(0)
    }
}

/// Replies of an episode at most: what the environment allows, or what is there.
fn max_turns(read: &[TaskSamples]) -> u32 {
    let most = read.iter().map(|task| task.max_turns.max(task.most_turns()));
    most.max().unwrap_or(1)
}

/// Tokens of a sample, over the tasks that say it.
fn mean_tokens(read: &[TaskSamples]) -> Option<f64> {
    let mut mean = Mean::default();
    read.iter().filter_map(|task| task.tokens.get()).for_each(|tokens| mean.add(tokens));
    mean.get()
}

/// The replies that an episode took: those that its environment answered, or those of the line.
fn turns(meta: &mut Object, outcome: &Outcome) -> u32 {
    let answered = outcome.transitions().len();
    // A line from elsewhere may say anything there.
    let written: Vec<IgnoredAny> = meta.take("turns").ok().flatten().unwrap_or_default();
    let count = if answered > 0 { answered } else { written.len() };
    u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

/// Figures of the episodes of some tasks, if they have any.
fn episodes(counts: &[&TaskCount], max_turns: u32) -> Option<Episodes> {
    Episodes::of(counts.iter().map(|count| count.episodes.as_ref()), max_turns)
}

/// The sample of a line; `None` of a blank one.
fn parse(line: &Line<'_>) -> Result<Option<RolloutLine>, EvalError> {
    let refused = |problem| {
        EvalError::Lines(LineError { file: line.file.to_owned(), line: line.number, problem })
    };
    if line.is_too_long() {
        let (noun, limit_bytes) = (RolloutLine::NOUN, MAX_LINE_BYTES);
        return Err(refused(LineProblem::TooLong { noun, limit_bytes }));
    }
    let read = Records::<RolloutLine, _>::new("", line.content()).next();
    read.transpose().map(|read| read.map(|read| read.record)).map_err(|err| refused(err.problem))
}

impl TaskCount {
    /// Counts what could not be judged as not passed, if anything of the task could be.
    fn include(&mut self, read: &TaskSamples, curve: &[u32]) {
        self.figures = read.figures.means();
        self.episodes = read.episodes.figures(curve, read.unjudged);
        self.greedy_episodes = read.greedy_episodes.figures(curve, u64::from(read.greedy_unjudged));
        let is_judged = self.samples > 0
            || self.greedy.is_some()
            || read.further.values().any(|further| further.samples > 0);
        if !is_judged {
            return;
        }
        self.samples += read.unjudged;
        self.greedy = self.greedy.or(read.greedy_unjudged.then_some(false));
        let count = |(decoding, further): (&Decoding, &FurtherSamples)| {
            let FurtherSamples { samples, passed, unjudged, ref episodes } = *further;
            let episodes = episodes.figures(curve, unjudged);
            (*decoding, TemperatureCount { samples: samples + unjudged, passed, episodes })
        };
        self.by_temperature = read.further.iter().map(count).collect();
    }
}

/// pass@1 with greedy decoding, if that was requested.
fn greedy(counts: &[&TaskCount]) -> Option<Estimate> {
    let tallies: Vec<Tally> = counts.iter().map(|count| count.greedy_tally()).collect();
    pass_at_k(&tallies, 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(samples: u64, greedy: Option<bool>, unjudged: &TaskSamples) -> (u64, Option<bool>) {
        let id = TaskId::try_from("a".to_owned()).unwrap();
        let mut task = TaskCount { samples, greedy, ..TaskCount::none(&id) };
        task.include(unjudged, &[1]);
        (task.samples, task.greedy)
    }

    #[test]
    fn what_could_not_be_judged_did_not_pass_unless_nothing_could_be() {
        let of = |greedy_unjudged| TaskSamples {
            unjudged: 3,
            greedy_unjudged,
            ..TaskSamples::default()
        };
        let unjudged = of(true);
        assert_eq!(counted(2, None, &unjudged), (5, Some(false)));
        assert_eq!(counted(2, Some(true), &of(false)), (5, Some(true)));
        assert_eq!(counted(0, None, &unjudged), (0, None));
    }
}
