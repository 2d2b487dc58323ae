//! `whet train … --dry-run`.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_infer::Limits;
use whetstone_train::plan::Plan;
use whetstone_train::probe::Probe;
use whetstone_train::sft::Sft;
use whetstone_train::{Student, TrainError};

use super::grpo::{self, Training};
use super::inputs::Files;
use crate::dry_run::DryRun;
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::Printer;

/// What `whet train sft` would do with these rows.
pub(super) fn sft(
    name: &str,
    student: &Student,
    (it, plan): (&Sft<'_>, &Plan),
    traces: &Path,
) -> DryRun {
    let mut whole = DryRun::of("whet train sft");
    whole.reads(format!("{}: {}", traces.display(), counted(it.rows.len(), "row")));
    whole.count("rows", it.rows.len() as u64);
    let tokens: usize = it.rows.iter().map(|row| row.tokens.len()).sum();
    let sequences = plan.steps * plan.items_per_step;
    whole.count("tokens", tokens as u64 * sequences / plan.items.max(1));
    common(&mut whole, (it.config, plan), name);
    whole.does(plan.arithmetic("rows", it.config.training.max_steps == 0));
    whole.memory("to train", &student.sft_memory(it.config));
    whole
}

/// What `whet train grpo` would do with these tasks.
pub(super) fn grpo(
    name: &str,
    student: &Student,
    (it, plan): (&Training<'_>, &Plan),
    files: &Files,
) -> DryRun {
    let mut whole = DryRun::of("whet train grpo");
    let mut reads = |path: &Option<PathBuf>, what: String| {
        if let Some(path) = path {
            whole.reads(format!("{}: {what}", path.display()));
        }
    };
    reads(&files.tasks, counted(it.tasks.len(), "task"));
    let taught = it.taught.iter().filter(|rows| !rows.is_empty()).count();
    reads(&files.traces, format!("passing traces of {}", counted(taught, "task")));
    reads(&files.held_out, format!("{} to measure by", counted(it.held_out.len(), "task")));
    rollouts(&mut whole, student, (it.config, plan));
    common(&mut whole, (it.config, plan), name);
    whole
}

/// Tasks, rollouts and memory of GRPO.
pub(crate) fn rollouts(whole: &mut DryRun, student: &Student, (config, plan): (&Config, &Plan)) {
    let (tasks, samples) = (plan.items_per_step, plan.samples);
    let all = plan.steps * tasks * samples;
    let length = config.grpo.max_completion_length;
    whole.does(plan.arithmetic("tasks", config.training.max_steps == 0));
    whole.does(format!("{tasks} tasks × {samples} samples a step, of at most {length} tokens"));
    whole.count("tasks", plan.items);
    whole.count("rollouts", all);
    whole.count("sampled_tokens_at_most", all * u64::from(length));
    let (training, sampling) = student.grpo_memory(config, Limits::default().sequences);
    whole.memory("to train", &training);
    whole.memory("to sample", &sampling);
}

fn common(whole: &mut DryRun, (config, plan): (&Config, &Plan), name: &str) {
    whole.count("steps", plan.steps);
    whole.reads(format!("{}: the student", config.student.model_name));
    let dir = Path::new(&config.run.dir).join(name);
    whole.writes(format!(
        "{}: settings, events, rollouts, checkpoints, the final model",
        dir.display()
    ));
}

/// Takes a step of GRPO, and prints what was found.
pub(super) fn probe_grpo(
    whole: DryRun,
    student: &mut Student,
    it: &Training<'_>,
    (json, printer): (bool, Printer),
) -> anyhow::Result<Exit> {
    print(whole, grpo::probe(student, it, printer), (json, printer))
}

/// Prints what a training would do, with what a step of it took.
pub(super) fn print(
    mut whole: DryRun,
    probed: Result<Option<Probe>, TrainError>,
    (json, printer): (bool, Printer),
) -> anyhow::Result<Exit> {
    match probed.map_err(Failure::Train)? {
        Some(probe) => whole.stepped(&probe),
        None => whole.note("stopped before the step was done"),
    }
    whole.print(json, printer)
}
