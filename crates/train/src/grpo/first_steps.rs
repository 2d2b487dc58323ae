//! What became of the rollouts in the first steps of a run: whether anything can be learnt from them.
//!
//! A run whose answers are all cut off, or of whose rollouts none has a gradient, goes on for hours without a
//! word and learns nothing. The first is said after the first step, since no later one will differ. Whether
//! a source of the loss is empty is said after [`STEPS`] steps: one step may have had bad luck.

use whetstone_core::completion::Finish;
use whetstone_core::config::Config;
use whetstone_core::survivors::Survivors;
use whetstone_rollout::collect::Rollout;

use super::batch::Batch;
use crate::rollouts::sequences::RolloutIndex;
use crate::rollouts::tasks::StepRollouts;
use crate::watch::Warning;

/// Steps after which an empty source is told of.
const STEPS: u64 = 5;
const ROLLOUTS: &str = "the rollouts";
const SELF_SFT: &str = "the student's own best answers";
const UNJUDGED: &str = "that could not be judged";
const CUT_OFF: &str = "cut off by the token limit";

/// Counts over the first steps.
#[derive(Debug, Default)]
pub(super) struct FirstSteps {
    seen: u64,
    rollouts: Survivors,
    self_sft: Survivors,
}

/// A step that was finished.
#[derive(Clone, Copy)]
pub(super) struct FinishedStep<'a> {
    /// Its number, from 1.
    pub(super) step: u64,
    /// Of how many.
    pub(super) steps: u64,
    pub(super) step_rollouts: &'a StepRollouts,
    pub(super) batch: &'a Batch,
}

impl FirstSteps {
    /// Looks at a step; says what there is to say of it.
    pub(super) fn see(&mut self, config: &Config, finished: FinishedStep<'_>) -> Vec<Warning> {
        let FinishedStep { step, steps, step_rollouts, batch } = finished;
        // A run that goes on behind its first steps has been told.
        if step > STEPS || step != self.seen + 1 {
            return Vec::new();
        }
        self.seen = step;
        self.count(config, step_rollouts, batch);
        let mut warnings = Vec::new();
        warnings.extend((step == 1).then(|| cut_off(config, step_rollouts)).flatten());
        if step == STEPS.min(steps) {
            let lost = [("rollouts", &self.rollouts), ("own_best", &self.self_sft)];
            warnings.extend(lost.into_iter().flat_map(|(source, found)| {
                let code = format!("no_{source}");
                let of = match step {
                    1 => "in the first step ".to_owned(),
                    _ => format!("in the first {step} steps "),
                };
                let lost = found.lost("rollout").into_iter();
                lost.map(move |what| Warning { code: code.clone(), message: format!("{of}{what}") })
            }));
        }
        warnings
    }

    fn count(&mut self, config: &Config, step_rollouts: &StepRollouts, batch: &Batch) {
        let weights = &config.dual_source;
        if weights.grpo_weight > 0.0 {
            count_rollouts(&mut self.rollouts, step_rollouts, batch);
        }
        if weights.self_sft_weight > 0.0 {
            count_self_sft(&mut self.self_sft, step_rollouts);
        }
    }
}

fn count_rollouts(found: &mut Survivors, step_rollouts: &StepRollouts, batch: &Batch) {
    let counted = batch.counted();
    for (at, group) in step_rollouts.groups.iter().enumerate() {
        found.leave_out_many(ROLLOUTS, UNJUDGED, group.dropped.len() as u64);
        for rollout in 0..group.rollouts.len() {
            match counted.get(&RolloutIndex { group: at, rollout }) {
                Some(true) => found.keep(ROLLOUTS),
                Some(false) => found.leave_out(ROLLOUTS, CUT_OFF),
                None => found.leave_out(ROLLOUTS, "with the same reward as their group"),
            }
        }
    }
}

fn count_self_sft(found: &mut Survivors, step_rollouts: &StepRollouts) {
    for group in &step_rollouts.groups {
        found.leave_out_many(SELF_SFT, UNJUDGED, group.dropped.len() as u64);
        for rollout in &group.rollouts {
            if !rollout.outcome.is_solved() {
                found.leave_out(SELF_SFT, "that do not pass");
            } else if is_cut(rollout) {
                found.leave_out(SELF_SFT, CUT_OFF);
            } else {
                found.keep(SELF_SFT);
            }
        }
    }
}

/// Every answer of the step was cut off.
fn cut_off(config: &Config, step_rollouts: &StepRollouts) -> Option<Warning> {
    let mut rollouts = step_rollouts.groups.iter().flat_map(|group| &group.rollouts);
    let all = rollouts.clone().count();
    if all == 0 || !rollouts.all(is_cut) {
        return None;
    }
    let limit = config.grpo.max_completion_length;
    let message = format!(
        "all {all} answers of the first step were cut off at {limit} tokens (max_new_tokens), before their \
         programs were whole: raise `grpo.max_completion_length`"
    );
    Some(Warning { code: "all_cut_off".to_owned(), message })
}

fn is_cut(rollout: &Rollout) -> bool {
    rollout.turns.iter().any(|turn| turn.completion.finish == Finish::Length)
}

#[cfg(test)]
mod tests {
    use whetstone_core::verdict::Verdict;
    use whetstone_rollout::collect::Group;

    use super::*;
    use crate::testing::{Said, dropped, group, rollout, rollout_as, settings};

    fn cut(sample: usize) -> Rollout {
        rollout_as(
            sample,
            Said { ids: &[7, 7], finish: Finish::Length, verdict: Verdict::NoCode, worth: 0.0 },
        )
    }

    /// What is said after each of the steps, which all draw the same.
    fn said(config: &Config, steps: u64, groups: &[Group]) -> Vec<(u64, String, String)> {
        let mut first = FirstSteps::default();
        let mut said = Vec::new();
        for step in 1..=steps {
            let step_rollouts = StepRollouts { groups: groups.to_vec(), ..StepRollouts::default() };
            let batch = Batch::new(config, &step_rollouts).unwrap();
            let finished =
                FinishedStep { step, steps, step_rollouts: &step_rollouts, batch: &batch };
            for Warning { code, message } in first.see(config, finished) {
                said.push((step, code, message));
            }
        }
        said
    }

    #[test]
    fn answers_that_are_all_cut_off_are_said_after_the_first_step() {
        let mut config = settings();
        config.grpo.max_completion_length = 64;
        let groups = [group("a", vec![cut(0), cut(1)])];
        let told = said(&config, 1, &groups);
        assert_eq!((told[0].0, told[0].1.as_str()), (1, "all_cut_off"));
        assert_eq!(
            told[0].2,
            "all 2 answers of the first step were cut off at 64 tokens (max_new_tokens), before their \
             programs were whole: raise `grpo.max_completion_length`"
        );
        let one_whole = [group("a", vec![cut(0), rollout(1, &[8], 1.0)])];
        assert!(said(&config, 9, &one_whole).is_empty());
    }

    #[test]
    fn a_source_that_gives_nothing_is_told_of_once_after_a_few_steps() {
        let mut config = settings();
        config.dual_source.self_sft_weight = 0.5;
        let mut equal = group("a", vec![rollout(0, &[7], 0.0), rollout(1, &[8], 0.0)]);
        equal.dropped = vec![dropped(2)];
        let told = said(&config, 9, &[equal]);
        let expected = [
            "in the first 5 steps nothing is left of the rollouts: 15 rollouts, 10 with the same \
             reward as their group, 5 that could not be judged",
            "in the first 5 steps nothing is left of the student's own best answers: 15 rollouts, 10 \
             that do not pass, 5 that could not be judged",
        ];
        let messages: Vec<&str> = told.iter().map(|(_, _, message)| message.as_str()).collect();
        assert_eq!(messages, expected);
        assert!(told.iter().all(|(step, ..)| *step == 5), "{told:?}");
        config.dual_source.self_sft_weight = 0.0;
        let equal = group("a", vec![rollout(0, &[7], 0.0), rollout(1, &[8], 0.0)]);
        assert_eq!(said(&config, 9, &[equal]).len(), 1, "what is not asked for is not missed");
    }

    #[test]
    fn one_rollout_that_teaches_is_enough() {
        let mut config = settings();
        config.dual_source.self_sft_weight = 0.5;
        let live = group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[8], 0.0)]);
        assert!(said(&config, 9, &[live]).is_empty());
    }

    #[test]
    fn what_is_masked_is_named_as_cut_off() {
        let mut config = settings();
        config.grpo.mask_truncated_completions = true;
        config.dual_source.self_sft_weight = 0.0;
        let one = rollout_as(
            0,
            Said { ids: &[7], finish: Finish::Length, verdict: Verdict::Pass, worth: 1.0 },
        );
        let groups = [group("a", vec![one, cut(1)])];
        let told = said(&config, 5, &groups);
        let last = told.last().unwrap();
        assert!(last.2.ends_with("10 rollouts, 10 cut off by the token limit"), "{told:?}");
    }

    #[test]
    fn a_run_that_goes_on_later_is_not_told_again() {
        let config = settings();
        let step_rollouts = StepRollouts {
            groups: vec![group("a", vec![cut(0), cut(1)])],
            ..StepRollouts::default()
        };
        let batch = Batch::new(&config, &step_rollouts).unwrap();
        let finished =
            FinishedStep { step: 3, steps: 9, step_rollouts: &step_rollouts, batch: &batch };
        assert!(FirstSteps::default().see(&config, finished).is_empty());
    }
}
