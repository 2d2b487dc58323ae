//! Values that are in their bounds and far outside those that training works with.
//!
//! Bounds are wide, since an experiment may want what nobody needed before. So these are warnings, and the limits are
//! far above everything that a recipe, a guide or a paper has set: the embedded student of 2 million parameters is
//! trained at a learning rate of 3e-3.

use super::{Config, Problem};

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
    warnings
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
