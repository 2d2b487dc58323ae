//! What is asked of NVIDIA's libraries: as little as the engine needs, so that tests can stand in for
//! all of it.
//!
//! [`Libraries`] is a machine before a device is chosen, [`Driver`] one device with one stream of
//! work. Both exist twice: `nvidia.rs` over the real libraries and `fake.rs` for tests.

use std::path::PathBuf;

use super::error::{CudaVersion, DeviceResult};
use super::library::Library;

/// An address on the device; 0 is none.
pub(crate) type Address = u64;

/// A kernel that was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Function(pub(crate) usize);

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) blocks: u32,
    /// Threads of a block along x.
    pub(crate) threads_x: u32,
    /// And along y.
    pub(crate) threads_y: u32,
    /// Shared memory beside what the kernel declares.
    pub(crate) shared_bytes: u32,
    /// Whether it may begin while kernels before it still run. The kernel must wait for them itself
    /// (`wait_for_kernels_before`).
    pub(crate) programmatic: bool,
}

impl Launch {
    /// So many blocks of so many threads in a row.
    pub(crate) const fn new(blocks: u32, threads: u32) -> Self {
        Self { blocks, threads_x: threads, threads_y: 1, shared_bytes: 0, programmatic: false }
    }

    /// The same as a programmatic dependent launch, for a kernel that waits for those before it.
    pub(crate) const fn programmatic(self) -> Self {
        Self { programmatic: true, ..self }
    }
}

/// What a kernel is given, in up to 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Argument {
    Address(Address),
    U64(u64),
    U32(u32),
    F32(f32),
    /// Four numbers by value.
    Four([u64; 4]),
}

/// A machine's libraries.
pub(crate) trait Libraries {
    /// Opens a library; says where it was found, or which folders were looked in.
    fn open(&self, library: &Library) -> Result<PathBuf, Vec<PathBuf>>;
    /// The CUDA that the driver supports.
    fn driver_version(&self) -> DeviceResult<CudaVersion>;
    /// How many devices there are.
    fn count(&self) -> DeviceResult<u32>;
    /// What a device is.
    fn properties(&self, index: u32) -> DeviceResult<Properties>;
    /// Starts to use a device.
    fn start(&self, index: u32) -> DeviceResult<Box<dyn Driver>>;
    /// Compiles a source; the error is what the compiler said.
    fn compile(&self, source: &Source<'_>) -> Result<Vec<u8>, String>;
    /// The compiler's version.
    fn compiler_version(&self) -> CudaVersion;
}

/// A source to compile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    /// `sm_90a` and its like.
    pub(crate) architecture: &'a str,
}

/// The compute capability of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// The number before the point.
    pub major: u32,
    /// The number behind it.
    pub minor: u32,
}

impl ComputeCapability {
    /// Tensor cores for bf16: the least that kernels need.
    pub(crate) const AMPERE: Self = Self { major: 8, minor: 0 };
    /// Products of warpgroups and the tensor memory accelerator.
    pub(crate) const HOPPER: Self = Self { major: 9, minor: 0 };
}

impl std::fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// The chip's name.
    pub name: String,
    /// Its compute capability.
    pub capability: ComputeCapability,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Its memory.
    pub total_bytes: usize,
}

/// One device, its memory and one stream of work.
pub(crate) trait Driver: std::fmt::Debug + Send + Sync {
    /// Bytes that are free.
    fn free_bytes(&self) -> DeviceResult<usize>;
    /// Memory, aligned to 512 bytes.
    fn allocate(&self, bytes: usize) -> DeviceResult<Address>;
    /// Gives memory back. Work that uses it must have ended.
    fn release(&self, address: Address);
    /// From the host; the slice is free again when it returns.
    fn write(&self, to: Address, from: &[u8]) -> DeviceResult<()>;
    /// To the host, after all work before it.
    fn read(&self, to: &mut [u8], from: Address) -> DeviceResult<()>;
    /// On the device.
    fn copy(&self, to: Address, from: Address, bytes: usize) -> DeviceResult<()>;
    /// The same one, two or four bytes everywhere.
    fn fill(&self, to: Address, pattern: Pattern, count: usize) -> DeviceResult<()>;
    /// Loads a compiled program; `kernels` are found in it.
    fn load(&self, image: &[u8], kernels: &[&str]) -> DeviceResult<Vec<Function>>;
    /// Queues a kernel.
    fn launch(
        &self,
        function: Function,
        launch: Launch,
        arguments: &[Argument],
    ) -> DeviceResult<()>;
    /// Waits for all work.
    fn wait(&self) -> DeviceResult<()>;
    /// Ways to compute a product, best first by the library's guess, none of which divides the inner
    /// side.
    fn product_candidates(&self, product: &Product) -> DeviceResult<Vec<Algorithm>>;
    /// Queues a product by one of them.
    fn multiply(&self, product: &Product, operands: &Operands, by: &Algorithm) -> DeviceResult<()>;
    /// The version of the library of products.
    fn library_version(&self) -> u64;
    /// The map of some rows, for a chip that has them.
    fn tensor_map(&self, rows: &HeadRows) -> DeviceResult<TensorMap>;
    /// From the host through pinned memory, without waiting for the device; the slice is free again
    /// when it returns.
    fn write_pinned(&self, to: Address, from: &[u8]) -> DeviceResult<()>;
    /// Queues a copy into pinned memory of the host.
    fn begin_read(&self, from: Address, bytes: usize) -> DeviceResult<Ticket>;
    /// Waits for that copy and what came before it, and for nothing else.
    fn end_read(&self, ticket: Ticket, to: &mut [u8]) -> DeviceResult<()>;
    /// From now on launches, products, copies on the device and fills are captured and not executed.
    /// Nothing else may be called until the capture ends.
    fn begin_capture(&self) -> DeviceResult<()>;
    /// Ends a capture, also one that failed; gives what can be replayed.
    fn end_capture(&self) -> DeviceResult<Graph>;
    /// Queues all that was captured.
    fn replay(&self, graph: Graph) -> DeviceResult<()>;
    /// Gives a graph back. Its work must have ended.
    fn release_graph(&self, graph: Graph);
    /// Calls that were made, where they are listed.
    #[cfg(feature = "fake")]
    fn calls(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// A copy to the host that is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(pub(crate) usize);

/// Work that was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Graph(pub(crate) usize);

/// Rows of heads of 128 activations as a tensor map describes them: boxes of 64 rows of half a head,
/// what lies behind the last row read as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadRows {
    pub(crate) address: Address,
    pub(crate) rows: usize,
    pub(crate) heads: usize,
    /// Activations from one row to the next.
    pub(crate) stride: usize,
}

/// A tensor map, opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorMap(pub(crate) [u64; 16]);

/// Some bytes to fill with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One byte.
    One(u8),
    /// Two.
    Two(u16),
    /// Four.
    Four(u32),
}

/// Number formats of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Activations.
    Bf16,
    /// Everything that must stay exact to 24 bits.
    F32,
}

/// How an operand lies: rows side by side, or their transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    ByRows,
    ByColumns,
}

/// What is added to a product before it is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Addend {
    Nothing,
    /// What the result held.
    Result,
    /// Another matrix, which lies as the result does.
    Residual,
}

/// `to [rows, cols] = scale · a [rows, inner] · b [inner, cols] [+ addend]`; strides in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Product {
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) inner: u32,
    pub(crate) a: (Order, u64),
    pub(crate) b: (Order, u64),
    pub(crate) to_stride: u64,
    pub(crate) to_format: Format,
    /// The bits of the scale: an algorithm is known to keep the order for this one alone.
    pub(crate) scale_bits: u32,
    pub(crate) addend: Addend,
}

impl Product {
    /// What the product is multiplied by.
    pub(crate) fn scale(&self) -> f32 {
        f32::from_bits(self.scale_bits)
    }

    /// What the addend is multiplied by.
    pub(crate) fn addend_factor(&self) -> f32 {
        f32::from(u8::from(self.addend != Addend::Nothing))
    }
}

/// Addresses of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operands {
    pub(crate) a: Address,
    pub(crate) b: Address,
    pub(crate) to: Address,
    /// Of a product with a residual, else 0.
    pub(crate) residual: Address,
}

/// The library's description of an algorithm, opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Algorithm(pub(crate) [u64; 8]);
