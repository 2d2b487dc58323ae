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
    let brief = |candidate: &Algorithm| {
        cuda.attempt(|driver| trial.brief_time(driver, &weights, candidate))
    };
    let mut timed: Vec<(Duration, Algorithm)> =
        good.into_iter().filter_map(|candidate| Some((brief(&candidate)?, candidate))).collect();
    // Of equals the first, which is the library's own choice.
    timed.sort_by_key(|(time, _)| *time);
    let best = timed.first()?.0;
    timed.retain(|(time, _)| *time <= best + best / CLOSE);
    timed.truncate(MOST_SUSTAINED);
    if best < LONG || timed.len() == 1 {
        return timed.first().map(|(_, candidate)| *candidate);
    }
    let mut settling = WARMING;
    let sustained = |(one, candidate): (Duration, Algorithm)| {
        let counts = [settling, SUSTAINED].map(|time| repetitions(time, one));
        settling = SETTLING;
        let time =
            cuda.attempt(|driver| trial.sustained_time(driver, &weights, &candidate, counts))?;
        Some((time, candidate))
    };
    let all: Vec<(Duration, Algorithm)> = timed.into_iter().filter_map(sustained).collect();
    all.into_iter().min_by_key(|(time, _)| *time).map(|(_, candidate)| candidate)
}

/// Products that take at least so long are timed at the power limit too, of these so many that are within this
/// part of the fastest after a pause. A chip that computes large products without a pause reaches its power limit
/// and lowers its clock, and those that are fastest after a pause are not always those that are fastest then.
const LONG: Duration = Duration::from_micros(40);
const CLOSE: u32 = 8;
const MOST_SUSTAINED: usize = 4;

/// How long a candidate goes on before it is timed, the first of them before, and while it is timed. The chip
/// lowers its clock by the power of the last 50 ms and more: in shorter turns all candidates share one clock, and
/// one that needs more power than others looks as good as these.
const WARMING: Duration = Duration::from_millis(200);
const SETTLING: Duration = Duration::from_millis(70);
const SUSTAINED: Duration = Duration::from_millis(70);

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

    /// The same operands with one copy of the weight after another.
    fn operands_in_turn(&self, weights: &Buffer) -> impl Fn(usize) -> Operands + use<> {
        let (first, one) = (weights.view().cuda().address, self.b.len());
        let (copies, operands) = (self.copies(weights), self.operands());
        move |repetition| Operands { b: first + 2 * (repetition % copies * one) as u64, ..operands }
    }

    fn copies(&self, weights: &Buffer) -> usize {
        (weights.len() / self.b.len().max(1)).max(1)
    }

    /// The time of one product after a pause. Of several rounds the shortest: the choice is kept, and others may
    /// be at work beside it. A round begins with the noise of all weights, the same for every candidate, while the
    /// host calls the products: else the host's time for a call would hide that of a short product.
    fn brief_time(
        &self,
        driver: &dyn Driver,
        weights: &Buffer,
        by: &Algorithm,
    ) -> DeviceResult<Duration> {
        let (operands, count) =
            (self.operands_in_turn(weights), self.copies(weights).max(REPETITIONS));
        driver.multiply(&self.product, &operands(0), by)?;
        driver.wait()?;
        let mut least = Duration::MAX;
        for _ in 0..ROUNDS {
            let (format, mirror) = (Format::Bf16, Mirror::NONE);
            let begin = Instant::now();
            let noise = Noise { format, seed: 2, begin: 0, mirror };
            fill_noise(self.cuda, weights.view().cuda(), noise);
            for repetition in 0..count {
                driver.multiply(&self.product, &operands(repetition), by)?;
            }
            driver.wait()?;
            least = least.min(begin.elapsed());
        }
        Ok(least / u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The time of one of the second count of products, after those of the first.
    fn sustained_time(
        &self,
        driver: &dyn Driver,
        weights: &Buffer,
        by: &Algorithm,
        counts: [usize; 2],
    ) -> DeviceResult<Duration> {
        let operands = self.operands_in_turn(weights);
        let mut begin = Instant::now();
        for count in counts {
            begin = Instant::now();
            for repetition in 0..count {
                driver.multiply(&self.product, &operands(repetition), by)?;
            }
            driver.wait()?;
        }
        Ok(begin.elapsed() / u32::try_from(counts[1]).unwrap_or(u32::MAX))
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
