//! Groups that are drawn in the place of others: what the others count for.

use std::collections::BTreeMap;
use std::sync::Arc;

use whetstone_core::config::{DeadGroups, NormaliserBy};

use crate::school::{School, parity};

/// The first step of a school that fills its four groups up: of tasks with an even number nobody differs.
fn first(change: impl FnOnce(&mut School)) -> BTreeMap<String, f64> {
    let mut school = School::new();
    school.config.dual_source.self_sft_weight = 0.0;
    school.config.dual_source.teacher_sft_weight = 0.0;
    school.config.grpo.kl_coef = 0.0;
    school.config.grpo.dynamic_sampling_rounds = 9;
    school.config.grpo.normaliser = NormaliserBy::SequenceMean;
    school.config.training.max_steps = 1;
    school.worth = Arc::new(|task, reply| {
        let number: usize = task.trim_start_matches("t/").parse().unwrap_or(0);
        Ok(if number.is_multiple_of(2) { 0.5 } else { parity(reply) })
    });
    change(&mut school);
    school.grpo("run").unwrap();
    let values = school.metrics("run").remove(0).1;
    let (tasks, dead) = (values["rollout/tasks"], values["grpo/dead_groups"]);
    assert!(dead > 0.0 && (tasks - dead - 4.0).abs() < 1e-9, "filled up: {dead} of {tasks}");
    values
}

/// Rounds in vain neither shorten the gradient nor change what is learnt, whatever dead groups count for.
#[test]
fn dead_groups_that_were_replaced_count_in_no_denominator() {
    let norm = |dead_groups| first(|school| school.config.grpo.dead_groups = dead_groups)["grpo/grad_norm"];
    assert_eq!(norm(DeadGroups::Keep).to_bits(), norm(DeadGroups::LeaveOut).to_bits());
}

#[test]
fn the_teachers_rows_are_those_of_the_steps_own_tasks() {
    let taught = |of: usize| {
        first(|school| {
            school.config.dual_source.teacher_sft_weight = 0.3;
            for (at, rows) in school.rows.iter_mut().enumerate() {
                rows.retain(|_| at % 2 == of);
            }
        })
    };
    assert!(taught(1).contains_key("teacher_sft/loss"));
    assert!(!taught(0).contains_key("teacher_sft/loss"), "rows of tasks that were replaced");
}
