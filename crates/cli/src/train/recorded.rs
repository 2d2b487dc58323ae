//! `whet train grpo --rollouts`: learning from a file of scored rollouts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::config::Config;
use whetstone_core::jsonl::read_tasks;
use whetstone_core::metric;
use whetstone_core::task::Task;
use whetstone_core::trace::Trace;
use whetstone_train::grpo::{STAGE, Source};
use whetstone_train::recorded::{Recorded, RecordedCounts, check_settings};
use whetstone_train::{Example, Student, TrainError, rows};

use super::args::GrpoArgs;
use super::grpo::{Prepared, PromptRoom, TaskFile, Training};
use super::inputs::{Files, Known};
use super::{begin, grpo};
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::Printer;
use crate::untested;

/// The metrics on the progress line.
const SHOWN: [(&str, &str); 7] = [
    (metric::GRPO_MEAN_REWARD.name, "reward"),
    (metric::HELD_OUT_PASS_RATE.name, "held-out"),
    (metric::GRPO_KL_DIVERGENCE.name, "kl"),
    (metric::GRPO_STALENESS_KL.name, "staleness"),
    (metric::GRPO_CLIP_FRACTION.name, "clipped"),
    (metric::GRPO_IMPORTANCE_MEAN.name, "importance"),
    (metric::TRAIN_GRAD_NORM.name, "norm"),
];

/// A run on a file.
pub(super) struct Run<'a> {
    pub(super) args: &'a GrpoArgs,
    pub(super) loaded: &'a Loaded,
    pub(super) known: Option<&'a Known>,
    pub(super) files: Files,
    pub(super) stop: &'a AtomicBool,
    pub(super) printer: Printer,
}

/// Trains.
pub(super) fn run(begun: Run<'_>) -> anyhow::Result<Exit> {
    let Run { args, loaded, known, files, stop, printer } = begun;
    let config = &loaded.config;
    let path = files.rollouts.clone().unwrap_or_default();
    if args.run.from.is_some() {
        return Err(Failure::Usage {
            problem: "`--rollouts` starts from the student, and `--from` from a checkpoint",
            hint: "make one model of the checkpoint's adapter with `whet export`, and set \
                   `student.model_name` to it",
        }
        .into());
    }
    let tasks = files.tasks.as_deref().map(read_tasks).transpose().map_err(Failure::Lines)?;
    let held_out = match files.held_out.as_deref() {
        Some(path) => {
            untested::left_out(path, read_tasks(path).map_err(Failure::Lines)?, config, printer)
        }
        None => Vec::new(),
    };
    let traces = grpo::traces(files.traces.as_deref())?;
    // Nothing is judged but held-out tasks.
    let environment = crate::environment::for_tasks(config, &held_out)?;
    let begun = begin::look(&args.run, config, STAGE).map_err(Failure::Train)?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    let mut student = begin::student(&args.run, config, checkpoint.as_deref(), printer)?;
    let held_out_file = files.held_out.clone().unwrap_or_default();
    let held_out = TaskFile { path: &held_out_file, tasks: held_out };
    let room = PromptRoom { student: &student, config, environment: &environment };
    let held_out = room.fitting(held_out, printer).map_err(Failure::Train)?;
    let mut recorded = Recorded::read(&path, &student, config, &tasks.unwrap_or_default())
        .map_err(Failure::Train)?;
    check_held_out(files.held_out.as_deref(), &held_out, &recorded)?;
    check_settings(config, &recorded.counts).map_err(Failure::Train)?;
    let taught = teach(&mut recorded, &student, config, traces).map_err(Failure::Train)?;
    if config.dual_source.teacher_sft_weight > 0.0 && taught == 0 {
        return Err(Failure::OtherTraces { path: files.traces.unwrap_or_default() }.into());
    }
    let source = Source::Recorded(&recorded);
    let plan = source.plan(config).map_err(Failure::Train)?;
    let arithmetic = plan.recorded_arithmetic();
    say(&path, &recorded.counts, config, printer);
    printer.note(&arithmetic);
    preflight(&student, config, taught, printer);
    let training = Training {
        config,
        source,
        shown: &SHOWN,
        held_out: &held_out,
        environment: &environment,
        checkpoint: checkpoint.as_deref(),
        stop,
    };
    let prepared = Prepared {
        args: &args.run,
        loaded,
        begun,
        is_new: known.is_none(),
        files: &files,
        training,
        plan: &plan,
        arithmetic: &arithmetic,
    };
    prepared.run(&mut student, printer)
}

/// A task that is learnt from would measure learning by heart.
fn check_held_out(path: Option<&Path>, tasks: &[Task], recorded: &Recorded) -> Result<(), Failure> {
    let shared = recorded.tasks().find(|id| tasks.iter().any(|task| task.id == **id));
    match (path, shared) {
        (Some(path), Some(id)) => {
            Err(Failure::NotHeldOut { path: path.to_owned(), task: id.to_string() })
        }
        _ => Ok(()),
    }
}

/// Gives every task its teacher's rows, and counts the tasks that have any.
fn teach(
    recorded: &mut Recorded,
    student: &Student,
    config: &Config,
    traces: Vec<Trace>,
) -> Result<usize, TrainError> {
    let mut by_task: BTreeMap<String, Vec<Trace>> = BTreeMap::new();
    for trace in traces {
        by_task.entry(trace.task_id.to_string()).or_default().push(trace);
    }
    let ids: Vec<_> = recorded.tasks().cloned().collect();
    let mut taught = 0;
    for id in ids {
        let made = rows(student, &by_task.remove(id.as_str()).unwrap_or_default(), config)?;
        let rows: Vec<Example> = made.rows.iter().map(Example::from).collect();
        taught += usize::from(!rows.is_empty());
        recorded.teach(&id, rows);
    }
    Ok(taught)
}

/// Prints the content of the file, and what follows from it.
fn say(path: &Path, counts: &RecordedCounts, config: &Config, printer: Printer) {
    let RecordedCounts { groups, rollouts, without_logps, .. } = *counts;
    printer.note(format_args!(
        "{}: {} in {}, {} with the log-probabilities of their sampler",
        path.display(),
        counted(rollouts, "rollout"),
        counted(groups, "group"),
        rollouts - without_logps
    ));
    let about = |count: usize, sentence: &str| {
        if count > 0 {
            printer.note(format_args!("{}: {sentence}", counted(count, "rollout")));
        }
    };
    about(
        without_logps,
        "no log-probabilities are recorded, and those of the student before its first update take their \
         place. That is right if this student sampled them. If another model or an earlier checkpoint \
         did, the rollouts are stale, which is then neither seen nor corrected",
    );
    about(
        counts.retokenized,
        "no token ids are recorded, so the text is tokenized again; the sampler may have used \
         other tokens",
    );
    about(
        counts.truncated_sampling,
        "sampled with `top_p` below 1, so not from the distribution that is trained; ratios do not \
         correct that",
    );
    about(counts.greedy, "greedy, and left out: they were not sampled");
    about(counts.not_run, "not run against tests: their reward is of static terms alone");
    about(counts.unjudged, "could not be judged, and are left out of their groups");
    let most = config.training.max_length;
    let long =
        format!("longer than {most} tokens: not trained on; their rewards count in their groups");
    about(counts.too_long, &long);
}

fn preflight(student: &Student, config: &Config, taught: usize, printer: Printer) {
    let weights = config.dual_source;
    printer.note(format_args!(
        "weights: rollouts {}, teacher {} ({taught} tasks have a passing trace), own best {}",
        weights.grpo_weight, weights.teacher_sft_weight, weights.self_sft_weight
    ));
    let (all, trained) = student.decoder.parameters().count();
    let mib = student.grpo_memory(config, 1).0.total() >> 20;
    printer.note(format_args!("{trained} of {all} parameters are trained; about {mib} MiB"));
}
