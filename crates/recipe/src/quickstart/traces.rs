//! Traces of the tasks that training takes: those that they bring along, judged for real.

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_core::trace::Trace;
use whetstone_data::prepare::TRAIN;
use whetstone_env::registry::Environments;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{Earlier, Embedded, NamedTeacher, Teaching, teach};

use crate::TRACES;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::phases::{Phases, Taught};
use crate::prompting;
use crate::training::inputs::read_traces;

/// A folder with tasks, and how the traces that they bring along are judged.
#[derive(Clone, Copy)]
pub(super) struct JudgedFolder<'a> {
    pub(super) config: &'a Config,
    pub(super) dir: &'a Path,
    pub(super) environment: &'a Environments,
}

/// Collects the traces of a run, or reads those that it has.
pub(super) fn collect(
    folder: JudgedFolder<'_>,
    phases: &mut Phases,
    observer: &dyn Observer,
) -> Result<Vec<Trace>, Failure> {
    if phases.traces.is_none() {
        phases.traces = Some(judge(folder, observer)?);
        phases.save(folder.dir)?;
    }
    read_traces(&folder.dir.join(TRACES))
}

/// Judges the traces of the tasks in a folder, into a file beside them.
pub(super) fn judge(folder: JudgedFolder<'_>, observer: &dyn Observer) -> Result<Taught, Failure> {
    let JudgedFolder { config, dir, environment } = folder;
    let tasks = dir.join(TRAIN);
    let progress = observer.progress("trace");
    let report = teach(&Teaching {
        tasks: &tasks,
        output: &dir.join(TRACES),
        rows: None,
        teachers: &[NamedTeacher { name: Embedded::MODEL, teacher: &Embedded, samples: 1 }],
        settings: &[("prompt".to_owned(), prompting::identity(&config.prompt))],
        config,
        samples_per_request: 1,
        in_flight: 1,
        max_tasks: None,
        environments: EnvironmentSource::Ready(environment),
        judges: whetstone_env::judge::callers(config),
        bad_lines: BadLines::Refuse,
        // Complete traces may exist already: of a run that was killed before it recorded the phase.
        earlier: Earlier::Complete,
        on_start: &|traces| {
            progress.phase("judging", 0, 0);
            progress.reach(0, traces);
        },
        on_answer: &|_| (),
        on_sample: &|| progress.add_one(),
    });
    progress.finish();
    let report = report?;
    let (traces, passing) = (report.responses, report.passing);
    Ok(Taught { traces, passing, seconds: report.wall_seconds })
}
