//! `whet eval --dry-run`: one task, measured into a folder that is thrown away.

use std::time::Instant;

use whetstone_core::Task;
use whetstone_eval::{Evaluated, RESULTS, ROLLOUTS, Times};

use super::{Measure, MeasureArgs, local};
use crate::dry_run::{DryRun, on_cores};
use crate::exit::Exit;
use crate::failure::counted;
use crate::sample_lines::lines_of_one_task;
use crate::scratch::Scratch;

/// Says what an evaluation would do.
pub(super) fn run(it: &Measure<'_>) -> anyhow::Result<Exit> {
    let scratch = Scratch::new()?;
    let args = MeasureArgs { out: scratch.path().join("out"), fresh: true, ..it.args.clone() };
    let mut whole = plan(it);
    let probed = match &it.args.samples {
        Some(samples) => given(it, args, (samples, &scratch), &mut whole)?,
        None => sampled(it, &args, &mut whole)?,
    };
    if !probed {
        whole.note("stopped before the task was done");
    }
    whole.print(it.args.json, it.printer)
}

fn plan(it: &Measure<'_>) -> DryRun {
    let (args, tasks) = (it.args, it.tasks.len());
    let mut whole = DryRun::of("whet eval");
    whole.reads(format!("{}: {}", args.tasks.display(), counted(tasks, "task")));
    whole.count("tasks", tasks as u64);
    for name in [ROLLOUTS, RESULTS] {
        whole.writes(args.out.join(name).display().to_string());
    }
    if args.out.join(RESULTS).exists() && !args.fresh {
        whole.note(format!("{} has results already: `--fresh` replaces them", args.out.display()));
    }
    whole
}

/// Samples and judges the first task.
fn sampled(it: &Measure<'_>, args: &MeasureArgs, whole: &mut DryRun) -> anyhow::Result<bool> {
    let samples = u64::from(it.config.eval.num_samples) + u64::from(!args.skip_greedy);
    let all = it.tasks.len() as u64 * samples;
    let first: &[Task] = it.tasks.get(..1).unwrap_or_default();
    let probe = Measure { args, tasks: first, began: Instant::now(), ..*it };
    whole.does(format!("{} × {samples} samples", counted(it.tasks.len(), "task")));
    whole.count("samples", all);
    let named = args.model.as_ref().unwrap_or(&it.config.student.model_name);
    whole.reads(format!("{}: the model", args.server.as_ref().unwrap_or(named)));
    if args.server.is_none() {
        whole.memory("to sample", &local::memory(&Measure { args, ..*it })?);
    }
    let Some(Evaluated { times, .. }) = probe.measure()? else { return Ok(false) };
    let Times { prompts, sampling, judging, .. } = times;
    let seconds = (prompts + sampling + judging).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "counts of tasks")]
    let tasks = it.tasks.len() as f64;
    whole.probed(format!("one task, {samples} samples"), seconds, seconds * tasks);
    whole.note("tasks that are sampled together are faster than one alone: at most so long");
    Ok(true)
}

/// Judges the given samples of one task.
fn given(
    it: &Measure<'_>,
    args: MeasureArgs,
    (samples, scratch): (&std::path::Path, &Scratch),
    whole: &mut DryRun,
) -> anyhow::Result<bool> {
    let found = lines_of_one_task(samples, &scratch.path().join("samples.jsonl"))?;
    let args = MeasureArgs { samples: Some(found.path.clone()), ..args };
    whole.reads(format!("{}: {}", samples.display(), counted(found.all, "sample")));
    whole.does(format!("judges {}", counted(found.all, "sample")));
    whole.count("samples", found.all as u64);
    let probe = Measure { args: &args, began: Instant::now(), ..*it };
    let Some(Evaluated { times, .. }) = probe.measure()? else { return Ok(false) };
    let (seconds, cores) = (times.judging.as_secs_f64(), crate::judge::workers(it.config));
    let estimate = on_cores(seconds, found.taken as u64, found.all as u64, cores);
    whole.probed(format!("one task, {}", counted(found.taken, "sample")), seconds, estimate);
    Ok(true)
}
