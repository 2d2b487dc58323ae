//! `whet quickstart --recipe solver`: GRPO beside SFT, the trivial policy and the expert on the same problems.

use std::fmt::Write;

use whetstone_eval::{Compared, Estimate};
use whetstone_recipe::quickstart::staged::{Claim, PolicyFigures, StagedReport};
use whetstone_recipe::text::{any_change, any_mean, estimate};

use crate::eval::episodes::compared;
use crate::figures::{Sides, judged};
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
    rewards(&mut text, report);
    if let Some(claim) = &report.claim {
        claimed(&mut text, claim, printer);
    }
    text
}

/// The gain over the better of SFT and the trivial policy, each at its better temperature.
fn claimed(text: &mut String, Claim { over, gain }: &Claim, printer: Printer) {
    let Compared { before, after, difference } = &gain.gain;
    let over = match *over {
        "model" => format!("{} ({})", SIDES.before, gain.before),
        policy => format!("{policy} policy"),
    };
    let (word, tone) = judged(difference);
    let _ = writeln!(
        text,
        "\n  reward for this seed, over the better of SFT and the trivial policy: {over} {:.3} -> {} ({}) {:.3}, {}  {}",
        before.value,
        SIDES.after,
        gain.after,
        after.value,
        any_change(difference),
        printer.toned(word, tone)
    );
}

/// The mean reward at each temperature, and that of policies, which have none.
fn rewards(text: &mut String, report: &StagedReport) {
    let by_temperature = &report.comparison.reward_by_temperature;
    let _ = write!(text, "\n  {:<24}", "mean reward");
    for decoding in by_temperature.keys() {
        let _ = write!(text, " {decoding:<24}");
    }
    let side = |text: &mut String, name: &str, of: &dyn Fn(&Compared) -> Estimate| {
        text.truncate(text.trim_end().len());
        let _ = write!(text, "\n  {name:<24}");
        for found in by_temperature.values() {
            let _ = write!(text, " {:<24}", any_mean(&of(found)));
        }
    };
    side(text, SIDES.before, &|found| found.before);
    side(text, SIDES.after, &|found| found.after);
    for (name, PolicyFigures { solved, reward }) in &report.policies {
        text.truncate(text.trim_end().len());
        let name = if *name == "trivial" { "drop first row of IIS" } else { name };
        let _ = write!(text, "\n  {name:<24} {:<24} solves {}", any_mean(reward), estimate(solved));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use whetstone_eval::episodes::ComparedEpisodes;
    use whetstone_eval::{BetterTemperature, Comparison, Decoding, Difference};

    use super::*;

    fn found(before: f64, after: f64) -> Compared {
        let side = |value| Estimate { value, low: 0.25, high: 0.75, tasks: 9, left_out: 0 };
        let value = after - before;
        let difference =
            Difference { value, low: 0.125, high: 0.375, tasks: 9, left_out: 0, p: 0.0005 };
        Compared { before: side(before), after: side(after), difference }
    }

    fn at(temperature: f64) -> Decoding {
        Decoding::at(temperature).unwrap()
    }

    fn policy(reward: f64) -> PolicyFigures {
        PolicyFigures { solved: found(0.0, 1.0).after, reward: found(0.0, reward).after }
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
            decoding: None,
            pass_at_k: BTreeMap::new(),
            greedy: None,
            by_temperature: BTreeMap::new(),
            better_temperature: None,
            reward_by_temperature: [(at(1.0), found(0.375, 0.625)), (at(0.0), found(0.5, 0.5))]
                .into(),
            better_reward: None,
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
            policies: [("expert", policy(1.0)), ("trivial", policy(0.6875))].into(),
            claim: Some(Claim {
                over: "trivial",
                gain: BetterTemperature {
                    before: at(0.0),
                    after: at(1.0),
                    gain: found(0.6875, 0.625),
                },
            }),
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

  mean reward              T=1                      greedy
  SFT                      0.375 [0.250, 0.750]     0.500 [0.250, 0.750]
  GRPO                     0.625 [0.250, 0.750]     0.500 [0.250, 0.750]
  expert                   1.000 [0.250, 0.750]     solves 100.0 % [25.0, 75.0]
  drop first row of IIS    0.688 [0.250, 0.750]     solves 100.0 % [25.0, 75.0]

  reward for this seed, over the better of SFT and the trivial policy: trivial policy 0.688 -> GRPO (T=1) 0.625, -0.062 [+0.125, +0.375]  worse
";
        assert_eq!(text(&report(), Printer::new(true)), expected);
    }
}
