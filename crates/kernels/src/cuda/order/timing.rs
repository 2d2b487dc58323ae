//! Which of the algorithms that keep the order is the fastest.

use std::time::{Duration, Instant};

use super::super::Cuda;
use super::super::driver::{Algorithm, Driver, Format, Operands, Product};
use super::super::error::DeviceResult;
use super::super::noise::{Mirror, Noise, fill_noise, noise};
use super::{InOrder, Trial, in_order_of};
use crate::buffer::Buffer;

/// Rounds of a timed candidate, and the least repetitions in each.
const ROUNDS: u32 = 4;
const REPETITIONS: usize = 5;

/// More than the L2 cache of a chip holds.
const CACHE_BYTES: usize = 128 << 20;

/// The most copies of a weight.
const MOST_COPIES: usize = 16;

/// Copies of a weight whose products are timed in turn. A layer's weight is not in the cache when its
/// product begins, because those of the other layers were used since; an algorithm that is the fastest
/// with a cached weight need not be so without.
pub(super) fn weight_copies(numbers: usize) -> usize {
    let bytes = numbers.saturating_mul(2).max(1);
    CACHE_BYTES.div_ceil(bytes).clamp(1, MOST_COPIES)
}

pub(in crate::cuda) fn fastest_in_order(cuda: &Cuda, product: &Product) -> Option<Algorithm> {
    let InOrder { all: good, trial, .. } = in_order_of(cuda, product);
    let (true, Some(trial)) = (good.len() > 1, trial) else {
        return good.first().copied();
    };
    let weights = trial.weights();
    let time = |candidate: &Algorithm, how: Effort| {
        cuda.attempt(|driver| trial.time(driver, &weights, candidate, how))
    };
    let mut timed: Vec<(Duration, Algorithm)> = good
        .into_iter()
        .filter_map(|candidate| Some((time(&candidate, Effort::Brief)?, candidate)))
        .collect();
    // Of equals the first, which is the library's own choice.
    timed.sort_by_key(|(time, _)| *time);
    let best = timed.first()?.0;
    timed.retain(|(time, _)| *time <= best + best / CLOSE);
    if best < LONG || timed.len() == 1 {
        return timed.first().map(|(_, candidate)| *candidate);
    }
    let mut warm = Effort::Sustained { warm: WARMING };
    let mut sustained = vec![Duration::ZERO; timed.len()];
    for _ in 0..SUSTAINED_ROUNDS {
        for (total, (_, candidate)) in sustained.iter_mut().zip(&timed) {
            *total += time(candidate, warm)?;
            warm = Effort::Sustained { warm: SUSTAINED };
        }
    }
    let all = sustained.into_iter().zip(timed);
    all.min_by_key(|(total, _)| *total).map(|(_, (_, candidate))| candidate)
}

/// How long a candidate is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// A few products after a pause.
    Brief,
    /// As many as go on for some time, of which those of the first part are not timed. A chip that computes
    /// large products without a pause reaches its power limit and lowers its clock, and those that are fastest
    /// after a pause are not always those that are fastest then.
    Sustained { warm: Duration },
}

/// Products that take at least so long are timed at the power limit too, of these the ones that are within this
/// part of the fastest after a pause.
const LONG: Duration = Duration::from_micros(40);
const CLOSE: u32 = 6;

/// How long a candidate goes on before and while it is timed, and the first of them before.
const SUSTAINED: Duration = Duration::from_millis(20);
const SUSTAINED_ROUNDS: usize = 2;
const WARMING: Duration = Duration::from_millis(100);

/// How many products of a length take some time.
fn repetitions(time: Duration, one: Duration) -> usize {
    usize::try_from(time.as_nanos() / one.as_nanos().max(1)).unwrap_or(usize::MAX).max(1)
}

impl Trial<'_> {
    /// Copies of the second operand to time with, side by side.
    fn weights(&self) -> Buffer {
        let count = self.b.len() * weight_copies(self.b.len());
        noise(self.cuda, 2, count, Mirror::NONE)
    }

    /// The time of one product. Of several brief rounds the shortest: the choice is kept, and others may be at work beside it. A round
    /// begins with the noise of all weights, the same for every candidate, while the host calls the
    /// products: else the host's time for a call would hide that of a short product.
    fn time(
        &self,
        driver: &dyn Driver,
        weights: &Buffer,
        by: &Algorithm,
        how: Effort,
    ) -> DeviceResult<Duration> {
        let (all, one) = (weights.view().cuda(), self.b.len());
        let copies = weights.len() / one.max(1);
        let operands = |repetition: usize| Operands {
            b: all.address + 2 * (repetition % copies.max(1) * one) as u64,
            ..self.operands()
        };
        driver.multiply(&self.product, &operands(0), by)?;
        driver.wait()?;
        let mut least = Duration::MAX;
        for _ in 0..ROUNDS {
            let (format, mirror) = (Format::Bf16, Mirror::NONE);
            let begin = Instant::now();
            fill_noise(
                self.cuda,
                weights.view().cuda(),
                Noise { format, seed: 2, begin: 0, mirror },
            );
            for repetition in 0..copies.max(REPETITIONS) {
                driver.multiply(&self.product, &operands(repetition), by)?;
            }
            driver.wait()?;
            least = least.min(begin.elapsed());
        }
        let one = least / u32::try_from(copies.max(REPETITIONS)).unwrap_or(u32::MAX);
        let Effort::Sustained { warm } = how else { return Ok(one) };
        let mut begin = Instant::now();
        let mut count = 0;
        for part in [warm, SUSTAINED] {
            begin = Instant::now();
            count = repetitions(part, one);
            for repetition in 0..count {
                driver.multiply(&self.product, &operands(repetition), by)?;
            }
            driver.wait()?;
        }
        Ok(begin.elapsed() / u32::try_from(count).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_so_many_products_and_at_least_one() {
        let micros = Duration::from_micros;
        assert_eq!(repetitions(micros(1000), micros(300)), 3);
        assert_eq!(repetitions(micros(100), micros(300)), 1);
        assert_eq!(repetitions(micros(1), Duration::ZERO), 1000);
    }

    #[test]
    fn copies_of_a_weight_are_more_than_a_cache_holds() {
        // Of Qwen3-1.7B: the attention's input, the head, and a weight of a tiny model.
        assert_eq!(weight_copies(4288 * 2240), 7);
        assert_eq!(weight_copies(151_936 * 2048), 1);
        assert_eq!(weight_copies(64 * 64), MOST_COPIES);
    }
}
