//! What becomes of the rollouts of a step.

use serde_json::json;
use whetstone_core::completion::Finish;
use whetstone_core::config::{AdvantageBy, KlEstimator, KlIn};
use whetstone_core::verdict::Verdict;
use whetstone_rollout::collect::Rollout;

use super::*;
use crate::testing::{Said, group, rollout, rollout_as, settings};

fn batch(config: &Config, groups: Vec<Group>) -> Batch {
    Batch::new(config, &StepRollouts { groups, ..StepRollouts::default() }).unwrap()
}

/// The one advantage of a sequence.
fn whole(sequence: &TrainSequence) -> f64 {
    let OwnedAdvantages::Whole(advantage) = sequence.advantage else { panic!("{sequence:?}") };
    advantage
}

#[test]
fn one_token_with_an_advantage_is_enough_to_be_learnt_from() {
    let group = group("a", vec![rollout(0, &[7, 7], 0.0), rollout(1, &[8, 8], 0.0)]);
    let mut found = batch(&settings(), vec![group]);
    assert!(found.learnt(false).is_empty());
    found.sequences[0].advantage = OwnedAdvantages::Tokens(vec![0.0, 0.0]);
    found.sequences[1].advantage = OwnedAdvantages::Tokens(vec![0.0, -0.5]);
    assert_eq!(found.learnt(false), [1]);
    let saved = serde_json::to_value(found.saved()).unwrap();
    assert_eq!(saved["rollouts"][1][1], json!([0.0, -0.5]));
}

/// The completions and their advantages.
fn sequences(batch: &Batch) -> Vec<(&[u32], f64)> {
    batch
        .sequences
        .iter()
        .map(|sequence| (&sequence.example.tokens[sequence.example.first..], whole(sequence)))
        .collect()
}

fn self_sft(batch: &Batch) -> Vec<&[u32]> {
    batch.self_sft.iter().map(|row| &row.tokens[row.first..]).collect()
}

#[test]
fn advantages_are_of_the_group_and_as_the_settings_say() {
    let mut config = settings();
    let groups = || vec![group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[8, 9], 0.0)])];
    assert_eq!(sequences(&batch(&config, groups())), [(&[7][..], 1.0), (&[8, 9][..], -1.0)]);
    config.grpo.advantage = AdvantageBy::Mean;
    assert_eq!(sequences(&batch(&config, groups())), [(&[7][..], 0.5), (&[8, 9][..], -0.5)]);
    config.grpo.advantage = AdvantageBy::LeaveOneOut;
    let found = batch(&config, groups());
    assert_eq!(found.advantages, [[1.0, -1.0]]);
    assert_eq!(found.sequences[1].example.tokens, [1, 2, 8, 9], "the prompt comes first");
    assert_eq!(found.sequences[1].sampled, [-0.5, -0.5]);
}

fn dead_and_live() -> Vec<Group> {
    let dead = group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[8, 8], 1.0)]);
    let alone = group("b", vec![rollout(0, &[9], 0.0)]);
    let none = group("c", Vec::new());
    let live = group("d", vec![rollout(0, &[10], 0.0), rollout(1, &[11, 12], 1.0)]);
    vec![dead, alone, none, live]
}

#[test]
fn rollouts_of_dead_groups_count_in_the_totals_with_an_advantage_of_0() {
    let found = batch(&settings(), dead_and_live());
    assert_eq!((found.dead_groups, found.totals), (3, Totals { tokens: 7, episodes: 5 }));
    assert_eq!(found.advantages, [vec![0.0, 0.0], vec![0.0], vec![], vec![-1.0, 1.0]]);
    let zero = [(&[7][..], 0.0), (&[8, 8], 0.0), (&[9], 0.0)];
    assert_eq!(sequences(&found), [&zero[..], &[(&[10][..], -1.0), (&[11, 12], 1.0)]].concat());
    assert_eq!(found.learnt(true), [0, 1, 2, 3, 4], "their divergence costs something");
    assert_eq!(found.learnt(false), [3, 4], "or there is nothing to compute");
}

#[test]
fn dead_groups_that_are_left_out_count_nowhere() {
    let mut config = settings();
    config.grpo.dead_groups = DeadGroups::LeaveOut;
    let found = batch(&config, dead_and_live());
    assert_eq!((found.dead_groups, found.totals), (3, Totals { tokens: 3, episodes: 2 }));
    assert_eq!(sequences(&found), [(&[10][..], -1.0), (&[11, 12][..], 1.0)]);
    assert!(found.idle.is_empty(), "no_suspects asked for it");
}

#[test]
fn a_group_in_whose_place_another_was_drawn_counts_nowhere() {
    let worth = |worth| vec![rollout(0, &[7, 7], worth), rollout(1, &[8], 0.0)];
    let groups =
        vec![group("live", worth(1.0)), group("dead", worth(0.0)), group("more", worth(0.0))];
    let step_rollouts = StepRollouts { groups, replaced: 1, ..StepRollouts::default() };
    let mut config = settings();
    let found = Batch::new(&config, &step_rollouts).unwrap();
    assert_eq!((found.dead_groups, found.totals), (2, Totals { tokens: 6, episodes: 4 }));
    assert_eq!(found.advantages.len(), 3, "recorded all the same");
    config.grpo.dead_groups = DeadGroups::LeaveOut;
    let found = Batch::new(&config, &step_rollouts).unwrap();
    assert_eq!(found.totals, Totals { tokens: 3, episodes: 2 });
}

#[test]
fn an_episode_of_two_turns_counts_once() {
    let mut long = rollout(0, &[7, 7], 1.0);
    long.turns.push(rollout(0, &[8, 8, 8], 1.0).turns.remove(0));
    let found = batch(&settings(), vec![group("a", vec![long, rollout(1, &[9], 0.0)])]);
    assert_eq!(found.totals, Totals { tokens: 6, episodes: 2 });
    let tokens: Vec<_> = found.sequences.iter().map(|turn| turn.episode_tokens).collect();
    assert_eq!(tokens, [Some(5), Some(5), None], "its prompts have nothing in common");
}

/// A rollout of two turns, the second of which says `then` after the first and an answer of `[3, 4]`.
fn two_turns(worth: f64, finish: Finish, then: &[u32]) -> Rollout {
    let mut long =
        rollout_as(0, Said { ids: &[7, 7], finish, verdict: Verdict::Wrong { test: 0 }, worth });
    let mut turn = rollout(0, then, worth).turns.remove(0);
    turn.prompt = [1, 2, 7, 7, 3, 4].into();
    long.turns.push(turn);
    long
}

#[test]
fn an_episode_whose_turns_follow_each_other_is_one_sequence_with_a_mask() {
    let long = two_turns(1.0, Finish::Stop, &[8, 8, 8]);
    let found = batch(&settings(), vec![group("a", vec![long, rollout(1, &[9], 0.0)])]);
    assert_eq!(found.totals, Totals { tokens: 6, episodes: 2 });
    let [episode, other] = &found.sequences[..] else { panic!("{:?}", found.sequences) };
    assert_eq!(episode.example.tokens, [1, 2, 7, 7, 3, 4, 8, 8, 8]);
    let mask = [true, true, false, false, true, true, true];
    assert_eq!((episode.example.mask(), episode.episode_tokens), (mask.to_vec(), None));
    assert_eq!(episode.sampled, [-0.5, -0.5, 0.0, 0.0, -0.5, -0.5, -0.5]);
    assert_eq!(episode.advantage, OwnedAdvantages::Whole(1.0));
    assert_eq!(other.advantage, OwnedAdvantages::Whole(-1.0));
    let saved = serde_json::to_value(found.saved()).unwrap();
    assert_eq!(saved["untrained"], json!([[0, [{"start": 4, "end": 6}]]]));
}

#[test]
fn a_turn_that_was_cut_off_is_seen_and_not_trained_if_it_is_masked() {
    let mut config = settings();
    config.grpo.mask_truncated_completions = true;
    let long = two_turns(1.0, Finish::Length, &[8, 8]);
    let found = batch(&config, vec![group("a", vec![long, rollout(1, &[9], 0.0)])]);
    assert_eq!((found.masked.len(), found.totals.tokens), (1, 3));
    assert_eq!(sequences(&found), [(&[8, 8][..], 1.0), (&[9][..], -1.0)]);
    assert_eq!(found.sequences[0].example.tokens, [1, 2, 7, 7, 3, 4, 8, 8]);
}

#[test]
fn an_episode_is_charged_for_what_the_model_said_alone() {
    let mut config = settings();
    config.grpo.kl_in = KlIn::Reward;
    config.grpo.kl_estimator = KlEstimator::K1;
    config.grpo.kl_coef = 0.1;
    let long = two_turns(1.0, Finish::Stop, &[8]);
    let groups = vec![group("a", vec![long, rollout(1, &[9], 0.0)])];
    let step_rollouts = StepRollouts { groups, ..StepRollouts::default() };
    let mut found = Batch::new(&config, &step_rollouts).unwrap();
    // What the model was shown is far less likely under the reference, and costs nothing.
    let sequences = vec![vec![-1.5, -1.5, -99.0, -99.0, -1.5], vec![-1.5]];
    found.charge(&config, &step_rollouts, &Reference { sequences, masked: Vec::new() }).unwrap();
    assert!((found.charge.unwrap() - 0.2).abs() < 1e-12, "{:?}", found.charge);
}

/// Charged 0.1 for every nat: tokens were sampled at -0.5 and the reference has them at -1.5, so each
/// costs 0.1. In the first group rewards of 1 and 0 become 0.8 and -0.1; the second has only charges.
#[test]
fn a_charge_comes_off_the_reward_before_advantages() {
    let mut config = settings();
    config.grpo.advantage = AdvantageBy::Mean;
    config.grpo.kl_in = KlIn::Reward;
    config.grpo.kl_estimator = KlEstimator::K1;
    config.grpo.kl_coef = 0.1;
    let live = group("a", vec![rollout(0, &[7, 7], 1.0), rollout(1, &[8], 0.0)]);
    let dead = group("b", vec![rollout(0, &[7, 7], 0.0), rollout(1, &[8], 0.0)]);
    let step_rollouts = StepRollouts { groups: vec![live, dead], ..StepRollouts::default() };
    let check = |config: &Config, expected: [[f64; 2]; 2]| {
        let mut found = Batch::new(config, &step_rollouts).unwrap();
        let logps = |all: &[TrainSequence]| {
            all.iter().map(|turn| vec![-1.5; turn.sampled.len()]).collect::<Vec<_>>()
        };
        let reference =
            Reference { sequences: logps(&found.sequences), masked: logps(&found.masked) };
        found.charge(config, &step_rollouts, &reference).unwrap();
        let all = found.advantages.concat().into_iter().zip(expected.concat());
        assert!(all.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{all:?}");
        for turn in &found.sequences {
            let told = found.advantages[turn.rollout.group][turn.rollout.rollout];
            assert_eq!(whole(turn).to_bits(), told.to_bits());
        }
        found
    };
    let found = check(&config, [[0.45, -0.45], [-0.05, 0.05]]);
    assert!((found.charge.unwrap() - 0.15).abs() < 1e-12, "{:?}", found.charge);
    assert_eq!(found.learnt(false), [0, 1, 2, 3], "charges teach too");
    config.grpo.dead_groups = DeadGroups::LeaveOut;
    check(&config, [[0.45, -0.45], [0.0, 0.0]]);
}

#[test]
fn with_a_budget_dead_groups_that_are_left_out_are_kept_to_be_measured() {
    let mut config = settings();
    config.grpo.dead_groups = DeadGroups::LeaveOut;
    config.dual_source.kl_budget = 0.1;
    let dead = group("a", vec![rollout(0, &[7], 0.0), rollout(1, &[8], 0.0)]);
    let live = group("b", vec![rollout(0, &[9], 0.0), rollout(1, &[10], 0.5)]);
    let found = batch(&config, vec![dead, live]);
    let idle: Vec<u32> = found.idle.iter().map(|sequence| sequence.example.tokens[2]).collect();
    assert_eq!(idle, [7, 8]);
}

#[test]
fn what_the_length_limit_cut_off_is_masked_if_asked_and_never_learnt_by_heart() {
    let mut config = settings();
    let groups = || {
        let cut = rollout_as(
            0,
            Said { ids: &[7, 7], finish: Finish::Length, verdict: Verdict::Pass, worth: 1.0 },
        );
        vec![group("a", vec![cut, rollout(1, &[8], 0.0)])]
    };
    let found = batch(&config, groups());
    assert_eq!((found.sequences.len(), found.masked.len()), (2, 0));
    assert!(self_sft(&found).is_empty());
    config.grpo.mask_truncated_completions = true;
    let found = batch(&config, groups());
    assert_eq!(sequences(&found), [(&[8][..], -1.0)], "against the whole group");
    assert_eq!((found.masked.len(), found.totals.tokens), (1, 1));
}

#[test]
fn what_says_nothing_is_no_sequence() {
    let found =
        batch(&settings(), vec![group("a", vec![rollout(0, &[], 1.0), rollout(1, &[8], 0.0)])]);
    assert_eq!(sequences(&found), [(&[8][..], -1.0)]);
    assert!(self_sft(&found).is_empty());
}

#[test]
fn a_batch_is_kept_with_everything_that_a_replay_needs() {
    let groups = vec![group("a", vec![rollout(0, &[7], 1.0), rollout(1, &[8], 0.0)])];
    let teacher = vec![Example::new(&[3], &[4])];
    let step_rollouts = StepRollouts { groups, teacher, ..StepRollouts::default() };
    let found = Batch::new(&settings(), &step_rollouts).unwrap();
    let expected = json!({
        "rollouts": [[[[1, 2, 7], 2], 1.0], [[[1, 2, 8], 2], -1.0]],
        "sampled": [[-0.5], [-0.5]],
        "teacher": [[[3, 4], 1]],
        "own": [[[1, 2, 7], 2]],
    });
    assert_eq!(serde_json::to_value(found.saved()).unwrap(), expected);
}
