//! The compiler of kernels, by the lowest level of `cudarc`. It was opened by the caller.

#![expect(unsafe_code, reason = "calls into the compiler")]

use std::ffi::CString;
use std::ptr;

use cudarc::nvrtc::sys as rtc;

use super::driver::Source;
use super::error::CudaVersion;

pub(super) fn version() -> CudaVersion {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the compiler was opened, and the numbers are ours.
    unsafe { rtc::nvrtcVersion(&raw mut major, &raw mut minor) };
    let number = |x: i32| u32::try_from(x).unwrap_or(0);
    CudaVersion { major: number(major), minor: number(minor) }
}

/// The program as the chip takes it; the error is what the compiler said.
pub(super) fn compile(source: &Source<'_>) -> Result<Vec<u8>, String> {
    let text = |text: &str| CString::new(text).map_err(|_| "a zero in a source".to_owned());
    let (name, code) = (text(source.name)?, text(source.text)?);
    let options = [
        text(&format!("--gpu-architecture={}", source.architecture))?,
        text("--std=c++17")?,
        text("--fmad=false")?,
    ];
    let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = ptr::null_mut();
    // SAFETY: all texts end with a zero and live until the program is destroyed; the sizes are those
    // that the compiler asks for.
    unsafe {
        let (none, no_name) = (ptr::null(), ptr::null());
        let made = rtc::nvrtcCreateProgram(
            &raw mut program,
            code.as_ptr(),
            name.as_ptr(),
            0,
            none,
            no_name,
        );
        if made != rtc::nvrtcResult::NVRTC_SUCCESS {
            return Err(format!("{made:?}"));
        }
        let count = i32::try_from(options.len()).unwrap_or(0);
        let result = rtc::nvrtcCompileProgram(program, count, options.as_ptr());
        let outcome = if result == rtc::nvrtcResult::NVRTC_SUCCESS {
            let mut size = 0;
            rtc::nvrtcGetCUBINSize(program, &raw mut size);
            let mut image = vec![0u8; size];
            rtc::nvrtcGetCUBIN(program, image.as_mut_ptr().cast());
            Ok(image)
        } else {
            let mut size = 0;
            rtc::nvrtcGetProgramLogSize(program, &raw mut size);
            let mut log = vec![0u8; size];
            rtc::nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
            let log = String::from_utf8_lossy(&log);
            Err(format!("{result:?}: {}", log.trim_end_matches('\0')))
        };
        rtc::nvrtcDestroyProgram(&raw mut program);
        outcome
    }
}
