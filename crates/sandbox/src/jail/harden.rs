//! The locks, in the order in which they are shut.
//!
//! Each step has a letter, which a child that fails sends home with the error: it is an infrastructure error
//! that names its step (`supervisor/fault.rs` has the words), and no program has run.

use crate::jail::landlock;
use crate::jail::order::{CHANNEL, DESCRIPTORS, Instruction, Order, Terms};
use crate::jail::sys::{self, call, fd, nr};

/// The step that failed, and its error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) step: u8,
    pub(crate) error: i32,
}

/// Shuts every lock. On return the process can compute, use its channel and its scratch space,
/// and nothing else.
pub(crate) fn harden(
    terms: &mut Terms,
    order: &Order,
    descriptors: [i32; DESCRIPTORS],
    proc_dir: i32,
    zygote_filter: Result<(), i32>,
) -> Result<(), Fault> {
    let [channel, stdin, stdout, stderr] = descriptors;
    // The channel first, so that later faults can be told.
    let places = [(channel, CHANNEL), (stdin, 0), (stdout, 1), (stderr, 2)];
    step(b'd', places.iter().try_for_each(|&(from, to)| duplicate(from, to)))?;
    // Without the zygote's filter, which this child has from it, its own would hold nothing.
    step(b'p', zygote_filter)?;
    // A group of its own: a signal to "my group" crosses the border of a pid namespace. Not a
    // session of its own: the scheduler would make and take down a task group for each program.
    step(b's', bare(nr::SETPGID, [0; 6]))?;
    if terms.level >= 2 {
        step(b'u', map_user(proc_dir, terms))?;
        step(b'm', mount_scratch(&terms.scratch, order.scratch))?;
    }
    step(b'c', enter(terms, order))?;
    step(b'f', bare(nr::CLOSE_RANGE, [fd(CHANNEL + 1), u64::from(u32::MAX), 0, 0, 0, 0]))?;
    step(b'r', limit(order))?;
    step(b'k', bare(nr::PRCTL, [sys::PR_SET_PDEATHSIG, sys::SIGKILL, 0, 0, 0, 0]))?;
    step(b'l', landlock::restrict(terms, terms.level >= 2 || is_program(order)))?;
    step(b'a', drop_capabilities())?;
    if terms.shows_files == 0 || !is_program(order) {
        step(b'n', bare(nr::PRCTL, [sys::PR_SET_DUMPABLE, 0, 0, 0, 0, 0]))?;
    }
    step(b'q', filter_child(terms))?;
    // From here on the program may speak: this byte is the last that is believed.
    step(b'w', sys::write_all(CHANNEL, b"R"))
}

/// Whether it will load a program. What else there is must not even be seen by one.
fn is_program(order: &Order) -> bool {
    matches!(order.kind, 1 | 2)
}

fn step(step: u8, result: Result<(), i32>) -> Result<(), Fault> {
    result.map_err(|error| Fault { step, error })
}

/// A call whose arguments are numbers.
fn bare(number: i64, args: [u64; 6]) -> Result<(), i32> {
    // SAFETY: no argument is a pointer.
    unsafe { call(number, args) }.map(drop)
}

fn duplicate(from: i32, to: i32) -> Result<(), i32> {
    bare(nr::DUP3, [fd(from), fd(to), 0, 0, 0, 0])
}

/// Maps the one user outside to an ordinary one inside, which owns nothing.
fn map_user(proc_dir: i32, terms: &Terms) -> Result<(), i32> {
    write_file(proc_dir, b"self/setgroups\0", b"deny")?;
    let mut line = [0; 32];
    let length = map_line(&mut line, terms.uid);
    write_file(proc_dir, b"self/uid_map\0", &line[..length])?;
    let length = map_line(&mut line, terms.gid);
    write_file(proc_dir, b"self/gid_map\0", &line[..length])
}

/// `1000 OUTSIDE 1`.
fn map_line(line: &mut [u8; 32], outside: u32) -> usize {
    line[..5].copy_from_slice(b"1000 ");
    let end = 5 + put_number(&mut line[5..], u64::from(outside));
    line[end..end + 2].copy_from_slice(b" 1");
    end + 2
}

/// Writes a number in decimal, and says how many digits it has.
fn put_number(place: &mut [u8], number: u64) -> usize {
    let mut digits = [0; 20];
    let mut count = 0;
    let mut rest = number;
    loop {
        digits[count] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        count += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for (place, digit) in place.iter_mut().zip(digits[..count].iter().rev()) {
        *place = *digit;
    }
    count
}

fn write_file(directory: i32, path: &[u8], text: &[u8]) -> Result<(), i32> {
    let flags = sys::O_WRONLY | sys::O_CLOEXEC;
    let arguments = [fd(directory), path.as_ptr() as u64, flags, 0, 0, 0];
    // SAFETY: the path ends in a zero.
    let file = unsafe { call(nr::OPENAT, arguments) }?;
    let file = i32::try_from(file).unwrap_or(-1);
    let result = sys::write_all(file, text);
    sys::close(file);
    result
}

/// An empty file system of its own, which goes away with the process: nothing is left, and there
/// is nothing to clean up.
fn mount_scratch(path: &[u8], bytes: u64) -> Result<(), i32> {
    let mut options = [0; 64];
    let fixed = b"mode=0700,nr_inodes=1024,size=";
    options[..fixed.len()].copy_from_slice(fixed);
    put_number(&mut options[fixed.len()..], bytes);
    let kind = b"tmpfs\0";
    let flags = sys::MS_NOSUID | sys::MS_NODEV | sys::MS_NOEXEC;
    let arguments = [
        kind.as_ptr() as u64,
        path.as_ptr() as u64,
        kind.as_ptr() as u64,
        flags,
        options.as_ptr() as u64,
        0,
    ];
    // SAFETY: every text ends in a zero.
    unsafe { call(nr::MOUNT, arguments) }.map(drop)
}

/// Goes to the scratch folder. Without a file system of its own, test code stays out of it: the files there
/// are the program's, and an import or a relative path must not find them.
fn enter(terms: &Terms, order: &Order) -> Result<(), i32> {
    const TEST_CODE: u32 = 3;
    let is_shared = terms.level < 2 && order.kind == TEST_CODE;
    change_directory(if is_shared { b"/\0" } else { &terms.scratch })
}

fn change_directory(path: &[u8]) -> Result<(), i32> {
    // SAFETY: the path ends in a zero.
    unsafe { call(nr::CHDIR, [path.as_ptr() as u64, 0, 0, 0, 0, 0]) }.map(drop)?;
    bare(nr::UMASK, [0o077, 0, 0, 0, 0, 0])
}

const RLIMIT_CPU: u64 = 0;
const RLIMIT_FSIZE: u64 = 1;
const RLIMIT_DATA: u64 = 2;
const RLIMIT_STACK: u64 = 3;
const RLIMIT_CORE: u64 = 4;
const RLIMIT_NPROC: u64 = 6;
const RLIMIT_NOFILE: u64 = 7;
const RLIMIT_MEMLOCK: u64 = 8;
const RLIMIT_AS: u64 = 9;
const RLIMIT_MSGQUEUE: u64 = 12;

/// Open files, at most.
pub(crate) const FILES: u64 = 64;

/// Hard and soft limits alike: the first process of a pid namespace ignores the soft one's signal.
fn limit(order: &Order) -> Result<(), i32> {
    let limits = [
        (RLIMIT_CPU, order.cpu),
        (RLIMIT_FSIZE, order.file),
        (RLIMIT_DATA, order.data),
        (RLIMIT_STACK, order.stack),
        // Of 1 rather than 0, which would not stop a dump that goes to a program of the machine's.
        (RLIMIT_CORE, order.core),
        (RLIMIT_NOFILE, FILES),
        (RLIMIT_MEMLOCK, 0),
        (RLIMIT_AS, order.address_space),
        (RLIMIT_MSGQUEUE, 0),
        (RLIMIT_NPROC, order.threads),
    ];
    for (resource, value) in limits {
        if resource == RLIMIT_NPROC && value == 0 {
            continue;
        }
        let pair = [value, value];
        let arguments = [0, resource, sys::address(&pair), 0, 0, 0];
        // SAFETY: two numbers, as the kernel wants them.
        unsafe { call(nr::PRLIMIT64, arguments) }?;
    }
    Ok(())
}

/// No capability, not even over its own namespaces.
fn drop_capabilities() -> Result<(), i32> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: a header and two empty sets, as version 3 has them.
    unsafe { call(nr::CAPSET, [sys::address(&header), sys::address(&none), 0, 0, 0, 0]) }.map(drop)
}

/// `struct sock_fprog`.
#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const Instruction,
}

/// The filter that all children have from their zygote. It holds the zygote too.
pub(crate) fn filter_zygote(terms: &Terms) -> Result<(), i32> {
    bare(nr::PRCTL, [sys::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0])?;
    install(terms.filter.get(..terms.filter_length as usize).unwrap_or_default())
}

/// The filter that takes the tools away, with this process's own id where a rule wants it.
fn filter_child(terms: &mut Terms) -> Result<(), i32> {
    if terms.own_pid_at[0] != u32::MAX {
        // SAFETY: takes nothing.
        let pid = unsafe { call(nr::GETPID, [0; 6]) }?;
        let pid = u32::try_from(pid).unwrap_or(u32::MAX);
        for at in terms.own_pid_at {
            if let Some(instruction) = terms.child_filter.get_mut(at as usize) {
                instruction.k = pid;
            }
        }
    }
    install(terms.child_filter.get(..terms.child_filter_length as usize).unwrap_or_default())
}

fn install(instructions: &[Instruction]) -> Result<(), i32> {
    let length = u16::try_from(instructions.len()).unwrap_or(0);
    let filter = Filter { length, instructions: instructions.as_ptr() };
    let arguments = [sys::SECCOMP_SET_MODE_FILTER, 0, sys::address(&filter), 0, 0, 0];
    // SAFETY: the filter has as many instructions as it says. One of none is refused.
    unsafe { call(nr::SECCOMP, arguments) }.map(drop)
}
