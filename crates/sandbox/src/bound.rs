//! A command that is not run in the jail, but must not outlive the process that started it.

#![expect(unsafe_code, reason = "a system call between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill the command when this process is gone, whatever ended it. What the command starts itself is not
/// killed with it.
///
/// The kernel goes by the thread that starts the command, which must live as long as the command may.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    let bind = move || {
        // SAFETY: both calls take and return plain numbers, and are safe between fork and exec.
        let (bound, now) =
            unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        if bound != 0 {
            return Err(io::Error::last_os_error());
        }
        // It was gone before the kernel knew.
        if u32::try_from(now) != Ok(parent) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(bind) }
}
