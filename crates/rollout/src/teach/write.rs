//! The output: every stored answer as a trace, by task and sample.
//!
//! The journal has them in the order they came, and may be larger than memory. So it is read as
//! often as is needed to hold a bounded part of the answers at a time; nearly always once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use whetstone_core::completion::Finish;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::task::Task;
use whetstone_core::trace::{Trace, Usage};
use whetstone_core::wire::{Object, Wire, WireError};
use whetstone_record::atomic;
use whetstone_record::batch::catch_panic;
use whetstone_record::error::FileError;

use super::ledger::Ledger;
use super::records::{Answered, Entry, entries};
use super::report::Report;
use super::table::SampleId;
use super::{Asked, TeachError};

/// Bytes of answers that are held at a time.
const HELD_BYTES: u64 = 256 << 20;

/// Writes all traces to `output` and counts them.
pub(super) fn traces(
    output: &Path,
    asked: &Asked<'_>,
    ledger: &Ledger,
    report: &mut Report,
) -> Result<(), TeachError> {
    let mut stopped = None;
    let written = atomic::replace_with(output, |out| {
        all(out, output, asked, ledger, report).map_err(|err| {
            stopped = Some(err);
            io::Error::other("stopped")
        })
    });
    match stopped {
        Some(err) => Err(err),
        None => Ok(written?),
    }
}

fn all(
    out: &mut BufWriter<File>,
    output: &Path,
    asked: &Asked<'_>,
    ledger: &Ledger,
    report: &mut Report,
) -> Result<(), TeachError> {
    let places: Vec<_> = ledger.table.stored().map(|(place, slot)| (place, slot.bytes)).collect();
    let mut solved = None;
    for part in parts(&places, HELD_BYTES) {
        let mut held = hold(part, asked, ledger)?;
        for &(place, _) in part {
            let task = asked.tasks.get(place.task);
            let lost = || TeachError::Lost { task: task.id.to_string(), sample: place.sample };
            let mut trace = held.remove(&place).ok_or_else(lost)?;
            trace.verdict = ledger.table.get(place).verdict;
            report.count(&trace, task.language);
            if trace.passes() && solved.replace(place.task) != Some(place.task) {
                report.solved_tasks += 1;
            }
            writeln!(out, "{}", trace.to_line()).map_err(failed_at(output))?;
        }
    }
    Ok(())
}

/// Divides places into parts of so many bytes, or of one place that has more.
fn parts(places: &[(SampleId, u32)], limit: u64) -> Vec<&[(SampleId, u32)]> {
    let (mut parts, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (at, &(_, size)) in places.iter().enumerate() {
        bytes += u64::from(size);
        if bytes > limit && at > first {
            parts.push(&places[first..at]);
            (first, bytes) = (at, u64::from(size));
        }
    }
    parts.push(&places[first..]);
    parts
}

/// Reads the journal for the traces of one part.
fn hold(
    part: &[(SampleId, u32)],
    asked: &Asked<'_>,
    ledger: &Ledger,
) -> Result<HashMap<SampleId, Trace>, TeachError> {
    let mut held = HashMap::new();
    let (Some((first, _)), Some((last, _))) = (part.first(), part.last()) else { return Ok(held) };
    let mut keep = |place: SampleId, trace: Trace| {
        if (*first..=*last).contains(&place) {
            held.entry(place).or_insert(trace);
        }
    };
    for read in entries(ledger.path())? {
        let (seq, entry) = read?;
        match entry {
            Entry::Answer(answered) => {
                let Some(task) = asked.tasks.find(&answered.task) else { continue };
                let inside = first.task <= task && task <= last.task;
                let whole = answered.samples.len().min(answered.completions.len());
                for at in (0..whole).filter(|_| inside) {
                    let trace = trace(asked, task, &answered, at);
                    keep(SampleId { task, sample: trace.sample }, trace);
                }
            }
            Entry::Trace(object) => {
                let foreign = |err: WireError| {
                    let (path, line) = (ledger.path().to_owned(), seq + 1);
                    TeachError::Foreign { path, line, reason: err.to_string() }
                };
                let trace = Trace::from_object(object).map_err(foreign)?;
                let Some(task) = asked.tasks.find(&trace.task_id) else { continue };
                keep(SampleId { task, sample: trace.sample }, trace);
            }
            Entry::Teaching(_) | Entry::Imported { .. } | Entry::Verdict(_) => {}
        }
    }
    Ok(held)
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
        (thinking, found.code.map(|code| code.source.into_owned()))
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

fn failed_at(path: &Path) -> impl Fn(io::Error) -> TeachError {
    move |source| FileError { step: "write", path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_place_once_and_stay_below_the_limit() {
        let place = |sample| SampleId { task: 0, sample };
        let places: Vec<_> =
            [3, 3, 3, 20, 1, 9].into_iter().zip(0..).map(|(size, n)| (place(n), size)).collect();
        let sizes =
            |limit| -> Vec<usize> { parts(&places, limit).into_iter().map(<[_]>::len).collect() };
        assert_eq!(sizes(10), [3, 1, 2]);
        assert_eq!(sizes(1000), [6]);
        assert_eq!(sizes(0), [1; 6]);
        assert_eq!(parts(&[], 10), [&[] as &[(SampleId, u32)]]);
    }

    #[test]
    fn shares_of_an_answer_add_up_to_what_it_cost() {
        let whole = Usage { prompt_tokens: 17, completion_tokens: 1003, rest: Object::new() };
        let shares: Vec<_> = (0..8).map(|at| share(&whole, at, 8)).collect();
        assert_eq!(shares.iter().map(|part| part.prompt_tokens).sum::<u64>(), 17);
        assert_eq!(shares.iter().map(|part| part.completion_tokens).sum::<u64>(), 1003);
        assert_eq!(share(&whole, 0, 1), whole);
    }
}
