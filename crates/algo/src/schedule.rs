//! Learning-rate schedules: linear warm-up, then constant, linear or cosine decay.
//!
//! Of `T` steps, counted from 0, the first `W` warm up; `p` is the part of the rest that is done:
//!
//! ```text
//! warm-up     start + (1 - start) · step / W          step < W
//! constant    1
//! linear      1 - p                                   p = (step - W) / (T - W)
//! cosine      (1 + cos(π p)) / 2                      SGDR, arXiv:1608.03983, eq. 5
//! ```
//!
//! all times the peak. `start` is 0.1 for PPO and the part of the peak that the very first update
//! gets; with 0 that update changes nothing, as in other tools. From step `T` on, `p` stays 1.

use std::f64::consts::PI;

use whetstone_core::config::LrScheduler;

use crate::error::setting;
use crate::{AlgoError, number};

/// The learning rate of every step of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// The highest rate.
    pub peak: f64,
    /// The shape after the warm-up.
    pub shape: LrScheduler,
    /// Steps that warm up.
    pub warmup_steps: u64,
    /// The part of the peak that the warm-up starts from.
    pub warmup_start: f64,
    /// Steps in all.
    pub total_steps: u64,
}

impl Schedule {
    /// The rate of a step, counted from 0.
    ///
    /// # Errors
    ///
    /// If the peak is not positive, the start not between 0 and 1, or the warm-up longer than all.
    pub fn rate(&self, step: u64) -> Result<f64, AlgoError> {
        let (start, warmup, total) = (self.warmup_start, self.warmup_steps, self.total_steps);
        setting("the peak learning rate", self.peak, self.peak > 0.0, "above 0")?;
        let within = (0.0..=1.0).contains(&start);
        setting("the start of the warm-up", start, within, "between 0 and 1")?;
        let (what, fits) = ("the number of warm-up steps", warmup <= total);
        setting(what, number(warmup), fits, "at most the number of steps")?;
        if step < warmup {
            return Ok(self.peak * (start + (1.0 - start) * number(step) / number(warmup)));
        }
        let left = number(total.saturating_sub(step));
        // After the last step nothing is left of nothing, which is still the end.
        let done = 1.0 - left / number((total - warmup).max(1));
        Ok(self.peak
            * match self.shape {
                LrScheduler::Constant => 1.0,
                LrScheduler::Linear => 1.0 - done,
                LrScheduler::Cosine => f64::midpoint(1.0, (PI * done).cos()),
            })
    }
}

/// Steps of a warm-up that is a part of all steps, rounded up.
///
/// # Errors
///
/// If the part is not between 0 and 1.
///
/// # Example
///
/// ```
/// use whetstone_algo::schedule::warmup_steps;
/// assert_eq!(warmup_steps(0.1, 101)?, 11);
/// # Ok::<(), whetstone_algo::AlgoError>(())
/// ```
pub fn warmup_steps(part: f64, total_steps: u64) -> Result<u64, AlgoError> {
    setting("the warm-up", part, (0.0..=1.0).contains(&part), "between 0 and 1")?;
    // 0.07 · 100 is a little more than 7, which is still 7 steps.
    let steps = (part * number(total_steps) - 1e-6).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates at 0, and the steps are at most all steps"
    )]
    Ok(steps as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::assert_near;

    fn schedule(shape: LrScheduler) -> Schedule {
        Schedule { peak: 8.0, shape, warmup_steps: 4, warmup_start: 0.0, total_steps: 12 }
    }

    /// A peak of 8, four steps up and eight down; the cosine is at 1, √½, 0, -√½, -1 every two.
    #[test]
    fn worked_by_hand() {
        let root = 0.5_f64.sqrt();
        let up = [(0, 0.0), (1, 2.0), (2, 4.0), (3, 6.0), (4, 8.0)];
        for (shape, down) in [
            (LrScheduler::Constant, [(6, 8.0), (8, 8.0), (10, 8.0), (12, 8.0), (99, 8.0)]),
            (LrScheduler::Linear, [(6, 6.0), (8, 4.0), (11, 1.0), (12, 0.0), (99, 0.0)]),
            (
                LrScheduler::Cosine,
                [(6, 4.0 + 4.0 * root), (8, 4.0), (10, 4.0 - 4.0 * root), (12, 0.0), (99, 0.0)],
            ),
        ] {
            for (step, expected) in up.into_iter().chain(down) {
                assert_near(schedule(shape).rate(step).unwrap(), expected);
            }
        }
        let late = Schedule { warmup_start: 0.5, ..schedule(LrScheduler::Linear) };
        for (step, expected) in [(0, 4.0), (1, 5.0), (3, 7.0), (4, 8.0)] {
            assert_near(late.rate(step).unwrap(), expected);
        }
    }

    /// The schedule of the requirements, as PyTorch 2.15 runs it:
    ///
    /// ```python
    /// from torch.optim.lr_scheduler import LinearLR, CosineAnnealingLR, SequentialLR
    /// optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1e-5)
    /// parts = [LinearLR(optimizer, start_factor=0.1, total_iters=3),
    ///          CosineAnnealingLR(optimizer, T_max=10 - 3)]
    /// schedule = SequentialLR(optimizer, parts, milestones=[3])
    /// for _ in range(10):
    ///     print(optimizer.param_groups[0]["lr"]); optimizer.step(); schedule.step()
    /// ```
    #[test]
    fn it_is_the_schedule_of_the_requirements() {
        let schedule = Schedule {
            peak: 1e-5,
            shape: LrScheduler::Cosine,
            warmup_steps: 3,
            warmup_start: 0.1,
            total_steps: 10,
        };
        let expected = [
            1e-6,
            4e-6,
            7e-6,
            1e-5,
            9.504_844_339_512_096e-6,
            8.117_449_009_293_668e-6,
            6.112_604_669_781_572e-6,
            3.887_395_330_218_429e-6,
            1.882_550_990_706_332_6e-6,
            4.951_556_604_879_048e-7,
        ];
        for (step, expected) in (0..).zip(expected) {
            let found: f64 = schedule.rate(step).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-9, "step {step}: {found} not {expected}");
        }
    }

    #[test]
    fn without_a_warm_up_and_with_nothing_else() {
        let cold = Schedule { warmup_steps: 0, ..schedule(LrScheduler::Linear) };
        assert_near(cold.rate(0).unwrap(), 8.0);
        assert_near(cold.rate(3).unwrap(), 6.0);
        let all = Schedule { warmup_steps: 12, ..schedule(LrScheduler::Linear) };
        assert_near(all.rate(6).unwrap(), 4.0);
        assert_near(all.rate(12).unwrap(), 0.0);
    }

    #[test]
    fn settings_that_make_no_schedule_are_refused() {
        let good = schedule(LrScheduler::Linear);
        for (wrong, expected) in [
            (Schedule { peak: 0.0, ..good }, "the peak learning rate is 0; it must be above 0"),
            (
                Schedule { warmup_start: 1.5, ..good },
                "the start of the warm-up is 1.5; it must be between 0 and 1",
            ),
            (
                Schedule { warmup_steps: 13, ..good },
                "the number of warm-up steps is 13; it must be at most the number of steps",
            ),
        ] {
            assert_eq!(wrong.rate(0).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_part_of_all_steps_is_rounded_up_and_not_by_rounding_errors() {
        for (part, total, expected) in
            [(0.1, 101, 11), (0.07, 100, 7), (0.1, 30, 3), (0.0, 9, 0), (1.0, 9, 9), (0.01, 5, 1)]
        {
            assert_eq!(warmup_steps(part, total), Ok(expected), "{part} of {total}");
        }
        assert!(warmup_steps(1.1, 9).is_err() && warmup_steps(-0.1, 9).is_err());
    }

    proptest! {
        #[test]
        fn it_rises_to_the_peak_and_falls_from_there(
            warmup in 0..20_u64, rest in 1..20_u64, start in 0.0..1.0_f64,
        ) {
            for shape in [LrScheduler::Constant, LrScheduler::Linear, LrScheduler::Cosine] {
                let schedule = Schedule {
                    peak: 3.0,
                    shape,
                    warmup_steps: warmup,
                    warmup_start: start,
                    total_steps: warmup + rest,
                };
                let rates: Vec<_> =
                    (0..warmup + rest + 3).map(|step| schedule.rate(step).unwrap()).collect();
                let (up, down) = rates.split_at(usize::try_from(warmup).unwrap());
                assert_near(down[0], 3.0);
                prop_assert!(up.is_sorted() && up.iter().all(|&rate| rate < 3.0));
                prop_assert!(down.is_sorted_by(|a, b| a >= b) && down.iter().all(|&r| r >= 0.0));
            }
        }
    }
}
