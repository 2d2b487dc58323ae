//! The pairs of one group: replies to one task under one prompt.
//!
//! | the two replies | the preferred one | left out |
//! |---|---|---|
//! | one solved the task | that one ([`PairRule::PassOverFail`]) | if its reward is the lower one |
//! | both did, or neither | the one with the higher reward ([`PairRule::Reward`]) | below `min_gap` |
//!
//! Of these, pairs are left out whose programs are nearer than `min_distance` ([`NormalProgram::distance`]),
//! and pairs told apart by length alone: one text, without blanks around it, begins or ends with the other.
//! Replies without a program are near if their words are the same.
//!
//! Of what remains, at most `per_task` pairs are taken: passing over failing first, then those whose replies
//! are in the fewest pairs so far, then by the seed.

use std::collections::BTreeMap;

use whetstone_core::Seed;
use whetstone_env::normal_form::NormalProgram;

use super::place::{Digest, digest, place};

/// Replies of a group that are compared, half of them at least of each result if there are so many: 8128 pairs.
pub const MAX_REPLIES: usize = 128;

/// The rule by which one reply is preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairRule {
    /// It solved the task, and the other did not.
    PassOverFail,
    /// It has the higher reward.
    Reward,
}

impl PairRule {
    /// The rule's name in origins.
    pub fn name(self) -> &'static str {
        match self {
            Self::PassOverFail => "pass_over_fail",
            Self::Reward => "reward",
        }
    }
}

/// Why two replies are no pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    /// Their rewards differ by less than the gap.
    SmallGap,
    /// The reply that solved the task has the lower reward.
    RewardContradicts,
    /// Their programs are nearly the same.
    NearEqual,
    /// One is the other with something added.
    LengthAlone,
    /// The task has enough pairs.
    OverLimit,
    /// The same pair stands in a file already.
    Duplicate,
    /// The same two replies stand in a file already, the other way round.
    Contradicts,
}

impl LeftOut {
    /// The reason's name in counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SmallGap => "small_gap",
            Self::RewardContradicts => "reward_contradicts",
            Self::NearEqual => "near_equal",
            Self::LengthAlone => "length_alone",
            Self::OverLimit => "over_limit",
            Self::Duplicate => "duplicate",
            Self::Contradicts => "contradicts",
        }
    }
}

/// How pairs are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChoiceRules {
    pub(super) seed: Seed,
    pub(super) min_gap: f64,
    pub(super) min_distance: f64,
    pub(super) per_task: usize,
}

/// A reply of the group, with its text.
#[derive(Debug)]
pub(super) struct ComparedReply {
    pub(super) digest: Digest,
    pub(super) solved: Option<bool>,
    pub(super) total: f64,
    pub(super) text: String,
    pub(super) program: Option<NormalProgram>,
}

/// Two replies, by their places in the group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChosenPair {
    pub(super) chosen: usize,
    pub(super) rejected: usize,
    pub(super) rule: PairRule,
    pub(super) margin: f64,
}

/// The pairs of a group; what is left out is counted.
pub(super) fn choose(
    replies: &[ComparedReply],
    rules: &ChoiceRules,
    left_out: &mut BTreeMap<&'static str, u64>,
) -> Vec<ChosenPair> {
    let mut fit = Vec::new();
    let mut leave = |reason: LeftOut, count: u64| {
        if count > 0 {
            *left_out.entry(reason.name()).or_default() += count;
        }
    };
    for at in 0..replies.len() {
        for other in at + 1..replies.len() {
            match compare(replies, at, other, rules) {
                Ok(pair) => fit.push(Ranked::new(pair, replies, rules.seed)),
                Err(reason) => leave(reason, 1),
            }
        }
    }
    let over = fit.len().saturating_sub(rules.per_task);
    leave(LeftOut::OverLimit, over as u64);
    take(fit, replies.len(), rules.per_task)
}

/// The better of two replies, or why they are no pair.
fn compare(
    replies: &[ComparedReply],
    at: usize,
    other: usize,
    rules: &ChoiceRules,
) -> Result<ChosenPair, LeftOut> {
    let (one, two) = (&replies[at], &replies[other]);
    let solved = |reply: &ComparedReply| reply.solved == Some(true);
    let failed = |reply: &ComparedReply| reply.solved == Some(false);
    let (rule, first) = if solved(one) && failed(two) {
        (PairRule::PassOverFail, true)
    } else if failed(one) && solved(two) {
        (PairRule::PassOverFail, false)
    } else {
        (PairRule::Reward, one.total > two.total)
    };
    let (chosen, rejected) = if first { (at, other) } else { (other, at) };
    let margin = replies[chosen].total - replies[rejected].total;
    match rule {
        PairRule::PassOverFail if margin < 0.0 => return Err(LeftOut::RewardContradicts),
        // The slack allows for sums in another order.
        PairRule::Reward if margin <= 0.0 || margin < rules.min_gap - 1e-9 => {
            return Err(LeftOut::SmallGap);
        }
        _ => {}
    }
    if is_longer_alone(&one.text, &two.text) {
        return Err(LeftOut::LengthAlone);
    }
    if is_near(one, two, rules.min_distance) {
        return Err(LeftOut::NearEqual);
    }
    Ok(ChosenPair { chosen, rejected, rule, margin })
}

/// Whether one text is the other with something before or behind it.
pub(super) fn is_longer_alone(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let (long, short) = if one.len() >= other.len() { (one, other) } else { (other, one) };
    long.starts_with(short) || long.ends_with(short)
}

/// Whether both have the same words in the same order.
pub(super) fn same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

fn is_near(one: &ComparedReply, other: &ComparedReply, min_distance: f64) -> bool {
    match (&one.program, &other.program) {
        (Some(one), Some(other)) => one.is_same(other) || one.distance(other) < min_distance,
        (None, None) => same_words(&one.text, &other.text),
        _ => false,
    }
}

/// A pair with its place in the order of the seed.
struct Ranked {
    pair: ChosenPair,
    place: u64,
}

impl Ranked {
    fn new(pair: ChosenPair, replies: &[ComparedReply], seed: Seed) -> Self {
        let both = [pair.chosen, pair.rejected].map(|at| &replies[at].digest[..]);
        Self { pair, place: place(seed, "pairs/choice", &digest(&both)) }
    }
}

/// Takes up to `limit` pairs, spread over the replies.
fn take(mut fit: Vec<Ranked>, replies: usize, limit: usize) -> Vec<ChosenPair> {
    let mut uses = vec![0_u32; replies];
    let mut taken = Vec::new();
    while taken.len() < limit {
        let key = |ranked: &Ranked| {
            let ChosenPair { chosen, rejected, rule, .. } = ranked.pair;
            (rule, uses[chosen] + uses[rejected], ranked.place)
        };
        let best = (0..fit.len()).min_by_key(|&at| key(&fit[at]));
        let Some(best) = best else { break };
        let Ranked { pair, .. } = fit.swap_remove(best);
        uses[pair.chosen] += 1;
        uses[pair.rejected] += 1;
        taken.push(pair);
    }
    taken
}

/// The replies of a large group that are compared, by their places in it: the first by the seed, half of them
/// from those that solved the task and half from the others, as far as there are so many.
pub(super) fn bounded(replies: &[(Digest, bool)], seed: Seed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..replies.len()).collect();
    if order.len() <= MAX_REPLIES {
        return order;
    }
    order.sort_by_key(|&at| (place(seed, "pairs/replies", &replies[at].0), replies[at].0));
    let (solved, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|&at| replies[at].1);
    let half = MAX_REPLIES / 2;
    let of_solved = solved.len().min(half.max(MAX_REPLIES - others.len().min(half)));
    let mut kept: Vec<usize> =
        solved.into_iter().take(of_solved).chain(others).take(MAX_REPLIES).collect();
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use whetstone_core::program::{Language, Program};
    use whetstone_env::stack::on_big_stack;

    use super::*;

    const RULES: ChoiceRules =
        ChoiceRules { seed: Seed::new(7), min_gap: 0.1, min_distance: 0.02, per_task: 100 };

    fn reply(text: &str, solved: Option<bool>, total: f64) -> ComparedReply {
        let (language, source) = (Language::Python, text.to_owned());
        let program = Program { language, source, truncated: false };
        let program = on_big_stack(|stack| NormalProgram::of(&program, stack)).unwrap();
        let program = text.starts_with("def").then_some(program);
        let digest = digest(&[text.as_bytes()]);
        ComparedReply { digest, solved, total, text: text.to_owned(), program }
    }

    fn chosen(replies: &[ComparedReply], rules: &ChoiceRules) -> (Vec<ChosenPair>, String) {
        let mut left_out = BTreeMap::new();
        let pairs = choose(replies, rules, &mut left_out);
        let left_out: Vec<String> =
            left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        (pairs, left_out.join(", "))
    }

    #[track_caller]
    fn check(one: &ComparedReply, other: &ComparedReply, expected: &str) {
        let replies = [clone(one), clone(other)];
        let (pairs, left_out) = chosen(&replies, &RULES);
        let found = pairs.first().map(|pair| {
            format!(
                "{} over {} by {}: {:.2}",
                pair.chosen,
                pair.rejected,
                pair.rule.name(),
                pair.margin
            )
        });
        assert_eq!(found.unwrap_or(left_out), expected);
    }

    fn clone(reply: &ComparedReply) -> ComparedReply {
        let ComparedReply { digest, solved, total, text, program } = reply;
        let (text, program) = (text.clone(), program.clone());
        ComparedReply { digest: *digest, solved: *solved, total: *total, text, program }
    }

    const ADD: &str = "def f(a, b):\n    return a + b";
    const SUBTRACT: &str = "def f(a, b):\n    return a - b";
    const LOOP: &str = "def f(a, b):\n    for _ in range(b):\n        a += 1\n    return a";

    #[test]
    fn passing_is_preferred_to_failing_and_then_the_higher_reward() {
        let pass = reply(ADD, Some(true), 0.9);
        let fail = reply(SUBTRACT, Some(false), 0.25);
        check(&pass, &fail, "0 over 1 by pass_over_fail: 0.65");
        check(&fail, &pass, "1 over 0 by pass_over_fail: 0.65");
        let slow = reply(LOOP, Some(true), 0.7);
        check(&pass, &slow, "0 over 1 by reward: 0.20");
        check(&reply(LOOP, None, 0.1), &reply(ADD, None, 0.2), "1 over 0 by reward: 0.10");
        check(&pass, &reply(LOOP, Some(true), 0.85), "1 small_gap");
        check(&pass, &reply(LOOP, Some(true), 0.9), "1 small_gap");
        check(&pass, &reply(LOOP, Some(false), 0.95), "1 reward_contradicts");
    }

    #[test]
    fn pairs_that_teach_names_or_length_are_left_out() {
        let pass = reply(ADD, Some(true), 1.0);
        let renamed = "def g(x, y):\n    # adds\n    return (x + y)";
        check(&pass, &reply(renamed, Some(false), 0.0), "1 near_equal");
        check(
            &pass,
            &reply(&format!("{ADD}\n\n\nThat is all."), Some(false), 0.0),
            "1 length_alone",
        );
        let words = reply("I do not know.", Some(false), 0.0);
        check(&pass, &words, "0 over 1 by pass_over_fail: 1.00");
        check(
            &reply("seven", Some(true), 1.0),
            &reply("seven eight", Some(false), 0.0),
            "1 length_alone",
        );
        check(&reply("7 8", Some(true), 1.0), &reply("7  8", Some(false), 0.0), "1 near_equal");
    }

    /// Of 3 that pass and 3 that fail, 9 pairs: with a limit of 3, every reply is in one of them.
    #[test]
    fn a_limit_spreads_pairs_over_the_replies_and_follows_the_seed() {
        let text = |at: usize| format!("def f(a):\n    return {}", "a + ".repeat(at) + "1");
        let replies: Vec<ComparedReply> =
            (0..6).map(|at| reply(&text(at), Some(at < 3), f64::from(u8::from(at < 3)))).collect();
        let limited = ChoiceRules { per_task: 3, ..RULES };
        let (pairs, left_out) = chosen(&replies, &limited);
        assert_eq!(left_out, "6 over_limit, 6 small_gap");
        let mut used: Vec<usize> =
            pairs.iter().flat_map(|pair| [pair.chosen, pair.rejected]).collect();
        used.sort_unstable();
        assert_eq!(used, [0, 1, 2, 3, 4, 5]);
        assert_eq!(chosen(&replies, &limited).0, pairs, "same seed, same pairs");
        let of = |seed: u64| chosen(&replies, &ChoiceRules { seed: Seed::new(seed), ..limited }).0;
        assert!((0..8).any(|seed| of(seed) != pairs), "another seed, other pairs");
    }

    #[test]
    fn a_large_group_is_bounded_with_both_results_in_it() {
        let replies = |solved: usize, all: usize| -> Vec<(Digest, bool)> {
            (0..all).map(|at| (digest(&[&at.to_le_bytes()]), at < solved)).collect()
        };
        let kept = |solved: usize, all: usize| {
            let kept = bounded(&replies(solved, all), Seed::new(1));
            (kept.iter().filter(|at| **at < solved).count(), kept.len())
        };
        assert_eq!(kept(3, 1000), (3, MAX_REPLIES));
        assert_eq!(kept(500, 1000), (MAX_REPLIES / 2, MAX_REPLIES));
        assert_eq!(kept(998, 1000), (MAX_REPLIES - 2, MAX_REPLIES));
        assert_eq!(kept(2, 5), (2, 5));
    }
}
