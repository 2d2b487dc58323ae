//! Disk, memory, cores and accelerator.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{io, process, thread};

use nix::sys::statvfs::statvfs;
use whetstone_core::config::Config;

use super::Finding;

const GIB: u64 = 1 << 30;

/// Where runs are kept can be written and has room.
pub(super) fn disk(config: &Config) -> Finding {
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

/// Makes a file in `folder` and removes it: what a folder says of itself is not what it allows.
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
pub(super) fn memory(_: &Config) -> Finding {
    const CHECK: &str = "memory";
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    let Some(available) = available_bytes(&meminfo) else {
        let hint = "is /proc mounted?";
        return Finding::warn(CHECK, "cannot tell how much is available", hint);
    };
    let usable = limit.map_or(available, |limit| limit.min(available));
    let detail = format!("{} available", gib(usable));
    if usable < 4 * GIB {
        return Finding::warn(CHECK, detail, "a 0.1B model trains in 4 GiB; larger ones want more");
    }
    Finding::pass(CHECK, detail)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// How many cores there are.
pub(super) fn cores(_: &Config) -> Finding {
    const CHECK: &str = "cores";
    match thread::available_parallelism() {
        Ok(cores) => Finding::pass(CHECK, format!("{cores} to run on")),
        Err(err) => Finding::warn(CHECK, format!("cannot tell: {err}"), "work is done on one core"),
    }
}

/// A CUDA driver, or its absence.
pub(super) fn cuda(_: &Config) -> Finding {
    const CHECK: &str = "CUDA";
    let driver = fs::read_to_string("/proc/driver/nvidia/version").ok();
    let device = Path::new("/dev/nvidia0").exists();
    cuda_found(driver.as_deref(), device, CHECK)
}

fn cuda_found(driver: Option<&str>, device: bool, check: &'static str) -> Finding {
    let version = driver.and_then(driver_version);
    match (version, device) {
        (Some(version), true) => Finding::pass(check, format!("NVIDIA driver {version}")),
        (Some(version), false) => Finding::warn(
            check,
            format!("NVIDIA driver {version}, but no device"),
            "in a container, pass the GPU through (`--gpus all`)",
        ),
        (None, _) => Finding::warn(
            check,
            "no NVIDIA driver",
            "models run on the CPU: right for 0.1B and less",
        ),
    }
}

/// The version in the driver's first line: the first word that is numbers with dots.
fn driver_version(text: &str) -> Option<&str> {
    let numeric =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(numeric)
}

fn gib(bytes: u64) -> String {
    let tenths = bytes / (GIB / 10);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

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

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available_bytes("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn the_driver_says_its_version() {
        let text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\nGCC\n";
        assert_eq!(driver_version(text), Some("550.54.15"));
        assert_eq!(cuda_found(Some(text), true, "CUDA").status, Status::Pass);
        assert_eq!(cuda_found(Some(text), false, "CUDA").status, Status::Warn);
        assert_eq!(cuda_found(None, false, "CUDA").status, Status::Warn);
    }

    #[test]
    fn sizes_are_said_in_tenths() {
        assert_eq!(gib(GIB * 3 / 2), "1.5 GiB");
    }
}
