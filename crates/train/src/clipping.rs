//! Clipping of gradients: to a norm, and to a multiple of the running median of norms.
//!
//! ```text
//! g ← g · min(1, bound / ‖g‖),   bound = min(max_grad_norm, clip_to_median · median(‖g‖ of the last 50 updates))
//! ```
//!
//! Adam divides by the root of the second moment, so a norm that all gradients stay below clips none of them, and one
//! outlier makes a full-size step and leaves a second moment behind that slows hundreds of later ones. The median
//! follows the size that gradients have in this run, and one outlier does not move it: norms are remembered as they
//! were before clipping. Until [`LEAST`] are known, `max_grad_norm` alone clips.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use whetstone_core::config::TrainingConfig;

/// Norms that are remembered.
const MOST: usize = 50;
/// Norms from which there is a median.
const LEAST: usize = 10;

/// The norms of the last updates, before they were clipped: of the tensors that share a bound, and of those that are
/// set apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Norms {
    pub(crate) shared: RecentNorms,
    pub(crate) apart: RecentNorms,
}

/// Norms of the last updates, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RecentNorms(VecDeque<f64>);

impl Norms {
    /// Whether no update was made yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.0.is_empty() && self.apart.0.is_empty()
    }
}

impl RecentNorms {
    /// The factor of a gradient with this norm, which is remembered if norms clip; 0 if it has none.
    pub(crate) fn scale(&mut self, norm: f64, training: &TrainingConfig) -> f64 {
        if norm == 0.0 {
            return 0.0;
        }
        let scale = clip_scale(norm, training.max_grad_norm);
        if training.clip_to_median == 0.0 {
            return scale;
        }
        let of_median = self.median().map_or(0.0, |median| training.clip_to_median * median);
        self.0.push_back(norm);
        if self.0.len() > MOST {
            self.0.pop_front();
        }
        scale.min(clip_scale(norm, of_median))
    }

    fn median(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        (count >= LEAST).then(|| f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]))
    }
}

/// The factor that clips a gradient of this norm to `longest`; 0 is no bound.
fn clip_scale(norm: f64, longest: f64) -> f64 {
    if longest > 0.0 && norm > longest { longest / norm } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(max_grad_norm: f64, clip_to_median: f64) -> TrainingConfig {
        TrainingConfig { max_grad_norm, clip_to_median, ..TrainingConfig::default() }
    }

    /// The factors of these norms, one after the other.
    fn scales(norms: &[f64], training: &TrainingConfig) -> Vec<f64> {
        let mut recent = RecentNorms::default();
        norms.iter().map(|&norm| recent.scale(norm, training)).collect()
    }

    /// Norms 1 to 10 have the median 5.5; 33 is twice 3 · 5.5, and leaves the median of eleven at 6.
    #[test]
    fn a_gradient_is_cut_to_a_multiple_of_the_median_of_those_before_it() {
        let mut norms: Vec<f64> = (1..=10).map(f64::from).collect();
        norms.extend([33.0, 36.0, 16.5]);
        let found = scales(&norms, &training(0.0, 3.0));
        assert!(found[..10].iter().all(|&scale| scale > 0.999_999), "{found:?}");
        // Of 33 and the ten before it the median is 6, and of 36 and these it is 6.5.
        assert!((found[10] - 0.5).abs() < 1e-12 && (found[11] - 0.5).abs() < 1e-12, "{found:?}");
        assert!((found[12] - 1.0).abs() < 1e-12, "{found:?}");
        assert!(scales(&norms, &training(0.0, 0.0)).iter().all(|&scale| scale > 0.999_999));
    }

    #[test]
    fn the_lower_of_both_bounds_holds_and_the_norm_is_remembered_whole() {
        let norms = [[2.0; 10].as_slice(), &[12.0, 12.0]].concat();
        let found = scales(&norms, &training(4.0, 3.0));
        assert!((found[10] - 4.0 / 12.0).abs() < 1e-12, "{found:?}");
        let found = scales(&norms, &training(9.0, 3.0));
        assert!((found[10] - 6.0 / 12.0).abs() < 1e-12, "{found:?}");
        // A run whose gradients stay longer is clipped until half of the remembered ones are.
        let longer = [[2.0; 10].as_slice(), &[12.0; 11]].concat();
        let found = scales(&longer, &training(0.0, 3.0));
        assert!(found[10..20].iter().all(|&scale| (scale - 0.5).abs() < 1e-12), "{found:?}");
        // Of ten 2 and ten 12 the median is 7.
        assert!((found[20] - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn what_has_no_gradient_is_not_remembered_and_old_norms_are_forgotten() {
        let mut recent = RecentNorms::default();
        let training = training(0.0, 3.0);
        for _ in 0..9 {
            recent.scale(1.0, &training);
        }
        assert_eq!(recent.scale(0.0, &training).to_bits(), 0.0_f64.to_bits());
        assert_eq!(recent.median(), None);
        for _ in 0..60 {
            recent.scale(8.0, &training);
        }
        assert_eq!((recent.0.len(), recent.median()), (MOST, Some(8.0)));
    }

    #[test]
    fn norms_are_written_to_the_last_bit() {
        let mut norms = Norms::default();
        for at in 1..30 {
            norms.shared.scale(f64::from(at).sqrt() / 7.0, &training(1.0, 3.0));
        }
        let text = serde_json::to_string(&norms).unwrap();
        assert_eq!(serde_json::from_str::<Norms>(&text).unwrap(), norms);
        assert!(!norms.is_empty() && Norms::default().is_empty());
        let mut without = Norms::default();
        without.shared.scale(1.0, &training(1.0, 0.0));
        assert!(without.is_empty(), "a state as earlier versions wrote it");
    }

    #[test]
    fn a_gradient_is_clipped_where_it_is_longer() {
        let found = [clip_scale(4.0, 1.0), clip_scale(0.5, 1.0), clip_scale(4.0, 0.0)];
        assert_eq!(found.map(f64::to_bits), [0.25, 1.0, 1.0].map(f64::to_bits));
    }
}
