//! The settings of a quickstart, beneath those that are given.
//!
//! Each is an ordinary setting: `--set` changes it, and `config.toml` of the run records it. All
//! other settings have their defaults.

use std::path::PathBuf;

use whetstone_config::Layer;

/// Rewards are `pass_times_quality` with all tests or none: a student of this size learns fastest
/// from a clear yes or no, and of two programs that both pass the better one is worth repeating.
const PRESET: &str = r#"
[student]
model_name = "embedded"

[lora]
rank = 32
alpha = 64

[sandbox]
cpu_seconds = 2

[reward]
composite = "pass_times_quality"
tests = "all"

[grpo]
kl_coef = 0.0
num_samples_per_prompt = 4
max_completion_length = 200
temperature = 1.0

[training]
max_steps = 100
per_device_train_batch_size = 16
gradient_accumulation_steps = 4
learning_rate = 3e-3
max_length = 640
save_steps = 10

# A measurement is as many samples as two steps have.
[held_out]
max_tasks = 100
num_samples = 1

[eval]
k = [1, 4]
num_samples = 4
temperature = 1.0
more_temperatures = [0.6]

[quickstart]
held_out_tasks = 100
families = ["filter-map-reduce", "list-building", "slices", "two-way", "uniqueness"]
"#;

/// The settings as a layer.
pub fn layer() -> Layer {
    Layer::File { path: PathBuf::from("quickstart preset"), text: PRESET.to_owned() }
}

#[cfg(test)]
mod tests {
    use whetstone_core::config::Composite;
    use whetstone_train::plan::Plan;
    use whetstone_train::student::EMBEDDED;

    use super::*;
    use whetstone_config::load;

    #[test]
    fn the_preset_is_a_config_whose_steps_are_whole_groups() {
        let config = load(&[layer()]).unwrap().config;
        let plan = Plan::grpo(&config, 1600).unwrap();
        assert_eq!((plan.steps, plan.items_per_step, plan.samples), (100, 16, 4));
        assert_eq!(config.student.model_name, EMBEDDED);
        assert_eq!(config.reward.composite, Composite::PassTimesQuality);
        assert_eq!(config.reward.paid_to_a_stub().to_bits(), 0, "form alone is not paid");
    }
}
