//! What completions are worth to PPO: cut-off ones, episodes in several sequences, and where a value is a baseline.

use std::sync::Arc;

use whetstone_algo::explained_variance::explained_variance;
use whetstone_core::completion::Finish;
use whetstone_core::config::{DiscountBy, PpoConfig};
use whetstone_core::verdict::Verdict;
use whetstone_rollout::collect::Rollout;
use whetstone_rollout::collect::record::TokenEstimates;

use super::experience::Experiences;
use crate::rollouts::tasks::StepRollouts;
use crate::testing::{Said, group, rollout, rollout_as};

const UNITS: [DiscountBy; 2] = [DiscountBy::Response, DiscountBy::Token];

fn of(rollouts: Vec<Rollout>) -> StepRollouts {
    StepRollouts { groups: vec![group("a", rollouts)], ..StepRollouts::default() }
}

fn ended(finish: Finish, worth: f64) -> Rollout {
    let verdict = if worth >= 1.0 { Verdict::Pass } else { Verdict::Wrong { test: 0 } };
    rollout_as(0, Said { ids: &[7, 8, 9], finish, verdict, worth })
}

/// The experiences of a step with these values, not whitened.
fn estimated(config: &PpoConfig, step: &StepRollouts, values: Vec<Vec<f64>>) -> Experiences {
    let config = PpoConfig { whiten_advantages: false, ..config.clone() };
    let mut experiences = Experiences::new(&config, step);
    experiences.estimate(&config, 0.0, values, None).unwrap();
    experiences
}

#[test]
fn being_cut_off_pays_nothing() {
    for discount_by in UNITS {
        let config = PpoConfig { discount_by, ..PpoConfig::default() };
        for worth in [0.0, 1.0] {
            let step = of(vec![ended(Finish::Length, worth), ended(Finish::Stop, worth)]);
            let found = estimated(&config, &step, vec![vec![0.4, 0.5, 0.9]; 2]);
            let [cut, whole] = &found.all[..] else { panic!("two completions") };
            assert_eq!((&cut.returns, &cut.advantages), (&whole.returns, &whole.advantages));
            assert_eq!(whole.returns.last(), Some(&worth), "the last token's is what was paid");
        }
    }
}

#[test]
fn a_completion_that_is_cut_off_can_be_charged_or_left_out() {
    let step = of(vec![ended(Finish::Length, 1.0), ended(Finish::Stop, 1.0)]);
    let charged = PpoConfig { truncation_penalty: 0.25, ..PpoConfig::default() };
    let found = estimated(&charged, &step, vec![vec![0.5; 3]; 2]);
    assert_eq!(found.all[0].returns, [0.75; 3]);
    assert_eq!(found.all[1].returns, [1.0; 3]);
    let masked = PpoConfig { mask_truncated_completions: true, ..PpoConfig::default() };
    let found = estimated(&masked, &step, vec![vec![0.5; 3]]);
    assert_eq!(found.all.len(), 1);
    let (advantages, tokens) = found.by_rollout(&step);
    assert_eq!(advantages, [[0.0, 0.5]]);
    assert_eq!(tokens[0][0], TokenEstimates::default());
    assert_eq!(tokens[0][1].values, [0.5; 3]);
    let nothing = estimated(&masked, &of(vec![ended(Finish::Length, 1.0)]), Vec::new());
    assert!(nothing.all.is_empty() && nothing.baselines().0.is_empty());
}

/// An episode whose second prompt does not begin with its first turn: two sequences.
fn episode() -> Rollout {
    let mut episode = rollout(0, &[7, 8], 1.0);
    let mut second = rollout(0, &[9], 1.0).turns.remove(0);
    second.prompt = Arc::from([5, 6]);
    episode.turns.push(second);
    episode
}

/// γ = λ = 1/2 and one response each: the first is worth 0 and half of what the critic expects of the
/// second, the second its reward.
#[test]
fn an_episode_goes_on_at_the_value_of_its_next_response() {
    let config = PpoConfig { gamma: 0.5, gae_lambda: 0.5, ..PpoConfig::default() };
    let step = of(vec![episode(), ended(Finish::Stop, 0.0)]);
    let values = vec![vec![0.25, 9.0], vec![0.5], vec![0.125, 9.0, 9.0]];
    let found = estimated(&config, &step, values);
    let of = |at: usize| (found.all[at].returns.as_slice(), found.all[at].advantages.as_slice());
    assert_eq!(of(0), (&[0.25, 0.25][..], &[0.0, 0.0][..]));
    assert_eq!(of(1), (&[1.0][..], &[0.5][..]));
    assert_eq!(of(2), (&[0.0; 3][..], &[-0.125; 3][..]), "another episode follows");
    let (_, tokens) = found.by_rollout(&step);
    assert_eq!(tokens[0][0].values, [0.25, 9.0, 0.5], "each token's, over both turns");
}

/// A critic that tells a good program from a bad one once it has read it, and knows nothing before.
#[test]
fn a_critic_that_reads_the_answer_explains_nothing_before_it() {
    let step = of(vec![ended(Finish::Stop, 1.0), ended(Finish::Stop, 0.0)]);
    let values = vec![vec![0.5, 1.0, 1.0], vec![0.5, 0.0, 0.0]];
    let explained = |discount_by| {
        let config = PpoConfig { discount_by, gamma: 1.0, gae_lambda: 1.0, ..PpoConfig::default() };
        let found = estimated(&config, &step, values.clone());
        [found.baselines(), found.predictions()]
            .map(|(values, returns)| explained_variance(&values, &returns).unwrap().unwrap())
    };
    // Of six returns of variance 1/4, two are missed by 1/2: a third of the variance is left.
    let by_response = explained(DiscountBy::Response);
    assert!(by_response[0].abs() < 1e-12, "{by_response:?}");
    assert!((by_response[1] - 2.0 / 3.0).abs() < 1e-12, "{by_response:?}");
    let by_token = explained(DiscountBy::Token);
    assert!((by_token[0] - 2.0 / 3.0).abs() < 1e-12, "every token has a baseline: {by_token:?}");
}
