//! Overlong masking: a completion that the token limit cut off teaches nothing.
//!
//! Its reward says that it was too long, not that it was wrong, and a policy that is punished for it
//! unlearns what it did right up to there (DAPO, arXiv:2503.14476, section 3.4, "overlong
//! filtering"). So none of its tokens is trained. It stays in its group: its reward is part of the
//! mean that the others are measured against.

use whetstone_core::completion::Finish;

use crate::sequence::Place;

/// Which tokens of a completion are still trained.
///
/// # Example
///
/// ```
/// use whetstone_algo::overlong::mask;
/// use whetstone_core::completion::Finish;
/// assert_eq!(mask(&[false, true], Finish::Stop), [false, true]);
/// assert_eq!(mask(&[false, true], Finish::Length), [false, false]);
/// ```
pub fn mask(trained: &[bool], finish: Finish) -> Vec<bool> {
    match finish {
        Finish::Stop => trained.to_vec(),
        Finish::Length => vec![false; trained.len()],
    }
}

/// How many tokens that masking takes out.
pub fn masked(trained: &[bool], finish: Finish) -> u64 {
    match finish {
        Finish::Stop => 0,
        Finish::Length => Place { sequence: 0, trained }.trained_count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Totals;

    #[test]
    fn a_completion_that_was_cut_off_leaves_the_step_and_its_denominator() {
        let trained = [false, true, true];
        assert_eq!(mask(&trained, Finish::Stop), trained);
        assert_eq!(mask(&trained, Finish::Length), [false; 3]);
        assert_eq!((masked(&trained, Finish::Stop), masked(&trained, Finish::Length)), (0, 2));
        let step = [Finish::Stop, Finish::Length].map(|finish| mask(&trained, finish));
        let totals = Totals::count(step.iter().map(Vec::as_slice));
        assert_eq!(totals, Totals { tokens: 2, sequences: 1 });
    }
}
