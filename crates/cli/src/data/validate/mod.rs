//! `whet data validate`: tasks in, those that are proven out, and why the others are not.

mod args;
mod dry_run;
mod table;

use std::path::Path;
use std::time::Duration;

use whetstone_core::config::Config;
use whetstone_core::survivors::Survivors;
use whetstone_data::prove::{Earlier, Proving, Report, prove};
use whetstone_sandbox::job::Judging;
use whetstone_sandbox::{JUDGE_VERSION, Judge};

pub(super) use self::args::ValidateArgs;
use crate::config_command::load;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::figures::plain;
use crate::printer::Printer;
use crate::progress::Progress;

/// Judges with hash seeds of their own, at most: each has an interpreter for every core.
const MAX_JUDGES: u32 = 4;

/// Validates files.
pub(crate) fn run(args: &ValidateArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    if args.dry_run {
        return dry_run::run(args, &config, printer);
    }
    let judges = start_judges(&config, args.repeats.min(MAX_JUDGES))?;
    let extent = Extent {
        out: args.out.as_deref(),
        dropped: args.dropped.as_deref(),
        limit: args.limit,
        judges: &judges,
    };
    let report = validate(args, &config, &extent, printer)?.report;
    if args.json {
        printer.json(&report)?;
    } else {
        printer.raw(&table::text(&report, args, printer))?;
    }
    for sentence in lost(&report) {
        printer.warning(sentence);
    }
    Ok(ending(&report, args.strict))
}

/// Number of tasks, the judge, and the outputs; a probe writes none.
struct Extent<'a> {
    out: Option<&'a Path>,
    dropped: Option<&'a Path>,
    limit: Option<u64>,
    judges: &'a [Judge],
}

/// The report of a validation, and its timings.
struct Validated {
    report: Report,
    took: Duration,
}

fn validate(
    args: &ValidateArgs,
    config: &Config,
    extent: &Extent<'_>,
    printer: Printer,
) -> Result<Validated, Failure> {
    let judges = extent.judges;
    let asked: Vec<&dyn Judging> = judges.iter().map(|judge| judge as &dyn Judging).collect();
    let identity = judges.first().map(identity).unwrap_or_default();
    let limits = whetstone_env::python::limits(config);
    let progress = Progress::new(printer, "task");
    let report = prove(&Proving {
        files: &args.tasks,
        out: extent.out,
        dropped: extent.dropped,
        judges: &asked,
        identity: &identity,
        limits,
        slow: limits.cpu.mul_f64(args.max_cpu_share),
        runs: args.repeats,
        limit: extent.limit,
        workers: crate::judge::callers(config),
        earlier: if args.fresh { Earlier::Forget } else { Earlier::Resume },
        on_start: &|tasks| {
            progress.phase("judging references and trivial answers", 0, 0);
            progress.reach(0, tasks);
        },
        on_task: &|| progress.add_one(),
    });
    progress.finish();
    Ok(Validated { report: report?, took: progress.spent() })
}

/// Sources without any proven task.
fn lost(report: &Report) -> Vec<String> {
    let mut found = Survivors::default();
    for (name, counts) in &report.by_source {
        let source = format!("the source `{}`", plain(name, 60));
        if counts.proven > 0 {
            found.keep(&source);
        }
        for (reason, count) in &counts.reasons {
            found.leave_out_many(&source, reason.name(), *count);
        }
        found.leave_out_many(&source, "that could not be judged", counts.failed);
    }
    found.lost("task")
}

/// Judges that differ in their hash seeds alone.
fn start_judges(config: &Config, count: u32) -> Result<Vec<Judge>, Failure> {
    let start = |seed| crate::judge::start_with_hashes(config, seed);
    let judges: Result<Vec<Judge>, _> = (0..count.max(1)).map(start).collect();
    judges.map_err(|err| Failure::Judge {
        problem: err.to_string(),
        hint: "`whet doctor` checks everything the judge needs",
    })
}

/// Everything that a judge's verdicts depend on.
fn identity(judge: &Judge) -> String {
    let about = judge.about();
    let [major, minor, micro] = about.python_version;
    let isolation = about.isolation.name();
    format!("judge {JUDGE_VERSION}, CPython {major}.{minor}.{micro}, {isolation}")
}

/// The exit code. A task that could not be judged is an infrastructure failure.
fn ending(report: &Report, strict: bool) -> Exit {
    let total = &report.total;
    if total.failed > 0 {
        return Exit::Broken;
    }
    let nothing = total.tasks > 0 && total.proven == 0;
    if nothing || (strict && total.dropped > 0) { Exit::No } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use whetstone_data::prove::{Counts, Reason};

    use super::*;

    #[test]
    fn a_source_without_a_proven_task_is_named_with_its_reasons() {
        let counts = |proven, reasons: &[(Reason, u64)]| Counts {
            proven,
            reasons: reasons.iter().copied().collect(),
            ..Counts::default()
        };
        let by_source = [
            ("mbpp".to_owned(), counts(3, &[(Reason::Flaky, 9)])),
            ("apps".to_owned(), counts(0, &[(Reason::Flaky, 1), (Reason::ReferenceFails, 7)])),
        ];
        let report = Report { by_source: by_source.into(), ..Report::default() };
        let said = "nothing is left of the source `apps`: 8 tasks, 7 reference_fails, 1 flaky";
        assert_eq!(lost(&report), [said]);
    }

    #[test]
    fn a_task_that_could_not_be_judged_is_something_broken() {
        let end = |proven, dropped, failed, strict| {
            let tasks = proven + dropped + failed;
            let total = Counts { tasks, proven, dropped, failed, ..Counts::default() };
            ending(&Report { total, ..Report::default() }, strict)
        };
        assert_eq!(end(3, 0, 0, true), Exit::Done);
        assert_eq!(end(3, 1, 0, false), Exit::Done);
        assert_eq!(end(3, 1, 0, true), Exit::No);
        assert_eq!(end(0, 1, 0, false), Exit::No);
        assert_eq!(end(0, 0, 0, true), Exit::Done);
        assert_eq!(end(3, 1, 1, true), Exit::Broken);
    }
}
