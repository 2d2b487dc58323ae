//! The closed set of operations that a decoder is made of, forward and backward.
//!
//! Everything above this crate uses [`Buffer`]s on a [`Device`] and never sees an address. An
//! operation is one file: its formula, the shapes, the checks, and a call of the implementation for
//! each kind of device (`cpu/` and `cuda/`). Operations never fail: a device remembers its first
//! failure, does nothing after it, and reports it in [`Device::check`]. Operations run in the order
//! of their calls and none of them returns a value to the host, so that a device with a queue can
//! run behind its caller; only [`Device::read`] waits.
//!
//! # Bits
//!
//! Work is divided among threads along sides of the result, never along a sum, and a block that is
//! summed has a size that does not depend on how many threads there are. The same input gives the
//! same bits on one thread and on sixteen, and a row of a product is the same alone and among others.
//! A sum over rows is taken row by row, or within each sequence of an [`Offsets`]: a gradient is the
//! same whichever sequences went through together.
//!
//! # Memory
//!
//! Buffers come from a pool and go back to it when they are dropped: after the first step of a loop
//! nothing is asked of the allocator. No operation makes a matrix of tokens by tokens or of tokens
//! by vocabulary.

#![expect(
    clippy::cast_precision_loss,
    reason = "sizes become numbers to divide by; none is near 2^24"
)]

pub mod adamw;
pub mod add;
pub mod attention;
pub mod buffer;
pub mod copy;
mod cpu;
pub mod cuda;
pub mod device;
mod element;
pub mod embedding;
pub mod fused_linear;
pub mod head;
pub mod host_memory;
pub mod int8;
pub mod linear;
pub mod master;
pub mod matmul;
pub mod norm;
mod offsets;
pub mod paged;
pub mod philox;
pub mod qk_norm_rope;
pub mod replay;
pub mod rms_norm;
pub mod rope;
pub mod sample;
mod size_class;
pub mod swiglu;

pub use buffer::{Buffer, View, ViewMut};
pub use cuda::{Cuda, DeviceError};
pub use device::Device;
pub use element::{Activation, Element, Real, nearest_bf16};
pub use matmul::{Matrix, MatrixMut, WriteMode};
pub use offsets::Offsets;
pub use replay::{Graphs, Pending};

use cuda::compile::{CudaSource, cuda_source};

/// The CUDA sources of the operations, each with the headers that it needs.
const CUDA_SOURCES: &[CudaSource] = &[
    cuda_source!("adamw.cu", "tensors.cuh"),
    cuda_source!("attention.cu", "attention.cuh"),
    cuda_source!("attention_backward.cu"),
    cuda_source!("attention_backward_wgmma.cu", "barriers.cuh", "wgmma.cuh"),
    cuda_source!("attention_paged.cu", "attention.cuh"),
    cuda_source!("attention_paged_bulk.cu", "attention.cuh", "barriers.cuh"),
    cuda_source!("attention_wgmma.cu", "barriers.cuh", "wgmma.cuh"),
    cuda_source!("continued_heads.cu", "heads.cuh", "continued.cuh"),
    cuda_source!("elementwise.cu"),
    cuda_source!("embedding.cu"),
    cuda_source!("fused_linear.cu", "continued.cuh"),
    cuda_source!("gated_narrow.cu"),
    cuda_source!("grad_stats.cu", "tensors.cuh"),
    cuda_source!("head.cu", "tiles.cuh"),
    cuda_source!("product.cu"),
    cuda_source!("qk_norm_rope.cu", "heads.cuh"),
    cuda_source!("rms_norm.cu"),
    cuda_source!("rope.cu"),
    cuda_source!("sample.cu", "tiles.cuh"),
    cuda_source!("swiglu.cu"),
    cuda_source!("weight_gradients.cu", "weight_gradients.cuh"),
    cuda_source!("weight_gradients_wgmma.cu", "barriers.cuh", "wgmma.cuh", "weight_gradients.cuh"),
];
