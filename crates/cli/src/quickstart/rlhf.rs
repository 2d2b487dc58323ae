//! `whet quickstart --recipe rlhf`: PPO beside SFT, and what is claimed of it.

use std::fmt::Write;

use whetstone_eval::{Compared, Figure};
use whetstone_recipe::quickstart::staged::StagedReport;

use crate::figures::{Sides, better_temperature};
use crate::printer::Printer;

/// The sides of the headline.
const SIDES: Sides = Sides { before: "SFT", after: "PPO", difference: "PPO - SFT" };

/// What is claimed of PPO over SFT, by figure.
fn claim(figure: Figure) -> &'static str {
    match figure {
        Figure::SyntaxRate => "+10 points (85 to 95 %)",
        Figure::TestsPassed => "+15 points (70 to 85 %)",
        Figure::Quality => "+1.3 (7.5 to 8.8)",
        Figure::Diversity => "+40 % of itself",
        Figure::DiversityPassing => "",
    }
}

/// The comparison.
pub(super) fn text(report: &StagedReport, printer: Printer) -> String {
    let comparison = &report.comparison;
    let mut text = format!(
        "{} held-out tasks; 95 % intervals, differences paired by task\n\n  {:<19} {:<22} {:<22} {:<28} {}\n",
        comparison.tasks, "", "SFT", "PPO", "PPO - SFT", "claimed in the requirements"
    );
    for (k, compared) in &comparison.pass_at_k {
        row(&mut text, &format!("pass@{k}"), compared, "");
    }
    if let Some(greedy) = &comparison.greedy {
        row(&mut text, "pass@1, greedy", greedy, "");
    }
    for (decoding, compared) in comparison.at_other_temperatures() {
        row(&mut text, &format!("pass@1, {decoding}"), compared, "");
    }
    for (figure, compared) in &comparison.figures {
        row(&mut text, figure.label(), compared, claim(*figure));
    }
    if let Some(better) = &comparison.better_temperature {
        let gain = better_temperature(better, SIDES, printer);
        let _ = writeln!(text, "\n  pass@1 for this seed, {gain}");
    }
    if let Some(kl) = report.kl {
        let _ = writeln!(
            text,
            "  {:<19} mean {:.4} over {} steps, at most {:.4}; claimed: below 0.01",
            "KL of PPO's updates", kl.mean, kl.steps, kl.max
        );
    }
    text
}

fn row(text: &mut String, name: &str, compared: &Compared, claim: &str) {
    let Compared { before, after, difference } = compared;
    let side = |value: f64, low: f64, high: f64| format!("{value:.3} [{low:.3}, {high:.3}]");
    let change =
        format!("{:+.3} [{:+.3}, {:+.3}]", difference.value, difference.low, difference.high);
    let line = format!(
        "  {name:<19} {:<22} {:<22} {change:<28} {claim}",
        side(before.value, before.low, before.high),
        side(after.value, after.low, after.high),
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use whetstone_eval::{Difference, Estimate};

    use super::*;

    #[test]
    fn a_figure_stands_beside_what_is_claimed_of_it() {
        let side = |value| Estimate { value, low: 0.25, high: 0.75, tasks: 9, left_out: 0 };
        let difference =
            Difference { value: 0.125, low: -0.125, high: 0.25, tasks: 9, left_out: 0, p: 0.5 };
        let compared = Compared { before: side(0.375), after: side(0.5), difference };
        let mut text = String::new();
        row(&mut text, Figure::SyntaxRate.label(), &compared, claim(Figure::SyntaxRate));
        let expected = "  syntax rate         0.375 [0.250, 0.750]   0.500 [0.250, 0.750]   \
                        +0.125 [-0.125, +0.250]      +10 points (85 to 95 %)\n";
        assert_eq!(text, expected);
    }
}
