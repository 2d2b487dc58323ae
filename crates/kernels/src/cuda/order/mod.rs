//! Which algorithms of the library keep the order of accumulation.
//!
//! An algorithm is used only after it gave every bit of our own kernel on random numbers of such a
//! shape and of the scale; of those that did, the fastest. In a second trial products cancel each
//! other, so that a result is nothing but rounding and another order shows in almost every number,
//! however few there are.
//!
//! How many rows a batch has, or how many tokens a weight's gradient is summed over, changes from call
//! to call. An algorithm is looked for once for a range of such counts: the order of a sum is the
//! algorithm's, and what is left over at the end of a sum is the same in a range.

use std::time::{Duration, Instant};

use super::Cuda;
use super::driver::{
    Addend, Algorithm, Argument, Driver, Format, Launch, Operands, Order, Product,
};
use super::error::DeviceResult;
use super::noise::{Mirror, Noise, Numbers, fill_noise, noise};
use super::product::in_order;
use crate::buffer::Buffer;
use Argument::{Address, U64};

/// Rows at each end of a result that are compared.
const COMPARED_ROWS: u32 = 64;

/// The seeds of what is added, and of what a result held that is not.
const ADDED: u32 = 3;
const OLD: u32 = 4;

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
fn weight_copies(numbers: usize) -> usize {
    let bytes = numbers.saturating_mul(2).max(1);
    CACHE_BYTES.div_ceil(bytes).clamp(1, MOST_COPIES)
}

/// Two sizes for each doubling: the least of them that is not smaller.
fn range_end(count: u32) -> u32 {
    let step = count.checked_next_power_of_two().unwrap_or(1 << 31) / 4;
    count.checked_next_multiple_of(step.max(1)).unwrap_or(count)
}

/// Sums of at least so many have ranges; a block is what no algorithm divides.
const RANGED_INNER: u32 = 128;
const INNER_BLOCK: u32 = 64;

/// The product that stands for a range: of rows, where operands lie by rows, or of what is summed over
/// where both lie by it, as in a weight's gradient. What is left over of a block stays the same.
pub(super) fn representative(product: &Product) -> Product {
    if product.a.0 == Order::ByRows {
        return Product { rows: range_end(product.rows), ..*product };
    }
    if product.b.0 != Order::ByRows || product.inner < RANGED_INNER {
        return *product;
    }
    let whole = range_end(product.inner / INNER_BLOCK).saturating_mul(INNER_BLOCK);
    Product { inner: whole.saturating_add(product.inner % INNER_BLOCK), ..*product }
}

/// Algorithms that keep the order.
pub(super) struct InOrder<'a> {
    pub(super) all: Vec<Algorithm>,
    /// How many the library named.
    pub(super) named: usize,
    /// The last trial, if one passed the first.
    trial: Option<Trial<'a>>,
}

pub(super) fn in_order_of<'a>(cuda: &'a Cuda, product: &Product) -> InOrder<'a> {
    let random = Trial::new(cuda, product, Numbers::Random);
    let mut all = random.candidates();
    let named = all.len();
    all.retain(|candidate| random.keeps_order(candidate));
    // Both at a time would take twice the memory.
    drop(random);
    let trial = (!all.is_empty()).then(|| Trial::new(cuda, product, Numbers::Cancelling));
    if let Some(cancelling) = &trial {
        all.retain(|candidate| cancelling.keeps_order(candidate));
    }
    InOrder { all, named, trial }
}

pub(super) fn fastest_in_order(cuda: &Cuda, product: &Product) -> Option<Algorithm> {
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

/// Rows whose algorithms are tried beside a product's own. For few rows and a long sum the library names
/// those that would divide the sum, and of the others slow ones; what it names for more rows computes
/// fewer as well.
const MORE_ROWS: [u32; 3] = [96, 128, 192];

/// Up to so many.
const FEW_ROWS: u32 = 128;

fn more_rows(product: &Product) -> impl Iterator<Item = u32> + use<> {
    let (own, few) = (product.rows, product.a.0 == Order::ByRows && product.rows <= FEW_ROWS);
    MORE_ROWS.into_iter().filter(move |&rows| few && rows > own)
}

/// Bytes from which on a trial's buffers are given back after it: they are as large as a weight or
/// several, and nothing else may need that size.
const LARGE_BYTES: usize = 64 << 20;

/// Whether a product's operands, copies of its weight or its result are large.
pub(super) fn is_large(product: &Product) -> bool {
    let [rows, cols, inner] = [product.rows, product.cols, product.inner].map(|size| size as usize);
    let weight = inner * cols;
    let most = [rows * inner * 2, weight * weight_copies(weight) * 2, rows * cols * 4];
    most.iter().any(|&bytes| bytes >= LARGE_BYTES)
}

/// Operands of a shape, and the first and last rows of their product in order.
pub(super) struct Trial<'a> {
    cuda: &'a Cuda,
    product: Product,
    a: Buffer,
    b: Buffer,
    to: Buffer<f32>,
    residual: Option<Buffer>,
    references: Vec<Reference>,
}

/// Some rows of a product in order.
struct Reference {
    first_row: u32,
    numbers: Buffer<f32>,
}

impl<'a> Trial<'a> {
    fn new(cuda: &'a Cuda, product: &Product, kind: Numbers) -> Self {
        // Results side by side: what lies between rows is not compared.
        let product = Product { to_stride: u64::from(product.cols), ..*product };
        let Product { rows, cols, inner, .. } = product;
        let numbers = |(order, stride): (Order, u64), by_rows: u32, by_columns: u32| {
            let outer = if order == Order::ByRows { by_rows } else { by_columns };
            usize::try_from(u64::from(outer) * stride).unwrap_or(usize::MAX)
        };
        let compared = rows.min(COMPARED_ROWS);
        let [a_mirror, b_mirror] = Mirror::of(&product, kind);
        let compared_numbers = compared as usize * cols as usize;
        let mut trial = Self {
            cuda,
            product,
            a: noise(cuda, 1, numbers(product.a, rows, inner), a_mirror),
            b: noise(cuda, 2, numbers(product.b, inner, cols), b_mirror),
            // As many bytes as either format needs.
            to: cuda.take(rows as usize * cols as usize),
            residual: (product.addend == Addend::Residual)
                .then(|| noise(cuda, ADDED, rows as usize * cols as usize, Mirror::NONE)),
            references: Vec::new(),
        };
        // Few rows are first and last.
        let ends = if rows > compared { vec![0, rows - compared] } else { vec![0] };
        for first_row in ends {
            let to: Buffer<f32> = cuda.take(compared_numbers);
            let begin = u64::from(first_row) * u64::from(cols);
            let (format, mirror) = (Format::F32, Mirror::NONE);
            fill_noise(cuda, to.view().cuda(), Noise { format, seed: ADDED, begin, mirror });
            let part = Product { rows: compared, to_format: Format::F32, ..product };
            let skipped = match product.a.0 {
                Order::ByRows => u64::from(first_row) * product.a.1,
                Order::ByColumns => u64::from(first_row),
            };
            let mut operands = trial.operands();
            operands.a += 2 * skipped;
            operands.to = to.view().cuda().address;
            in_order(cuda, &part, &operands);
            trial.references.push(Reference { first_row, numbers: to });
        }
        trial
    }

    fn operands(&self) -> Operands {
        let (a, b) = (self.a.view().cuda().address, self.b.view().cuda().address);
        let residual = self.residual.as_ref().map_or(0, |numbers| numbers.view().cuda().address);
        Operands { a, b, to: self.to.view().cuda().address, residual }
    }

    fn candidates(&self) -> Vec<Algorithm> {
        let of = |product: &Product| {
            self.cuda.attempt(|driver| driver.product_candidates(product)).unwrap_or_default()
        };
        let mut all = of(&self.product);
        for rows in more_rows(&self.product) {
            for other in of(&Product { rows, ..self.product }) {
                if !all.contains(&other) {
                    all.push(other);
                }
            }
        }
        all
    }

    /// Whether both ends have every bit. An algorithm that cannot run at all does not.
    fn keeps_order(&self, by: &Algorithm) -> bool {
        let cuda = self.cuda;
        let mut found: Buffer<u32> = cuda.take(1);
        let (format, mirror) = (self.product.to_format, Mirror::NONE);
        let seed = if self.product.addend == Addend::Result { ADDED } else { OLD };
        let old = Noise { format, seed, begin: 0, mirror };
        fill_noise(cuda, self.to.view().cuda(), old);
        cuda.fill(&mut found.view_mut(), 0);
        // Its refusal is no failure of the device.
        if self.cuda.0.driver.multiply(&self.product, &self.operands(), by).is_err() {
            return false;
        }
        let (kernel, bytes) = match self.product.to_format {
            Format::F32 => ("count_differences_f32", 4),
            Format::Bf16 => ("count_differences_bf16", 2),
        };
        let cols = u64::from(self.product.cols);
        for Reference { first_row, numbers } in &self.references {
            let skipped = u64::from(*first_row) * cols * bytes;
            let arguments = [
                Address(found.view().cuda().address),
                Address(numbers.view().cuda().address),
                Address(self.operands().to + skipped),
                U64(numbers.len() as u64),
            ];
            let blocks = cuda.blocks_for(numbers.len());
            cuda.launch(kernel, Launch::new(blocks, 256), &arguments);
        }
        cuda.read(found.view()) == [0] && cuda.0.failure.get().is_none()
    }

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
mod tests;
