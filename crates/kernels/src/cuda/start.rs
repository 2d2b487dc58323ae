//! From a machine to a device that works: everything it needs is looked for and checked in order, and
//! what is wrong first is said.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::choices::{Choices, Setting};
use super::compile::{Programs, compile_all, product_source};
use super::driver::{ComputeCapability, Libraries, Properties};
use super::error::{CudaVersion, DeviceError, DeviceResult};
use super::graph::Capture;
use super::library::{CUBLASLT, DRIVER, Library, NVRTC};
use super::pool::Pool;
use super::{Inner, Listener};

/// What a device is, and what it was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The chip.
    pub properties: Properties,
    /// The CUDA that the driver supports.
    pub driver: CudaVersion,
    /// The compiler's version, and where it was found.
    pub compiler: (CudaVersion, PathBuf),
    /// Where the library of products was found.
    pub cublaslt: PathBuf,
    /// Programs that were in the cache, of how many.
    pub cached_programs: (usize, usize),
    /// Why programs could not be kept, if they could not.
    pub cache_problem: Option<String>,
    /// How long it took to start the device, and to compile or load programs.
    pub took: (Duration, Duration),
}

pub(super) fn start(
    libraries: &(dyn Libraries + Sync),
    index: u32,
    cache: Option<&Path>,
) -> DeviceResult<Inner> {
    let begin = Instant::now();
    libraries.open(&DRIVER).map_err(|_| DeviceError::NoDriver)?;
    let driver = libraries.driver_version()?;
    if driver < CudaVersion::NEEDED {
        return Err(DeviceError::OldDriver(driver));
    }
    let count = libraries.count()?;
    if index >= count {
        return Err(DeviceError::NoDevice { index, count });
    }
    let properties = libraries.properties(index)?;
    if properties.capability < ComputeCapability::AMPERE {
        let Properties { name, capability, .. } = properties;
        return Err(DeviceError::OldDevice { name, capability });
    }
    let compiler_path = needed(libraries, &NVRTC)?;
    let cublaslt = needed(libraries, &CUBLASLT)?;
    let stream = libraries.start(index)?;
    let (started, begin) = (begin.elapsed(), Instant::now());
    let compiler = libraries.compiler_version();
    let programs = Programs { architecture: architecture(properties.capability), compiler, driver };
    let loaded = compile_all(libraries, &*stream, &programs, cache)?;
    let setting = Setting {
        library_version: stream.library_version(),
        driver: &driver.to_string(),
        chip: &properties.name,
        source: product_source(),
    };
    let file = cache.map(|folder| setting.file(folder));
    let info = Info {
        properties,
        driver,
        compiler: (compiler, compiler_path),
        cublaslt,
        cached_programs: loaded.cached,
        cache_problem: loaded.cache_problem,
        took: (started, begin.elapsed()),
    };
    Ok(Inner {
        driver: stream,
        functions: loaded.functions,
        pool: Pool::default(),
        failure: OnceLock::new(),
        info,
        choices: Choices::new(file),
        searches: Mutex::default(),
        capture: Capture::default(),
        listener: Listener::default(),
    })
}

fn needed(libraries: &dyn Libraries, library: &Library) -> DeviceResult<PathBuf> {
    let Library { name, package, .. } = *library;
    libraries.open(library).map_err(|looked| DeviceError::NoLibrary {
        library: name,
        package,
        looked,
    })
}

/// Hopper's own instructions have an architecture of their own.
fn architecture(capability: ComputeCapability) -> String {
    let ComputeCapability { major, minor } = capability;
    match capability {
        ComputeCapability::HOPPER => "sm_90a".to_owned(),
        _ => format!("sm_{major}{minor}"),
    }
}
