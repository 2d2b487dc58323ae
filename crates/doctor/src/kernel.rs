//! The kernel features that the jail is built from.
//!
//! Each feature is tried, not guessed from the kernel's version: distributions and containers
//! disable features. A missing feature lowers the isolation level; without system call filters
//! there is no level left.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{AccessFlags, access};
use whetstone_core::config::Config;

use crate::Finding;

const PROC_MISSING: &str = "`/proc` is not mounted";
const PROC_HINT: &str = "mount it: `mount -t proc proc /proc`; no program is judged without it";

fn has_proc() -> bool {
    Path::new("/proc/self").exists()
}

/// The kernel's name and release.
pub fn release(_: &Config) -> Finding {
    const CHECK: &str = "kernel";
    match fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) => Finding::pass(CHECK, format!("Linux {}", release.trim())),
        Err(_) if !has_proc() => Finding::fail(CHECK, PROC_MISSING, PROC_HINT),
        Err(err) => Finding::fail(
            CHECK,
            format!("cannot tell the release: {err}"),
            "the jail needs Linux with /proc mounted",
        ),
    }
}

/// Fresh user, pid and mount namespaces can be made.
pub fn namespaces(_: &Config) -> Finding {
    const CHECK: &str = "namespaces";
    let hint = "without them programs are held by Landlock and system call filters; on Ubuntu see \
                `kernel.apparmor_restrict_unprivileged_userns`, in Docker the seccomp profile";
    let probe = std::env::current_exe()
        .and_then(|whet| Command::new(whet).args(["__probe", "namespaces"]).output());
    match probe {
        Ok(output) if output.status.success() => {
            Finding::pass(CHECK, "fresh user, pid and mount namespaces can be made")
        }
        Ok(_) => Finding::warn(CHECK, "the kernel refuses user, pid or mount namespaces", hint),
        Err(err) => Finding::warn(CHECK, format!("cannot be tried: {err}"), hint),
    }
}

/// Enters fresh namespaces, and says whether the kernel let it; the process that calls it is not used
/// for anything after.
pub fn enter_namespaces() -> bool {
    let flags = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS;
    unshare(flags).is_ok()
}

/// Landlock is there, and which version of it.
pub fn landlock(_: &Config) -> Finding {
    const CHECK: &str = "Landlock";
    let versions =
        [(6, ABI::V6), (5, ABI::V5), (4, ABI::V4), (3, ABI::V3), (2, ABI::V2), (1, ABI::V1)];
    match versions.into_iter().find(|(_, abi)| supports(*abi)) {
        Some((6, _)) => Finding::pass(CHECK, "ABI 6 or newer"),
        Some((version, _)) => Finding::warn(
            CHECK,
            format!("ABI {version}; signals and abstract sockets are scoped from ABI 6 on"),
            "Linux 6.12 or newer has it",
        ),
        None => Finding::warn(
            CHECK,
            "not available",
            "the kernel needs CONFIG_SECURITY_LANDLOCK and `landlock` among its `lsm=` modules",
        ),
    }
}

/// Whether a ruleset with everything of `abi` can be made. Nothing is restricted by making one.
fn supports(abi: ABI) -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let mut handled = ruleset.handle_access(AccessFs::from_all(abi));
    let net = landlock::AccessNet::from_all(abi);
    if !net.is_empty() {
        handled = handled.and_then(|ruleset| ruleset.handle_access(net));
    }
    let scope = landlock::Scope::from_all(abi);
    if !scope.is_empty() {
        handled = handled.and_then(|ruleset| ruleset.scope(scope));
    }
    handled.and_then(Ruleset::create).is_ok()
}

/// System calls can be filtered.
pub fn seccomp(_: &Config) -> Finding {
    match fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail") {
        Ok(actions) => seccomp_actions(&actions),
        Err(err) => no_seccomp(&err, has_proc()),
    }
}

/// Without `/proc` nothing is known of the kernel's filters.
fn no_seccomp(err: &io::Error, has_proc: bool) -> Finding {
    const CHECK: &str = "seccomp";
    if !has_proc {
        return Finding::fail(CHECK, format!("cannot be looked up: {PROC_MISSING}"), PROC_HINT);
    }
    let hint = "the kernel needs CONFIG_SECCOMP_FILTER; no program is judged without it";
    Finding::fail(CHECK, format!("system call filters are missing: {err}"), hint)
}

fn seccomp_actions(actions: &str) -> Finding {
    const CHECK: &str = "seccomp";
    let has = |wanted| actions.split_whitespace().any(|action| action == wanted);
    match ["kill_process", "errno", "allow"].into_iter().find(|wanted| !has(*wanted)) {
        None => Finding::pass(CHECK, "system calls can be filtered"),
        Some(wanted) => Finding::fail(
            CHECK,
            format!("the action `{wanted}` is missing"),
            "Linux 4.14 or newer has it; no program is judged without it",
        ),
    }
}

/// A control group can be made, for a hard bound on memory.
pub fn cgroups(_: &Config) -> Finding {
    const CHECK: &str = "control groups";
    let hint = "memory is then bounded by resource limits alone; run under a delegated control \
                group (systemd: `Delegate=yes`) for a hard bound";
    let v2 = fs::exists("/sys/fs/cgroup/cgroup.controllers").unwrap_or(false);
    let (version, root) =
        if v2 { ("v2", "/sys/fs/cgroup") } else { ("v1", "/sys/fs/cgroup/memory") };
    match access(root, AccessFlags::W_OK) {
        Ok(()) => Finding::pass(CHECK, format!("{version}, writable")),
        Err(err) => Finding::warn(CHECK, format!("{version} at {root} not writable: {err}"), hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn a_missing_seccomp_action_fails_by_name() {
        assert_eq!(seccomp_actions("kill_process trap errno log allow\n").status, Status::Pass);
        let finding = seccomp_actions("kill_thread errno allow");
        assert_eq!(finding.status, Status::Fail);
        assert!(finding.detail.contains("`kill_process`"), "{finding:?}");
    }

    #[test]
    fn a_missing_proc_is_not_taken_for_a_kernel_without_filters() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let finding = no_seccomp(&missing, false);
        assert_eq!(finding.status, Status::Fail);
        assert_eq!(finding.detail, "cannot be looked up: `/proc` is not mounted");
        assert!(finding.hint.unwrap().contains("mount -t proc"), "{finding:?}");
        assert!(no_seccomp(&missing, true).hint.unwrap().contains("CONFIG_SECCOMP_FILTER"));
    }
}
