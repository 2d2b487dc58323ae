//! The twin of [`crate::sample`]: a row of logits for each thread.

#![expect(unsafe_code, reason = "one number of two slices for each row")]

use std::cmp::Ordering;

use super::head::spread;
use super::shared::Shared;
use super::threads::Threads;
use super::vectorized::{exp, largest, sum_by, with_simd};
use crate::matmul::MatrixMut;
use crate::philox::uniform;
use crate::sample::{Request, Rule, Sampled};

pub(crate) fn sample(
    threads: &Threads,
    to: Sampled<'_>,
    logits: &mut MatrixMut<'_, f32>,
    requests: &[Request<'_>],
) {
    let (cols, stride) = (logits.cols, logits.stride);
    let Sampled { mut tokens, mut logps } = to;
    let (logits, logps) = (Shared::new(logits.data.host()), Shared::new(logps.host()));
    threads.pieces(tokens.host(), 1, |row, token| {
        // SAFETY: different rows.
        let logits = unsafe { logits.part(row * stride, cols) };
        let (chosen, logp) = one_row(logits, &requests[row]);
        token[0] = chosen;
        // SAFETY: different rows.
        unsafe { logps.put(row, logp) };
    });
}

#[expect(clippy::cast_possible_truncation, reason = "token ids are 32 bits")]
fn one_row(logits: &mut [f32], request: &Request<'_>) -> (u32, f32) {
    let rule = &request.rule;
    let inverse = if rule.temperature > 0.0 { 1.0 / rule.temperature } else { 1.0 };
    let lse = with_simd(
        #[inline(always)]
        || {
            for l in logits.iter_mut() {
                *l *= inverse;
            }
            spread(logits).0
        },
    );
    let penalised = rule.presence_penalty != 0.0 || (rule.repetition_penalty - 1.0).abs() > 0.0;
    let plain = penalised.then(|| penalise(logits, request, inverse));
    let chosen = choose(logits, rule, || uniform(request.seed, request.sequence, request.position));
    let plain = plain.and_then(|plain| plain.get(&chosen).copied());
    let logit = plain.unwrap_or(logits[chosen]);
    (chosen as u32, logit - lse)
}

/// Changes the logits of what was there before; returns what they were. Logits are already divided
/// by the temperature, and penalties are meant for what they were before that.
fn penalise(
    logits: &mut [f32],
    request: &Request<'_>,
    inverse: f32,
) -> std::collections::BTreeMap<usize, f32> {
    let rule = &request.rule;
    let mut before = std::collections::BTreeMap::new();
    let all = request.prompt.iter().map(|&id| (id, false));
    for (id, sampled) in request.sampled.iter().map(|&id| (id, true)).chain(all) {
        let id = id as usize;
        if id >= logits.len() || before.contains_key(&id) {
            continue;
        }
        let logit = &mut logits[id];
        before.insert(id, *logit);
        let factor = rule.repetition_penalty;
        *logit = if *logit > 0.0 { *logit / factor } else { *logit * factor };
        if sampled {
            *logit -= rule.presence_penalty * inverse;
        }
    }
    before
}

fn choose(logits: &mut [f32], rule: &Rule, number: impl Fn() -> f64) -> usize {
    if rule.temperature <= 0.0 {
        let top = with_simd(
            #[inline(always)]
            || largest(logits),
        );
        return logits.iter().position(|&l| l >= top).unwrap_or(0);
    }
    let all = (rule.top_k == 0 || rule.top_k >= logits.len()) && rule.top_p >= 1.0;
    if all && rule.min_p <= 0.0 {
        among_all(logits, number())
    } else {
        among_best(logits, rule, number())
    }
}

/// Tokens that are added up together on the way to the one that is chosen.
const RUN: usize = 256;

/// `e^(l - top)` of some logits, and zeros.
fn weights_of(logits: &[f32], top: f32) -> [f32; RUN] {
    let mut weights = [0.0; RUN];
    with_simd(
        #[inline(always)]
        || {
            for (weight, l) in weights.iter_mut().zip(logits) {
                *weight = exp(l - top);
            }
        },
    );
    weights
}

/// The sum of weights in each run of logits.
fn run_sums(logits: &[f32], top: f32) -> Vec<f64> {
    let sum = |run: &[f32]| {
        let weights = weights_of(run, top);
        let sum = with_simd(
            #[inline(always)]
            || sum_by(&weights, |p| p),
        );
        f64::from(sum)
    };
    logits.chunks(RUN).map(sum).collect()
}

/// The first token at which the running sum of probability passes `number`.
fn among_all(logits: &[f32], number: f64) -> usize {
    let top = with_simd(
        #[inline(always)]
        || largest(logits),
    );
    let sums = run_sums(logits, top);
    let mut left = number * sums.iter().sum::<f64>();
    let passes = sums.iter().position(|sum| {
        let passes = left < *sum;
        left -= if passes { 0.0 } else { *sum };
        passes
    });
    // Sums of runs are rounded, so the number may pass all of them, or all of a run it is in: then
    // it is the last token that can come.
    let run = passes.or_else(|| sums.iter().rposition(|&sum| sum > 0.0)).unwrap_or(0);
    let weights = weights_of(&logits[run * RUN..logits.len().min((run + 1) * RUN)], top);
    let at = weights.iter().position(|&weight| {
        left -= f64::from(weight);
        passes.is_some() && left < 0.0
    });
    run * RUN + at.or_else(|| weights.iter().rposition(|&weight| weight > 0.0)).unwrap_or(0)
}

/// The same among the most probable.
fn among_best(logits: &[f32], rule: &Rule, number: f64) -> usize {
    let top = with_simd(
        #[inline(always)]
        || largest(logits),
    );
    let (best, held) = candidates(logits, rule, top);
    let mut weights: Vec<f64> = best.iter().map(|(l, _)| f64::from(exp(l - top))).collect();
    let held = held.unwrap_or_else(|| weights.iter().sum());
    let mut sum = 0.0;
    let enough = weights.iter().position(|weight| {
        sum += weight;
        sum >= f64::from(rule.top_p) * held
    });
    weights.truncate(enough.map_or(weights.len(), |at| at + 1));
    let least = f64::from(rule.min_p) * weights[0];
    let probable = weights.iter().take_while(|weight| **weight >= least).count();
    weights.truncate(probable.max(1));
    let mut left = number * weights.iter().sum::<f64>();
    let at = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    best[at.unwrap_or(weights.len() - 1)].1
}

/// Tokens that may pass the cuts, the most probable first, and the weight of all that `top_p` is a
/// share of, unless it is that of the candidates.
///
/// Without `top_k` only those are sorted that can pass. A token that `top_p` keeps has, with all
/// that are less probable, more than the rest of the whole; so it has more than that divided by the
/// number of tokens.
fn candidates(logits: &[f32], rule: &Rule, top: f32) -> (Vec<(f32, usize)>, Option<f64>) {
    let falling = |a: &(f32, usize), b: &(f32, usize)| match b.0.total_cmp(&a.0) {
        Ordering::Equal => a.1.cmp(&b.1),
        other => other,
    };
    let all = logits.iter().copied().zip(0..);
    if rule.top_k > 0 {
        let mut best: Vec<_> = all.collect();
        if rule.top_k < best.len() {
            best.select_nth_unstable_by(rule.top_k - 1, falling);
            best.truncate(rule.top_k);
        }
        best.sort_unstable_by(falling);
        return (best, None);
    }
    let total: f64 = run_sums(logits, top).iter().sum();
    let rest = (1.0 - f64::from(rule.top_p)) * total / logits.len() as f64;
    // A hundredth is more than all rounding on the way.
    let least = f64::from(top) + rest.max(f64::from(rule.min_p).min(1.0)).ln() - 0.01;
    let possible = |l: f32| f64::from(l).partial_cmp(&least) != Some(Ordering::Less);
    let mut best: Vec<_> = all.filter(|(l, _)| possible(*l)).collect();
    best.sort_unstable_by(falling);
    (best, Some(total))
}
