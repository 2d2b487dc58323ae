//! Disk, memory, cores and accelerator.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{io, process, thread};

use nix::sys::statvfs::statvfs;
use whetstone_core::config::Config;
use whetstone_kernels::cuda::{AccumulationOrder, Info, KeptChoices};
use whetstone_kernels::{Cuda, DeviceError, host_memory};

use crate::Finding;

const GIB: u64 = 1 << 30;

/// The run directory is writable and has free space.
pub fn disk(config: &Config) -> Finding {
    const CHECK: &str = "disk";
    let dir = Path::new(&config.run.dir);
    let hint = "choose another folder with `--set run.dir=PATH`";
    let Some(place) = existing_part(dir) else {
        return Finding::fail(CHECK, format!("no folder above `{}` exists", dir.display()), hint);
    };
    if let Err(err) = try_writing(&place) {
        let detail = format!("`{}` cannot be written in {}: {err}", dir.display(), place.display());
        return Finding::fail(CHECK, detail, hint);
    }
    match statvfs(&place) {
        Err(err) => {
            Finding::fail(CHECK, format!("cannot look at {}: {err}", place.display()), hint)
        }
        Ok(stat) => {
            let free = stat.blocks_available() * stat.fragment_size();
            free_space(free, dir, hint)
        }
    }
}

fn free_space(free: u64, dir: &Path, hint: &'static str) -> Finding {
    const CHECK: &str = "disk";
    let detail = format!("{} free for `{}`", gib(free), dir.display());
    match free {
        0..GIB => Finding::fail(CHECK, detail, hint),
        GIB..=TEN_GIB => {
            Finding::warn(CHECK, detail, "a model and its checkpoints want 10 GiB or more")
        }
        _ => Finding::pass(CHECK, detail),
    }
}

const TEN_GIB: u64 = 10 * GIB;

/// Creates a file in `folder` and removes it: permission bits do not tell whether that works.
fn try_writing(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".whet-doctor-{}", process::id()));
    File::create_new(&path)?;
    fs::remove_file(path)
}

/// The nearest folder on the way to `dir` that is there already.
fn existing_part(dir: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(dir).ok()?;
    dir.ancestors().find(|part| part.is_dir()).map(Path::to_owned)
}

/// There is memory to work in, within the limit of this process's control group.
pub fn memory(_: &Config) -> Finding {
    const CHECK: &str = "memory";
    let Some(usable) = host_memory::available_bytes() else {
        let hint = "is /proc mounted?";
        return Finding::warn(CHECK, "cannot tell how much is available", hint);
    };
    let detail = format!("{} available", gib(usable));
    if usable < 4 * GIB {
        return Finding::warn(CHECK, detail, "a 0.1B model trains in 4 GiB; larger ones want more");
    }
    Finding::pass(CHECK, detail)
}

/// Number of cores.
pub fn cores(_: &Config) -> Finding {
    const CHECK: &str = "cores";
    match thread::available_parallelism() {
        Ok(cores) => Finding::pass(CHECK, format!("{cores} to run on")),
        Err(err) => Finding::warn(CHECK, format!("cannot tell: {err}"), "work is done on one core"),
    }
}

/// A GPU that works, or what is missing for one.
pub fn cuda(_: &Config) -> Finding {
    const CHECK: &str = "CUDA";
    match Cuda::open(0).and_then(|cuda| Ok((cuda.info().clone(), seen(&cuda)?))) {
        Ok((info, seen)) => Finding::pass(CHECK, told(&info, &seen)),
        Err(error) => cuda_missing(&error, CHECK),
    }
}

/// Measurements of a device.
struct Seen {
    free_bytes: u64,
    copy_rate: f64,
    order: AccumulationOrder,
    choices: KeptChoices,
}

fn seen(cuda: &Cuda) -> Result<Seen, DeviceError> {
    // The shape of a small model's projection: enough to tell how the library sums.
    let order = cuda.accumulation_order(64, 1536, 576);
    let free_bytes = cuda.free_bytes()? as u64;
    let choices = cuda.kept_choices();
    Ok(Seen { free_bytes, copy_rate: cuda.copy_rate()?, order, choices })
}

fn told(info: &Info, seen: &Seen) -> String {
    let Info { properties, driver, compiler, cublaslt, cached_programs, .. } = info;
    let (cached, all) = cached_programs;
    let products = match seen.order {
        AccumulationOrder::BitForBit => "bit for bit",
        AccumulationOrder::OwnKernel => "by our own kernel, slowly",
    };
    let mut text = format!(
        "{}, {} of {} free; the driver supports CUDA {driver}; NVRTC {} ({}); cuBLASLt ({}); \
         {cached} of {all} kernel files were compiled before; products {products}; copies {:.1} TB/s",
        properties.name,
        gib(seen.free_bytes),
        gib(properties.total_bytes as u64),
        compiler.0,
        compiler.1.display(),
        cublaslt.display(),
        seen.copy_rate / 1e12
    );
    if let KeptChoices { products, file: Some(file) } = &seen.choices {
        let _ = write!(
            text,
            "; algorithms of {products} sizes of products are kept in {}",
            file.display()
        );
    }
    if let Some(problem) = &info.cache_problem {
        text.push_str("; kernels are compiled at every start: ");
        text.push_str(problem);
    }
    text
}

fn cuda_missing(error: &DeviceError, check: &'static str) -> Finding {
    let hint = match error {
        DeviceError::NoDriver => "models run on the CPU: right for 0.1B and less",
        DeviceError::NoDevice { .. } => "in a container, pass the GPU through (`--gpus all`)",
        DeviceError::NoLibrary { .. } => "models run on the CPU until the library is there",
        _ => "models run on the CPU until this is mended",
    };
    Finding::warn(check, error.to_string(), hint)
}

fn gib(bytes: u64) -> String {
    let tenths = bytes / (GIB / 10);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use whetstone_kernels::cuda::{ComputeCapability, CudaVersion, Properties};

    use super::*;
    use crate::Status;

    #[test]
    fn little_room_warns_and_almost_none_fails() {
        let status = |free| free_space(free, Path::new("runs"), "").status;
        assert_eq!(status(GIB - 1), Status::Fail);
        assert_eq!(status(TEN_GIB), Status::Warn);
        assert_eq!(status(TEN_GIB + 1), Status::Pass);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_measured_by_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a/b/c");
        assert_eq!(existing_part(&dir).as_deref(), Some(folder.path()));
    }

    fn info() -> Info {
        let version = CudaVersion { major: 13, minor: 0 };
        let properties = Properties {
            name: "NVIDIA H200".to_owned(),
            capability: ComputeCapability { major: 9, minor: 0 },
            multiprocessors: 132,
            total_bytes: 140 << 30,
        };
        Info {
            properties,
            driver: version,
            compiler: (version, PathBuf::from("/cuda/libnvrtc.so.13")),
            cublaslt: PathBuf::from("/cuda/libcublasLt.so.13"),
            cached_programs: (7, 8),
            cache_problem: None,
            took: Default::default(),
        }
    }

    #[test]
    fn a_gpu_is_told_with_its_libraries_and_what_was_measured() {
        let order = AccumulationOrder::BitForBit;
        let file = Some(PathBuf::from("/cache/products-1.txt"));
        let choices = KeptChoices { products: 57, file };
        let seen = Seen { free_bytes: 139 << 30, copy_rate: 4.27e12, order, choices };
        assert_eq!(
            told(&info(), &seen),
            "NVIDIA H200, 139.0 GiB of 140.0 GiB free; the driver supports CUDA 13.0; NVRTC 13.0 \
             (/cuda/libnvrtc.so.13); cuBLASLt (/cuda/libcublasLt.so.13); 7 of 8 kernel files were \
             compiled before; products bit for bit; copies 4.3 TB/s; algorithms of 57 sizes of products \
             are kept in /cache/products-1.txt"
        );
        let full = Info { cache_problem: Some("the disk is full".to_owned()), ..info() };
        assert!(told(&full, &seen).ends_with("at every start: the disk is full"));
        let own = Seen { order: AccumulationOrder::OwnKernel, ..seen };
        assert!(told(&info(), &own).contains("products by our own kernel, slowly"));
    }

    #[test]
    fn what_is_missing_for_a_gpu_is_a_warning() {
        let errors = [
            (DeviceError::NoDriver, "CPU"),
            (DeviceError::NoDevice { index: 0, count: 0 }, "--gpus all"),
            (DeviceError::OldDriver(CudaVersion { major: 12, minor: 0 }), "mended"),
        ];
        for (error, hint) in errors {
            let finding = cuda_missing(&error, "CUDA");
            assert_eq!(finding.status, Status::Warn);
            assert_eq!(finding.detail, error.to_string());
            assert!(finding.hint.unwrap().contains(hint));
        }
    }

    #[test]
    fn sizes_are_said_in_tenths() {
        assert_eq!(gib(GIB * 3 / 2), "1.5 GiB");
    }
}
