//! The plan of an evaluation: one task, measured into a folder that is thrown away.

use std::time::Instant;

use whetstone_core::Task;
use whetstone_eval::{Evaluated, RESULTS, ROLLOUTS, Times};

use super::{EvalRequest, Measure, Policy, local};
use crate::dry_run::{DryRun, on_cores};
use crate::failure::Failure;
use crate::sample_lines::{OneTask, lines_of_one_task};
use crate::scratch::Scratch;
use crate::text::counted;

/// Says what an evaluation would do.
pub(super) fn run(measure: &Measure<'_>) -> Result<DryRun, Failure> {
    let scratch = Scratch::new()?;
    let request =
        EvalRequest { out: scratch.path().join("out"), fresh: true, ..measure.request.clone() };
    let mut whole = plan(measure);
    let probed = match &measure.request.samples {
        Some(samples) => {
            let found = lines_of_one_task(samples, &scratch.path().join("samples.jsonl"))?;
            given(measure, request, &found, &mut whole)?
        }
        None => match request.policy {
            Some(policy) => by_policy(measure, &request, policy, &mut whole)?,
            None => sampled(measure, &request, &mut whole)?,
        },
    };
    if !probed {
        whole.note("stopped before the task was done");
    }
    Ok(whole)
}

fn plan(measure: &Measure<'_>) -> DryRun {
    let (request, tasks) = (measure.request, measure.tasks.len());
    let mut whole = DryRun::of("whet eval");
    let file = || request.tasks.display().to_string();
    let named = request.suite.as_ref().map_or_else(file, |suite| suite.suite.full_name());
    whole.reads(format!("{named}: {}", counted(tasks, "task")));
    whole.count("tasks", tasks as u64);
    if let Some(best_of) = &request.best_of {
        whole.reads(format!("{}: a reward model", best_of.reward_model.display()));
        whole.does(
            "scores every sample by the reward model; the probe does not, so it takes longer",
        );
    }
    for name in [ROLLOUTS, RESULTS] {
        whole.writes(request.out.join(name).display().to_string());
    }
    if request.out.join(RESULTS).exists() && !request.fresh {
        whole.note(format!(
            "{} has results already: `--fresh` replaces them",
            request.out.display()
        ));
    }
    whole
}

/// Samples and judges the first task.
fn sampled(
    measure: &Measure<'_>,
    request: &EvalRequest,
    whole: &mut DryRun,
) -> Result<bool, Failure> {
    let passes = 1 + measure.config.eval.further_temperatures().len() as u64;
    let samples =
        passes * u64::from(measure.config.eval.num_samples) + u64::from(!request.skip_greedy);
    let all = measure.tasks.len() as u64 * samples;
    let first: &[Task] = measure.tasks.get(..1).unwrap_or_default();
    let probe = Measure { request, tasks: first, began: Instant::now(), ..*measure };
    whole.does(format!("{} × {samples} samples", counted(measure.tasks.len(), "task")));
    whole.count("samples", all);
    let named = request.model.as_ref().unwrap_or(&measure.config.student.model_name);
    whole.reads(format!("{}: the model", request.server.as_ref().unwrap_or(named)));
    if request.server.is_none() {
        let (plan, limits) = local::memory(&Measure { request, ..*measure })?;
        whole.sampling(&plan, limits);
    }
    let Some(Evaluated { times, .. }) = probe.measure()? else { return Ok(false) };
    let Times { prompts, sampling, judging, .. } = times;
    let seconds = (prompts + sampling + judging).as_secs_f64();
    // A server answers a limited number of requests at a time; locally, tasks in one batch share
    // the work.
    let at_a_time = match request.server {
        Some(_) => measure.config.teacher.max_concurrent_requests as usize,
        None => 1,
    };
    let estimate = on_cores(seconds, samples, all, at_a_time);
    whole.probed(format!("one task, {samples} samples"), seconds, estimate);
    if request.server.is_none() {
        whole.note("an upper bound: tasks in a batch are faster than a single one");
    }
    Ok(true)
}

/// Lets a policy answer to the first task.
fn by_policy(
    measure: &Measure<'_>,
    request: &EvalRequest,
    policy: Policy,
    whole: &mut DryRun,
) -> Result<bool, Failure> {
    let tasks = measure.tasks.len();
    whole.does(format!("{} by the {} policy", counted(tasks, "task"), policy.name()));
    whole.count("samples", tasks as u64);
    let first: &[Task] = measure.tasks.get(..1).unwrap_or_default();
    let probe = Measure { request, tasks: first, began: Instant::now(), ..*measure };
    let Some(Evaluated { times, .. }) = probe.measure()? else { return Ok(false) };
    let seconds = (times.sampling + times.judging).as_secs_f64();
    whole.probed("one task".to_owned(), seconds, on_cores(seconds, 1, tasks as u64, 1));
    Ok(true)
}

/// Judges the given samples of one task.
fn given(
    measure: &Measure<'_>,
    request: EvalRequest,
    found: &OneTask,
    whole: &mut DryRun,
) -> Result<bool, Failure> {
    let request = EvalRequest { samples: Some(found.path.clone()), ..request };
    let samples = measure.request.samples.as_deref().unwrap_or(&found.path);
    whole.reads(format!("{}: {}", samples.display(), counted(found.all, "sample")));
    whole.does(format!("judges {}", counted(found.all, "sample")));
    whole.count("samples", found.all as u64);
    let probe = Measure { request: &request, began: Instant::now(), ..*measure };
    let Some(Evaluated { times, .. }) = probe.measure()? else { return Ok(false) };
    let (seconds, cores) =
        (times.judging.as_secs_f64(), whetstone_env::judge::workers(measure.config));
    let estimate = on_cores(seconds, found.taken as u64, found.all as u64, cores);
    whole.probed(format!("one task, {}", counted(found.taken, "sample")), seconds, estimate);
    Ok(true)
}
