//! The algorithm of each range of products that was needed so far, kept on disk from run to run.
//!
//! A search takes 20 to 50 ms, about a second for a large product, and its result depends on the library, the driver, the chip and our own
//! kernel: all of these are in the file's name. A line is a product, its algorithm and a checksum, added
//! at the end; a line that is torn or foreign is as if it were not there, and a file that cannot be
//! written is a search more in the next run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::driver::{Addend, Algorithm, Format, Order, Product};

/// How algorithms are timed: another number where choices that files hold are to be made again.
const TIMING: u32 = 2;

/// What an algorithm's fitness depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) library_version: u64,
    pub(super) driver: &'a str,
    pub(super) chip: &'a str,
    /// The source that defines the order.
    pub(super) source: &'a str,
}

impl Setting<'_> {
    /// The file of this setting in a folder.
    pub(super) fn file(&self, folder: &Path) -> PathBuf {
        let Self { library_version, driver, chip, source } = *self;
        let mut hasher = blake3::Hasher::new();
        let setting = format!("{library_version} {driver} {chip} {TIMING}\n{source}");
        hasher.update(setting.as_bytes());
        folder.join(format!("products-{}.txt", &hasher.finalize().to_hex()[..16]))
    }
}

/// Who computes a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The library, by this algorithm.
    Library(Algorithm),
    /// Our own kernel.
    OwnKernel,
}

/// Algorithms of products that were found in this run and in earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptChoices {
    /// Products that have one.
    pub products: usize,
    /// The file that keeps them for later runs, if there is a home folder.
    pub file: Option<PathBuf>,
}

/// Searches for algorithms in this run, and the time that they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Searches {
    /// Products whose algorithm was looked for.
    pub products: usize,
    /// The time of all of them.
    pub took: Duration,
}

type Known = BTreeMap<Product, Choice>;

#[derive(Debug)]
pub(super) struct Choices {
    known: Mutex<Known>,
    file: Option<PathBuf>,
}

impl Choices {
    /// With what a file holds, if there is one.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        Self { known: Mutex::new(text.lines().filter_map(read).collect()), file }
    }

    pub(super) fn get(&self, product: &Product) -> Option<Choice> {
        self.lock().get(product).copied()
    }

    pub(super) fn put(&self, product: Product, found: Choice) {
        self.lock().insert(product, found);
        let Some(file) = &self.file else { return };
        if let Some(folder) = file.parent() {
            // If it cannot be made, the file cannot be opened either.
            let _ = fs::create_dir_all(folder);
        }
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
            let _ = file.write_all(written(&product, found).as_bytes());
        }
    }

    /// How many products have one, and the file that keeps them.
    pub(super) fn kept(&self) -> KeptChoices {
        KeptChoices { products: self.lock().len(), file: self.file.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers of a product, in the order of a line.
fn numbers_of(product: &Product) -> [u64; 11] {
    let order = |order: Order| u64::from(order == Order::ByColumns);
    let Product { rows, cols, inner, a, b, to_stride, to_format, scale_bits, addend } = *product;
    let [rows, cols, inner, scale] = [rows, cols, inner, scale_bits].map(u64::from);
    let format = u64::from(to_format == Format::F32);
    let addend = match addend {
        Addend::Nothing => 0,
        Addend::Result => 1,
        Addend::Residual => 2,
    };
    [rows, cols, inner, order(a.0), a.1, order(b.0), b.1, to_stride, format, scale, addend]
}

fn product_of(numbers: [u64; 11]) -> Option<Product> {
    let [rows, cols, inner, a, a_stride, b, b_stride, to_stride, format, scale, addend] = numbers;
    let small = |x: u64| u32::try_from(x).ok();
    let order = |x: u64| if x == 0 { Order::ByRows } else { Order::ByColumns };
    Some(Product {
        rows: small(rows)?,
        cols: small(cols)?,
        inner: small(inner)?,
        a: (order(a), a_stride),
        b: (order(b), b_stride),
        to_stride,
        to_format: if format == 0 { Format::Bf16 } else { Format::F32 },
        scale_bits: small(scale)?,
        addend: match addend {
            0 => Addend::Nothing,
            1 => Addend::Result,
            2 => Addend::Residual,
            _ => return None,
        },
    })
}

fn checksum(line: &str) -> String {
    blake3::hash(line.as_bytes()).to_hex()[..16].to_owned()
}

/// A whole line.
fn written(product: &Product, found: Choice) -> String {
    let mut line = String::new();
    let algorithm = match found {
        Choice::Library(Algorithm(words)) => words.to_vec(),
        Choice::OwnKernel => Vec::new(),
    };
    for number in numbers_of(product).iter().chain(&algorithm) {
        // Writing to a string does not fail.
        let _ = write!(line, "{number:x} ");
    }
    format!("{line}{}\n", checksum(&line))
}

/// What a line says, if it is whole.
fn read(line: &str) -> Option<(Product, Choice)> {
    let (numbers, sum) = line.split_at(line.rfind(' ')? + 1);
    if checksum(numbers) != sum {
        return None;
    }
    let words: Option<Vec<u64>> =
        numbers.split_whitespace().map(|word| u64::from_str_radix(word, 16).ok()).collect();
    let words = words?;
    let (product, rest) = words.split_first_chunk()?;
    let found = match rest {
        [] => Choice::OwnKernel,
        _ => Choice::Library(Algorithm(rest.try_into().ok()?)),
    };
    Some((product_of(*product)?, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::product::weight_product;

    fn some() -> [(Product, Choice); 3] {
        let product = weight_product(64, 2048, 6144);
        let gradient = Product {
            a: (Order::ByColumns, 4096),
            b: (Order::ByRows, 2048),
            to_format: Format::F32,
            scale_bits: 0.7f32.to_bits(),
            addend: Addend::Residual,
            ..product
        };
        let algorithm = Choice::Library(Algorithm([1, u64::MAX, 3, 4, 5, 6, 7, 8]));
        let own = Choice::OwnKernel;
        [(product, algorithm), (gradient, own), (Product { rows: 65, ..product }, own)]
    }

    #[test]
    fn what_was_found_is_known_in_the_next_run() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a/products.txt");
        let choices = Choices::new(Some(file.clone()));
        for (product, found) in some() {
            assert_eq!(choices.get(&product), None);
            choices.put(product, found);
        }
        let again = Choices::new(Some(file));
        for (product, found) in some() {
            assert_eq!(again.get(&product), Some(found));
        }
        assert_eq!(again.kept().products, 3);
        assert_eq!(again.get(&Product { rows: 66, ..some()[0].0 }), None);
    }

    #[test]
    fn a_torn_or_changed_line_is_as_if_it_were_not_there() {
        let (product, found) = some()[0];
        let line = written(&product, found);
        let line = line.trim_end();
        assert_eq!(read(line), Some((product, found)));
        for end in 0..line.len() {
            assert_eq!(read(&line[..end]), None, "{end} bytes of {}", line.len());
        }
        assert_eq!(read(&line.replacen('4', "5", 1)), None);
        assert_eq!(read("nothing"), None);
    }

    #[test]
    fn another_library_driver_chip_or_source_has_another_file() {
        let one = Setting { library_version: 1, driver: "13.0", chip: "H200", source: "s" };
        let all = [
            one,
            Setting { library_version: 2, ..one },
            Setting { driver: "13.1", ..one },
            Setting { chip: "H100", ..one },
            Setting { source: "t", ..one },
        ];
        let files = all.map(|setting| setting.file(Path::new("/cache")));
        for (at, file) in files.iter().enumerate() {
            assert!(!files[..at].contains(file), "{file:?}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_failure() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let choices = Choices::new(Some(file.join("products.txt")));
        let (product, found) = some()[0];
        choices.put(product, found);
        assert_eq!(choices.get(&product), Some(found));
    }
}
