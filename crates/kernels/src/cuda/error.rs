//! What can go wrong with a CUDA device, said so that it can be mended.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::driver::ComputeCapability;

/// A version of CUDA, as drivers count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    /// 12 of 12.4.
    pub major: u32,
    /// 4 of 12.4.
    pub minor: u32,
}

impl CudaVersion {
    /// The oldest that the engine works with.
    pub const NEEDED: Self = Self { major: 12, minor: 4 };

    /// From a driver's number: 12040 is 12.4.
    pub fn from_number(number: u32) -> Self {
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why a device cannot be used, or why it stopped working. A device remembers its first failure and
/// does nothing after it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The machine has no driver.
    #[error("no NVIDIA driver: libcuda.so.1 was not found")]
    NoDriver,
    /// The driver is older than what is needed.
    #[error(
        "the driver supports CUDA {0}; {needed} is needed (driver 550): update it, or use --device cpu",
        needed = CudaVersion::NEEDED
    )]
    OldDriver(CudaVersion),
    /// A library beside the driver is missing.
    #[error(
        "{library} was not found; looked in {looked}; `pip install {package}` gets it",
        looked = listed(.looked)
    )]
    NoLibrary {
        /// Its file.
        library: &'static str,
        /// Where `pip` has it.
        package: &'static str,
        /// The folders that were looked in.
        looked: Vec<PathBuf>,
    },
    /// There is no such device.
    #[error("there is no CUDA device {index}: the driver has {count}")]
    NoDevice {
        /// Which one was asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The chip is too old.
    #[error(
        "{name} (compute capability {capability}) has no bf16 tensor cores; Whetstone needs compute \
         capability 8.0"
    )]
    OldDevice {
        /// The chip's name.
        name: String,
        /// Its compute capability.
        capability: ComputeCapability,
    },
    /// A kernel's source does not compile: a bug of this program, or a compiler it does not know.
    #[error(
        "{source_name} does not compile ({hash}): {first_error}; this is a bug, please report it"
    )]
    Compile {
        /// The source's file.
        source_name: &'static str,
        /// What the compiler said first.
        first_error: String,
        /// Its name in the cache.
        hash: String,
    },
    /// The device has not that much memory left.
    #[error(
        "out of memory on the device: {} MiB asked for, {} of {} MiB free; lower the batch or the \
         length, or set gradient_checkpointing or load_in_8bit",
        .asked >> 20, .free >> 20, .total >> 20
    )]
    OutOfMemory {
        /// Bytes that were asked for.
        asked: usize,
        /// Bytes that were free.
        free: usize,
        /// Bytes of the device.
        total: usize,
    },
    /// The device or a library refused, or the device was lost.
    #[error("{call} failed: {code}; go on from the last checkpoint with `whet train --resume`")]
    Call {
        /// The function of the library.
        call: &'static str,
        /// Its name for the error.
        code: String,
    },
    /// Work that is being captured asked for what cannot be captured.
    #[error("it needs {0}, which cannot be captured")]
    NotInCapture(&'static str),
    /// The operation has no kernel for this device yet.
    #[error("{0} is not available on CUDA yet: use --device cpu")]
    Unsupported(&'static str),
}

impl DeviceError {
    /// Whether something broke, and not another device or smaller work is to be asked for.
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Compile { .. } | Self::Call { .. })
    }
}

fn listed(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return "no folder".to_owned();
    }
    let all: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    all.join(", ")
}

/// An answer of a device.
pub type DeviceResult<T> = Result<T, DeviceError>;
