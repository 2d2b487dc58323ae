//! The final message of a training.

use serde::Serialize;
use whetstone_core::config::RunConfig;
use whetstone_recipe::find::open_run;
use whetstone_recipe::shell::quoted;
use whetstone_recipe::training::End;
use whetstone_record::summary::Summary;
use whetstone_train::inputs;
use whetstone_train::process_reward::{self, ProcessFacts};
use whetstone_train::reward_model::{self, Facts};
use whetstone_train::session::FINAL_MODEL;
use whetstone_train::watch::Ended;

use super::args::RunArgs;
use super::closing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

#[derive(Serialize)]
struct TrainOutput<'a> {
    run: String,
    steps: u64,
    done: bool,
    final_model: Option<String>,
    arithmetic: &'a str,
    /// Figures of the whole run, by its events.
    summary: Summary,
    /// Commands that come next; none of a training that stopped.
    next: Vec<String>,
    /// What a reward model is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    reward_model: Option<Facts>,
    /// What a process reward model is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    process_model: Option<ProcessFacts>,
}

/// Prints the path of the model with what the training came to, or how to resume.
pub(super) fn say(args: &RunArgs, end: &End, printer: Printer) -> anyhow::Result<Exit> {
    let End { dir, arithmetic, .. } = end;
    let (steps, done) = match end.ended {
        Ended::Done => (end.steps, true),
        Ended::Because { step, .. } => (step, true),
        Ended::Stopped(at) => (at, false),
    };
    let model = dir.join("outputs").join(FINAL_MODEL);
    let final_model = done.then(|| model.display().to_string());
    let reason = match end.ended {
        Ended::Because { reason, .. } => Some(reason),
        Ended::Done | Ended::Stopped(_) => None,
    };
    if let Some(reason) = reason {
        printer.note(format_args!("ended after step {steps} of {}: {reason}", end.steps));
    }
    let view = open_run(dir)?;
    let summary = Summary::read(&view).map_err(|err| Failure::View(err.into()))?;
    let inputs = inputs::known(&view).map_err(Failure::from)?;
    let tasks = inputs.as_ref().and_then(inputs::Known::tasks_learnt);
    let next = if done { closing::next(end.stage, dir, tasks) } else { Vec::new() };
    if args.json {
        let run = dir.display().to_string();
        let is_reward_model = done && end.stage == reward_model::STAGE;
        let reward_model = is_reward_model.then(|| Facts::read(&model).ok()).flatten();
        let is_process_model = done && end.stage == process_reward::STAGE;
        let process_model = is_process_model.then(|| ProcessFacts::read(&model).ok()).flatten();
        printer.json(&TrainOutput {
            run,
            steps,
            done,
            final_model,
            arithmetic,
            summary,
            next,
            reward_model,
            process_model,
        })?;
    } else if let Some(path) = final_model {
        say_figures(&summary, printer);
        printer.note("next:");
        for command in &next {
            printer.note(format_args!("  {command}"));
        }
        printer.data(path)?;
    } else {
        say_figures(&summary, printer);
        let command = command(args, end);
        printer.note(format_args!("stopped after step {steps}; resume with\n  {command}"));
    }
    Ok(if done { Exit::Done } else { Exit::Stopped })
}

fn say_figures(summary: &Summary, printer: Printer) {
    for line in closing::lines(summary) {
        printer.note(line);
    }
}

/// The complete command that resumes a run, quoted for a shell.
fn command(args: &RunArgs, end: &End) -> String {
    let mut words = vec!["whet".into(), "train".into(), end.stage.into(), "--run".into()];
    words.extend([quoted(&args.run), "--resume".to_owned()]);
    if end.runs != RunConfig::default().dir {
        words.extend(["--set".to_owned(), quoted(&format!("run.dir={}", end.runs))]);
    }
    words.extend(args.device.map(|device| format!("--device {device}")));
    words.extend(args.threads.map(|threads| format!("--threads {threads}")));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::cli::ConfigArgs;

    #[test]
    fn the_command_to_go_on_with_is_whole() {
        let args = RunArgs {
            run: "grpo 1".to_owned(),
            resume: false,
            from: None,
            dry_run: false,
            device: None,
            threads: NonZeroUsize::new(2),
            json: false,
            config: ConfigArgs { files: Vec::new(), set: Vec::new() },
        };
        let mut end = End {
            stage: "grpo",
            runs: "runs".to_owned(),
            dir: "runs/grpo 1".into(),
            ended: Ended::Stopped(3),
            steps: 9,
            arithmetic: String::new(),
        };
        let expected = "whet train grpo --run 'grpo 1' --resume --threads 2";
        assert_eq!(command(&args, &end), expected);
        end.runs = "my runs".to_owned();
        let expected =
            "whet train grpo --run 'grpo 1' --resume --set 'run.dir=my runs' --threads 2";
        assert_eq!(command(&args, &end), expected);
    }
}
