//! The plan of rollouts: those to one task, sampled into a folder that is thrown away.

use std::time::Instant;

use whetstone_record::batch::path_beside;

use super::{RolloutRequest, SampleJob, local};
use crate::dry_run::{DryRun, on_cores};
use crate::failure::Failure;
use crate::scratch::Scratch;
use crate::text::counted;

/// Says what sampling would do.
pub(super) fn run(job: &SampleJob<'_>) -> Result<DryRun, Failure> {
    let scratch = Scratch::new()?;
    let out = scratch.path().join("rollouts.jsonl");
    let request = RolloutRequest { out, fresh: true, ..job.request.clone() };
    let mut whole = plan(job);
    if request.server.is_none() {
        let (plan, limits) = local::memory(job)?;
        whole.sampling(&plan, limits);
    }
    let replies = request.group_size as u64;
    let all = job.tasks.len() as u64 * replies;
    let first = job.tasks.get(..1).unwrap_or_default();
    let probe = SampleJob { request: &request, tasks: first, ..*job };
    let began = Instant::now();
    let Some(probed) = probe.run()? else {
        whole.note("stopped before the task was done");
        return Ok(whole);
    };
    let (loading_and_sampling, seconds) = (began.elapsed().as_secs_f64(), probed.seconds);
    // A server answers a limited number of requests at a time; locally, tasks in one batch share
    // the work.
    let at_a_time = match request.server {
        Some(_) => job.config.teacher.max_concurrent_requests as usize,
        None => 1,
    };
    let estimate = on_cores(seconds, replies, all, at_a_time);
    whole.probed(format!("one task, {replies} replies"), seconds, estimate);
    whole.probed_with(loading_and_sampling - seconds);
    if request.server.is_none() {
        whole.note("an upper bound: tasks in a batch are faster than a single one");
    }
    Ok(whole)
}

fn plan(job: &SampleJob<'_>) -> DryRun {
    let (request, tasks) = (job.request, job.tasks.len());
    let mut whole = DryRun::of("whet rollout");
    whole.reads(format!("{}: {}", request.prompts.display(), counted(tasks, "task")));
    let named = request.model.as_ref().unwrap_or(&job.config.teacher.model_name);
    whole.reads(format!("{}: the model", request.server.as_ref().unwrap_or(named)));
    whole.count("tasks", tasks as u64);
    whole.count("replies", (tasks * request.group_size) as u64);
    whole.does(format!("{} × {} replies, not judged", counted(tasks, "task"), request.group_size));
    whole.writes(request.out.display().to_string());
    let out = request.out.display();
    match (request.fresh, path_beside(&request.out).exists(), request.out.exists()) {
        (true, _, _) | (false, false, false) => {}
        (false, true, _) => {
            whole.note(format!("{out} is unfinished: only what is missing is sampled"));
        }
        (false, false, true) => {
            whole.note(format!("{out} is there already: `--fresh` replaces it"));
        }
    }
    whole
}
