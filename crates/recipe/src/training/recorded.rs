//! A file of scored rollouts as the source of a GRPO training.

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_core::metric;
use whetstone_core::task::{Task, TaskId};
use whetstone_core::trace::Trace;
use whetstone_train::Student;
use whetstone_train::grpo::Source;
use whetstone_train::inputs::Files;
use whetstone_train::recorded::{Recorded, RecordedCounts, check_settings};

use super::inputs::check_held_out;
use super::said::{say_parameters, say_weights};
use super::taught::TraceFile;
use crate::failure::Failure;
use crate::observer::{Observer, Shown};
use crate::text::counted;

/// The metrics on the progress line.
pub(super) const SHOWN: Shown = &[
    (metric::GRPO_MEAN_REWARD.name, "reward"),
    (metric::HELD_OUT_PASS_RATE.name, "held-out"),
    (metric::GRPO_KL_DIVERGENCE.name, "kl"),
    (metric::GRPO_STALENESS_KL.name, "staleness"),
    (metric::GRPO_CLIP_FRACTION.name, "clipped"),
    (metric::GRPO_IMPORTANCE_MEAN.name, "importance"),
    (metric::TRAIN_GRAD_NORM.name, "norm"),
];

/// A file of rollouts, and what the files beside it hold.
pub(super) struct RolloutFile<'a> {
    pub(super) path: &'a Path,
    pub(super) files: &'a Files,
    /// The tasks of the rollouts, if they are given.
    pub(super) tasks: &'a [Task],
    /// Tasks to measure by.
    pub(super) held_out: &'a [Task],
    /// The teacher's traces, if they count.
    pub(super) traces: Vec<Trace>,
}

/// Reads the rollouts of a file with the teacher's rows of their tasks, and says what is in it.
pub(super) fn read(
    file: RolloutFile<'_>,
    student: &Student,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Recorded, Failure> {
    let RolloutFile { path, files, tasks, held_out, traces } = file;
    let mut recorded = Recorded::read(path, student, config, tasks)?;
    if let Some(path) = &files.held_out {
        check_held_out(path, held_out, recorded.tasks())?;
    }
    check_settings(config, &recorded.counts)?;
    let ids: Vec<TaskId> = recorded.tasks().cloned().collect();
    let traces = TraceFile { path: files.traces.as_deref(), traces };
    let taught = traces.teach(ids.iter(), student, config)?;
    taught.check(config, files.traces.as_deref())?;
    let with = taught.rows.iter().filter(|rows| !rows.is_empty()).count();
    for (id, rows) in ids.iter().zip(taught.rows) {
        recorded.teach(id, rows);
    }
    let plan = Source::Recorded(&recorded).plan(config)?;
    say(path, &recorded.counts, config, observer);
    observer.note(&plan.recorded_arithmetic());
    say_weights(config, &format!("{with} tasks"), observer);
    let mib = student.grpo_memory(config, 1).0.total() >> 20;
    say_parameters(student, &format!("{mib} MiB"), observer);
    Ok(recorded)
}

/// Says the content of the file, and what follows from it.
fn say(path: &Path, counts: &RecordedCounts, config: &Config, observer: &dyn Observer) {
    let RecordedCounts { groups, rollouts, without_logps, .. } = *counts;
    observer.note(&format_args!(
        "{}: {} in {}, {} with the log-probabilities of their sampler",
        path.display(),
        counted(rollouts, "rollout"),
        counted(groups, "group"),
        rollouts - without_logps
    ));
    let about = |count: usize, sentence: &str| {
        if count > 0 {
            observer.note(&format_args!("{}: {sentence}", counted(count, "rollout")));
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
