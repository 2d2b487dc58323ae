//! `whet quickstart --recipe solver`: GRPO beside SFT.

use whetstone_recipe::quickstart::staged::StagedReport;

use crate::eval::episodes::{Sides, compared};
use crate::printer::Printer;

/// The columns of the comparison.
const SIDES: Sides = Sides { before: "SFT", after: "GRPO", difference: "GRPO - SFT" };

/// The comparison.
pub(super) fn text(report: &StagedReport, printer: Printer) -> String {
    let comparison = &report.comparison;
    let tasks = comparison.tasks;
    let mut text = format!(
        "{tasks} held-out problems of families that were not trained on; 95 % intervals, differences paired by problem\n"
    );
    compared(&mut text, comparison, SIDES, printer);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use whetstone_eval::episodes::ComparedEpisodes;
    use whetstone_eval::{Compared, Comparison, Difference, Estimate};

    use super::*;

    fn found(before: f64, after: f64) -> Compared {
        let side = |value| Estimate { value, low: 0.25, high: 0.75, tasks: 9, left_out: 0 };
        let value = after - before;
        let difference =
            Difference { value, low: 0.125, high: 0.375, tasks: 9, left_out: 0, p: 0.0005 };
        Compared { before: side(before), after: side(after), difference }
    }

    fn report() -> StagedReport {
        let means = [("reward", found(0.375, 0.625)), ("solver/optimum_kept", found(0.25, 0.5))];
        let episodes = ComparedEpisodes {
            max_turns: 10,
            solved_within: BTreeMap::from([(1, found(0.25, 0.5)), (10, found(0.5, 0.75))]),
            means: means.map(|(name, found)| (name.to_owned(), found)).into(),
        };
        let comparison = Comparison {
            v: 1,
            before: String::new(),
            after: String::new(),
            tasks: 9,
            same_suite: true,
            settings: BTreeMap::new(),
            pass_at_k: BTreeMap::new(),
            greedy: None,
            code: None,
            greedy_code: None,
            over_best_prompt: None,
            figures: BTreeMap::new(),
            episodes: Some(episodes),
            best_of: BTreeMap::new(),
            gained: Vec::new(),
            lost: Vec::new(),
        };
        StagedReport {
            v: 1,
            seed: 42,
            run: "runs/solver".to_owned(),
            comparison,
            kl: None,
            stages: Vec::new(),
            seconds: 1.0,
            page: None,
        }
    }

    #[test]
    fn grpo_stands_beside_sft_with_the_paired_difference() {
        let expected = "\
9 held-out problems of families that were not trained on; 95 % intervals, differences paired by problem

  episodes                 SFT                      GRPO                     GRPO - SFT                   p
  solved within 1 turn     25.0 % [25.0, 75.0]      50.0 % [25.0, 75.0]      +25.0 points [+12.5, +37.5]  0.0005  better
  solved within 10 turns   50.0 % [25.0, 75.0]      75.0 % [25.0, 75.0]      +25.0 points [+12.5, +37.5]  0.0005  better
  reward                   0.375 [0.250, 0.750]     0.625 [0.250, 0.750]     +0.250 [+0.125, +0.375]      0.0005  better
  optimum kept             0.250 [0.250, 0.750]     0.500 [0.250, 0.750]     +0.250 [+0.125, +0.375]      0.0005  higher
";
        assert_eq!(text(&report(), Printer::new(true)), expected);
    }
}
