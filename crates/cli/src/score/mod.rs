//! `whet score`: rollouts in, the same lines with verdict, reward and advantage out.

mod args;
mod summary;

use std::path::Path;

use whetstone_core::config::Config;
use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::scoring::{self, ScoredFile};
use whetstone_rollout::score::{Sampled, ScoreSummary};

pub use self::args::{AdvantageArg, ScoreArgs};
use crate::config_command::load;
use crate::exit::Exit;
use crate::next::NextCommand;
use crate::observer::dry_run;
use crate::printer::Printer;

/// Scores a file.
pub(crate) fn run(args: &ScoreArgs, printer: Printer) -> anyhow::Result<Exit> {
    let config = load(&args.config)?.config;
    match scoring::run(&args.request(), &config, &printer)? {
        Outcome::Planned(plan) => dry_run(&plan, args.json, printer),
        Outcome::Done(ScoredFile { report, output, report_file }) => {
            if args.json {
                printer.json(&report)?;
            } else {
                summary::print(&report, &output, &report_file, printer)?;
                if let Some(train) = training(&report, &output, &args.prompts) {
                    train.say(printer);
                }
            }
            Ok(ending(&report))
        }
    }
}

/// The training on the scored lines; none where nothing was scored, or nothing that one policy sampled.
fn training(report: &ScoreSummary, output: &Path, tasks: &Path) -> Option<NextCommand> {
    let temperature = match report.sampled {
        Sampled::Unknown => None,
        Sampled::At(temperature) => Some(temperature),
        Sampled::Mixed | Sampled::ByOthers => return None,
    };
    let train = NextCommand::whet("train grpo --run grpo-1 --rollouts").path(output);
    let train = train.words("--tasks").path(tasks);
    let train = train.words("--set dual_source.teacher_sft_weight=0");
    let default = Config::default().grpo.temperature;
    let other = temperature.filter(|sampled| sampled.to_bits() != default.to_bits());
    let train = match other {
        Some(sampled) => train.words(&format!("--set grpo.temperature={sampled:?}")),
        None => train,
    };
    (report.scored > 0).then_some(train)
}

/// The exit code: 1 if a line could not be judged.
fn ending(report: &ScoreSummary) -> Exit {
    let nothing = report.lines > 0 && report.scored == 0;
    if report.failed > 0 || nothing { Exit::No } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_training_is_set_to_how_the_rollouts_were_sampled() {
        let train = |sampled, scored| {
            let report = ScoreSummary { sampled, scored, ..ScoreSummary::default() };
            training(&report, Path::new("s.jsonl"), Path::new("t.jsonl"))
        };
        let plain = NextCommand::given(
            "whet train grpo --run grpo-1 --rollouts s.jsonl --tasks t.jsonl --set dual_source.teacher_sft_weight=0",
        );
        assert_eq!(train(Sampled::Unknown, 3), Some(plain.clone()));
        assert_eq!(train(Sampled::At(1.0), 3), Some(plain.clone()));
        assert_eq!(train(Sampled::At(0.7), 3), Some(plain.words("--set grpo.temperature=0.7")));
        assert_eq!(train(Sampled::Mixed, 3), None);
        assert_eq!(train(Sampled::ByOthers, 3), None, "no policy sampled mock rollouts");
        assert_eq!(train(Sampled::Unknown, 0), None);
    }

    #[test]
    fn a_line_that_could_not_be_judged_is_an_answer_of_no() {
        let report = |scored, failed, rejected| {
            let lines = scored + failed + rejected;
            ending(&ScoreSummary { lines, scored, failed, rejected, ..ScoreSummary::default() })
        };
        assert_eq!(report(3, 0, 0), Exit::Done);
        assert_eq!(report(3, 0, 2), Exit::Done, "set aside, as asked");
        assert_eq!(report(3, 1, 0), Exit::No);
        assert_eq!(report(0, 0, 2), Exit::No);
        assert_eq!(report(0, 0, 0), Exit::Done);
    }
}
