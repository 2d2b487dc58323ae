//! Control groups, where we may make them: a bound on memory and processes that nothing a program
//! does can get round.
//!
//! One group a slot. The zygote is put in it once and its children are born there, so a program
//! costs nothing extra. Without them the bounds are the resource limits of each process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Room beside the program's own: the zygote, the checker, the scratch space, the kernel's tables.
const ROOM: u64 = 256 << 20;
/// Processes and threads: two children with theirs, and the zygote.
const TASKS: u32 = 96;

/// The groups of one slot.
#[derive(Debug)]
pub(crate) struct Cgroup {
    places: Vec<CgroupFolder>,
    memory: u64,
    killed: u64,
}

/// One folder of one hierarchy.
#[derive(Debug)]
struct CgroupFolder {
    path: PathBuf,
    version: CgroupVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    /// One hierarchy for memory, one for processes.
    One,
    /// One for everything.
    Two,
}

impl Cgroup {
    /// Makes the groups of a slot; `None` where we may not.
    pub(crate) fn make(slot: u32) -> Option<Self> {
        let name = format!("whet-{}-{slot}", std::process::id());
        let mut places = Vec::new();
        for (folder, version) in homes() {
            let path = folder.join(&name);
            if fs::create_dir(&path).is_ok() {
                places.push(CgroupFolder { path, version });
            }
        }
        let mut group = Self { places, memory: 0, killed: 0 };
        // All or nothing: a group that does not bind would be a promise without a guard.
        (group.limit(512 << 20).is_ok() && group.limit_tasks().is_ok()).then_some(group)
    }

    /// Puts a process in, with all the children it will have.
    pub(crate) fn add(&self, pid: u32) -> io::Result<()> {
        self.places
            .iter()
            .try_for_each(|place| fs::write(place.path.join("cgroup.procs"), pid.to_string()))
    }

    /// Bounds the memory, for programs that may use `memory` bytes.
    pub(crate) fn limit(&mut self, memory: u64) -> io::Result<()> {
        if self.memory == memory {
            return Ok(());
        }
        let bytes = (2 * memory + ROOM).to_string();
        self.set(&["memory.max", "memory.limit_in_bytes"], &bytes)?;
        self.memory = memory;
        Ok(())
    }

    fn limit_tasks(&self) -> io::Result<()> {
        self.set(&["pids.max"], &TASKS.to_string())
    }

    /// Whether the kernel has killed for want of memory since the last time we asked.
    pub(crate) fn has_killed(&mut self) -> bool {
        let files = ["memory.events", "memory.oom_control"];
        let texts = self.places.iter().flat_map(|place| files.map(|file| place.path.join(file)));
        let texts = texts.filter_map(|path| fs::read_to_string(path).ok());
        let counts = texts.filter_map(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
            line.trim().parse::<u64>().ok()
        });
        let killed = counts.sum();
        let more = killed > self.killed;
        self.killed = killed;
        more
    }

    /// Writes a setting to the one place that has it.
    fn set(&self, files: &[&str], value: &str) -> io::Result<()> {
        for place in &self.places {
            for file in files {
                let path = place.path.join(file);
                if path.exists() {
                    return fs::write(path, value);
                }
            }
        }
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for place in &self.places {
            if place.version == CgroupVersion::Two {
                let _ = fs::write(place.path.join("cgroup.kill"), "1");
            }
            remove(&place.path);
        }
    }
}

/// A group can be removed when the last of its processes has been waited for.
fn remove(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while fs::remove_dir(path).is_err() && path.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The folders of our own groups, in each hierarchy that could hold ours.
fn homes() -> Vec<(PathBuf, CgroupVersion)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut homes = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (kind, wanted) = match controllers {
            "" => ("cgroup2", CgroupVersion::Two),
            "memory" | "pids" => ("cgroup", CgroupVersion::One),
            _ => continue,
        };
        let mount = mounts.lines().find_map(|mount| {
            let fields: Vec<&str> = mount.split(' ').collect();
            let [_, place, format, options, ..] = fields.as_slice() else { return None };
            let right = *format == kind
                && (wanted == CgroupVersion::Two
                    || options.split(',').any(|one| one == controllers));
            right.then(|| PathBuf::from(place))
        });
        let Some(mount) = mount else { continue };
        let folder = mount.join(path.trim_start_matches('/'));
        if wanted == CgroupVersion::Two && !delegates(&folder) {
            continue;
        }
        homes.push((folder, wanted));
    }
    homes
}

/// Whether groups below `folder` can bound memory and processes.
fn delegates(folder: &Path) -> bool {
    let file = folder.join("cgroup.subtree_control");
    let has = || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        ["memory", "pids"].iter().all(|wanted| text.split_whitespace().any(|one| one == *wanted))
    };
    has() || (fs::write(&file, "+memory +pids").is_ok() && has())
}

/// Removes the groups that a supervisor which was killed has left, and says which processes' names
/// they carry; `gone` says whether that process is no more.
pub(crate) fn sweep(gone: impl Fn(u32) -> bool) {
    for (folder, _) in homes() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if owner(&entry.file_name().to_string_lossy()).is_some_and(&gone) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// The process in a name like `whet-1234-0`, of a slot's group, or `whet-1234-9c5e…`, of its folder.
pub(crate) fn owner(name: &str) -> Option<u32> {
    let (pid, slot) = name.strip_prefix("whet-")?.split_once('-')?;
    let named_by_us =
        !slot.is_empty() && slot.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    named_by_us.then(|| pid.parse().ok())?
}
