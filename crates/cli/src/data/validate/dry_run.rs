//! `whet data validate --dry-run`: validates one task and writes nothing.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use whetstone_core::config::Config;
use whetstone_data::prove::ProveError;

use super::{Extent, MAX_JUDGES, ValidateArgs, start_judges, validate};
use crate::dry_run::{DryRun, on_cores};
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::Printer;

/// Says what validating would do.
pub(super) fn run(args: &ValidateArgs, config: &Config, printer: Printer) -> anyhow::Result<Exit> {
    let mut whole = DryRun::of("whet data validate");
    let mut tasks = 0;
    for path in &args.tasks {
        let lines = count_lines(path)?;
        whole.reads(format!("{}: {}", path.display(), counted(lines, "task")));
        tasks += lines as u64;
    }
    let tasks = args.limit.map_or(tasks, |limit| tasks.min(limit));
    whole.count("tasks", tasks);
    whole.does(format!(
        "judges the reference of {tasks} tasks {} times, and trivial answers to each",
        args.repeats
    ));
    for path in [&args.out, &args.dropped].into_iter().flatten() {
        whole.writes(path.display().to_string());
    }
    if args.out.is_none() && args.dropped.is_none() {
        whole.writes("nothing: neither `--out` nor `--dropped` is given");
    }
    let judges = start_judges(config, args.repeats.min(MAX_JUDGES))?;
    for judge in &judges {
        crate::judge::warm_up(judge, config);
    }
    let extent = Extent { out: None, dropped: None, limit: Some(1), judges: &judges };
    let probed = validate(args, config, &extent, printer)?;
    let (seconds, cores) = (probed.took.as_secs_f64(), crate::judge::workers(config));
    let programs = probed.report.programs;
    whole.probed(
        format!("one task, {programs} programs"),
        seconds,
        on_cores(seconds, 1, tasks, cores),
    );
    whole.print(args.json, printer)
}

/// Lines that are not blank.
fn count_lines(path: &Path) -> anyhow::Result<usize> {
    let unread = |source| ProveError::Input { noun: "tasks", path: path.to_owned(), source };
    let file = File::open(path).map_err(unread).map_err(Failure::Prove)?;
    let mut count = 0;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.with_context(|| format!("cannot read the tasks `{}`", path.display()))?;
        count += usize::from(!line.trim_ascii().is_empty());
    }
    Ok(count)
}
