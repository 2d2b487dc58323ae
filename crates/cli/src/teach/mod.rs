//! `whet teach`: tasks in, traces of a teacher out, each with the judge's verdict.

mod args;
pub(crate) mod connection;
mod dry_run;
mod remote;
mod summary;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_core::seed::Seed;
use whetstone_core::survivors::Survivors;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{
    Earlier, Embedded, References, Report, TeachError, Teacher, Teaching, teach,
};

pub use self::args::{TeachArgs, TeacherArg};
use self::remote::Remote;
use crate::config_command::load;
use crate::environment::{self, RunPrograms};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Progress;

/// Collects traces.
pub(crate) fn run(args: &TeachArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    if args.test_connection {
        return connection::test(&config, args.json, printer);
    }
    let samples = samples(args, &config)?;
    if args.dry_run {
        return dry_run::run(args, &config, samples, printer);
    }
    let report = collect_from(args, &config, samples, printer)?.report;
    if args.json {
        printer.json(&report)?;
    } else {
        summary::print(&report, args, printer)?;
    }
    for sentence in lost(&report, &args.out) {
        printer.warning(sentence);
    }
    Ok(ending(&report, args.strict))
}

/// The file of traces, if none of them passes: training uses passing traces only.
fn lost(report: &Report, out: &Path) -> Vec<String> {
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
    args: &TeachArgs,
    config: &Config,
    samples: u32,
    printer: Printer,
) -> Result<Collected, Failure> {
    match args.teacher {
        TeacherArg::Embedded => {
            collect(args, config, &Asking { teacher: &Embedded, samples }, printer)
        }
        TeacherArg::Reference => {
            collect(args, config, &Asking { teacher: &References, samples }, printer)
        }
        TeacherArg::Remote => {
            let seed = Seed::new(config.seed);
            let remote = Remote::new(&config.teacher, seed).map_err(Failure::Teacher)?;
            collect(args, config, &Asking { teacher: &remote, samples }, printer)
        }
    }
}

/// The report of a collection, and its timings.
struct Collected {
    report: Report,
    took: Duration,
}

/// The teacher, and the samples of each task that it is asked for.
struct Asking<'a> {
    teacher: &'a dyn Teacher,
    samples: u32,
}

fn collect(
    args: &TeachArgs,
    config: &Config,
    asking: &Asking<'_>,
    printer: Printer,
) -> Result<Collected, Failure> {
    let progress = Progress::new(printer, "sample");
    let (all, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let on_answer = |count: usize| {
        let answered = answered.fetch_add(count, Ordering::Relaxed) + count;
        let all = all.load(Ordering::Relaxed);
        let phase = if answered < all { "asking" } else { "judging the last answers" };
        let counted = if answered < all { all } else { 0 };
        progress.phase(phase, answered, counted);
    };
    let run = if args.no_judge { RunPrograms::No } else { RunPrograms::probing(args.dry_run) };
    let report = teach(&Teaching {
        tasks: &args.tasks,
        output: &args.out,
        teacher: asking.teacher,
        settings: &settings(args, config),
        config,
        samples: asking.samples,
        samples_per_request: config.teacher.samples_per_request,
        in_flight: config.teacher.max_concurrent_requests as usize,
        max_tasks: args.max_tasks,
        environments: EnvironmentSource::Build(&|tasks| environment::scoring(config, tasks, run)),
        judges: crate::judge::callers(config),
        bad_lines: if args.strict { BadLines::Refuse } else { BadLines::Reject },
        earlier: earlier(args),
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
fn samples(args: &TeachArgs, config: &Config) -> Result<u32, Failure> {
    match (args.teacher, args.num_samples) {
        (TeacherArg::Embedded | TeacherArg::Reference, None | Some(1)) => Ok(1),
        (TeacherArg::Embedded | TeacherArg::Reference, Some(_)) => Err(Failure::Usage {
            problem: "a task has one trace and one reference solution of its own",
            hint: "leave `--num-samples` out",
        }),
        (TeacherArg::Remote, samples) => {
            Ok(samples.unwrap_or(config.teacher.num_samples_per_problem))
        }
    }
}

/// Every setting that decides an answer, with its value.
///
/// Not the address: a server may move, and a model may be served by several.
fn settings(args: &TeachArgs, config: &Config) -> Vec<(String, String)> {
    let teacher = &config.teacher;
    let mut settings = vec![
        ("--teacher", format!("{:?}", args.teacher)),
        ("prompt.language", format!("{:?}", config.prompt.language)),
    ];
    if args.teacher == TeacherArg::Remote {
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

fn earlier(args: &TeachArgs) -> Earlier {
    match (args.fresh, args.only_missing) {
        (true, _) => Earlier::Forget,
        (false, true) => Earlier::Complete,
        (false, false) => Earlier::Resume,
    }
}

const WITHOUT_JUDGE: &str = "`whet doctor` checks everything the judge needs; `--no-judge` collects traces \
                             without running their programs";

/// The exit code: 1 if a sample has no answer or no verdict.
fn ending(report: &Report, strict: bool) -> Exit {
    let nothing = report.tasks > 0 && report.responses == 0;
    let unjudged = report.is_incomplete() || report.broken_tests > 0;
    let lacking = strict && report.without_trace > 0;
    if unjudged || nothing || lacking { Exit::No } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_which_none_passes_are_named_with_their_verdicts() {
        let verdicts = [("wrong".to_owned(), 5), ("no_code".to_owned(), 2)];
        let report = Report { responses: 7, verdicts: verdicts.into(), ..Report::default() };
        let said = "nothing is left of `t.jsonl`: 7 responses, 5 wrong, 2 no_code";
        assert_eq!(lost(&report, Path::new("t.jsonl")), [said]);
        let not_run = Report { not_run: 1, ..report.clone() };
        let passing = Report { passing: 1, ..report };
        assert!(lost(&not_run, Path::new("t")).is_empty());
        assert!(lost(&passing, Path::new("t")).is_empty());
    }

    #[test]
    fn a_sample_without_an_answer_or_a_verdict_is_an_answer_of_no() {
        let end = |failed, unjudged, without_trace, strict| {
            let (tasks, responses) = (9, 5);
            let report =
                Report { tasks, responses, failed, unjudged, without_trace, ..Report::default() };
            ending(&report, strict)
        };
        assert_eq!(end(0, 0, 0, true), Exit::Done);
        assert_eq!(end(1, 0, 0, false), Exit::No);
        assert_eq!(end(0, 1, 0, false), Exit::No);
        assert_eq!(end(0, 0, 1, false), Exit::Done, "the embedded teacher has not all");
        assert_eq!(end(0, 0, 1, true), Exit::No);
        assert_eq!(ending(&Report { tasks: 1, ..Report::default() }, false), Exit::No);
        let broken = Report { tasks: 1, responses: 1, broken_tests: 1, ..Report::default() };
        assert_eq!(ending(&broken, false), Exit::No);
    }
}
