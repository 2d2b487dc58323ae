//! What a judge could leave behind on the machine: processes, mounts, shared memory, objects of
//! System V, control groups, locks, and the modes and times of devices.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::prctl::set_child_subreaper;

/// The machine as it was.
#[derive(Debug)]
pub(crate) struct Machine {
    children: BTreeMap<String, String>,
    mounts: String,
    shared_memory: BTreeSet<PathBuf>,
    system_v: [String; 3],
    devices: Vec<Device>,
}

/// A device's file: its mode, when it was last written and when it was last changed.
type Device = (u32, (i64, i64), (i64, i64));

impl Machine {
    /// Looks, and from now on inherits every orphan: whatever outlives its judge becomes a child of
    /// this process and is found here.
    pub(crate) fn look() -> Self {
        set_child_subreaper(true).unwrap();
        Self {
            children: children(),
            mounts: mounts(),
            shared_memory: shared_memory(),
            system_v: system_v(),
            devices: devices(),
        }
    }

    /// Nothing is left of the judge whose supervisor was `supervisor`.
    pub(crate) fn is_as_before(&self, supervisor: u32) {
        let mut left = children();
        left.retain(|pid, _| !self.children.contains_key(pid));
        assert!(left.is_empty(), "processes left: {left:#?}");
        assert_eq!(mounts(), self.mounts, "mounts left");
        let left: Vec<_> = shared_memory().difference(&self.shared_memory).cloned().collect();
        assert!(left.is_empty(), "left in shared memory: {left:?}");
        assert_eq!(system_v(), self.system_v, "objects of System V left");
        assert_eq!(devices(), self.devices, "a device's mode or times have changed");
        let left = locks();
        assert!(left.is_empty(), "locks on devices left: {left:?}");
        let mut left = Vec::new();
        groups(Path::new("/sys/fs/cgroup"), &format!("whet-{supervisor}"), 8, &mut left);
        assert!(left.is_empty(), "control groups left: {left:?}");
    }
}

/// All children of this process, dead ones too, with their state and command line.
fn children() -> BTreeMap<String, String> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut found = BTreeMap::new();
    for process in processes {
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        // The name in parentheses may hold anything; what follows it does not.
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        if rest.split(' ').nth(1) == Some(own.as_str()) {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            let pid = process.file_name().to_string_lossy().into_owned();
            found.insert(pid, format!("{rest:.1} {line:?}"));
        }
    }
    found
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

/// Files that a program could have made: those of the users that programs run as.
fn shared_memory() -> BTreeSet<PathBuf> {
    let own = nix::unistd::geteuid();
    let made_by_programs = |path: &PathBuf| {
        let owner = fs::symlink_metadata(path).map_or(0, |meta| meta.uid());
        (200_000..265_536).contains(&owner) || (!own.is_root() && owner == own.as_raw())
    };
    let entries = fs::read_dir("/dev/shm").map(|entries| entries.flatten().collect::<Vec<_>>());
    let paths = entries.unwrap_or_default().into_iter().map(|entry| entry.path());
    paths.filter(made_by_programs).collect()
}

fn system_v() -> [String; 3] {
    ["shm", "sem", "msg"]
        .map(|kind| fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default())
}

const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

fn devices() -> Vec<Device> {
    let device = |path: &str| {
        let meta = fs::metadata(path).unwrap();
        (meta.mode(), (meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()))
    };
    DEVICES.map(device).to_vec()
}

/// Locks on devices, of anybody on this machine.
fn locks() -> Vec<String> {
    let inodes = DEVICES.map(|path| format!(":{} ", fs::metadata(path).unwrap().ino()));
    let devtmpfs = fs::metadata("/dev/null").unwrap().dev();
    let (major, minor) = (nix::sys::stat::major(devtmpfs), nix::sys::stat::minor(devtmpfs));
    let place = format!(" {major:02x}:{minor:02x}:");
    let text = fs::read_to_string("/proc/locks").unwrap_or_default();
    let on_device = |line: &&str| {
        line.contains(&place) && inodes.iter().any(|inode| line.contains(inode.as_str()))
    };
    text.lines().filter(on_device).map(str::to_owned).collect()
}

fn groups(folder: &Path, name: &str, depth: u32, left: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    for entry in entries.unwrap_or_default() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(name) {
                left.push(entry.path());
            } else if depth > 0 {
                groups(&entry.path(), name, depth - 1, left);
            }
        }
    }
}
