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

mod timing;

pub(super) use timing::fastest_in_order;
use timing::weight_copies;

use super::Cuda;
use super::driver::{Addend, Algorithm, Argument, Format, Launch, Operands, Order, Product};
use super::noise::{Mirror, Noise, Numbers, fill_noise, noise};
use super::product::in_order;
use crate::buffer::Buffer;
use Argument::{Address, U64};

/// Rows at each end of a result that are compared.
const COMPARED_ROWS: u32 = 64;

/// The seeds of what is added, and of what a result held that is not.
const ADDED: u32 = 3;
const OLD: u32 = 4;

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::product::weight_product;

    #[test]
    fn a_range_has_two_ends_for_each_doubling() {
        for (count, expected) in
            [(1, 1), (2, 2), (5, 6), (7, 8), (64, 64), (65, 96), (97, 128), (8192, 8192)]
        {
            assert_eq!(range_end(count), expected, "{count}");
        }
        assert_eq!(range_end(u32::MAX), u32::MAX);
    }

    #[test]
    fn rows_of_a_batch_and_tokens_of_a_gradient_have_ranges_and_weights_have_none() {
        let forward = weight_product(65, 4096, 2048);
        assert_eq!(representative(&forward), Product { rows: 96, ..forward });
        let gradient = Product {
            a: (Order::ByColumns, 4096),
            b: (Order::ByRows, 2048),
            inner: 700,
            ..weight_product(4096, 2048, 700)
        };
        // Ten whole blocks become twelve, and sixty numbers are left over of another.
        assert_eq!(representative(&gradient), Product { inner: 12 * 64 + 60, ..gradient });
        let short = Product { inner: 100, ..gradient };
        assert_eq!(representative(&short), short);
    }

    #[test]
    fn few_rows_try_what_is_named_for_more() {
        let more = |product: &Product| more_rows(product).collect::<Vec<_>>();
        assert_eq!(more(&weight_product(64, 2048, 6144)), [96, 128, 192]);
        assert_eq!(more(&weight_product(96, 2048, 6144)), [128, 192]);
        assert!(more(&weight_product(192, 2048, 6144)).is_empty());
        let gradient = Product { a: (Order::ByColumns, 64), ..weight_product(64, 2048, 100) };
        assert!(more(&gradient).is_empty());
    }

    #[test]
    fn a_head_and_copies_of_a_projection_are_large_and_a_tiny_model_is_not() {
        assert!(is_large(&weight_product(64, 151_936, 2048)));
        assert!(is_large(&weight_product(8192, 12_288, 2048)));
        assert!(is_large(&weight_product(64, 12_288, 2048)));
        assert!(!is_large(&weight_product(64, 512, 256)));
    }

    #[test]
    fn cancelling_operands_repeat_along_what_is_summed() {
        let product = weight_product(8, 16, 33);
        let [a, b] = Mirror::of(&product, Numbers::Cancelling);
        assert_eq!(a, Mirror { half: 16, stride: 33, along_row: true, negative: false });
        assert_eq!(b, Mirror { negative: true, ..a });
        let gradient = Product { a: (Order::ByColumns, 8), b: (Order::ByRows, 16), ..product };
        let [a, b] = Mirror::of(&gradient, Numbers::Cancelling);
        assert_eq!((a.stride, a.along_row, b.stride, b.along_row), (8, false, 16, false));
        assert_eq!(Mirror::of(&product, Numbers::Random), [Mirror::NONE; 2]);
    }
}
