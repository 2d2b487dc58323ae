//! Intervals of means whose values are not shares: rewards, turns, counts.
//!
//! ```text
//! mean ± t·s / √T      t: Student's quantile with T - 1 degrees of freedom, s: the standard deviation
//! ```
//!
//! below a hundred tasks, and a bootstrap over tasks from there on. Values with a known range are shares of it and
//! have the interval of a share, which stays inside the range and has a width where all values are the same. So have
//! values that all lie between 0 and 1. Of other values that are all the same nothing is known of their spread: their
//! interval has no width.

use crate::bootstrap::{RESAMPLES, interval_of, mean};
use crate::estimate::{Estimate, MANY, around};
use crate::student::half_width;

/// Upper limit for the size of a value. Larger ones are not measurements, and their sums are not finite.
pub(super) const LARGEST: f64 = 1e15;

/// The range that values lie in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// The range of a share.
    pub(super) const SHARE: Self = Self { low: 0.0, high: 1.0 };

    fn holds(self, values: &[f64]) -> bool {
        values.iter().all(|value| (self.low..=self.high).contains(value))
    }
}

/// The mean over the tasks that have a value; `None` if no task has one.
pub(crate) fn estimate(
    tasks: impl Iterator<Item = Option<f64>>,
    range: Option<Range>,
) -> Option<Estimate> {
    let found: Vec<Option<f64>> = tasks.collect();
    let values: Vec<f64> = found.iter().copied().flatten().collect();
    if values.is_empty() {
        return None;
    }
    let (low, high) = interval(&values, range, RESAMPLES);
    let (value, tasks) = (mean(&values), values.len());
    Some(Estimate { value, low, high, tasks, left_out: found.len() - tasks })
}

/// The 95 % interval of a mean; `values` must not be empty.
pub(super) fn interval(values: &[f64], range: Option<Range>, resamples: u64) -> (f64, f64) {
    let range = [range, Some(Range::SHARE)].into_iter().flatten().find(|range| range.holds(values));
    if let Some(Range { low, high }) = range {
        let shares: Vec<f64> = values.iter().map(|value| (value - low) / (high - low)).collect();
        let (least, most) = around(&shares, resamples);
        return (low + least * (high - low), low + most * (high - low));
    }
    if values.len() >= MANY {
        return interval_of(values, resamples);
    }
    let half = half_width(values);
    (mean(values) - half, mean(values) + half)
}

#[cfg(test)]
mod tests {
    use whetstone_core::SplitMix;

    use super::*;
    use crate::bootstrap::number;
    use crate::random::stream;
    use crate::student::student;

    #[track_caller]
    fn check(values: &[f64], range: Option<Range>, expected: [f64; 2]) {
        let (low, high) = interval(values, range, RESAMPLES);
        let near = |found: f64, expected: f64| (found - expected).abs() < 2e-3;
        assert!(near(low, expected[0]) && near(high, expected[1]), "[{low}, {high}]");
    }

    /// By hand: 2, 4, 4, 6 has the mean 4 and the variance 8/3, so s/√T is √(2/3) = 0.8165; with 9 degrees
    /// 0 to 9 has 4.5, 55/6 and √(11/12) = 0.95743, times 2.262.
    #[test]
    fn few_values_of_any_size_have_students_interval() {
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        check(&ten, None, [4.5 - 2.1657, 4.5 + 2.1657]);
        let half = student(3) * 0.816_497;
        check(&[2.0, 4.0, 4.0, 6.0], None, [4.0 - half, 4.0 + half]);
        check(&[7.0; 5], None, [7.0, 7.0]);
    }

    /// 30 values in the middle of their range, and 30 at its end: t²/(n + t²) = 0.1224 of it.
    #[test]
    fn values_of_a_known_range_have_the_interval_of_a_share() {
        let range = Range { low: 1.0, high: 11.0 };
        check(&[1.0; 30], Some(range), [1.0, 1.0 + 1.224]);
        check(&[0.0; 30], None, [0.0, 0.1224]);
        let (low, high) = interval(&[12.0, 1.0, 3.0], Some(range), RESAMPLES);
        assert!(low < 1.0 && high > 11.0, "a value outside takes the range away: [{low}, {high}]");
    }

    /// Turns of an episode that is solved with a chance of 0.3 in each of 10 turns, which are geometric and cut off:
    /// 1 + 0.7 + … + 0.7⁹ = (1 - 0.7¹⁰) / 0.3 on average. 1,000 suites of each size.
    #[test]
    fn the_interval_of_turns_holds_the_truth_in_95_of_100_suites() {
        let truth = (1.0 - 0.7_f64.powi(10)) / 0.3;
        let range = Range { low: 1.0, high: 10.0 };
        for (tasks, range) in [(30, None), (30, Some(range)), (164, None)] {
            let holds = |repeat: &u64| {
                let mut random = stream("episodes", *repeat);
                let values: Vec<f64> = (0..tasks).map(|_| turns(&mut random)).collect();
                let (low, high) = interval(&values, range, 400);
                low <= truth && truth <= high
            };
            let covered = number((0..1000).filter(holds).count()) / 1000.0;
            assert!((0.93..=0.97).contains(&covered), "{covered} of {tasks} tasks, {range:?}");
        }
    }

    fn turns(random: &mut SplitMix) -> f64 {
        let lasts = (1..10_u32).take_while(|_| random.below(10) >= 3);
        1.0 + number(lasts.count())
    }
}
