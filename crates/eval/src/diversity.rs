//! The diversity of a task's samples: how far apart its programs are ([`whetstone_env::normal_form`]).
//!
//! While samples are counted, the places of a task's first [`MAX_COMPARED`] programs are noted, and of the first
//! that pass. Then their lines are read again, one task at a time, so memory does not grow with the suite.

use std::fs::File;
use std::path::Path;

use whetstone_core::Task;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::jsonl::Records;
use whetstone_core::rollout::RolloutLine;
use whetstone_env::normal_form::{MAX_COMPARED, NormalProgram, diversity};
use whetstone_env::stack::{BigStack, on_big_stack};
use whetstone_record::batch::{BatchError, Line, read_at};
use whetstone_record::error::FileError;

use crate::error::EvalError;
use crate::figure::{Figure, TaskFigures};

/// The field of `meta` that says that the prompt ended inside the thinking tag.
const THINKING_OPENED: &str = "thinking_opened";

/// What samples are called in messages.
pub(crate) const NOUN: &str = "samples";

/// The programs of a task that are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComparedSamples {
    all: Vec<SamplePlace>,
    passing: Vec<SamplePlace>,
}

/// The place of a sample's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SamplePlace {
    offset: u64,
    bytes: usize,
}

impl ComparedSamples {
    /// Notes a sample with a program.
    pub(crate) fn note(&mut self, line: &Line<'_>, passed: bool) {
        let place = SamplePlace { offset: line.content_offset(), bytes: line.content().len() };
        for (list, wanted) in [(&mut self.all, true), (&mut self.passing, passed)] {
            if wanted && list.len() < MAX_COMPARED {
                list.push(place);
            }
        }
    }
}

/// The diversities of tasks, by the samples of a file.
pub(crate) fn figures(
    samples: &Path,
    tasks: &[Task],
    compared: &[ComparedSamples],
) -> Result<Vec<TaskFigures>, EvalError> {
    let unread = |source| FileError { step: "read", path: samples.to_owned(), source };
    let file = File::open(samples).map_err(unread)?;
    let work = |stack: &BigStack| {
        let of = |(task, compared)| task_figures(&file, task, compared, stack);
        tasks.iter().zip(compared).map(of).collect()
    };
    on_big_stack(work).map_err(|err| EvalError::Batch(BatchError::Threads(err)))?
}

fn task_figures(
    file: &File,
    task: &Task,
    compared: &ComparedSamples,
    stack: &BigStack,
) -> Result<TaskFigures, EvalError> {
    let normal = |place: &SamplePlace| program(file, task, *place, stack).transpose();
    let read = |places: &[SamplePlace]| -> Result<Vec<NormalProgram>, EvalError> {
        places.iter().filter_map(normal).collect()
    };
    let mut figures = TaskFigures::new();
    for (figure, places) in
        [(Figure::Diversity, &compared.all), (Figure::DiversityPassing, &compared.passing)]
    {
        if let Some(value) = diversity(&read(places)?) {
            figures.insert(figure, value);
        }
    }
    Ok(figures)
}

/// The program of a sample, normalised.
fn program(
    file: &File,
    task: &Task,
    place: SamplePlace,
    stack: &BigStack,
) -> Result<Option<NormalProgram>, EvalError> {
    let changed = || EvalError::Batch(BatchError::Changed { noun: NOUN });
    let line = read_at(file, place.offset, place.bytes).ok_or_else(changed)?;
    let read = Records::<RolloutLine, _>::new("", line.as_slice()).next().ok_or_else(changed)?;
    let mut rollout = read.map_err(|_| changed())?.record;
    let opened = rollout.meta.take(THINKING_OPENED).ok().flatten().unwrap_or(false);
    let form = Form::of(task.language);
    let code = extract(Reply::text(&rollout.text).after(opened), form).code;
    Ok(code.map(|code| NormalProgram::of(&code.program(form), stack)))
}
