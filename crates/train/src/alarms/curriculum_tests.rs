//! Alarms that the order of tasks explains, and whose section says what that order is.

use whetstone_core::config::Curriculum;

use super::tests::{put, ringing_in};
use super::*;
use crate::grpo;
use crate::ppo::STAGE as PPO;

/// The alarms of a training with these curricula of `[grpo]` and `[ppo]`, whose pass rate falls and whose
/// groups die.
fn codes_where_passes_fall(stage: &str, grpo: Curriculum, ppo: Curriculum) -> Vec<&'static str> {
    let mut config = Config::default();
    (config.grpo.curriculum, config.ppo.curriculum) = (grpo, ppo);
    let change = |step, values: &mut BTreeMap<String, f64>| {
        let rate = if stage == PPO { "ppo/pass_rate" } else { "grpo/pass_rate" };
        values.remove("grpo/pass_rate");
        put(values, rate, if step > 20 { 0.06 } else { 0.3 });
        put(values, "grpo/dead_groups", if step > 20 { 16.0 } else { 7.0 });
    };
    let found = ringing_in(Alarms::new(&config, stage), change);
    let mut codes: Vec<&str> = found.iter().map(|alarm| alarm.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn an_order_of_tasks_that_is_not_shuffled_silences_what_it_explains() {
    use Curriculum::{Difficulty, PassRate, Shuffled};
    let of_grpo = |curriculum| codes_where_passes_fall(grpo::STAGE, curriculum, Shuffled);
    assert_eq!(of_grpo(Shuffled), ["dead_groups", "no_policy_gradient", "passes_fall"]);
    assert_eq!(of_grpo(Difficulty), ["dead_groups", "no_policy_gradient"]);
    assert_eq!(of_grpo(PassRate), [""; 0]);
}

#[test]
fn the_section_of_the_training_that_runs_is_read() {
    use Curriculum::{Difficulty, Shuffled};
    let of_ppo = |grpo, ppo| codes_where_passes_fall(PPO, grpo, ppo);
    assert_eq!(of_ppo(Difficulty, Shuffled), ["dead_groups", "no_policy_gradient", "passes_fall"]);
    assert_eq!(of_ppo(Shuffled, Difficulty), ["dead_groups", "no_policy_gradient"]);
}
