//! `whet score`: rollouts in, the same lines with verdict, reward and advantage out.

mod args;
mod summary;

use whetstone_recipe::dry_run::Outcome;
use whetstone_recipe::scoring::{self, ScoredFile};
use whetstone_rollout::score::ScoreSummary;

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
                if report.scored > 0 {
                    let train =
                        NextCommand::whet("train grpo --run grpo-1 --rollouts").path(&output);
                    let train = train.words("--tasks").path(&args.prompts);
                    train.words("--set dual_source.teacher_sft_weight=0").say(printer);
                }
            }
            Ok(ending(&report))
        }
    }
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
