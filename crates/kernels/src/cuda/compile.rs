//! The sources of kernels, and compiling them: one program a file, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use super::cache::Cache;
use super::driver::{Driver, Function, Libraries, Source};
use super::error::{CudaVersion, DeviceError, DeviceResult};
use super::library::NVRTC;
use super::nvidia::Nvidia;
use crate::CUDA_SOURCES;

/// Put in front of every source.
const COMMON: &str = include_str!("../../cuda/common.cuh");

/// A source of kernels, compiled as one program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CudaSource {
    pub(crate) name: &'static str,
    /// Its headers and itself, in this order.
    pub(crate) text: &'static str,
}

/// A file of `cuda/`, behind the headers that are named after it.
macro_rules! cuda_source {
    ($name:literal $(, $header:literal)*) => {
        $crate::cuda::compile::CudaSource {
            name: $name,
            text: concat!(
                $(include_str!(concat!("../cuda/", $header)),)*
                include_str!(concat!("../cuda/", $name))
            ),
        }
    };
}
pub(crate) use cuda_source;

/// The source of the kernel that defines the order of products.
pub(super) fn product_source() -> &'static str {
    include_str!("../../cuda/product.cu")
}

/// For whom programs are compiled, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) architecture: String,
    pub(super) compiler: CudaVersion,
    pub(super) driver: CudaVersion,
}

impl Programs {
    /// A name for the compiled program that is another whenever anything about it is.
    fn hash(&self, text: &str) -> String {
        let Self { architecture, compiler, driver } = self;
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{architecture} {compiler} {driver}\n").as_bytes());
        hasher.update(text.as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// Everything that was loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) functions: BTreeMap<&'static str, Function>,
    pub(super) cached: (usize, usize),
    pub(super) cache_problem: Option<String>,
}

impl CudaSource {
    fn whole_text(&self) -> String {
        format!("{COMMON}\n#line 1 \"{}\"\n{}", self.name, self.text)
    }

    /// The kernels that it defines: a line each that begins with `KERNEL` or `KERNEL_OF(…)`.
    fn kernels(&self) -> Vec<&'static str> {
        let name = |line: &'static str| {
            let rest = line.strip_prefix("KERNEL")?;
            let rest = match rest.strip_prefix("_OF(") {
                Some(bounds) => bounds.split_once(')')?.1,
                None => rest,
            };
            Some(rest.split_once('(')?.0.trim())
        };
        self.text.lines().filter_map(name).collect()
    }
}

pub(super) fn compile_all(
    libraries: &(dyn Libraries + Sync),
    driver: &dyn Driver,
    programs: &Programs,
    cache: Option<&Path>,
) -> DeviceResult<Loaded> {
    let cache = Cache::new(cache);
    let texts: Vec<String> = CUDA_SOURCES.iter().map(CudaSource::whole_text).collect();
    let hashes: Vec<String> = texts.iter().map(|text| programs.hash(text)).collect();
    let mut loaded = Vec::new();
    for (program, hash) in CUDA_SOURCES.iter().zip(&hashes) {
        // One that does not load is compiled again.
        let image = cache.get(hash);
        loaded.push(image.and_then(|image| driver.load(&image, &program.kernels()).ok()));
    }
    let cached = loaded.iter().flatten().count();
    let missing: Vec<usize> = (0..CUDA_SOURCES.len()).filter(|&at| loaded[at].is_none()).collect();
    let compile = |at: usize| {
        let name = CUDA_SOURCES[at].name;
        let source = Source { name, text: &texts[at], architecture: &programs.architecture };
        libraries.compile(&source).map_err(|log| DeviceError::Compile {
            source_name: name,
            first_error: first_error(&log),
            hash: hashes[at].clone(),
        })
    };
    let images = side_by_side(&missing, &compile);
    for (&at, image) in missing.iter().zip(images) {
        let image = image?;
        loaded[at] = Some(driver.load(&image, &CUDA_SOURCES[at].kernels())?);
        cache.put(&hashes[at], &image);
    }
    let names = CUDA_SOURCES.iter().flat_map(CudaSource::kernels);
    let functions = names.zip(loaded.into_iter().flatten().flatten()).collect();
    Ok(Loaded { functions, cached: (cached, CUDA_SOURCES.len()), cache_problem: cache.problem() })
}

/// One thread for each.
fn side_by_side<R: Send>(all: &[usize], work: &(impl Fn(usize) -> R + Sync)) -> Vec<R> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.iter().map(|&at| scope.spawn(move || work(at))).collect();
        let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// The compiler's first error, or the beginning of what it said.
fn first_error(log: &str) -> String {
    let line = log.lines().find(|line| line.contains("error")).or_else(|| log.lines().next());
    line.unwrap_or("no reason given").trim().chars().take(300).collect()
}

/// The files that hold kernels.
pub fn source_names() -> impl Iterator<Item = &'static str> {
    CUDA_SOURCES.iter().map(|program| program.name)
}

/// Compiles every source for an architecture, without a GPU; gives the compiler's version.
///
/// # Errors
///
/// If the compiler is missing, or a source does not compile.
pub fn check_sources(architecture: &str) -> DeviceResult<CudaVersion> {
    use super::driver::Libraries as _;
    let nvidia = Nvidia::new();
    let (library, package) = (NVRTC.name, NVRTC.package);
    let missing = |looked| DeviceError::NoLibrary { library, package, looked };
    nvidia.open(&NVRTC).map_err(missing)?;
    for program in CUDA_SOURCES {
        let text = program.whole_text();
        let source = Source { name: program.name, text: &text, architecture };
        nvidia.compile(&source).map_err(|log| DeviceError::Compile {
            source_name: program.name,
            first_error: first_error(&log),
            hash: architecture.to_owned(),
        })?;
    }
    Ok(nvidia.compiler_version())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_cache_depends_on_everything() {
        let version = |minor| CudaVersion { major: 13, minor };
        let one = Programs {
            architecture: "sm_90a".to_owned(),
            compiler: version(0),
            driver: version(0),
        };
        let other_chip = Programs { architecture: "sm_80".to_owned(), ..one.clone() };
        let other_compiler = Programs { compiler: version(1), ..one.clone() };
        let other_driver = Programs { driver: version(1), ..one.clone() };
        let all = [&one, &other_chip, &other_compiler, &other_driver].map(|of| of.hash("text"));
        for (at, hash) in all.iter().enumerate() {
            assert!(!all[..at].contains(hash));
        }
        assert_ne!(one.hash("text"), one.hash("texts"));
        assert_eq!(one.hash("text"), one.clone().hash("text"));
    }

    #[test]
    fn every_kernel_of_a_source_is_found_and_has_a_name_of_its_own() {
        let mut names: Vec<&str> = CUDA_SOURCES.iter().flat_map(CudaSource::kernels).collect();
        let begins = |line: &&str| line.starts_with("KERNEL");
        let defined = |source: &CudaSource| source.text.lines().filter(begins).count();
        assert!(CUDA_SOURCES.iter().all(|source| !source.text.contains("__global__")));
        assert_eq!(names.len(), CUDA_SOURCES.iter().map(defined).sum::<usize>());
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        assert!(names.iter().all(|name| !name.is_empty() && is_name(name)), "{names:?}");
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for known in ["swiglu_forward", "adamw_all", "attention_paged_bulk_128", "noise"] {
            assert!(names.contains(&known), "{known}");
        }
    }

    #[test]
    fn the_first_error_is_said() {
        let log = "k.cu(1): warning: x\nk.cu(2): error: expected a ;\nk.cu(3): error: y\n";
        assert_eq!(first_error(log), "k.cu(2): error: expected a ;");
        assert_eq!(first_error(""), "no reason given");
    }
}
