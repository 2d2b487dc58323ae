//! Collecting traces: tasks in, traces of a teacher out, each with the judge's verdict.

pub mod connection;
mod dry_run;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_core::seed::Seed;
use whetstone_core::survivors::Survivors;
use whetstone_env::judge;
use whetstone_remote::chat::{ChatError, Server};
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{
    Earlier, Embedded, References, TeachError, TeachSummary, Teacher, Teaching, teach,
};

use self::remote::Remote;
use crate::dry_run::Outcome;
use crate::environment::{self, RunPrograms};
use crate::failure::Failure;
use crate::observer::Observer;

/// Traces to collect.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct TeachRequest {
    /// The file of tasks.
    pub tasks: PathBuf,
    /// The file of traces.
    pub out: PathBuf,
    /// Who is asked.
    pub teacher: TeacherChoice,
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
    /// The server of the settings `teacher.*`.
    Remote,
    /// The traces that tasks bring along.
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
    let samples = samples(request, config)?;
    if request.dry_run {
        return Ok(Outcome::plan(dry_run::run(request, config, samples, observer)?));
    }
    let report = collect_from(request, config, samples, observer)?.report;
    for sentence in lost(&report, &request.out) {
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

/// Collects samples of each task from the chosen source.
fn collect_from(
    request: &TeachRequest,
    config: &Config,
    samples: u32,
    observer: &dyn Observer,
) -> Result<Collected, Failure> {
    match request.teacher {
        TeacherChoice::Embedded => {
            collect(request, config, &Asking { teacher: &Embedded, samples }, observer)
        }
        TeacherChoice::Reference => {
            collect(request, config, &Asking { teacher: &References, samples }, observer)
        }
        TeacherChoice::Remote => {
            let remote = Remote(server(config).map_err(Failure::Teacher)?);
            collect(request, config, &Asking { teacher: &remote, samples }, observer)
        }
    }
}

/// The server of the settings.
fn server(config: &Config) -> Result<Server, ChatError> {
    Server::new(config.teacher.clone(), Seed::new(config.seed).derive("teach/pauses", 0))
}

/// The report of a collection, and its timings.
struct Collected {
    report: TeachSummary,
    took: Duration,
}

/// The teacher, and the samples of each task that it is asked for.
struct Asking<'a> {
    teacher: &'a dyn Teacher,
    samples: u32,
}

fn collect(
    request: &TeachRequest,
    config: &Config,
    asking: &Asking<'_>,
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
        teacher: asking.teacher,
        settings: &settings(request, config),
        config,
        samples: asking.samples,
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
    Ok(Collected { report: report?, took: progress.spent() })
}

/// Samples of each task. A task has one trace and one reference solution: more would be the same again.
fn samples(request: &TeachRequest, config: &Config) -> Result<u32, Failure> {
    match (request.teacher, request.num_samples) {
        (TeacherChoice::Embedded | TeacherChoice::Reference, None | Some(1)) => Ok(1),
        (TeacherChoice::Embedded | TeacherChoice::Reference, Some(_)) => Err(Failure::Usage {
            problem: "a task has one trace and one reference solution of its own",
            hint: "leave `--num-samples` out",
        }),
        (TeacherChoice::Remote, samples) => {
            Ok(samples.unwrap_or(config.teacher.num_samples_per_problem))
        }
    }
}

/// Every setting that decides an answer, with its value.
///
/// Not the address: a server may move, and a model may be served by several.
fn settings(request: &TeachRequest, config: &Config) -> Vec<(String, String)> {
    let teacher = &config.teacher;
    let mut settings = vec![
        ("--teacher", format!("{:?}", request.teacher)),
        ("prompt.language", format!("{:?}", config.prompt.language)),
    ];
    if request.teacher == TeacherChoice::Remote {
        settings.extend([
            ("seed", config.seed.to_string()),
            ("teacher.model_name", teacher.model_name.clone()),
            ("teacher.temperature", teacher.temperature.to_string()),
            ("teacher.top_p", teacher.top_p.to_string()),
            ("teacher.presence_penalty", teacher.presence_penalty.to_string()),
            ("teacher.enable_thinking", teacher.enable_thinking.to_string()),
            ("teacher.max_tokens", teacher.max_tokens.to_string()),
        ]);
    }
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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
