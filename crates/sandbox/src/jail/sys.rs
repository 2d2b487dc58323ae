//! System calls, by number, through the C library's `syscall`.
//!
//! The numbers and flags stand here because the jail has no crates; a test compares each with
//! `libc`.

#![allow(clippy::missing_safety_doc, reason = "each function is a bare system call")]

use core::ffi::{c_int, c_long, c_void};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
}

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
pub(crate) mod nr {
    pub(crate) const WRITE: i64 = 1;
    pub(crate) const CLOSE: i64 = 3;
    pub(crate) const GETPID: i64 = 39;
    pub(crate) const SENDMSG: i64 = 46;
    pub(crate) const RECVMSG: i64 = 47;
    pub(crate) const CLONE: i64 = 56;
    pub(crate) const CHDIR: i64 = 80;
    pub(crate) const UMASK: i64 = 95;
    pub(crate) const SETPGID: i64 = 109;
    pub(crate) const CAPSET: i64 = 126;
    pub(crate) const PRCTL: i64 = 157;
    pub(crate) const MOUNT: i64 = 165;
    pub(crate) const EXIT_GROUP: i64 = 231;
    pub(crate) const OPENAT: i64 = 257;
    pub(crate) const DUP3: i64 = 292;
    pub(crate) const PRLIMIT64: i64 = 302;
    pub(crate) const SECCOMP: i64 = 317;
    pub(crate) const CLOSE_RANGE: i64 = 436;
    pub(crate) const LANDLOCK_CREATE_RULESET: i64 = 444;
    pub(crate) const LANDLOCK_ADD_RULE: i64 = 445;
    pub(crate) const LANDLOCK_RESTRICT_SELF: i64 = 446;
}

/// Numbers of system calls.
#[cfg(target_arch = "aarch64")]
pub(crate) mod nr {
    pub(crate) const DUP3: i64 = 24;
    pub(crate) const MOUNT: i64 = 40;
    pub(crate) const CHDIR: i64 = 49;
    pub(crate) const OPENAT: i64 = 56;
    pub(crate) const CLOSE: i64 = 57;
    pub(crate) const WRITE: i64 = 64;
    pub(crate) const CAPSET: i64 = 91;
    pub(crate) const EXIT_GROUP: i64 = 94;
    pub(crate) const SETPGID: i64 = 154;
    pub(crate) const UMASK: i64 = 166;
    pub(crate) const PRCTL: i64 = 167;
    pub(crate) const GETPID: i64 = 172;
    pub(crate) const SENDMSG: i64 = 211;
    pub(crate) const RECVMSG: i64 = 212;
    pub(crate) const CLONE: i64 = 220;
    pub(crate) const PRLIMIT64: i64 = 261;
    pub(crate) const SECCOMP: i64 = 277;
    pub(crate) const CLOSE_RANGE: i64 = 436;
    pub(crate) const LANDLOCK_CREATE_RULESET: i64 = 444;
    pub(crate) const LANDLOCK_ADD_RULE: i64 = 445;
    pub(crate) const LANDLOCK_RESTRICT_SELF: i64 = 446;
}

pub(crate) const EINTR: i32 = 4;
pub(crate) const SIGCHLD: u64 = 17;
pub(crate) const SIGKILL: u64 = 9;
pub(crate) const CLONE_PARENT: u64 = 0x8000;
pub(crate) const CLONE_NEWNS: u64 = 0x2_0000;
pub(crate) const CLONE_NEWUSER: u64 = 0x1000_0000;
pub(crate) const CLONE_NEWPID: u64 = 0x2000_0000;
pub(crate) const MS_NOSUID: u64 = 2;
pub(crate) const MS_NODEV: u64 = 4;
pub(crate) const MS_NOEXEC: u64 = 8;
pub(crate) const AT_FDCWD: i32 = -100;
pub(crate) const O_WRONLY: u64 = 1;
pub(crate) const O_PATH: u64 = 0o10_000_000;
pub(crate) const O_CLOEXEC: u64 = 0o2_000_000;
pub(crate) const PR_SET_PDEATHSIG: u64 = 1;
pub(crate) const PR_SET_DUMPABLE: u64 = 4;
pub(crate) const PR_SET_NO_NEW_PRIVS: u64 = 38;
pub(crate) const SECCOMP_SET_MODE_FILTER: u64 = 1;

/// One system call; `Err` is the error's number.
///
/// # Safety
///
/// As for the call itself: pointers among the arguments must be good for it.
pub(crate) unsafe fn call(number: i64, args: [u64; 6]) -> Result<u64, i32> {
    let [first, second, third, fourth, fifth, sixth] = args;
    // SAFETY: the caller answers for the arguments; six are read for any call, and the unused ones
    // are ignored.
    let result = unsafe { syscall(number, first, second, third, fourth, fifth, sixth) };
    if result == -1 {
        // SAFETY: points to this thread's errno.
        Err(unsafe { *__errno_location() })
    } else {
        Ok(result.cast_unsigned())
    }
}

/// A descriptor as an argument.
pub(crate) fn fd(descriptor: i32) -> u64 {
    i64::from(descriptor).cast_unsigned()
}

/// A pointer as an argument.
pub(crate) fn address<T: ?Sized>(pointer: &T) -> u64 {
    core::ptr::from_ref(pointer).cast::<c_void>() as u64
}

/// Writes all of `bytes` at once; a short write is an error.
pub(crate) fn write_all(descriptor: i32, bytes: &[u8]) -> Result<(), i32> {
    let arguments = [fd(descriptor), bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0];
    // SAFETY: the buffer is as long as said.
    let written = unsafe { call(nr::WRITE, arguments) }?;
    if written == bytes.len() as u64 { Ok(()) } else { Err(5) }
}

/// Closes a descriptor.
pub(crate) fn close(descriptor: i32) {
    // SAFETY: no memory is involved; the descriptor is ours.
    let _ = unsafe { call(nr::CLOSE, [fd(descriptor), 0, 0, 0, 0, 0]) };
}

/// Ends the process, without hooks.
pub(crate) fn exit(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call(nr::EXIT_GROUP, [fd(status), 0, 0, 0, 0, 0]) };
    }
}
