//! `whet score --dry-run`: the lines of one task, scored into a folder that is thrown away.

use whetstone_core::config::Config;
use whetstone_record::batch::path_beside;
use whetstone_rollout::score::rejected_path;

use super::{ScoreArgs, ScoreFile, default_output, default_report, score_into};
use crate::dry_run::{DryRun, on_cores};
use crate::exit::Exit;
use crate::failure::counted;
use crate::printer::Printer;
use crate::sample_lines::lines_of_one_task;
use crate::scratch::Scratch;

/// Says what scoring would do.
pub(super) fn run(args: &ScoreArgs, config: &Config, printer: Printer) -> anyhow::Result<Exit> {
    let scratch = Scratch::new()?;
    let found = lines_of_one_task(&args.rollouts, &scratch.path().join("rollouts.jsonl"))?;
    let output = args.out.clone().unwrap_or_else(|| default_output(&args.rollouts));
    let mut whole = DryRun::of("whet score");
    whole.reads(format!("{}: {}", args.rollouts.display(), counted(found.all, "line")));
    whole.reads(format!("{}: the tasks", args.prompts.display()));
    whole.does(if args.skip_runtime { "reads every reply" } else { "judges every program" });
    whole.count("lines", found.all as u64);
    whole.writes(format!(
        "{}, and bad lines in {}",
        output.display(),
        rejected_path(&output).display()
    ));
    let report = args.report.clone().unwrap_or_else(|| default_report(&output));
    whole.writes(report.display().to_string());
    if path_beside(&output).exists() && !args.fresh {
        whole.note("an interrupted run exists: its verdicts are reused");
    }
    let lines = counted(found.taken, "line");
    let probe = ScoreArgs { rollouts: found.path, cache: None, fresh: true, ..args.clone() };
    let output = &scratch.path().join("scored.jsonl");
    let scored = score_into(ScoreFile { args: &probe, config, output, printer })?;
    let (seconds, cores) = (scored.took.as_secs_f64(), crate::judge::workers(config));
    let estimate = on_cores(seconds, found.taken as u64, found.all as u64, cores);
    whole.probed(format!("one task, {lines}"), seconds, estimate);
    whole.print(args.json, printer)
}
