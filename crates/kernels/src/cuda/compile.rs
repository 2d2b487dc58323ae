//! The sources of kernels, and compiling them: one program a file, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use super::cache::Cache;
use super::driver::{Driver, Function, Libraries, Source};
use super::error::{CudaVersion, DeviceError, DeviceResult};
use super::library::NVRTC;
use super::nvidia::Nvidia;

/// Put in front of every source.
const COMMON: &str = include_str!("../../cuda/common.cuh");

/// A source and the kernels in it that are launched.
#[derive(Debug, Clone, Copy)]
struct Program {
    name: &'static str,
    text: &'static str,
    kernels: &'static [&'static str],
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "elementwise.cu",
        text: include_str!("../../cuda/elementwise.cu"),
        kernels: &[
            "to_bf16",
            "add_bf16",
            "add_scaled_f32",
            "scale_f32",
            "copy_rows_16",
            "add_bias",
            "add_bias_f32",
            "bias_backward",
            "bias_backward_f32",
            "unpack_int8",
            "unpack_int8_f32",
            "add_residual",
            "to_bf16_rows",
        ],
    },
    Program {
        name: "swiglu.cu",
        text: include_str!("../../cuda/swiglu.cu"),
        kernels: &[
            "swiglu_forward",
            "swiglu_backward",
            "swiglu_rows_forward",
            "swiglu_rows_backward",
        ],
    },
    Program {
        name: "rms_norm.cu",
        text: include_str!("../../cuda/rms_norm.cu"),
        kernels: &[
            "rms_norm_forward",
            "rms_norm_forward_ahead",
            "rms_norm_backward",
            "rms_norm_backward_ahead",
            "rms_norm_forward_warp_4",
            "rms_norm_forward_warp_8",
            "rms_norm_backward_warp_4",
            "rms_norm_backward_warp_8",
            "rms_norm_gain",
        ],
    },
    Program {
        name: "attention.cu",
        text: concat!(
            include_str!("../../cuda/attention.cuh"),
            include_str!("../../cuda/attention.cu")
        ),
        kernels: &["attention_forward_64", "attention_forward_128"],
    },
    Program {
        name: "attention_paged.cu",
        text: concat!(
            include_str!("../../cuda/attention.cuh"),
            include_str!("../../cuda/attention_paged.cu")
        ),
        kernels: &["attention_paged_64", "attention_paged_128", "store_in_pages"],
    },
    Program {
        name: "attention_paged_bulk.cu",
        text: concat!(
            include_str!("../../cuda/attention.cuh"),
            include_str!("../../cuda/barriers.cuh"),
            include_str!("../../cuda/attention_paged_bulk.cu")
        ),
        kernels: &["attention_paged_bulk_64", "attention_paged_bulk_128"],
    },
    Program {
        name: "attention_backward.cu",
        text: include_str!("../../cuda/attention_backward.cu"),
        kernels: &[
            "attention_delta_64",
            "attention_delta_128",
            "attention_keys_64",
            "attention_keys_128",
            "attention_queries_64",
            "attention_queries_128",
        ],
    },
    Program {
        name: "attention_wgmma.cu",
        text: concat!(
            include_str!("../../cuda/barriers.cuh"),
            include_str!("../../cuda/wgmma.cuh"),
            include_str!("../../cuda/attention_wgmma.cu")
        ),
        kernels: &["attention_forward_wgmma"],
    },
    Program {
        name: "attention_backward_wgmma.cu",
        text: concat!(
            include_str!("../../cuda/barriers.cuh"),
            include_str!("../../cuda/wgmma.cuh"),
            include_str!("../../cuda/attention_backward_wgmma.cu")
        ),
        kernels: &["attention_keys_wgmma", "attention_queries_wgmma"],
    },
    Program {
        name: "head.cu",
        text: concat!(include_str!("../../cuda/tiles.cuh"), include_str!("../../cuda/head.cu")),
        kernels: &[
            "head_tiles",
            "head_tiles_and_weights",
            "head_rows",
            "head_targets",
            "head_redo",
            "head_gradient",
            "scale_rows",
        ],
    },
    Program {
        name: "sample.cu",
        text: concat!(include_str!("../../cuda/tiles.cuh"), include_str!("../../cuda/sample.cu")),
        kernels: &["sample_tiles", "penalise_logits", "choose_tokens"],
    },
    Program { name: "rope.cu", text: include_str!("../../cuda/rope.cu"), kernels: &["rope_turn"] },
    Program {
        name: "embedding.cu",
        text: include_str!("../../cuda/embedding.cu"),
        kernels: &[
            "gather_rows",
            "resolve_ids",
            "place_rows",
            "scatter_rows_f32",
            "scatter_rows_bf16",
        ],
    },
    Program {
        name: "adamw.cu",
        text: concat!(include_str!("../../cuda/tensors.cuh"), include_str!("../../cuda/adamw.cu")),
        kernels: &["adamw_all"],
    },
    Program {
        name: "grad_stats.cu",
        text: concat!(
            include_str!("../../cuda/tensors.cuh"),
            include_str!("../../cuda/grad_stats.cu")
        ),
        kernels: &["dot_blocks", "count_not_finite", "clear_tensors"],
    },
    Program {
        name: "product.cu",
        text: include_str!("../../cuda/product.cu"),
        kernels: &[
            "product_in_order",
            "add_product",
            "count_differences_f32",
            "count_differences_bf16",
            "noise",
        ],
    },
    Program {
        name: "fused_linear.cu",
        text: include_str!("../../cuda/fused_linear.cu"),
        kernels: &["continue_product", "continue_gated_product"],
    },
    Program {
        name: "gated_narrow.cu",
        text: include_str!("../../cuda/gated_narrow.cu"),
        kernels: &["gated_narrow_forward", "gated_narrow_backward"],
    },
    Program {
        name: "qk_norm_rope.cu",
        text: include_str!("../../cuda/qk_norm_rope.cu"),
        kernels: &[
            "qk_norm_rope_forward",
            "qk_norm_rope_forward_few",
            "qk_norm_rope_backward",
            "qk_norm_rope_forward_64",
            "qk_norm_rope_forward_128",
            "qk_norm_rope_forward_64_few",
            "qk_norm_rope_forward_128_few",
            "qk_norm_rope_backward_64",
            "qk_norm_rope_backward_128",
        ],
    },
    Program {
        name: "weight_gradients.cu",
        text: concat!(
            include_str!("../../cuda/weight_gradients.cuh"),
            include_str!("../../cuda/weight_gradients.cu")
        ),
        kernels: &["weight_gradients"],
    },
    Program {
        name: "weight_gradients_wgmma.cu",
        text: concat!(
            include_str!("../../cuda/barriers.cuh"),
            include_str!("../../cuda/wgmma.cuh"),
            include_str!("../../cuda/weight_gradients.cuh"),
            include_str!("../../cuda/weight_gradients_wgmma.cu")
        ),
        kernels: &["weight_gradients_wgmma"],
    },
];

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

impl Program {
    fn whole_text(&self) -> String {
        format!("{COMMON}\n#line 1 \"{}\"\n{}", self.name, self.text)
    }
}

pub(super) fn compile_all(
    libraries: &(dyn Libraries + Sync),
    driver: &dyn Driver,
    programs: &Programs,
    cache: Option<&Path>,
) -> DeviceResult<Loaded> {
    let cache = Cache::new(cache);
    let texts: Vec<String> = PROGRAMS.iter().map(Program::whole_text).collect();
    let hashes: Vec<String> = texts.iter().map(|text| programs.hash(text)).collect();
    let mut loaded = Vec::new();
    for (program, hash) in PROGRAMS.iter().zip(&hashes) {
        // One that does not load is compiled again.
        let image = cache.get(hash);
        loaded.push(image.and_then(|image| driver.load(&image, program.kernels).ok()));
    }
    let cached = loaded.iter().flatten().count();
    let missing: Vec<usize> = (0..PROGRAMS.len()).filter(|&at| loaded[at].is_none()).collect();
    let compile = |at: usize| {
        let name = PROGRAMS[at].name;
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
        loaded[at] = Some(driver.load(&image, PROGRAMS[at].kernels)?);
        cache.put(&hashes[at], &image);
    }
    let names = PROGRAMS.iter().flat_map(|program| program.kernels.iter().copied());
    let functions = names.zip(loaded.into_iter().flatten().flatten()).collect();
    Ok(Loaded { functions, cached: (cached, PROGRAMS.len()), cache_problem: cache.problem() })
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
    PROGRAMS.iter().map(|program| program.name)
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
    for program in PROGRAMS {
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
    fn every_kernel_of_the_list_is_in_its_source() {
        for program in PROGRAMS {
            for kernel in program.kernels {
                let named = format!(" {kernel}(");
                let begins = |line: &str| line.starts_with("KERNEL") && line.contains(&named);
                assert!(program.text.lines().any(begins), "{kernel} in {}", program.name);
            }
        }
    }

    #[test]
    fn the_first_error_is_said() {
        let log = "k.cu(1): warning: x\nk.cu(2): error: expected a ;\nk.cu(3): error: y\n";
        assert_eq!(first_error(log), "k.cu(2): error: expected a ;");
        assert_eq!(first_error(""), "no reason given");
    }
}
