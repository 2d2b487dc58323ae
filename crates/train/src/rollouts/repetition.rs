//! Whether a completion ends in a loop: the same n-gram again and again.
//!
//! A completion repeats if its last tokens are at least [`COPIES`] copies in a row of one n-gram of up to
//! [`LONGEST`] tokens, [`LEAST_TOKENS`] tokens in all. A student that no longer ends its answers writes like that
//! until the token limit. Lines of a program that are alike differ in a name or a number, and so do not count.

use whetstone_core::completion::{Completion, Finish};

/// Copies of an n-gram from which it is a loop.
const COPIES: usize = 3;
/// Tokens of the longest n-gram that is looked for.
const LONGEST: usize = 64;
/// Tokens that the copies have together, at least: three equal tokens are indentation.
const LEAST_TOKENS: usize = 24;

/// Whether a completion ends in a loop; none if its tokens are not known.
pub(super) fn is_repetitive(completion: &Completion) -> Option<bool> {
    let ids = completion.tokens.as_ref()?.ids();
    // The token that ends an answer stands behind its text.
    let ended = usize::from(completion.finish == Finish::Stop);
    Some(ends_in_loop(&ids[..ids.len().saturating_sub(ended)]))
}

fn ends_in_loop(ids: &[u32]) -> bool {
    (1..=LONGEST.min(ids.len())).any(|period| {
        let alike = ids.iter().rev().zip(ids.iter().rev().skip(period));
        let copied = alike.take_while(|(last, before)| last == before).count();
        copied + period >= LEAST_TOKENS.max(COPIES * period)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition word for word: the last tokens are copies of an n-gram.
    fn oracle(ids: &[u32]) -> bool {
        (1..=LONGEST).any(|n| {
            let tokens = LEAST_TOKENS.max(COPIES * n);
            ids.len() >= tokens && {
                let tail = &ids[ids.len() - tokens..];
                (0..tokens).all(|at| tail[at] == tail[at % n])
            }
        })
    }

    #[test]
    fn loops_are_found_from_three_copies_and_24_tokens_on() {
        let looped = |n: u32, tokens: usize| -> Vec<u32> {
            [900, 901].into_iter().chain((0..n).cycle().take(tokens)).collect()
        };
        let cases = [
            (looped(1, 23), false),
            (looped(1, 24), true),
            (looped(8, 23), false),
            (looped(8, 24), true),
            (looped(20, 59), false),
            (looped(20, 60), true),
            (looped(64, 192), true),
            (looped(65, 400), false),
            ([looped(8, 80), vec![77]].concat(), false),
            ((0..300).collect(), false),
            (Vec::new(), false),
        ];
        for (ids, expected) in cases {
            assert_eq!(oracle(&ids), expected, "{ids:?}");
            assert_eq!(ends_in_loop(&ids), expected, "{ids:?}");
        }
    }

    #[test]
    fn the_end_of_an_answer_is_no_part_of_it() {
        let of = |finish| {
            let ids: Vec<u32> = [5; 24].into_iter().chain([2]).collect();
            let rollout = crate::testing::rollout_as(
                0,
                crate::testing::Said {
                    ids: &ids,
                    finish,
                    verdict: whetstone_core::verdict::Verdict::NoCode,
                    worth: 0.0,
                },
            );
            is_repetitive(&rollout.turns[0].completion)
        };
        assert_eq!((of(Finish::Stop), of(Finish::Length)), (Some(true), Some(false)));
    }
}
