//! A difference over several seeds of training, and how far it would vary with others.
//!
//! ```text
//! over seeds             mean(d) ± t · s / √S       d: the difference of each of S seeds, t with S - 1 degrees of freedom
//! over seeds and tasks   the middle 95 % of means over S seeds and T tasks, both drawn with replacement
//! ```
//!
//! A training is one draw: its tasks tell how well *this* model does, and nothing of the next seed. So the tasks of
//! several seeds are never pooled into one sample; an interval that does is several times too narrow (the simulation
//! below). The first interval is about other seeds on the same tasks. The second is about other tasks as well, of which all seeds have
//! the same; with few seeds it is too narrow, because three values drawn from three vary less than three new ones.
//!
//! Not here: which evaluations may be compared (`seed_comparison`).

use serde::Serialize;

use crate::bootstrap::{RESAMPLES, mean, middle_of, number};
use crate::random::stream;
use crate::student::half_width;

/// A figure of several seeds on both sides, and the mean of its differences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverSeeds {
    /// The figure of each seed, in the order given.
    pub by_seed: Vec<SeedFigure>,
    /// The mean of the differences.
    pub value: f64,
    /// Its 95 % interval over seeds; none if all seeds have the same difference, which says nothing of others.
    pub over_seeds: Option<SeedInterval>,
    /// Its 95 % interval over seeds and tasks.
    pub over_seeds_and_tasks: SeedInterval,
    /// Tasks that every evaluation has the figure of.
    pub tasks: usize,
    /// Tasks with too few judged samples in some evaluation.
    pub left_out: usize,
}

/// A figure of one seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedFigure {
    /// Of the first side.
    pub before: f64,
    /// Of the second.
    pub after: f64,
    /// Second minus first.
    pub difference: f64,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The values of every task on both sides of one seed.
pub(crate) struct SeedValues {
    pub(crate) before: Vec<f64>,
    pub(crate) after: Vec<f64>,
}

impl OverSeeds {
    /// The difference over these seeds, which have the same tasks in the same order.
    pub(crate) fn of(seeds: &[SeedValues], left_out: usize) -> Self {
        let by_seed: Vec<SeedFigure> = seeds.iter().map(SeedFigure::of).collect();
        let differences: Vec<f64> = by_seed.iter().map(|seed| seed.difference).collect();
        let by_task: Vec<Vec<f64>> = seeds.iter().map(SeedValues::differences).collect();
        let tasks = by_task.first().map_or(0, Vec::len);
        let over_seeds_and_tasks = resampled(&by_task, RESAMPLES);
        let value = mean(&differences);
        let over_seeds = over_seeds(&differences);
        Self { by_seed, value, over_seeds, over_seeds_and_tasks, tasks, left_out }
    }

    /// Whether the interval over seeds excludes 0.
    pub fn is_clear(&self) -> bool {
        self.over_seeds.is_some_and(|SeedInterval { low, high }| low > 0.0 || high < 0.0)
    }
}

impl SeedFigure {
    fn of(values: &SeedValues) -> Self {
        let (before, after) = (mean(&values.before), mean(&values.after));
        Self { before, after, difference: after - before }
    }
}

impl SeedValues {
    fn differences(&self) -> Vec<f64> {
        self.before.iter().zip(&self.after).map(|(before, after)| after - before).collect()
    }
}

/// Student's interval of the mean of the seeds; none without a spread.
fn over_seeds(differences: &[f64]) -> Option<SeedInterval> {
    let (value, half) = (mean(differences), half_width(differences));
    (differences.len() > 1 && half > 1e-12)
        .then_some(SeedInterval { low: value - half, high: value + half })
}

/// The middle of the means of resampled seeds and tasks: all seeds of a resample have its tasks.
fn resampled(by_task: &[Vec<f64>], resamples: u64) -> SeedInterval {
    let tasks = by_task.first().map_or(0, Vec::len);
    let one = |at: u64| {
        let mut random = stream("seeds-and-tasks", at);
        let drawn: Vec<usize> = (0..tasks).map(|_| random.below(tasks)).collect();
        let seeds = (0..by_task.len()).map(|_| &by_task[random.below(by_task.len())]);
        let sum: f64 = seeds.map(|seed| drawn.iter().map(|&task| seed[task]).sum::<f64>()).sum();
        sum / number(tasks * by_task.len())
    };
    let (low, high) = middle_of((0..resamples).map(one).collect());
    SeedInterval { low, high }
}

#[cfg(test)]
mod tests {
    use whetstone_core::SplitMix;

    use super::*;
    use crate::bootstrap::interval_of;

    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found} is not {expected}");
    }

    /// By hand: 14.8, -16.8 and 9.0 have the mean 2.333 and the standard deviation 16.82; 4.303 · 16.82 / √3 = 41.79.
    #[test]
    fn three_seeds_have_the_interval_of_a_t_table() {
        let SeedInterval { low, high } = over_seeds(&[14.8, -16.8, 9.0]).unwrap();
        near(low, 2.333 - 41.79, 0.05);
        near(high, 2.333 + 41.79, 0.05);
        assert_eq!(over_seeds(&[0.25, 0.25, 0.25]), None, "equal seeds say nothing of a fourth");
        assert_eq!(over_seeds(&[0.25]), None, "nor does one seed");
    }

    /// Two seeds with the differences 0 and 1 on every task: a resample has both, or twice the one or the other. Two tasks
    /// with 0 and 1 in every seed: the same by tasks.
    #[test]
    fn seeds_are_drawn_and_tasks_are_drawn() {
        let whole = SeedInterval { low: 0.0, high: 1.0 };
        assert_eq!(resampled(&[vec![0.0; 50], vec![1.0; 50]], RESAMPLES), whole);
        assert_eq!(resampled(&[vec![0.0, 1.0], vec![0.0, 1.0]], RESAMPLES), whole);
        let seeds: Vec<Vec<f64>> = vec![vec![0.5; 9]; 3];
        assert_eq!(resampled(&seeds, RESAMPLES), SeedInterval { low: 0.5, high: 0.5 });
    }

    #[test]
    fn a_figure_is_told_seed_by_seed() {
        let seed = |before: [f64; 2], after: [f64; 2]| SeedValues {
            before: before.to_vec(),
            after: after.to_vec(),
        };
        let found =
            OverSeeds::of(&[seed([0.0, 0.5], [0.5, 1.0]), seed([0.25, 0.25], [0.5, 0.25])], 1);
        let differences: Vec<f64> = found.by_seed.iter().map(|seed| seed.difference).collect();
        assert_eq!((differences, found.tasks, found.left_out), (vec![0.5, 0.125], 2, 1));
        near(found.value, 0.3125, 1e-12);
        near(found.by_seed[1].before, 0.25, 1e-12);
        assert!(!found.is_clear(), "two seeds have a quantile of 12.7: {found:?}");
    }

    /// A trainer in a world of tasks whose true gain is known: task `t` is solved with a chance of 0.2 to 0.5 before, and with
    /// `gain · weight` more after training, where the gain is that of the seed, normal around `GAIN`, and the weight that
    /// of the task, which averages 1 over the world.
    struct World {
        seeds: usize,
        tasks: usize,
        samples: u64,
    }

    const GAIN: f64 = 0.15;
    const SPREAD: f64 = 0.04;
    const REPEATS: u64 = 1000;

    /// How often each interval held what it is about.
    struct Coverage {
        over_seeds: f64,
        pooled: f64,
        seeds_and_tasks: f64,
        pooled_world: f64,
    }

    /// Task number `at` of a hundred kinds: its chance before, and its weight.
    fn kind(at: usize) -> [f64; 2] {
        let place = (number(at) + 0.5) / 100.0;
        [0.2 + 0.3 * place, 2.0 * place]
    }

    fn unit(random: &mut SplitMix) -> f64 {
        number(random.below(1 << 30)) / number(1 << 30)
    }

    /// Twelve uniform numbers, which have the variance 1 and are normal for all that matters here.
    fn normal(random: &mut SplitMix) -> f64 {
        (0..12).map(|_| unit(random)).sum::<f64>() - 6.0
    }

    impl World {
        fn coverage(&self) -> Coverage {
            let mut held = [0_usize; 4];
            for repeat in 0..REPEATS {
                for (count, holds) in held.iter_mut().zip(self.repeat(repeat)) {
                    *count += usize::from(holds);
                }
            }
            let part = |at: usize| number(held[at]) / 1000.0;
            Coverage {
                over_seeds: part(0),
                pooled: part(1),
                seeds_and_tasks: part(2),
                pooled_world: part(3),
            }
        }

        /// Whether each interval of one experiment holds what it is about: the first two the mean gain of all seeds on these
        /// tasks, the others that of all seeds on all tasks.
        fn repeat(&self, repeat: u64) -> [bool; 4] {
            let mut random = stream("worlds", repeat);
            let kinds: Vec<[f64; 2]> = (0..self.tasks).map(|_| kind(random.below(100))).collect();
            let of_these =
                GAIN * mean(&kinds.iter().map(|[_, weight]| *weight).collect::<Vec<_>>());
            let by_task: Vec<Vec<f64>> =
                (0..self.seeds).map(|_| self.seed(&kinds, &mut random)).collect();
            let differences: Vec<f64> = by_task.iter().map(|tasks| mean(tasks)).collect();
            let over_seeds = over_seeds(&differences).unwrap();
            let (low, high) = interval_of(&by_task.concat(), 200);
            let pooled = SeedInterval { low, high };
            let both = resampled(&by_task, 200);
            [(over_seeds, of_these), (pooled, of_these), (both, GAIN), (pooled, GAIN)]
                .map(|(interval, truth)| interval.low <= truth && truth <= interval.high)
        }

        /// The measured differences of one seed.
        fn seed(&self, kinds: &[[f64; 2]], random: &mut SplitMix) -> Vec<f64> {
            let gain = GAIN + SPREAD * normal(random);
            let mut share = |chance: f64| {
                let passed = (0..self.samples).filter(|_| unit(random) < chance).count();
                number(passed) / number(usize::try_from(self.samples).unwrap())
            };
            let difference =
                |[chance, weight]: &[f64; 2]| share(chance + gain * weight) - share(*chance);
            kinds.iter().map(difference).collect()
        }
    }

    #[track_caller]
    fn within(found: f64, least: f64, most: f64) {
        assert!((least..=most).contains(&found), "{found} is not from {least} to {most}");
    }

    /// Counted in this order, over seeds: 95.1, 94.9 and 95.4 %; pooled: 54.1, 77.7 and 67.0 %; over seeds and tasks: 86.5,
    /// 97.7 and 95.9 %; pooled, of all tasks: 53.5, 75.2 and 63.3 %.
    #[test]
    fn the_interval_over_seeds_holds_the_truth_in_95_of_100_experiments_and_the_pooled_one_does_not()
     {
        for (seeds, tasks, samples) in [(3, 200, 8), (5, 100, 4), (10, 200, 4)] {
            let Coverage { over_seeds, pooled, seeds_and_tasks, pooled_world } =
                World { seeds, tasks, samples }.coverage();
            within(over_seeds, 0.93, 0.97);
            within(pooled, 0.4, 0.85);
            within(pooled_world, 0.4, 0.85);
            // With three seeds drawn from three it is too narrow as well, but by far less.
            within(seeds_and_tasks, if seeds == 3 { 0.83 } else { 0.93 }, 0.99);
        }
    }
}
