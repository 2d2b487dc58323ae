//! Keys and values of sequences that are being sampled, in pages.
//!
//! A page holds [`PAGE`] tokens of one layer. A sequence is a list of pages, so it grows without
//! moving, and sequences with a common beginning share its pages. On a processor keys lie within a
//! page by place and then by token, values by token and then by place: both sums of attention then
//! run along neighbours. On CUDA both lie by head, by token and then by place, where groups of eight
//! places may change places by the token (`place_in_page` of `cuda/common.cuh`): as the tensor core
//! loads them; a row that looks at pages has every bit of the same row in [`crate::attention`].

use crate::attention::Shape;
use crate::buffer::{Buffer, View};
use crate::cpu;
use crate::cuda;
use crate::device::Device;
use crate::matmul::{Matrix, MatrixMut};

/// Tokens in a page.
pub const PAGE: usize = 16;

/// Pages of all layers.
#[derive(Debug)]
pub struct Cache {
    pub(crate) keys: Buffer,
    pub(crate) values: Buffer,
    pages: usize,
    shape: Shape,
    device: Device,
}

impl Cache {
    /// A cache with this many pages per layer.
    pub fn new(device: &Device, layers: usize, pages: usize, shape: Shape) -> Self {
        shape.check();
        let size = layers * pages * PAGE * shape.kv_heads * shape.size;
        Self {
            keys: device.zeros(size),
            values: device.zeros(size),
            pages,
            shape,
            device: device.clone(),
        }
    }

    /// Number of pages per layer.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Bytes that a page takes in one layer, keys and values together.
    pub fn page_bytes(device: &Device, shape: &Shape) -> usize {
        let width = 2 * shape.kv_heads * shape.size;
        PAGE * width * device.activation_bytes()
    }

    /// Heads of a row.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn page_size(&self) -> usize {
        PAGE * self.shape.kv_heads * self.shape.size
    }

    pub(crate) fn layer_size(&self) -> usize {
        self.pages * self.page_size()
    }

    pub(crate) fn layers(&self) -> usize {
        self.keys.len() / self.layer_size().max(1)
    }
}

/// New tokens, and the layer of a cache that their keys and values go to.
#[derive(Debug)]
pub struct Store<'a> {
    /// The pages.
    pub cache: &'a mut Cache,
    /// The layer.
    pub layer: usize,
    /// A row for each token.
    pub qkv: Matrix<'a>,
    /// The slot of each token: page · [`PAGE`] + index in the page.
    pub slots: View<'a, u32>,
}

impl Store<'_> {
    pub(crate) fn check(&self) {
        let Self { cache, layer, qkv, slots } = self;
        assert!(
            qkv.cols == cache.shape.packed_width() && qkv.col_stride == 1,
            "queries, keys, values"
        );
        assert!(qkv.rows == slots.len() && *layer < cache.layers(), "a slot for each token");
    }

    /// The offset of the layer in the cache.
    pub(crate) fn begin(&self) -> usize {
        self.layer * self.cache.layer_size()
    }
}

/// Puts keys and values of new tokens into their places.
///
/// # Panics
///
/// If the shapes do not fit, or on a processor a slot is not there; on CUDA such a token is left out.
pub fn store(device: &Device, store: Store<'_>) {
    store.check();
    match device {
        Device::Cpu(cpu) => cpu::paged::store(&cpu.threads, store),
        Device::Cuda(cuda) => cuda::attention::store(cuda, store),
    }
}

/// Copies a page in every layer: for a sequence that goes its own way in the middle of one.
///
/// # Panics
///
/// If there is no such page.
pub fn copy_page(cache: &mut Cache, from: usize, to: usize) {
    assert!(from < cache.pages && to < cache.pages, "pages {from} and {to} of {}", cache.pages);
    let (size, stride) = (cache.page_size(), cache.layer_size());
    for layer in 0..cache.layers() {
        let begin = layer * stride;
        for buffer in [&mut cache.keys, &mut cache.values] {
            let (source, target) = (begin + from * size, begin + to * size);
            match &cache.device {
                Device::Cpu(_) => {
                    let mut view = buffer.view_mut();
                    view.host().copy_within(source..source + size, target);
                }
                Device::Cuda(cuda) => {
                    let copy = cuda::attention::Copy { from: source, to: target, size };
                    cuda::attention::copy_within(cuda, buffer, copy);
                }
            }
        }
    }
}

/// The pages that rows attend to: for each row those of its sequence, and the number of visible
/// tokens.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Pages of all rows, one row after another.
    pub pages: View<'a, u32>,
    /// Offset of each row's pages.
    pub starts: View<'a, u32>,
    /// Tokens that each row sees, itself included.
    pub lengths: View<'a, u32>,
    /// The tokens that were stored just before.
    pub stored: Stored,
}

/// Which of the tokens that rows see the operations just before may have stored: a device may load the
/// others before those operations have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The last token of each row, in a page that no other row sees.
    Last,
    /// Any.
    Any,
}

/// Rows that look at the pages of a layer, and where their results go.
#[derive(Debug)]
pub struct Attend<'a> {
    /// `o`, a row for each row of `qkv`.
    pub out: MatrixMut<'a>,
    /// The pages.
    pub cache: &'a Cache,
    /// The layer.
    pub layer: usize,
    /// Queries, and keys and values that are in the pages already.
    pub qkv: Matrix<'a>,
    /// The pages of each row.
    pub tables: Tables<'a>,
}

/// Attention of each row to the tokens of its sequence. A row's bits depend on nothing else.
///
/// # Panics
///
/// If the shapes do not fit.
pub fn attend(device: &Device, attend: Attend<'_>) {
    let Attend { out, cache, layer, qkv, tables } = &attend;
    let shape = &cache.shape;
    assert!(qkv.cols == shape.packed_width() && qkv.col_stride == 1, "queries, keys, values");
    assert!(out.rows == qkv.rows && out.cols == shape.width(), "a row for each row");
    assert!(tables.starts.len() == qkv.rows && tables.lengths.len() == qkv.rows, "tables");
    assert!(*layer < cache.layers(), "layer {layer}");
    match device {
        Device::Cpu(cpu) => cpu::paged::attend(&cpu.threads, attend),
        Device::Cuda(cuda) => cuda::attention::attend(cuda, attend),
    }
}
