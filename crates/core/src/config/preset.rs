//! Algorithms by their names: the values that their papers give to the keys of `[grpo]`.
//!
//! A preset sets the objective and what gives it its meaning: how a ratio is bounded and how many updates
//! a batch makes (without a second one no ratio leaves 1), how rewards become advantages, what losses are
//! divided by, and what keeps the policy near its reference. Group size,
//! learning rate and batch follow from the model and the machine; `docs/guides/algorithms.md` has what
//! the papers used. Keys that are given win over the preset, except those that define the algorithm:
//! [`contradictions`] names these.

use serde::Serialize;

use super::Problem;
use super::algorithm::{Algorithm, RatioOf};
use super::grpo::{AdvantageBy, DeadGroups, GrpoConfig, KlEstimator, KlIn, NormaliserBy};

/// An algorithm with its name in settings.
struct Named {
    algorithm: Algorithm,
    name: &'static str,
    preset: Preset,
}

/// The keys of `[grpo]` that an algorithm sets, by their names there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Preset {
    ratio: RatioOf,
    advantage: AdvantageBy,
    normaliser: NormaliserBy,
    clip_range: f64,
    clip_range_high: f64,
    kl_coef: f64,
    kl_estimator: KlEstimator,
    kl_in: KlIn,
    dead_groups: DeadGroups,
    mini_batches: u32,
    mask_truncated_completions: bool,
    dynamic_sampling_rounds: u32,
}

/// The values of GRPO's paper, which the other presets are based on. Who clips makes several updates of a
/// batch: four, as in GSPO's paper; DAPO's and CISPO's sixteen are of batches of thousands.
const GRPO: Preset = Preset {
    ratio: RatioOf::Token,
    advantage: AdvantageBy::StandardScore,
    normaliser: NormaliserBy::SequenceMean,
    clip_range: 0.2,
    clip_range_high: 0.2,
    kl_coef: 0.04,
    kl_estimator: KlEstimator::K3,
    kl_in: KlIn::Loss,
    dead_groups: DeadGroups::Keep,
    mini_batches: 4,
    mask_truncated_completions: false,
    dynamic_sampling_rounds: 0,
};

/// Every algorithm but `custom`.
const NAMED: [Named; 6] = [
    Named { algorithm: Algorithm::Grpo, name: "grpo", preset: GRPO },
    Named {
        algorithm: Algorithm::DrGrpo,
        name: "dr_grpo",
        preset: Preset {
            advantage: AdvantageBy::Mean,
            normaliser: NormaliserBy::ConstantLength,
            kl_coef: 0.0,
            ..GRPO
        },
    },
    Named {
        algorithm: Algorithm::Dapo,
        name: "dapo",
        preset: Preset {
            normaliser: NormaliserBy::TokenMean,
            clip_range_high: 0.28,
            kl_coef: 0.0,
            // Equation 8 is over groups with 0 < correct < G.
            dead_groups: DeadGroups::LeaveOut,
            mask_truncated_completions: true,
            // Ten rounds in all, as `max_num_gen_batches = 10` in the authors' recipe for verl.
            dynamic_sampling_rounds: 9,
            ..GRPO
        },
    },
    Named {
        algorithm: Algorithm::Rloo,
        name: "rloo",
        preset: Preset {
            advantage: AdvantageBy::LeaveOneOut,
            normaliser: NormaliserBy::ConstantLength,
            kl_coef: 0.03,
            kl_estimator: KlEstimator::K1,
            kl_in: KlIn::Reward,
            // It does not clip.
            mini_batches: 1,
            ..GRPO
        },
    },
    Named {
        algorithm: Algorithm::Gspo,
        name: "gspo",
        preset: Preset {
            ratio: RatioOf::Sequence,
            clip_range: 3e-4,
            clip_range_high: 4e-4,
            kl_coef: 0.0,
            ..GRPO
        },
    },
    Named {
        algorithm: Algorithm::Cispo,
        name: "cispo",
        preset: Preset {
            ratio: RatioOf::Weight,
            normaliser: NormaliserBy::TokenMean,
            clip_range: 1.0,
            clip_range_high: 4.0,
            kl_coef: 0.0,
            ..GRPO
        },
    },
];

impl Algorithm {
    /// Every algorithm that has a preset.
    pub fn named() -> impl Iterator<Item = Self> {
        NAMED.iter().map(|named| named.algorithm)
    }

    /// The name in settings.
    pub fn name(self) -> &'static str {
        NAMED.iter().find(|named| named.algorithm == self).map_or("custom", |named| named.name)
    }

    /// The values of its paper; none for `custom`.
    pub fn preset(self) -> Option<Preset> {
        NAMED.iter().find(|named| named.algorithm == self).map(|named| named.preset)
    }

    /// The defaults with the preset over them.
    pub fn settings(self) -> GrpoConfig {
        let mut config = GrpoConfig { algorithm: self, ..GrpoConfig::default() };
        if let Some(preset) = self.preset() {
            preset.apply(&mut config);
        }
        config
    }
}

impl Preset {
    /// Sets its keys.
    pub fn apply(&self, config: &mut GrpoConfig) {
        let Self {
            ratio,
            advantage,
            normaliser,
            clip_range,
            clip_range_high,
            kl_coef,
            kl_estimator,
            kl_in,
            dead_groups,
            mini_batches,
            mask_truncated_completions,
            dynamic_sampling_rounds,
        } = *self;
        (config.ratio, config.advantage, config.normaliser) = (ratio, advantage, normaliser);
        (config.clip_range, config.clip_range_high) = (clip_range, clip_range_high);
        (config.kl_coef, config.kl_estimator, config.kl_in) = (kl_coef, kl_estimator, kl_in);
        (config.dead_groups, config.mini_batches) = (dead_groups, mini_batches);
        config.mask_truncated_completions = mask_truncated_completions;
        config.dynamic_sampling_rounds = dynamic_sampling_rounds;
    }
}

/// Keys that are set against what makes the named algorithm what it is.
pub(super) fn contradictions(config: &GrpoConfig) -> Vec<Problem> {
    const HINT: &str = "leave the key out, or set `grpo.algorithm` to `custom`";
    let Some(preset) = config.algorithm.preset() else { return Vec::new() };
    let name = config.algorithm.name();
    let mut problems = Vec::new();
    let mut check = |key, (found, needed): (String, String)| {
        if found != needed {
            let message = format!("`{name}` needs {needed}, and it is set to {found}");
            problems.push(Problem { key, message, hint: HINT });
        }
    };
    check("grpo.ratio", (word(&config.ratio), word(&preset.ratio)));
    check("grpo.advantage", (word(&config.advantage), word(&preset.advantage)));
    // GRPO is often run with a mean over tokens and keeps its name.
    if config.algorithm != Algorithm::Grpo {
        check("grpo.normaliser", (word(&config.normaliser), word(&preset.normaliser)));
    }
    problems
}

/// A choice as settings write it.
fn word(choice: &impl Serialize) -> String {
    let word = serde_json::to_value(choice).unwrap_or_default();
    format!("`{}`", word.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_run_and_warns_of_nothing() {
        for algorithm in Algorithm::named() {
            let config = algorithm.settings();
            assert_eq!(config.problems(), [], "{algorithm:?}");
            assert_eq!(contradictions(&config), [], "{algorithm:?}");
            assert_eq!(config.warnings(), [], "{algorithm:?}");
        }
    }

    #[test]
    fn every_algorithm_has_a_row_and_a_name() {
        let schema = serde_json::to_value(schemars::schema_for!(Algorithm)).unwrap();
        let values = schema["oneOf"].as_array().unwrap();
        let names: Vec<&str> =
            values.iter().map(|value| value["const"].as_str().unwrap()).collect();
        let named: Vec<&str> = Algorithm::named().map(Algorithm::name).collect();
        assert_eq!(names, [&["custom"][..], &named].concat());
    }

    #[test]
    fn a_key_of_a_preset_is_a_key_of_the_section_and_applying_sets_it() {
        for algorithm in Algorithm::named() {
            let preset = serde_json::to_value(algorithm.preset().unwrap()).unwrap();
            let set = serde_json::to_value(algorithm.settings()).unwrap();
            for (key, value) in preset.as_object().unwrap() {
                assert_eq!(set.get(key), Some(value), "{algorithm:?}: {key}");
            }
            assert_eq!(set["algorithm"], algorithm.name());
        }
        assert_eq!(Algorithm::Custom.settings(), GrpoConfig::default());
    }

    /// A bound on a ratio that is always 1 bounds nothing.
    #[test]
    fn who_clips_makes_several_updates_of_a_batch_and_who_does_not_makes_one() {
        for config in Algorithm::named().map(Algorithm::settings) {
            let updates = if config.clips() { 4 } else { 1 };
            assert_eq!(config.mini_batches, updates, "{:?}", config.algorithm);
        }
    }

    /// The number of keys in which an algorithm contradicts settings with one change.
    fn found(algorithm: Algorithm, change: impl FnOnce(&mut GrpoConfig)) -> Vec<&'static str> {
        let mut config = algorithm.settings();
        change(&mut config);
        contradictions(&config).iter().map(|problem| problem.key).collect()
    }

    #[test]
    fn what_makes_an_algorithm_cannot_be_overridden_and_its_numbers_can() {
        let ratio = |config: &mut GrpoConfig| config.ratio = RatioOf::Token;
        assert_eq!(found(Algorithm::Gspo, ratio), ["grpo.ratio"]);
        assert_eq!(found(Algorithm::Cispo, ratio), ["grpo.ratio"]);
        assert!(found(Algorithm::Dapo, ratio).is_empty());
        assert!(found(Algorithm::Custom, ratio).is_empty());
        let score = |config: &mut GrpoConfig| config.advantage = AdvantageBy::StandardScore;
        assert_eq!(found(Algorithm::Rloo, score), ["grpo.advantage"]);
        assert_eq!(found(Algorithm::DrGrpo, score), ["grpo.advantage"]);
        let tokens = |config: &mut GrpoConfig| config.normaliser = NormaliserBy::TokenMean;
        assert_eq!(found(Algorithm::Gspo, tokens), ["grpo.normaliser"]);
        assert!(found(Algorithm::Grpo, tokens).is_empty());
        let numbers = |config: &mut GrpoConfig| (config.clip_range, config.kl_coef) = (0.1, 0.5);
        assert!(Algorithm::named().all(|algorithm| found(algorithm, numbers).is_empty()));
        let mut config = Algorithm::Gspo.settings();
        config.ratio = RatioOf::Token;
        let said = &contradictions(&config)[0].message;
        assert_eq!(said, "`gspo` needs `sequence`, and it is set to `token`");
    }

    #[test]
    fn k1_in_the_loss_is_refused_and_in_the_reward_it_is_not() {
        let mut config = GrpoConfig { kl_estimator: KlEstimator::K1, ..GrpoConfig::default() };
        let keys = |config: &GrpoConfig| {
            config.problems().iter().map(|problem| problem.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&config), ["grpo.kl_estimator"]);
        config.kl_in = KlIn::Reward;
        assert!(keys(&config).is_empty());
        (config.kl_in, config.kl_coef) = (KlIn::Loss, 0.0);
        assert!(keys(&config).is_empty(), "it costs nothing");
    }

    #[test]
    fn a_second_bound_lies_above_the_first_and_bounds_no_weight() {
        let with = |dual_clip, ratio| GrpoConfig { dual_clip, ratio, ..GrpoConfig::default() };
        let count = |config: GrpoConfig| config.problems().len();
        assert_eq!(count(with(3.0, RatioOf::Token)), 0);
        assert_eq!(count(with(1.2, RatioOf::Token)), 1);
        assert_eq!(count(with(3.0, RatioOf::Weight)), 1);
    }

    #[test]
    fn bounds_that_do_nothing_are_warned_of() {
        for ratio in [RatioOf::Sequence, RatioOf::Weight] {
            let config = GrpoConfig { ratio, ..GrpoConfig::default() };
            let keys: Vec<_> = config.warnings().iter().map(|warning| warning.key).collect();
            assert_eq!(keys, ["grpo.clip_range"], "{ratio:?}");
        }
    }
}
