//! GSPO: one ratio for a whole sequence.
//!
//! Of `n` trained tokens (arXiv:2507.18071, eq. 7; its gradient is eq. 10):
//!
//! ```text
//! s = exp( (1/n) · Σ (logp - old_logp) )        by each logp: s / n
//! ```
//!
//! Rewards are given to sequences, so the sequence is what is clipped. Every token stands for the
//! loss of its sequence, `-min(s · A, clip(s) · A)`, with its own weight; so the derivative by one
//! of them is the mean of what each would get if `s` were its own. With [sequence
//! means](crate::Normaliser::SequenceMean) this is the paper's objective. Its bounds are narrow,
//! 3e-4 and 4e-4 in the paper, because a mean over tokens moves little.

use crate::sequence::Place;
use crate::{Sequence, number};

/// The mean log-ratio of a sequence, 0 if nothing of it is trained.
pub(super) fn log_ratio(place: Place<'_>, sequence: &Sequence<'_>) -> f64 {
    let moved = place.tokens().map(|token| sequence.logp[token] - sequence.old_logp[token]);
    let n = number(place.trained_count().max(1));
    moved.sum::<f64>() / n
}

/// Gives every trained token the mean of the signals of all of them.
pub(super) fn share(place: Place<'_>, signals: &mut [f64]) {
    let n = number(place.trained_count().max(1));
    let mean = place.tokens().map(|token| signals[token]).sum::<f64>() / n;
    place.tokens().for_each(|token| signals[token] = mean);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Advantages;
    use crate::testing::{assert_all_near, assert_near};

    /// Two trained tokens, one twice and one eight times as likely as before: √(2 · 8) = 4.
    #[test]
    fn the_ratio_is_the_geometric_mean_over_trained_tokens() {
        let trained = [true, false, true];
        let sequence = Sequence {
            trained: &trained,
            logp: &[0.5_f64.ln(), f64::NAN, 0.8_f64.ln()],
            old_logp: &[0.25_f64.ln(), 0.0, 0.1_f64.ln()],
            sampler_logp: None,
            reference_logp: None,
            entropy: None,
            advantage: Advantages::Whole(1.0),
            episode_tokens: None,
        };
        let place = Place { sequence: 0, trained: &trained };
        assert_near(log_ratio(place, &sequence), 4.0_f64.ln());
        let nothing = Place { sequence: 0, trained: &[false; 3] };
        assert_near(log_ratio(nothing, &sequence), 0.0);
    }

    #[test]
    fn signals_are_shared_among_trained_tokens() {
        let mut signals = [1.0, 9.0, 2.0];
        share(Place { sequence: 0, trained: &[true, false, true] }, &mut signals);
        assert_all_near(&signals, &[1.5, 9.0, 1.5]);
        share(Place { sequence: 0, trained: &[false; 3] }, &mut signals);
        assert_all_near(&signals, &[1.5, 9.0, 1.5]);
    }
}
