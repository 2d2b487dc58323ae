//! Collecting traces: tasks in, traces of teachers out, each with the verdict of its environment.

pub mod connection;
mod dry_run;
mod remote;
mod teachers;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use whetstone_core::config::{Config, TeacherApi, TeacherConfig};
use whetstone_core::seed::Seed;
use whetstone_core::survivors::Survivors;
use whetstone_env::judge;
use whetstone_remote::chat::{ChatError, Server};
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{Earlier, TeachError, TeachSummary, Teaching, teach};

use self::teachers::Teachers;
use crate::dry_run::Outcome;
use crate::environment::{self, RunPrograms};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::prompting;

/// Traces to collect.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct TeachRequest {
    /// The file of tasks.
    pub tasks: PathBuf,
    /// The file of traces.
    pub out: PathBuf,
    /// The file of SFT rows of the samples that are kept, if it is wanted.
    pub rows: Option<PathBuf>,
    /// Who is asked, each about every task.
    pub teachers: Vec<TeacherChoice>,
    /// Only so many of the first tasks.
    pub max_tasks: Option<u32>,
    /// Samples of each task, if not those of the settings.
    pub num_samples: Option<u32>,
    /// Completes the traces that are there.
    pub only_missing: bool,
    /// Replaces the traces that are there.
    pub fresh: bool,
    /// Runs no programs.
    pub no_judge: bool,
    /// Refuses a file with an invalid task.
    pub strict: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// Who is asked for traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeacherChoice {
    /// The server of the settings `teacher.*`, with each of its models.
    Remote,
    /// The traces that tasks bring along, and the experts of environments.
    Embedded,
    /// The reference solutions of the tasks.
    Reference,
}

/// Collects traces.
///
/// # Errors
///
/// If the tasks cannot be read, or the teacher cannot be asked.
pub fn run(
    request: &TeachRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Outcome<TeachSummary>, Failure> {
    let teachers = Teachers::of(request, config, observer)?;
    if request.dry_run {
        return Ok(Outcome::plan(dry_run::run(request, config, &teachers, observer)?));
    }
    let report = collect(request, config, &teachers, observer)?.report;
    for sentence in lost(&report, &request.out).into_iter().chain(teachers.doubts()) {
        observer.warning(&sentence);
    }
    Ok(Outcome::Done(report))
}

/// The file of traces, if none of them passes: training uses passing traces only.
fn lost(report: &TeachSummary, out: &Path) -> Vec<String> {
    let mut found = Survivors::default();
    let file = format!("`{}`", out.display());
    if report.passing > 0 || report.not_run > 0 {
        found.keep(&file);
    }
    for (verdict, count) in &report.verdicts {
        found.leave_out_many(&file, verdict, *count);
    }
    found.lost("response")
}

/// The server of the settings, asked for one of its models.
fn server(config: &Config, model: &str) -> Result<Server, ChatError> {
    let teacher = TeacherConfig { model_name: model.to_owned(), ..config.teacher.clone() };
    Server::new(teacher, Seed::new(config.seed).derive("teach/pauses", 0))
}

/// The report of a collection, and its timings.
struct Collected {
    report: TeachSummary,
    took: Duration,
}

fn collect(
    request: &TeachRequest,
    config: &Config,
    teachers: &Teachers,
    observer: &dyn Observer,
) -> Result<Collected, Failure> {
    let progress = observer.progress("sample");
    let (all, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let on_answer = |count: usize| {
        let answered = answered.fetch_add(count, Ordering::Relaxed) + count;
        let all = all.load(Ordering::Relaxed);
        let phase = if answered < all { "asking" } else { "judging the last answers" };
        let counted = if answered < all { all } else { 0 };
        progress.phase(phase, answered, counted);
    };
    let is_probe = request.dry_run;
    let run = if request.no_judge { RunPrograms::No } else { RunPrograms::probing(is_probe) };
    let report = teach(&Teaching {
        tasks: &request.tasks,
        output: &request.out,
        rows: request.rows.as_deref(),
        teachers: &teachers.named(),
        settings: &settings(request, config),
        config,
        samples_per_request: config.teacher.samples_per_request,
        in_flight: config.teacher.max_concurrent_requests as usize,
        max_tasks: request.max_tasks,
        environments: EnvironmentSource::Build(&|tasks| environment::scoring(config, tasks, run)),
        judges: judge::callers(config),
        bad_lines: if request.strict { BadLines::Refuse } else { BadLines::Reject },
        earlier: earlier(request),
        on_start: &|samples| {
            all.store(usize::try_from(samples).unwrap_or(usize::MAX), Ordering::Relaxed);
            progress.reach(0, samples);
            on_answer(0);
        },
        on_answer: &on_answer,
        on_sample: &|| progress.add_one(),
    });
    progress.finish();
    let report = report.map_err(|err| match err {
        TeachError::Environment(err) => environment::failure_or(err, WITHOUT_JUDGE),
        err => err.into(),
    });
    let report = TeachSummary { retried: teachers.retried(), ..report? };
    Ok(Collected { report, took: progress.spent() })
}

/// Every setting that decides an answer, with its value.
///
/// Not the address: a server may move, and a model may be served by several.
fn settings(request: &TeachRequest, config: &Config) -> Vec<(String, String)> {
    let teacher = &config.teacher;
    let mut settings = vec![
        ("--teacher", listed(&request.teachers)),
        ("prompt", prompting::identity(&config.prompt)),
    ];
    if config.env.max_turns > 0 {
        settings.push(("env.max_turns", config.env.max_turns.to_string()));
    }
    if request.teachers.contains(&TeacherChoice::Remote) {
        let models = match teacher.models.as_slice() {
            [] => ("teacher.model_name", teacher.model_name.clone()),
            several => ("teacher.models", several.join(", ")),
        };
        settings.extend([
            ("seed", config.seed.to_string()),
            models,
            ("teacher.temperature", teacher.temperature.to_string()),
            ("teacher.top_p", teacher.top_p.to_string()),
            ("teacher.presence_penalty", teacher.presence_penalty.to_string()),
            ("teacher.enable_thinking", teacher.enable_thinking.to_string()),
            ("teacher.max_tokens", teacher.max_tokens.to_string()),
        ]);
        if teacher.api != TeacherApi::Vllm {
            settings.push(("teacher.api", format!("{:?}", teacher.api)));
        }
    }
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The names of teachers in the journal.
fn listed(teachers: &[TeacherChoice]) -> String {
    let names: Vec<String> = teachers.iter().map(|one| format!("{one:?}")).collect();
    names.join(", ")
}

fn earlier(request: &TeachRequest) -> Earlier {
    match (request.fresh, request.only_missing) {
        (true, _) => Earlier::Forget,
        (false, true) => Earlier::Complete,
        (false, false) => Earlier::Resume,
    }
}

const WITHOUT_JUDGE: &str = "`whet doctor` checks everything the judge needs; `--no-judge` collects traces \
                             without running their programs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_which_none_passes_are_named_with_their_verdicts() {
        let verdicts = [("wrong".to_owned(), 5), ("no_code".to_owned(), 2)];
        let report =
            TeachSummary { responses: 7, verdicts: verdicts.into(), ..TeachSummary::default() };
        let said = "nothing is left of `t.jsonl`: 7 responses, 5 wrong, 2 no_code";
        assert_eq!(lost(&report, Path::new("t.jsonl")), [said]);
        let not_run = TeachSummary { not_run: 1, ..report.clone() };
        let passing = TeachSummary { passing: 1, ..report };
        assert!(lost(&not_run, Path::new("t")).is_empty());
        assert!(lost(&passing, Path::new("t")).is_empty());
    }
}
