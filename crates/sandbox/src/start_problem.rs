//! Why a process was not started, in words that name what is missing.
//!
//! The kernel gives the same error for a missing program and for a missing `/dev/null` or `/proc`, as in a folder
//! that was entered by `chroot` without mounts; and its error for a limit on processes says "try again".

use std::io;
use std::path::Path;

use nix::errno::Errno;

/// What is missing; `None` where the error itself says it.
pub fn start_problem(program: &str, error: &io::Error) -> Option<String> {
    problem(program, error, |path| Path::new(path).exists())
}

fn problem(program: &str, error: &io::Error, exists: impl Fn(&str) -> bool) -> Option<String> {
    const NULL: &str = "/dev/null";
    if error.kind() == io::ErrorKind::NotFound {
        if !exists(NULL) {
            return Some(format!("{NULL} is not there; is `/dev` mounted?"));
        }
        let needs_proc = program.starts_with("/proc/") && !exists("/proc/self");
        return needs_proc.then(|| PROC_MISSING.to_owned());
    }
    no_process(error)
}

/// What to say where the kernel gives no further thread or process.
pub(crate) fn no_process(error: &io::Error) -> Option<String> {
    const REFUSED: [Errno; 2] = [Errno::EAGAIN, Errno::ENOMEM];
    let code = error.raw_os_error().map(Errno::from_raw)?;
    REFUSED.contains(&code).then(|| {
        format!(
            "no thread or process could be started ({}): compare `ulimit -u` and `ulimit -v`, or lower \
             `sandbox.workers`",
            code.desc()
        )
    })
}

/// What a command says without `/proc`.
const PROC_MISSING: &str = "`/proc` is not mounted: `mount -t proc proc /proc`";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, there: &[&str], expected: Option<&str>) {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let told = problem(program, &missing, |path| there.contains(&path));
        assert_eq!(told.as_deref(), expected);
    }

    #[test]
    fn a_missing_device_or_mount_is_not_taken_for_a_missing_program() {
        check("python3", &[], Some("/dev/null is not there; is `/dev` mounted?"));
        check(
            "/proc/self/exe",
            &["/proc/self"],
            Some("/dev/null is not there; is `/dev` mounted?"),
        );
        check("/proc/self/exe", &["/dev/null"], Some(PROC_MISSING));
        check("/proc/self/exe", &["/dev/null", "/proc/self"], None);
        check("python3", &["/dev/null"], None);
    }

    #[test]
    fn a_limit_on_processes_is_named() {
        let told = start_problem("python3", &io::Error::from(Errno::EAGAIN)).unwrap();
        assert_eq!(
            told,
            "no thread or process could be started (Try again): compare `ulimit -u` and `ulimit -v`, or \
             lower `sandbox.workers`"
        );
        assert_eq!(start_problem("python3", &io::Error::from(Errno::EACCES)), None);
    }
}
