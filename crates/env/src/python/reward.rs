//! What a reading and a verdict are worth.
//!
//! ```text
//! weighted_sum        w_s · syntax + w_f · tests + w_q · quality
//! pass_times_quality  0.85 · tests + 0.15 · tests · quality
//! ```
//!
//! Two gates cap the total at 0: `code` when the reply has no program, `syntax` when the program does
//! not compile. Quality is that of a program which compiles, whatever its tests say.

use std::collections::BTreeMap;

use whetstone_core::config::{Composite, QualityWeights, TestsWorth};
use whetstone_core::judgement::Judgement;
use whetstone_core::reward::{Gate, Reward, Term};
use whetstone_core::verdict::Verdict;

use super::{Quality, Reading, Rules};

/// What passing all tests is worth where quality multiplies.
const PASS: f64 = 0.85;
/// The rest, which only good code earns.
const POLISH: f64 = 0.15;
/// No weight that means anything is larger; it keeps the total finite.
const MAX_WEIGHT: f64 = 1e9;

impl Rules {
    /// What a judged reply is worth.
    pub fn reward(&self, reading: &Reading, judgement: &Judgement) -> Reward {
        let tests = self.tests_value(judgement);
        let quality = self.quality_value(reading);
        let terms = match self.reward.composite {
            Composite::WeightedSum => {
                let mut terms = self.static_terms(reading);
                terms.push(("tests", tests, self.reward.function_weight));
                terms
            }
            Composite::PassTimesQuality => {
                vec![("tests", tests, PASS), ("tests_times_quality", tests * quality, POLISH)]
            }
        };
        reward(&terms, judgement.verdict())
    }

    /// What a reply is worth by its static terms alone, where nothing was run.
    pub fn static_reward(&self, reading: &Reading) -> Reward {
        let terms = match self.reward.composite {
            Composite::WeightedSum => self.static_terms(reading),
            Composite::PassTimesQuality => vec![("quality", self.quality_value(reading), POLISH)],
        };
        match reading {
            Reading::Settled(judgement) => reward(&terms, judgement.verdict()),
            // Any verdict of a program that ran keeps both gates open.
            Reading::Runs(_) => reward(&terms, &Verdict::Pass),
        }
    }

    fn static_terms(&self, reading: &Reading) -> Vec<(&'static str, f64, f64)> {
        let syntax = f64::from(u8::from(matches!(reading, Reading::Runs(_))));
        vec![
            ("syntax", syntax, self.reward.syntax_weight),
            ("quality", self.quality_value(reading), self.reward.quality_weight),
        ]
    }

    fn tests_value(&self, judgement: &Judgement) -> f64 {
        let counts = judgement.counts();
        match self.reward.tests {
            TestsWorth::All => f64::from(u8::from(judgement.verdict().is_pass())),
            TestsWorth::Fraction => f64::from(counts.passed) / f64::from(counts.total.max(1)),
        }
    }

    fn quality_value(&self, reading: &Reading) -> f64 {
        match reading {
            Reading::Settled(_) => 0.0,
            Reading::Runs(candidate) => candidate.quality.mean(&self.reward.quality),
        }
    }
}

impl Quality {
    /// The weighted mean of the parts; 0 where no part has a weight.
    pub fn mean(&self, weights: &QualityWeights) -> f64 {
        let parts = [
            (self.complexity, weights.complexity),
            (self.readability, weights.readability),
            (self.documentation, weights.documentation),
        ];
        let weights: f64 = parts.iter().map(|(_, weight)| bounded(*weight)).sum();
        let sum: f64 = parts.iter().map(|(value, weight)| value * bounded(*weight)).sum();
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

/// A weight as a finite number at least 0.
fn bounded(weight: f64) -> f64 {
    if weight.is_nan() { 0.0 } else { weight.clamp(0.0, MAX_WEIGHT) }
}

fn reward(terms: &[(&str, f64, f64)], verdict: &Verdict) -> Reward {
    let term = |&(name, value, weight): &(&str, f64, f64)| {
        (name.to_owned(), Term { value, weight: bounded(weight) })
    };
    let terms: BTreeMap<_, _> = terms.iter().map(term).collect();
    let gate = |name: &str, passed| (name.to_owned(), Gate { passed, cap: 0.0 });
    let gates = BTreeMap::from([
        gate("code", *verdict != Verdict::NoCode),
        gate("syntax", *verdict != Verdict::SyntaxError),
    ]);
    Reward::new(terms, gates).expect("values and weights are finite")
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::RewardConfig;
    use whetstone_core::judgement::{Counts, Held, Isolation};
    use whetstone_core::program::{Language, Program};

    use super::*;
    use crate::python::Candidate;

    const QUALITY: Quality = Quality { complexity: 0.5, readability: 1.0, documentation: 0.0 };

    fn runs() -> Reading {
        let program =
            Program { language: Language::Python, source: String::new(), truncated: true };
        Reading::Runs(Candidate { program, quality: QUALITY, may_vary: false })
    }

    fn ran(verdict: Verdict, passed: u32, total: u32) -> Judgement {
        let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
        Judgement::of_run(verdict, Counts { passed, total }, held).unwrap()
    }

    fn rules(composite: Composite, tests: TestsWorth) -> Rules {
        Rules::new(RewardConfig { composite, tests, ..RewardConfig::default() })
    }

    #[track_caller]
    fn check(reward: &Reward, total: f64, terms: &[&str]) {
        assert!((reward.total() - total).abs() < 1e-12, "{reward:?}");
        assert_eq!(reward.terms().keys().collect::<Vec<_>>(), terms);
    }

    #[test]
    fn the_weighted_sum_is_the_one_of_the_settings() {
        let rules = rules(Composite::WeightedSum, TestsWorth::Fraction);
        // Quality: 0.4 · 0.5 + 0.3 · 1 = 0.5.
        let reward = rules.reward(&runs(), &ran(Verdict::Wrong { test: 1 }, 1, 4));
        check(&reward, 0.3 + 0.5 * 0.25 + 0.2 * 0.5, &["quality", "syntax", "tests"]);
        let reward = rules.reward(&runs(), &ran(Verdict::Pass, 4, 4));
        check(&reward, 0.3 + 0.5 + 0.1, &["quality", "syntax", "tests"]);
    }

    #[test]
    fn all_or_nothing_pays_no_part_of_the_tests() {
        let rules = rules(Composite::WeightedSum, TestsWorth::All);
        let reward = rules.reward(&runs(), &ran(Verdict::Wrong { test: 3 }, 3, 4));
        check(&reward, 0.3 + 0.1, &["quality", "syntax", "tests"]);
    }

    #[test]
    fn where_quality_multiplies_nothing_is_earned_without_tests() {
        let rules = rules(Composite::PassTimesQuality, TestsWorth::Fraction);
        let names = ["tests", "tests_times_quality"];
        check(&rules.reward(&runs(), &ran(Verdict::Timeout, 0, 2)), 0.0, &names);
        check(&rules.reward(&runs(), &ran(Verdict::Pass, 2, 2)), 0.85 + 0.15 * 0.5, &names);
        let half = 0.5 * (0.85 + 0.15 * 0.5);
        check(&rules.reward(&runs(), &ran(Verdict::Timeout, 1, 2)), half, &names);
    }

    #[test]
    fn a_reply_without_a_program_that_compiles_earns_nothing_and_says_why() {
        for composite in [Composite::WeightedSum, Composite::PassTimesQuality] {
            let rules = rules(composite, TestsWorth::Fraction);
            for (verdict, gate) in [(Verdict::NoCode, "code"), (Verdict::SyntaxError, "syntax")] {
                let judgement = Judgement::of_reply(verdict, 3).unwrap();
                let reading = Reading::Settled(judgement.clone());
                for reward in [rules.reward(&reading, &judgement), rules.static_reward(&reading)] {
                    assert!(reward.total().abs() < f64::EPSILON, "{reward:?}");
                    let failed: Vec<_> =
                        reward.gates().iter().filter(|(_, g)| !g.passed).map(|(n, _)| n).collect();
                    assert_eq!(failed, [gate]);
                }
            }
        }
    }

    #[test]
    fn without_a_run_only_what_reading_shows_is_paid() {
        let sum = rules(Composite::WeightedSum, TestsWorth::Fraction);
        check(&sum.static_reward(&runs()), 0.3 + 0.1, &["quality", "syntax"]);
        let product = rules(Composite::PassTimesQuality, TestsWorth::Fraction);
        check(&product.static_reward(&runs()), 0.15 * 0.5, &["quality"]);
    }

    #[test]
    fn weights_that_are_no_numbers_pay_nothing() {
        let weights =
            QualityWeights { complexity: f64::NAN, readability: -1.0, documentation: 0.0 };
        assert!(QUALITY.mean(&weights).abs() < f64::EPSILON);
        let config = RewardConfig { syntax_weight: f64::NAN, ..RewardConfig::default() };
        let reward = Rules::new(config).reward(&runs(), &ran(Verdict::Pass, 1, 1));
        assert!((reward.total() - 0.6).abs() < 1e-12);
    }
}
