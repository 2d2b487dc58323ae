//! Alarms of what there is to learn from: groups that do not differ, steps without a policy gradient, an update that is
//! mostly SFT, rollouts that weigh nothing.

use whetstone_core::config::Curriculum;

use super::due::{DueAlarm, LIKELY, any_of, due, percent};
use super::history::{
    DEAD, EFFECTIVE_SAMPLE, History, Level, NO_GRADIENT, SFT_LEADS, SOLVED, UNSOLVED,
};
use super::settings::Settings;

/// The part of groups that may have nothing to learn from. With four rollouts a group, tasks whose chance
/// to be solved is spread evenly leave 2 in 5 groups dead, and a student that solves most tasks always or
/// never two thirds: both learn. Beyond four in five nearly all sampling is for nothing.
const DEAD_LIMIT: f64 = 0.8;
/// The ratio of groups that are dead for one reason to those for the other, from which that reason is named.
const ONE_SIDED: f64 = 3.0;
/// The part of steps that may have no policy gradient. With half of the groups dead and four groups a step it is 1 in
/// 16.
const IDLE_STEPS: f64 = 0.5;
/// What is left of recorded rollouts, as a part of them, from which most of their weight is on a few tokens.
const EFFECTIVE_LIMIT: f64 = 0.3;

pub(super) fn all(history: &History, settings: &Settings) -> [Option<DueAlarm>; 4] {
    let is_sorted_out = settings.curriculum() == Curriculum::PassRate || settings.is_distilled();
    let dead = dead_groups(history, settings);
    // Where nearly all groups are dead, so are those of most steps.
    let idle = no_policy_gradient(history, settings).filter(|_| dead.is_none());
    [
        dead.filter(|_| !is_sorted_out),
        idle.filter(|_| !is_sorted_out),
        sft_dominates(history, settings),
        effective_sample(history),
    ]
}

/// Nearly no group teaches anything. Why decides what to do: tasks that are always solved are learnt, tasks
/// that never are are out of reach.
fn dead_groups(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(DEAD)?;
    (mean - LIKELY * error > DEAD_LIMIT).then_some(())?;
    let part = |name| history.last(name).map_or(0.0, |level| level.mean);
    let (solved, unsolved) = (part(SOLVED), part(UNSOLVED));
    let advice = if unsolved > ONE_SIDED * solved {
        format!(
            "the tasks are too hard. Take easier ones, teach the student first with `whet train sft`, or \
             sample more of each (`grpo.num_samples_per_prompt`, now {})",
            settings.config.grpo.num_samples_per_prompt
        )
    } else if solved > ONE_SIDED * unsolved {
        "the tasks are learnt. Take harder ones, or stop here".to_owned()
    } else {
        format!("each task is too hard or too easy: {}", any_of(&settings.livelier_groups()))
    };
    let message = format!(
        "{} of the groups of the last steps have rollouts that do not differ, and teach nothing; in {} \
         every rollout passes, in {} none does: {advice}",
        percent(mean),
        percent(solved),
        percent(unsolved)
    );
    Some(due("dead_groups", message))
}

/// Half of the steps learn nothing from their rollouts, although other sources may move the student meanwhile.
fn no_policy_gradient(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(NO_GRADIENT)?;
    (mean >= IDLE_STEPS && settings.config.dual_source.grpo_weight > 0.0).then_some(())?;
    let mut ways = settings.livelier_groups();
    ways.push("take more tasks a step (`training.gradient_accumulation_steps`)".to_owned());
    let message = format!(
        "{} of the last steps have no policy gradient, since none of their groups has rollouts that differ: {}",
        percent(mean),
        any_of(&ways)
    );
    Some(due("no_policy_gradient", message))
}

/// The other sources' gradients decide where the student goes, also in the steps whose rollouts have a gradient.
fn sft_dominates(history: &History, settings: &Settings) -> Option<DueAlarm> {
    let Level { mean, .. } = history.last(SFT_LEADS)?;
    let weights = &settings.config.dual_source;
    (mean >= 1.0 && weights.grpo_weight > 0.0).then_some(())?;
    let named = [
        ("dual_source.teacher_sft_weight", weights.teacher_sft_weight),
        ("dual_source.self_sft_weight", weights.self_sft_weight),
    ];
    let set = named.iter().filter(|(_, weight)| *weight > 0.0);
    let set: Vec<String> = set.map(|(name, weight)| format!("`{name}` (now {weight})")).collect();
    let message = format!(
        "this is an SFT run: in each of the last steps with a policy gradient the gradient of the cross-entropies is more than five times \
         as long as that of the rollouts. If it is meant to be, `whet train sft` needs no rollouts; else lower {}, or \
         take more rollouts that differ (`training.gradient_accumulation_steps`, \
         `grpo.num_samples_per_prompt`)",
        any_of(&set)
    );
    Some(due("sft_dominates", message))
}

/// The student is so far from the policy that sampled a file that a few tokens have most of the weight.
fn effective_sample(history: &History) -> Option<DueAlarm> {
    let Level { mean, error } = history.last(EFFECTIVE_SAMPLE)?;
    (mean + LIKELY * error < EFFECTIVE_LIMIT).then_some(())?;
    let message = format!(
        "the recorded rollouts of the last steps count for {} of their tokens: the student is far from the policy that \
         sampled them, and a few tokens have most of the weight. Sample new ones with the student as it is, or lower \
         `training.learning_rate`",
        percent(mean)
    );
    Some(due("effective_sample_small", message))
}
