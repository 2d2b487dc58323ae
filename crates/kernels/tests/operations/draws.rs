//! How often each token is chosen.

use whetstone_kernels::Device;
use whetstone_kernels::philox::uniform;
use whetstone_kernels::sample::{Request, Rule};

use crate::sample::{draw, request};
use crate::support::numbers;

const DRAWS: usize = 20_000;

/// How often each token comes, at positions from 0 on.
fn counts(logits: &[f32], of: impl Fn(u64) -> Request<'static>) -> Vec<usize> {
    let device = Device::cpu(2).unwrap();
    let requests: Vec<_> = (0..DRAWS as u64).map(of).collect();
    let (tokens, _) = draw(&device, &logits.repeat(DRAWS), &requests);
    let mut counts = vec![0; logits.len()];
    for token in tokens {
        counts[token as usize] += 1;
    }
    counts
}

/// `Σ (seen - expected)² / expected`; what cannot come must not.
fn chi_square(counts: &[usize], probabilities: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (at, (count, p)) in counts.iter().zip(probabilities).enumerate() {
        assert!(*p > 0.0 || *count == 0, "{at} came {count} times");
        if *p > 0.0 {
            let expected = p * DRAWS as f64;
            sum += (*count as f64 - expected).powi(2) / expected;
        }
    }
    sum
}

/// Four tokens with these probabilities at temperature 1.
const PLAIN: [f64; 4] = [0.5, 0.25, 0.15, 0.1];

/// Tokens before the one that is drawn.
#[derive(Clone, Copy)]
struct History {
    prompt: &'static [u32],
    sampled: &'static [u32],
}

/// Weights that each rule leaves, worked out by hand.
#[track_caller]
fn check(rule: Rule, history: History, weights: [f64; 4]) {
    let History { prompt, sampled } = history;
    let logits = PLAIN.map(|p| p.ln() as f32);
    let counts = counts(&logits, |position| Request { prompt, sampled, ..request(rule, position) });
    let total: f64 = weights.iter().sum();
    let chi_square = chi_square(&counts, &weights.map(|w| w / total));
    // Once in a thousand above 16.3 for three degrees of freedom.
    assert!(chi_square < 16.3, "{chi_square}: {counts:?} for {weights:?}");
}

const NONE: History = History { prompt: &[], sampled: &[] };

#[test]
fn without_cuts_every_token_comes_as_often_as_it_is_probable() {
    check(Rule::default(), NONE, PLAIN);
    check(Rule { temperature: 0.5, ..Rule::default() }, NONE, PLAIN.map(|p| p * p));
    check(Rule { temperature: 2.0, ..Rule::default() }, NONE, PLAIN.map(f64::sqrt));
    check(Rule { top_k: 4, top_p: 1.0, ..Rule::default() }, NONE, PLAIN);
}

#[test]
fn top_k_keeps_the_k_most_probable() {
    check(Rule { top_k: 1, ..Rule::default() }, NONE, [1.0, 0.0, 0.0, 0.0]);
    check(Rule { top_k: 2, ..Rule::default() }, NONE, [0.5, 0.25, 0.0, 0.0]);
    check(Rule { top_k: 3, ..Rule::default() }, NONE, [0.5, 0.25, 0.15, 0.0]);
}

#[test]
fn top_p_keeps_the_fewest_that_hold_it() {
    let top_p = |top_p| Rule { top_p, ..Rule::default() };
    check(top_p(0.0), NONE, [1.0, 0.0, 0.0, 0.0]);
    check(top_p(0.49), NONE, [1.0, 0.0, 0.0, 0.0]);
    check(top_p(0.51), NONE, [0.5, 0.25, 0.0, 0.0]);
    check(top_p(0.74), NONE, [0.5, 0.25, 0.0, 0.0]);
    check(top_p(0.76), NONE, [0.5, 0.25, 0.15, 0.0]);
    check(top_p(0.91), NONE, PLAIN);
}

#[test]
fn min_p_is_measured_by_the_most_probable() {
    let min_p = |min_p| Rule { min_p, ..Rule::default() };
    check(min_p(0.19), NONE, PLAIN);
    check(min_p(0.21), NONE, [0.5, 0.25, 0.15, 0.0]);
    check(min_p(0.31), NONE, [0.5, 0.25, 0.0, 0.0]);
    check(min_p(0.51), NONE, [1.0, 0.0, 0.0, 0.0]);
    check(min_p(3.0), NONE, [1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn cuts_come_one_after_another_behind_the_temperature() {
    // Of the three best 0.5/0.9 and 0.25/0.9 hold 0.83; of all four they hold 0.75.
    check(Rule { top_k: 3, top_p: 0.8, ..Rule::default() }, NONE, [0.5, 0.25, 0.0, 0.0]);
    check(Rule { top_p: 0.8, ..Rule::default() }, NONE, [0.5, 0.25, 0.15, 0.0]);
    // At temperature 2 the shares are 0.37, 0.26, 0.20 and 0.17.
    let warm = Rule { temperature: 2.0, top_p: 0.7, ..Rule::default() };
    check(warm, NONE, [0.5f64.sqrt(), 0.5, 0.15f64.sqrt(), 0.0]);
    check(Rule { top_p: 0.95, min_p: 0.4, ..Rule::default() }, NONE, [0.5, 0.25, 0.0, 0.0]);
}

#[test]
fn penalties_are_for_logits_before_the_temperature() {
    let presence = Rule { presence_penalty: 1.0, ..Rule::default() };
    let less = (-1f64).exp();
    check(presence, History { prompt: &[1], sampled: &[0, 0] }, [0.5 * less, 0.25, 0.15, 0.1]);
    // √ of what a penalty leaves.
    let warm = Rule { temperature: 2.0, ..presence };
    check(
        warm,
        History { prompt: &[], sampled: &[0] },
        [0.5 * less, 0.25, 0.15, 0.1].map(f64::sqrt),
    );
    // Logits are negative here: l becomes 2·l, and a probability its square.
    let repetition = Rule { repetition_penalty: 2.0, ..Rule::default() };
    check(repetition, History { prompt: &[1], sampled: &[0] }, [0.25, 0.0625, 0.15, 0.1]);
    let warm = Rule { temperature: 2.0, ..repetition };
    check(warm, History { prompt: &[1], sampled: &[0] }, [0.25, 0.0625, 0.15, 0.1].map(f64::sqrt));
}

#[test]
fn a_thousand_tokens_come_as_often_as_they_are_probable() {
    let mut logits = numbers(1, 1000);
    logits[700] = f32::NEG_INFINITY;
    let weights: Vec<f64> = logits.iter().map(|l| f64::from(*l).exp()).collect();
    let total: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
    let chi_square = chi_square(&counts(&logits, |at| request(Rule::default(), at)), &shares);
    // 998 degrees of freedom: standard deviation 45.
    assert!((850.0..1150.0).contains(&chi_square), "{chi_square}");
}

/// Tokens in the order they are gone through, and the first at which the sum passes the number.
fn first_to_pass(logits: &[f32], order: &[usize], number: f64) -> (usize, f64) {
    let weights: Vec<f64> = order.iter().map(|&at| f64::from(logits[at]).exp()).collect();
    let total: f64 = weights.iter().sum();
    let (mut sum, mut distance) = (0.0, 1.0f64);
    for (&token, weight) in order.iter().zip(&weights) {
        distance = distance.min((number - sum / total).abs());
        sum += weight;
        if sum > number * total {
            return (token, distance.min((sum / total - number).abs()));
        }
    }
    (order[order.len() - 1], 0.0)
}

#[test]
fn the_number_of_a_position_decides_and_nothing_else() {
    let logits: Vec<f32> = numbers(2, 700).iter().map(|l| 3.0 * l).collect();
    let as_they_lie: Vec<usize> = (0..700).collect();
    let mut best = as_they_lie.clone();
    best.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    best.truncate(90);
    let device = Device::cpu(2).unwrap();
    for (rule, order) in
        [(Rule::default(), &as_they_lie), (Rule { top_k: 90, ..Rule::default() }, &best)]
    {
        let requests: Vec<_> = (0..3000).map(|position| request(rule, position)).collect();
        let (tokens, _) = draw(&device, &logits.repeat(3000), &requests);
        for (request, token) in requests.iter().zip(tokens) {
            let number = uniform(request.seed, request.sequence, request.position);
            let (expected, distance) = first_to_pass(&logits, order, number);
            assert!(token as usize == expected || distance < 1e-6, "position {}", request.position);
        }
    }
}
