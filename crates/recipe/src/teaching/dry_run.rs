//! The plan of a collection: one request, kept in a folder that is thrown away.

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::jsonl::Records;
use whetstone_record::batch::path_beside;

use super::teachers::Teachers;
use super::{TeachRequest, collect};
use crate::dry_run::{DryRun, on_cores};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::scratch::Scratch;
use crate::text::counted;

/// Says what collecting traces would do.
pub(super) fn run(
    request: &TeachRequest,
    config: &Config,
    teachers: &Teachers,
    observer: &dyn Observer,
) -> Result<DryRun, Failure> {
    let tasks = count_tasks(request)?;
    let all = tasks as u64 * teachers.samples();
    let of_models = teachers.remote_samples().map(|samples| work(config, tasks, samples));
    let (remote, requests) = of_models.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut whole = DryRun::of("whet teach");
    whole.reads(format!("{}: {}", request.tasks.display(), counted(tasks, "task")));
    whole.count("tasks", tasks as u64);
    whole.count("samples", all);
    if remote > 0 {
        let teacher = &config.teacher;
        let (url, most) = (&teacher.api_url, teacher.max_tokens);
        let model = teacher.asked_models().join(", ");
        let at_a_time = teacher.max_concurrent_requests;
        whole.does(format!("{requests} requests to {model} at {url}, {at_a_time} at a time"));
        whole.count("requests", requests);
        whole.count("tokens_at_most", remote * u64::from(most));
    }
    let judged = if request.no_judge { "are not judged" } else { "are judged" };
    whole.does(format!("{all} samples, which {judged}"));
    for file in [Some(&request.out), request.rows.as_ref()].into_iter().flatten() {
        whole.writes(file.display().to_string());
    }
    if path_beside(&request.out).exists() && !request.fresh {
        whole.note("an interrupted run exists: stored answers are not requested again");
    }
    let scratch = Scratch::new()?;
    let out = scratch.path().join("traces.jsonl");
    let rows = request.rows.as_ref().map(|_| scratch.path().join("rows.jsonl"));
    let probe = TeachRequest {
        out,
        rows,
        max_tasks: Some(1),
        fresh: true,
        only_missing: false,
        strict: false,
        ..request.clone()
    };
    let few =
        Teachers::of(request, config, observer)?.at_most(config.teacher.samples_per_request.max(1));
    let took = collect(&probe, config, &few, observer)?.took.as_secs_f64();
    let (at_a_time, what, units) = if remote > 0 {
        (config.teacher.max_concurrent_requests as usize, "one request", requests)
    } else {
        (whetstone_env::judge::workers(config), "one task", tasks as u64)
    };
    whole.probed(what, took, on_cores(took, 1, units, at_a_time));
    Ok(whole)
}

/// Samples and requests of `tasks` tasks.
fn work(config: &Config, tasks: usize, samples: u32) -> (u64, u64) {
    let (tasks, samples) = (tasks as u64, u64::from(samples));
    let per_request = u64::from(config.teacher.samples_per_request.max(1));
    (tasks * samples, tasks * samples.div_ceil(per_request))
}

/// Tasks that are asked about; lines that are not tasks are reported by the run itself.
fn count_tasks(request: &TeachRequest) -> Result<usize, Failure> {
    let records = Records::<Task, _>::open(&request.tasks).map_err(Failure::Lines)?;
    let tasks = records.flatten().count();
    Ok(request.max_tasks.map_or(tasks, |most| tasks.min(most as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_samples_may_be_asked_for_at_once() {
        let mut config = Config::default();
        config.teacher.samples_per_request = 1;
        assert_eq!(work(&config, 10, 8), (80, 80));
        config.teacher.samples_per_request = 3;
        assert_eq!(work(&config, 10, 8), (80, 30));
    }
}
