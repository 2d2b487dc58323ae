//! The twins for this machine's processors.

#![expect(
    clippy::inline_always,
    reason = "a loop gets the processor's full width only inside the function that asked for it"
)]

pub(crate) mod adamw;
pub(crate) mod add;
pub(crate) mod attention;
pub(crate) mod embedding;
pub(crate) mod head;
pub(crate) mod paged;
pub(crate) mod product;
pub(crate) mod rms_norm;
pub(crate) mod rope;
pub(crate) mod sample;
pub(crate) mod shared;
pub(crate) mod swiglu;
pub(crate) mod thread_pool;
pub(crate) mod threads;
pub(crate) mod vectorized;
