//! Values that are in their bounds and far outside those that training works with.
//!
//! Bounds are wide, since an experiment may want what nobody needed before. So these are warnings, and the limits are
//! far above everything that a recipe, a guide or a paper has set: the embedded student of 2 million parameters is
//! trained at a learning rate of 3e-3.

use super::{Config, NormaliserBy, Problem};

/// The highest learning rate without a warning.
const LEARNING_RATE: f64 = 0.01;
/// The highest sampling temperature without a warning.
const TEMPERATURE: f64 = 2.0;
/// The highest weight of the KL divergence without a warning.
const KL: f64 = 10.0;

/// Warnings about such values.
pub(super) fn warnings(config: &Config) -> Vec<Problem> {
    let learning_rates = [
        ("training.learning_rate", config.training.learning_rate),
        ("ppo.learning_rate", config.ppo.learning_rate),
        ("ppo.critic_learning_rate", config.ppo.critic_learning_rate),
        ("rm.learning_rate", config.rm.learning_rate),
        ("prm.learning_rate", config.prm.learning_rate),
    ];
    let temperatures = [
        ("grpo.temperature", config.grpo.temperature),
        ("ppo.temperature", config.ppo.temperature),
        ("eval.temperature", config.eval.temperature),
    ];
    let kl = [("grpo.kl_coef", config.grpo.kl_coef), ("ppo.kl_coef", config.ppo.kl_coef)];
    let mut warnings = Vec::new();
    warnings.extend(above(LEARNING_RATE, &learning_rates).map(|(key, value)| Problem {
        key,
        message: format!("a learning rate of {value} is far above what models are trained with"),
        hint: "adapters take about 1e-5 to 1e-4, models of a few million parameters up to 3e-3",
    }));
    warnings.extend(above(TEMPERATURE, &temperatures).map(|(key, value)| Problem {
        key,
        message: format!(
            "a temperature of {value} makes unlikely tokens far more frequent than usual"
        ),
        hint: "0.6 to 1.2 is usual",
    }));
    warnings.extend(above(KL, &kl).map(|(key, value)| Problem {
        key,
        message: format!(
            "a KL weight of {value} is far above what is usual and can outweigh the reward"
        ),
        hint: "0 to 0.2 is usual",
    }));
    warnings.extend(heavier_sources(config));
    warnings
}

/// A policy loss that is divided by the longest completion, beside cross-entropies that are means over
/// tokens: these weigh more than is written, by as much as completions are shorter than they may be.
fn heavier_sources(config: &Config) -> Option<Problem> {
    let weights = &config.dual_source;
    let has_others = weights.teacher_sft_weight > 0.0 || weights.self_sft_weight > 0.0;
    let is_constant = config.grpo.normaliser == NormaliserBy::ConstantLength;
    (weights.grpo_weight > 0.0 && has_others && is_constant).then(|| Problem {
        key: "dual_source",
        message: format!(
            "the loss on rollouts is divided by {0} tokens a rollout (`constant_length`), the \
             cross-entropies by the tokens that there are: of completions of {1} tokens they weigh ten \
             times what is written",
            config.grpo.max_completion_length,
            config.grpo.max_completion_length.div_ceil(10)
        ),
        hint: "set both weights to 0, or `grpo.normaliser = \"token_mean\"`",
    })
}

/// The keys whose value is above `limit`.
fn above<'a>(
    limit: f64,
    keys: &'a [(&'static str, f64)],
) -> impl Iterator<Item = (&'static str, f64)> + 'a {
    keys.iter().copied().filter(move |&(_, value)| value > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_entropies_beside_a_constant_divisor_are_warned_of() {
        let mut config = Config::default();
        config.grpo.normaliser = NormaliserBy::ConstantLength;
        let keys = |config: &Config| {
            warnings(config).iter().map(|warning| warning.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(&config), ["dual_source"]);
        let said = &warnings(&config)[0].message;
        assert!(
            said.contains("divided by 1024 tokens") && said.contains("of 103 tokens"),
            "{said}"
        );
        config.dual_source.teacher_sft_weight = 0.0;
        assert_eq!(keys(&config), ["dual_source"], "self-SFT alone");
        config.dual_source.self_sft_weight = 0.0;
        assert!(keys(&config).is_empty());
        config.dual_source.self_sft_weight = 0.2;
        config.dual_source.grpo_weight = 0.0;
        assert!(keys(&config).is_empty(), "nothing beside them");
    }

    #[test]
    fn only_values_above_the_limits_are_warned_of() {
        let mut config = Config::default();
        (config.training.learning_rate, config.grpo.temperature) = (LEARNING_RATE, TEMPERATURE);
        config.ppo.kl_coef = KL;
        assert_eq!(warnings(&config), []);
        (config.training.learning_rate, config.grpo.temperature) = (0.5, 5.0);
        (config.rm.learning_rate, config.ppo.kl_coef) = (0.1, 11.0);
        let keys: Vec<_> = warnings(&config).iter().map(|warning| warning.key).collect();
        let expected =
            ["training.learning_rate", "rm.learning_rate", "grpo.temperature", "ppo.kl_coef"];
        assert_eq!(keys, expected);
        let said = &warnings(&config)[0].message;
        assert!(said.starts_with("a learning rate of 0.5 is far above"), "{said}");
    }
}
