//! Every named algorithm trains, with all that its preset sets.

use whetstone_core::config::{Algorithm, GrpoConfig};

use crate::school::School;

#[test]
fn every_named_algorithm_learns_from_its_rollouts() {
    for algorithm in Algorithm::named() {
        let mut school = School::new();
        school.config.grpo = GrpoConfig { max_completion_length: 10, ..algorithm.settings() };
        school.config.dual_source.teacher_sft_weight = 0.0;
        school.config.dual_source.self_sft_weight = 0.0;
        school.grpo("run").unwrap();
        let (name, metrics) = (algorithm.name(), school.metrics("run"));
        assert_eq!(metrics.len(), 3, "{name}");
        for (step, values) in &metrics {
            assert!(values.values().all(|value| value.is_finite()), "{name}, {step}: {values:?}");
            assert_eq!(values["grpo/clamped"].to_bits(), 0.0_f64.to_bits(), "{name}, {step}");
        }
        let moved = metrics.iter().map(|(_, values)| values.get("grpo/update_kl").copied());
        assert!(moved.flatten().any(|kl| kl > 0.0), "{name} moves the policy");
        let mut ratios = metrics.iter().filter_map(|(_, values)| values.get("grpo/ratio_std"));
        let clips = school.config.grpo.clips();
        assert_eq!(ratios.any(|&std| std > 1e-6), clips, "{name} has ratios to bound");
        let charged = metrics.iter().all(|(_, values)| values.contains_key("grpo/kl_charge"));
        assert_eq!(charged, algorithm == Algorithm::Rloo, "{name}");
    }
}
