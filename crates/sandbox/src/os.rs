//! The few system calls that neither the standard library nor `nix` has, each behind a safe
//! function.

#![expect(unsafe_code, reason = "system calls")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Whether a descriptor lives on in a program that is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inherit {
    Yes,
    No,
}

/// A file without a name that holds `bytes` and can never change again.
pub(crate) fn memfd(name: &str, bytes: &[u8], inherit: Inherit) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(io::Error::other)?;
    let close = if inherit == Inherit::Yes { 0 } else { libc::MFD_CLOEXEC };
    // SAFETY: the name ends in a zero.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_ALLOW_SEALING | close) })?;
    // SAFETY: just opened, and owned by no one else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: the buffer is as long as said.
        let written = unsafe { libc::write(fd.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
        let written = usize::try_from(written).map_err(|_| io::Error::last_os_error())?;
        rest = &rest[written..];
    }
    // SAFETY: moves the place at which reading begins.
    if !bytes.is_empty() && unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_SET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: sets flags of a descriptor we own.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(fd)
}

/// The kinds of files that a read-only mount shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Files and folders.
    Files,
    /// A device: it can be read and written, but its mode and its times cannot change.
    Device,
}

/// Makes a mount and all below it read-only, without set-user-id programs, and without devices
/// where it is none.
pub(crate) fn mount_read_only(path: &Path, shows: Shows) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let kind = match shows {
        Shows::Files => libc::MOUNT_ATTR_NODEV,
        Shows::Device => libc::MOUNT_ATTR_NOEXEC,
    };
    let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | kind;
    let wanted =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path ends in a zero, the structure is as long as said.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the machine's name in this namespace away for another.
pub(crate) fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: the text is as long as said.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) })?;
    // SAFETY: as above.
    check(unsafe { libc::setdomainname(name.as_ptr().cast(), name.len()) }).map(drop)
}

/// Has what this process executes next lie at the same addresses each time.
pub(crate) fn fix_addresses() -> io::Result<()> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: numbers only.
    let now = check(unsafe { libc::personality(ASK) })?;
    let fixed = libc::c_ulong::from((now | libc::ADDR_NO_RANDOMIZE).unsigned_abs());
    // SAFETY: as above; ADDR_NO_RANDOMIZE is about the next program alone.
    check(unsafe { libc::personality(fixed) }).map(drop)
}

/// A descriptor that stands for a process that is our child.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: two numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = check(i32::try_from(fd).unwrap_or(-1))?;
    // SAFETY: just opened, and owned by no one else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Kills a process; one that is dead already is fine.
pub(crate) fn kill(process: BorrowedFd<'_>) {
    signal(process, libc::SIGKILL);
}

/// Sends a signal to a process; one that is dead already is fine.
pub(crate) fn signal(process: BorrowedFd<'_>, signal: i32) {
    // SAFETY: a descriptor and numbers.
    let _ =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, 0, 0) };
}

/// The exit of a child, and its CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChildExit {
    /// The signal that ended it; `None` if it left by itself.
    pub(crate) signal: Option<i32>,
    pub(crate) cpu: Duration,
}

/// Waits for a child and takes it off the kernel's list.
pub(crate) fn reap(pid: i32) -> io::Result<ChildExit> {
    let mut status = 0;
    // SAFETY: all zeros are a valid structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are alive.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    Ok(ChildExit { signal, cpu: time(usage.ru_utime) + time(usage.ru_stime) })
}

fn time(value: libc::timeval) -> Duration {
    let seconds = u64::try_from(value.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or(0))
}

/// CPU time that a process has used so far, with all its threads.
pub(crate) fn cpu_time(pid: i32) -> Option<Duration> {
    clock((!pid << 3) | 2)
}

/// CPU time that this thread has used so far.
pub(crate) fn thread_cpu_time() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

fn clock(clock: i32) -> Option<Duration> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is alive; a number that is not a clock is an error.
    if unsafe { libc::clock_gettime(clock, &raw mut now) } != 0 {
        return None;
    }
    let seconds = u64::try_from(now.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(now.tv_nsec).ok()?))
}

/// Bytes of memory that the machine has; 0 if that is not known.
pub(crate) fn physical_memory() -> u64 {
    // SAFETY: these ask for numbers and take no address.
    let known = unsafe { [libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)] };
    known.into_iter().map(|value| u64::try_from(value).unwrap_or(0)).fold(1, u64::saturating_mul)
}

/// Does something with the rights over files and processes that `user` has, and no more; with our own
/// where that is nobody.
///
/// Root in a container may lack the right to look at processes of others, but not to be their user.
pub(crate) fn as_user<T>(user: Option<u32>, work: impl FnOnce() -> T) -> T {
    let Some(user) = user else { return work() };
    // SAFETY: changes numbers of this thread alone; where we may not, they stay as they were.
    let before = unsafe { (libc::setfsgid(user), libc::setfsuid(user)) };
    let result = work();
    // SAFETY: as above; they are the thread's own numbers from before.
    unsafe {
        libc::setfsuid(before.1.cast_unsigned());
        libc::setfsgid(before.0.cast_unsigned());
    }
    result
}

/// The version of Landlock that the kernel has; 0 if none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: asks for the version; no structure is read.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// The bytes of a plain structure of integers, to be sent to a process of the same binary.
pub(crate) fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: the callers' structures are `repr(C)`, made of integers; padding is only ever read
    // by the same layout on the other side.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Opens a descriptor that came with this process.
///
/// The caller guarantees that it is open and that no other code in the process uses it.
pub(crate) fn inherited(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: asks for flags; a number that is not a descriptor is an error.
    check(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    // SAFETY: it is open, and ours by the process's own convention.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Closes every descriptor but the standard streams.
///
/// The caller guarantees that nothing else in the process owns a descriptor above them.
pub(crate) fn close_strangers() -> io::Result<()> {
    // SAFETY: three numbers; no one owns what is closed, as the caller guarantees.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    check(i32::try_from(closed).unwrap_or(-1)).map(drop)
}

/// Makes standard output go where standard error goes.
pub(crate) fn merge_output() -> io::Result<()> {
    // SAFETY: two numbers; both streams are open in every process that we start.
    check(unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) }).map(drop)
}

/// The name of an error number.
pub(crate) fn error_text(error: i32) -> String {
    // SAFETY: always returns a text that ends in a zero; read at once, by one thread at a time as
    // far as we care: it is for people.
    let text = unsafe { CStr::from_ptr(libc::strerror(error)) };
    text.to_string_lossy().into_owned()
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
