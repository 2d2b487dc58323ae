//! Memory of this machine that processes can still take: what the kernel reports, within the limit of the
//! control group.

use std::fs;

/// Files that hold the limit of the control group, by version 2 and 1.
const LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// Bytes that are available without swapping; `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    let available = of_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let limits = LIMITS.iter().filter_map(|path| fs::read_to_string(path).ok());
    let limit = limits.filter_map(|text| text.trim().parse::<u64>().ok()).min();
    Some(limit.map_or(available, |limit| limit.min(available)))
}

/// The line `MemAvailable` of `/proc/meminfo`, in bytes.
fn of_meminfo(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(of_meminfo("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(of_meminfo("MemTotal: 9 kB\n"), None);
    }
}
