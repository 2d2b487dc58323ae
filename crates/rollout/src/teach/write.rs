//! The output: every stored answer as a trace, by task and sample.
//!
//! The journal has them in the order they came, and may be larger than memory: each is read where it is.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use whetstone_core::completion::Finish;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::task::Task;
use whetstone_core::trace::{Trace, Usage};
use whetstone_core::wire::{Object, Wire};
use whetstone_record::batch::{BatchError, catch_panic, replace_output};
use whetstone_record::error::FileError;

use super::TeachError;
use super::asked::Asked;
use super::records::{Answered, Entry};
use super::report::TeachSummary;
use super::stored::Stored;
use super::table::SampleId;

/// Writes all traces to `output` and counts them.
pub(super) fn traces(
    output: &Path,
    asked: &Asked<'_>,
    stored: &Stored,
    report: &mut TeachSummary,
) -> Result<(), TeachError> {
    replace_output(output, |out| {
        let mut solved = None;
        // Samples of one answer follow one another: it is read once.
        let mut last: Option<(u64, Entry)> = None;
        for (place, slot) in stored.table.stored() {
            let entry = match last.take() {
                Some((offset, entry)) if offset == slot.offset => entry,
                _ => stored.ledger.read(slot.offset)?,
            };
            let mut trace = trace_of(asked, place, &entry).ok_or_else(|| {
                let task = &asked.tasks.get(place.task).id;
                BatchError::Lost { item: format!("sample {} of task `{task}`", place.sample) }
            })?;
            last = Some((slot.offset, entry));
            trace.verdict = slot.verdict;
            report.count(&trace, asked.is_program(place.task).then(|| asked.language(place.task)));
            if trace.passes() && solved.replace(place.task) != Some(place.task) {
                report.solved_tasks += 1;
            }
            writeln!(out, "{}", trace.to_line()).map_err(FileError::at("write", output))?;
        }
        Ok(())
    })
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
