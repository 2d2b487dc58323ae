//! `whet teach --dry-run`: one request, kept in a folder that is thrown away.

use whetstone_core::Task;
use whetstone_core::config::Config;
use whetstone_core::jsonl::Records;
use whetstone_record::batch::path_beside;

use super::{TeachArgs, TeacherArg, collect_from};
use crate::dry_run::{DryRun, on_cores};
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::Printer;
use crate::scratch::Scratch;

/// Says what collecting traces would do.
pub(super) fn run(
    args: &TeachArgs,
    config: &Config,
    samples: u32,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let tasks = count_tasks(args)?;
    let (all, requests) = work(config, tasks, samples);
    let mut whole = DryRun::of("whet teach");
    whole.reads(format!("{}: {}", args.tasks.display(), counted(tasks, "task")));
    whole.count("tasks", tasks as u64);
    whole.count("samples", all);
    if args.teacher == TeacherArg::Remote {
        let teacher = &config.teacher;
        let (url, model, most) = (&teacher.api_url, &teacher.model_name, teacher.max_tokens);
        let at_a_time = teacher.max_concurrent_requests;
        whole.does(format!("{requests} requests to {model} at {url}, {at_a_time} at a time"));
        whole.count("requests", requests);
        whole.count("tokens_at_most", all * u64::from(most));
    }
    let judged = if args.no_judge { "are not judged" } else { "are judged" };
    whole.does(format!("{all} samples, which {judged}"));
    whole.writes(args.out.display().to_string());
    if path_beside(&args.out).exists() && !args.fresh {
        whole.note("an interrupted run exists: stored answers are not requested again");
    }
    let scratch = Scratch::new()?;
    let out = scratch.path().join("traces.jsonl");
    let probe = TeachArgs {
        out,
        max_tasks: Some(1),
        fresh: true,
        only_missing: false,
        strict: false,
        ..args.clone()
    };
    let per_request = config.teacher.samples_per_request.clamp(1, samples);
    let took = collect_from(&probe, config, per_request, printer)?.took.as_secs_f64();
    let (at_a_time, what) = match args.teacher {
        TeacherArg::Remote => (config.teacher.max_concurrent_requests as usize, "one request"),
        TeacherArg::Embedded | TeacherArg::Reference => (crate::judge::workers(config), "one task"),
    };
    whole.probed(what, took, on_cores(took, 1, requests, at_a_time));
    whole.print(args.json, printer)
}

/// Samples and requests of `tasks` tasks.
fn work(config: &Config, tasks: usize, samples: u32) -> (u64, u64) {
    let (tasks, samples) = (tasks as u64, u64::from(samples));
    let per_request = u64::from(config.teacher.samples_per_request.max(1));
    (tasks * samples, tasks * samples.div_ceil(per_request))
}

/// Tasks that are asked about; lines that are not tasks are reported by the run itself.
fn count_tasks(args: &TeachArgs) -> Result<usize, Failure> {
    let records = Records::<Task, _>::open(&args.tasks).map_err(Failure::Lines)?;
    let tasks = records.flatten().count();
    Ok(args.max_tasks.map_or(tasks, |most| tasks.min(most as usize)))
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
