//! A launch on a stream of the driver.

#![expect(unsafe_code, reason = "calls into the driver")]

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys as cu;

use super::driver::{Argument, Function, Launch};
use super::error::DeviceResult;
use super::nvidia::done;

/// Shared memory that a launch may have without asking.
const MOST_SHARED_BYTES: u32 = 48 << 10;

pub(super) fn launch_on(
    queue: cu::CUstream,
    function: Function,
    launch: Launch,
    arguments: &[Argument],
) -> DeviceResult<()> {
    let mut words: Vec<[u64; 4]> = arguments.iter().map(words_of).collect();
    let mut pointers: Vec<*mut c_void> =
        words.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
    let Launch { blocks, threads_x, threads_y, shared_bytes, programmatic } = launch;
    if shared_bytes > MOST_SHARED_BYTES {
        // SAFETY: the function was loaded.
        let allowed = unsafe {
            cu::cuFuncSetAttribute(
                function.0 as cu::CUfunction,
                cu::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(shared_bytes).unwrap_or(i32::MAX),
            )
        };
        done("cuFuncSetAttribute", allowed)?;
    }
    let mut attribute = cu::CUlaunchAttribute {
        id: cu::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: cu::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = cu::CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: threads_x,
        blockDimY: threads_y,
        blockDimZ: 1,
        sharedMemBytes: shared_bytes,
        hStream: queue,
        attrs: &raw mut attribute,
        numAttrs: u32::from(programmatic),
    };
    // SAFETY: the function was loaded; the launcher gives arguments of the kernel's kinds and
    // addresses of memory that is large enough. They are copied before the call returns.
    done("cuLaunchKernel", unsafe {
        cu::cuLaunchKernelEx(
            &raw const config,
            function.0 as cu::CUfunction,
            pointers.as_mut_ptr(),
            ptr::null_mut(),
        )
    })
}

/// An argument's bytes, the lowest first.
fn words_of(argument: &Argument) -> [u64; 4] {
    match *argument {
        Argument::Address(x) | Argument::U64(x) => [x, 0, 0, 0],
        Argument::U32(x) => [u64::from(x), 0, 0, 0],
        Argument::F32(x) => [u64::from(x.to_bits()), 0, 0, 0],
        Argument::Four(all) => all,
    }
}
