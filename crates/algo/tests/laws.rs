//! Laws that every loss obeys: how a step is cut, ordered and padded changes no signal by a bit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use whetstone_algo::advantage::group;
use whetstone_algo::cross_entropy::{self, Labelled};
use whetstone_algo::entropy;
use whetstone_algo::grpo::Grpo;
use whetstone_algo::kl::Penalty;
use whetstone_algo::policy::{Cap, Clip, Statistics, Surrogate};
use whetstone_algo::value::{self, Valued};
use whetstone_algo::{Advantages, Denominator, Normaliser, Sequence, Totals};
use whetstone_core::config::{AdvantageBy, KlEstimator, RatioOf};

/// The numbers of one token.
#[derive(Debug, Clone, Copy)]
struct Token {
    trained: bool,
    /// `logp`, `old_logp`, `sampler_logp`, `reference_logp`, `entropy`.
    numbers: [f64; 5],
}

/// One rollout with lists of its own.
#[derive(Debug, Clone)]
struct Rollout {
    tokens: Vec<Token>,
    advantage: f64,
}

/// What all losses say of a batch: three signals for each token, and the loss.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    loss: f64,
    dlogp: Vec<f64>,
    dentropy: Vec<f64>,
    dvalue: Vec<f64>,
    statistics: Statistics,
}

#[derive(Debug, Clone, Copy)]
struct How {
    ratio: RatioOf,
    estimator: KlEstimator,
    normaliser: Normaliser,
}

fn token() -> impl Strategy<Value = Token> {
    let logp = || -3.0..0.0_f64;
    (any::<bool>(), [logp(), logp(), logp(), logp(), 0.0..3.0])
        .prop_map(|(trained, numbers)| Token { trained, numbers })
}

fn rollouts() -> impl Strategy<Value = Vec<Rollout>> {
    let rollout = (prop::collection::vec(token(), 0..6), -2.0..2.0_f64)
        .prop_map(|(tokens, advantage)| Rollout { tokens, advantage });
    prop::collection::vec(rollout, 1..7)
}

fn how() -> impl Strategy<Value = How> {
    let ratio = prop::sample::select(vec![RatioOf::Token, RatioOf::Sequence, RatioOf::Weight]);
    let estimator = prop::sample::select(vec![KlEstimator::K1, KlEstimator::K2, KlEstimator::K3]);
    let constant = Normaliser::constant_length(5.try_into().unwrap());
    let normalisers = vec![Normaliser::TOKEN_MEAN, Normaliser::SEQUENCE_MEAN, constant];
    (ratio, estimator, prop::sample::select(normalisers))
        .prop_map(|(ratio, estimator, normaliser)| How { ratio, estimator, normaliser })
}

fn totals(step: &[Rollout]) -> Totals {
    let masks: Vec<Vec<bool>> = step.iter().map(mask).collect();
    Totals::count(masks.iter().map(Vec::as_slice))
}

fn mask(rollout: &Rollout) -> Vec<bool> {
    rollout.tokens.iter().map(|token| token.trained).collect()
}

/// Everything there is to say of a part of a step.
fn say(batch: &[Rollout], how: How, step: Totals) -> Said {
    let masks: Vec<Vec<bool>> = batch.iter().map(mask).collect();
    let column = |which: usize| -> Vec<Vec<f64>> {
        let of = |rollout: &Rollout| rollout.tokens.iter().map(|t| t.numbers[which]).collect();
        batch.iter().map(of).collect()
    };
    let [logp, old, sampler, reference, entropies] = [0, 1, 2, 3, 4].map(column);
    let at = 0..batch.len();
    let sequences: Vec<Sequence<'_>> = at
        .clone()
        .map(|i| Sequence {
            trained: &masks[i],
            logp: &logp[i],
            old_logp: &old[i],
            sampler_logp: Some(&sampler[i]),
            reference_logp: Some(&reference[i]),
            entropy: Some(&entropies[i]),
            advantage: Advantages::Whole(batch[i].advantage),
            episode_tokens: None,
        })
        .collect();
    let How { ratio, estimator, normaliser } = how;
    let denominator = Denominator { normaliser, step };
    let clip = Clip::new(0.2, 0.28).unwrap();
    let surrogate = Surrogate { ratio, clip, cap: Some(Cap::new(2.0).unwrap()) };
    let penalty = Some(Penalty { estimator, coefficient: 0.05 });
    let grpo = Grpo { surrogate, penalty, normaliser }.loss(&sequences, step).unwrap();
    let traces: Vec<_> =
        at.clone().map(|i| Labelled { trained: &masks[i], logp: &logp[i] }).collect();
    let traces = cross_entropy::loss(&traces, denominator).unwrap().objective;
    let bonus = entropy::bonus(&sequences, 0.01, denominator).unwrap();
    let valued: Vec<_> = at
        .map(|i| Valued {
            trained: &masks[i],
            value: &logp[i],
            old_value: &old[i],
            returns: &reference[i],
        })
        .collect();
    let value = value::loss(&valued, Some(0.2), denominator).unwrap();
    let sum = grpo.objective.plus(&traces).unwrap();
    let sum = sum.plus(&bonus.objective).unwrap().plus(&value.objective).unwrap();
    Said {
        loss: sum.loss,
        dlogp: sum.signals.dlogp,
        dentropy: sum.signals.dentropy.unwrap(),
        dvalue: sum.signals.dvalue.unwrap(),
        statistics: grpo.statistics,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
}

/// The same figures, up to the order in which sums were taken.
fn same_figures(a: &Statistics, b: &Statistics) -> bool {
    let counts = |s: &Statistics| [s.tokens, s.clipped_low, s.clipped_high, s.truncated, s.clamped];
    let figures = |s: &Statistics| {
        let means = [s.importance.get(), s.entropy.get(), s.ratio_mean()];
        means.map(|mean| mean.unwrap_or(0.0))
    };
    counts(a) == counts(b)
        && a.ratio_range() == b.ratio_range()
        && figures(a).into_iter().zip(figures(b)).all(|(a, b)| close(a, b))
}

proptest! {
    #[test]
    fn a_split_into_micro_batches_changes_no_signal(
        step in rollouts(), how in how(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let whole = say(&step, how, totals(&step));
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(step.len() + 1)).collect();
        cuts.extend([0, step.len()]);
        cuts.sort_unstable();
        let (mut loss, mut statistics) = (0.0, Statistics::default());
        let (mut dlogp, mut dentropy, mut dvalue) = (vec![], vec![], vec![]);
        for cut in cuts.windows(2) {
            let part = say(&step[cut[0]..cut[1]], how, totals(&step));
            loss += part.loss;
            statistics.merge(&part.statistics);
            dlogp.extend(part.dlogp);
            dentropy.extend(part.dentropy);
            dvalue.extend(part.dvalue);
        }
        prop_assert_eq!((dlogp, dentropy, dvalue), (whole.dlogp, whole.dentropy, whole.dvalue));
        prop_assert!(close(loss, whole.loss), "{} is not {}", loss, whole.loss);
        prop_assert!(same_figures(&statistics, &whole.statistics));
    }

    #[test]
    fn the_order_of_sequences_does_not_matter(step in rollouts(), how in how(), by in 0..7_usize) {
        let whole = say(&step, how, totals(&step));
        let mut turned = step.clone();
        let by = by % step.len();
        turned.rotate_left(by);
        let found = say(&turned, how, totals(&turned));
        let tokens: usize = step[..by].iter().map(|rollout| rollout.tokens.len()).sum();
        let turn = |mut list: Vec<f64>| {
            list.rotate_left(tokens);
            list
        };
        prop_assert_eq!(found.dlogp, turn(whole.dlogp));
        prop_assert_eq!(found.dentropy, turn(whole.dentropy));
        prop_assert_eq!(found.dvalue, turn(whole.dvalue));
        prop_assert!(close(found.loss, whole.loss));
        prop_assert!(same_figures(&found.statistics, &whole.statistics));
    }

    /// A token that is not trained may be anywhere, in any number, and hold anything: nothing else
    /// changes, and its own signals are 0.
    #[test]
    fn padding_and_what_stands_in_masked_places_do_not_matter(
        step in rollouts(), how in how(),
        padding in prop::collection::vec(0..4_usize, 7),
        garbage in prop::sample::select(vec![f64::NAN, f64::INFINITY, -1e308, 0.0, 1e9]),
    ) {
        let whole = say(&step, how, totals(&step));
        let mut padded = step.clone();
        for (rollout, &count) in padded.iter_mut().zip(&padding) {
            let pad = Token { trained: false, numbers: [garbage; 5] };
            for token in rollout.tokens.iter_mut().filter(|token| !token.trained) {
                *token = pad;
            }
            let at = count.min(rollout.tokens.len());
            rollout.tokens.splice(at..at, vec![pad; count]);
        }
        // A rollout that is masked as a whole is not there, whatever its advantage is.
        let pad = Token { trained: false, numbers: [garbage; 5] };
        padded.push(Rollout { tokens: vec![pad; 3], advantage: garbage });
        prop_assert_eq!(totals(&padded), totals(&step));
        let found = say(&padded, how, totals(&padded));
        let trained = |rollouts: &[Rollout], list: &[f64]| -> (Vec<f64>, Vec<f64>) {
            let masks = rollouts.iter().flat_map(mask);
            let (on, off): (Vec<_>, Vec<_>) = masks.zip(list).partition(|(trained, _)| *trained);
            let numbers = |list: Vec<(bool, &f64)>| list.into_iter().map(|(_, x)| *x).collect();
            (numbers(on), numbers(off))
        };
        for (found, expected) in [
            (&found.dlogp, &whole.dlogp),
            (&found.dentropy, &whole.dentropy),
            (&found.dvalue, &whole.dvalue),
        ] {
            let (on, off) = trained(&padded, found);
            prop_assert_eq!(on, trained(&step, expected).0);
            prop_assert!(off.iter().all(|signal| signal.to_bits() == 0));
        }
        prop_assert_eq!(found.loss.to_bits(), whole.loss.to_bits());
        prop_assert_eq!(found.statistics, whole.statistics);
    }

    /// Groups of one and groups without variance have no advantage, and so no policy signal.
    #[test]
    fn a_dead_group_gives_no_policy_signal(
        mut step in rollouts(), how in how(), reward in -2.0..2.0_f64, alone in any::<bool>(),
    ) {
        if alone {
            step.truncate(1);
        }
        let rewards = vec![reward; step.len()];
        for kind in [AdvantageBy::StandardScore, AdvantageBy::Mean, AdvantageBy::LeaveOneOut] {
            let advantages = group(&rewards, kind).unwrap();
            for (rollout, advantage) in step.iter_mut().zip(advantages) {
                rollout.advantage = advantage;
            }
            let step_totals = totals(&step);
            for rollout in &step {
                let trained = mask(rollout);
                let column = |which: usize| -> Vec<f64> {
                    rollout.tokens.iter().map(|token| token.numbers[which]).collect()
                };
                let (logp, old) = (column(0), column(1));
                let sequence = Sequence {
                    trained: &trained,
                    logp: &logp,
                    old_logp: &old,
                    sampler_logp: None,
                    reference_logp: None,
                    entropy: None,
                    advantage: Advantages::Whole(rollout.advantage),
                    episode_tokens: None,
                };
                let clip = Clip::new(0.2, 0.28).unwrap();
                let surrogate = Surrogate { ratio: how.ratio, clip, cap: None };
                let grpo = Grpo { surrogate, penalty: None, normaliser: how.normaliser };
                let found = grpo.loss(&[sequence], step_totals).unwrap();
                prop_assert!(found.objective.signals.dlogp.iter().all(|&signal| signal == 0.0));
                prop_assert!(found.objective.loss == 0.0);
                // Nothing pays, so nothing is clipped; a weight is bounded all the same.
                let clipped = found.statistics.clip_fraction().unwrap_or(0.0);
                prop_assert!(clipped == 0.0 || how.ratio == RatioOf::Weight);
            }
        }
    }
}
