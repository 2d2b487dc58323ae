//! The output: every complete sample as a trace, by task, teacher and sample; and the rows of those that are kept.
//!
//! The journal has them in the order they came, and may be larger than memory: each is read where it is.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use whetstone_core::completion::Finish;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::outcome::Observation;
use whetstone_core::sft_row::SftRow;
use whetstone_core::task::Task;
use whetstone_core::taught::{TaughtEpisode, TaughtTurn};
use whetstone_core::trace::{Trace, Usage};
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::{BatchError, catch_panic, replace_output};
use whetstone_record::error::FileError;

use super::asked::{Asked, user_text};
use super::episodes::replayed_reward;
use super::kept::Keep;
use super::records::{Answered, Entry};
use super::report::TeachSummary;
use super::stored::Stored;
use super::table::{SampleId, Slot};
use super::{PROMPT_FIELD, TeachError};

/// Writes all traces to `output` and counts them.
pub(super) fn traces(
    output: &Path,
    asked: &Asked<'_>,
    stored: &Stored,
    report: &mut TeachSummary,
) -> Result<(), TeachError> {
    replace_output(output, |out| {
        let mut solved = None;
        each_trace(asked, stored, |place, trace| {
            report.count(trace, asked.is_program(place.task).then(|| asked.language(place.task)));
            let keep = keep(asked, place, trace);
            report.count_keep(asked.teacher(place.teacher).name, keep);
            if trace.passes() && solved.replace(place.task) != Some(place.task) {
                report.solved_tasks += 1;
            }
            writeln!(out, "{}", trace.to_line()).map_err(FileError::at("write", output))
        })
    })
}

/// Writes the rows of the traces that are kept to `output` and counts them.
pub(super) fn rows(
    output: &Path,
    asked: &Asked<'_>,
    stored: &Stored,
    report: &mut TeachSummary,
) -> Result<(), TeachError> {
    replace_output(output, |out| {
        each_trace(asked, stored, |place, trace| {
            let kept = Some(trace).filter(|trace| keep(asked, place, trace) == Keep::Kept);
            // What cannot be read as an episode is not kept.
            let Some(row) = kept.and_then(|trace| SftRow::of_trace(trace).ok().flatten()) else {
                return Ok(());
            };
            report.rows += 1;
            writeln!(out, "{}", row.to_line()).map_err(FileError::at("write", output))
        })
    })
}

/// What becomes of a sample. An episode's reward is in no record; where one is asked for, its replies are told again.
fn keep(asked: &Asked<'_>, place: SampleId, trace: &Trace) -> Keep {
    let teacher = &asked.teaching.config.teacher;
    let keep = Keep::of(trace, teacher.max_kept_turns);
    if keep != Keep::Kept || teacher.min_kept_reward <= 0.0 {
        return keep;
    }
    let Ok(Some(episode)) = TaughtEpisode::of(trace) else { return keep };
    match replayed_reward(asked, place.task, &episode) {
        Ok(reward) if reward < teacher.min_kept_reward => Keep::LowReward,
        Ok(_) => keep,
        Err(_) => Keep::NotJudged,
    }
}

/// Calls `each` with the trace of every complete sample, in order.
fn each_trace(
    asked: &Asked<'_>,
    stored: &Stored,
    mut each: impl FnMut(SampleId, &Trace) -> Result<(), FileError>,
) -> Result<(), TeachError> {
    // Samples of one answer follow one another: it is read once.
    let mut last: Option<(u64, Entry)> = None;
    for (place, slot) in stored.table.complete() {
        let lost = || {
            let task = &asked.tasks.get(place.task).id;
            BatchError::Lost { item: format!("sample {} of task `{task}`", place.sample) }
        };
        let offset = *slot.answers.first().ok_or_else(lost)?;
        let entry = match last.take() {
            Some((read, entry)) if read == offset => entry,
            _ => stored.ledger.read(offset)?,
        };
        let mut trace = match &entry {
            Entry::Answer(_) if stored.table.is_episode(place.task) => {
                episode_trace(asked, place, &EpisodeRecords::read(stored, slot).ok_or_else(lost)?)
            }
            entry => trace_of(asked, place, entry).ok_or_else(lost)?,
        };
        last = Some((offset, entry));
        trace.verdict = slot.verdict;
        let several = asked.name_of_several(place.teacher);
        if let Some(name) = several.filter(|_| trace.rest.get("teacher").is_none()) {
            trace.rest.put("teacher", &name);
        }
        each(place, &trace)?;
    }
    Ok(())
}

/// The trace of a sample in a record that has it.
fn trace_of(asked: &Asked<'_>, place: SampleId, entry: &Entry) -> Option<Trace> {
    match entry {
        Entry::Answer(answered) => {
            let at = answered.samples.iter().position(|&sample| sample == place.sample)?;
            (at < answered.completions.len()).then(|| trace(asked, place.task, answered, at))
        }
        Entry::Trace(object) => Trace::from_object(object.clone()).ok(),
        Entry::Teaching(_) | Entry::Imported { .. } | Entry::Verdict(_) => None,
    }
}

/// The records of an episode that is over.
struct EpisodeRecords {
    turns: Vec<Answered>,
    seen: Observation,
}

impl EpisodeRecords {
    /// `None` if one of them is not what it should be.
    fn read(stored: &Stored, slot: &Slot) -> Option<Self> {
        let turn = |offset: &u64| match stored.ledger.read(*offset).ok()? {
            Entry::Answer(answered) if !answered.completions.is_empty() => Some(answered),
            _ => None,
        };
        let turns = slot.answers.iter().map(turn).collect::<Option<Vec<_>>>()?;
        match stored.ledger.read(slot.judged?).ok()? {
            Entry::Verdict(judged) => Some(Self { turns, seen: judged.into_observation()? }),
            _ => None,
        }
    }
}

/// The trace of an episode: that of its last turn, with all turns beside it.
fn episode_trace(asked: &Asked<'_>, place: SampleId, records: &EpisodeRecords) -> Trace {
    let taught = |answered: &Answered| {
        let completion = &answered.completions[0];
        TaughtTurn {
            prompt: user_text(&answered.said),
            text: completion.text.clone(),
            reasoning: completion.reasoning.clone(),
            finish: Some(completion.finish).filter(|finish| *finish == Finish::Length),
        }
    };
    let turns: Vec<TaughtTurn> = records.turns.iter().map(taught).collect();
    let is_cut_off = turns.iter().any(TaughtTurn::is_cut_off);
    let last = &records.turns[records.turns.len() - 1];
    let mut trace = trace(asked, place.task, last, 0);
    trace.usage = total_usage(&records.turns);
    trace.rest = Object::new();
    if is_cut_off {
        trace.rest.put("finish", &Finish::Length);
    }
    let episode = TaughtEpisode::new(turns, records.seen.clone());
    trace.rest.put(TaughtEpisode::FIELD, &episode);
    trace
}

/// What all turns cost together, if that was said of each.
fn total_usage(turns: &[Answered]) -> Option<Usage> {
    let mut total = Usage::default();
    for turn in turns {
        let usage = turn.usage.as_ref()?;
        total.prompt_tokens += usage.prompt_tokens;
        total.completion_tokens += usage.completion_tokens;
    }
    Some(total)
}

/// The trace of the sample that stands at `at` in an answer.
fn trace(asked: &Asked<'_>, number: u32, answered: &Answered, at: usize) -> Trace {
    let task: &Task = asked.tasks.get(number);
    let completion = &answered.completions[at];
    // If reading it panics, it is not judged either; its text is kept.
    let found = catch_panic("reading the reply", || {
        extract(Reply::of(completion), Form::of(task.language))
    })
    .ok();
    let (thinking, code) = found.map_or((None, None), |found| {
        let thinking = found.thinking.or(found.plan).map(Cow::into_owned);
        let code = found.code.filter(|_| asked.is_program(number));
        (thinking, code.map(|code| code.source.into_owned()))
    });
    let mut rest = Object::new();
    if completion.finish == Finish::Length {
        rest.put("finish", &completion.finish);
    }
    if asked.is_program(number) {
        rest.put(PROMPT_FIELD, &asked.identity());
    }
    Trace {
        task_id: task.id.clone(),
        sample: answered.samples[at],
        prompt: asked.prompt(number).user,
        thinking,
        code,
        text: completion.text.clone(),
        verdict: None,
        usage: answered.usage.as_ref().map(|usage| share(usage, at, answered.completions.len())),
        model: answered.model.clone(),
        rest,
    }
}

/// What one of several completions of an answer cost: a part of the whole, so that sums are right.
fn share(usage: &Usage, at: usize, of: usize) -> Usage {
    if of <= 1 {
        return usage.clone();
    }
    let (at, of) = (at as u64, of as u64);
    let part = |whole: u64| whole / of + u64::from(at < whole % of);
    Usage {
        prompt_tokens: part(usage.prompt_tokens),
        completion_tokens: part(usage.completion_tokens),
        rest: Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_an_answer_add_up_to_what_it_cost() {
        let whole = Usage { prompt_tokens: 17, completion_tokens: 1003, rest: Object::new() };
        let shares: Vec<_> = (0..8).map(|at| share(&whole, at, 8)).collect();
        assert_eq!(shares.iter().map(|part| part.prompt_tokens).sum::<u64>(), 17);
        assert_eq!(shares.iter().map(|part| part.completion_tokens).sum::<u64>(), 1003);
        assert_eq!(share(&whole, 0, 1), whole);
    }
}
