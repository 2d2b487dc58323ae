//! The zygote's loop: an order in, a child out.
//!
//! Everything between two children happens in this one function, so the interpreter's memory
//! stays as it was warmed, and pages stay shared.

use core::ffi::c_void;
use core::mem::size_of;

use crate::jail::harden::{filter_zygote, harden};
use crate::jail::order::{CHANNEL, DESCRIPTORS, LaunchReply, MAGIC, Order, Terms};
use crate::jail::sys::{self, call, fd, nr};

/// A function of the interpreter around a fork.
pub(crate) type Hook = Option<unsafe extern "C" fn()>;

/// The functions that an interpreter wants called around a fork.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    pub(crate) before: Hook,
    pub(crate) after_parent: Hook,
    pub(crate) after_child: Hook,
}

/// `struct msghdr` and `struct iovec` of the kernel.
#[repr(C)]
struct MessageHeader {
    name: *mut c_void,
    name_length: u32,
    parts: *mut IoVec,
    part_count: usize,
    control: *mut c_void,
    control_length: usize,
    flags: i32,
}

#[repr(C)]
struct IoVec {
    base: *mut c_void,
    length: usize,
}

/// Room for one control message with all descriptors.
#[repr(C)]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    descriptors: [i32; DESCRIPTORS],
}

const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;
const MSG_CMSG_CLOEXEC: u64 = 0x4000_0000;

/// Kept outside the stack: it is large, and children must find it where the zygote has it.
static mut TERMS: Terms = Terms::empty();

/// Waits for the terms, then for orders. Returns in a child, with its kind; returns a negative
/// number in the zygote when there is no supervisor left to serve.
///
/// # Safety
///
/// `hooks` are functions of this process that take nothing and return nothing; no other thread
/// runs; called once.
pub(crate) unsafe fn serve(socket: i32, proc_dir: i32, hooks: Hooks) -> i32 {
    let place = &raw mut TERMS;
    // SAFETY: no other thread, and this function is called once.
    let terms = unsafe { &mut *place };
    // SAFETY: any bytes are valid `Terms`: it holds nothing but integers.
    if unsafe { receive(socket, terms) }.is_none() || terms.magic != MAGIC {
        return -1;
    }
    let filtered = filter_zygote(terms);
    loop {
        let mut order = EMPTY;
        // SAFETY: any bytes are a valid `Order`.
        let Some(descriptors) = (unsafe { receive(socket, &mut order) }) else { return -1 };
        if order.magic != MAGIC || descriptors.contains(&-1) {
            return -2;
        }
        run(hooks.before);
        let pid = clone(terms.level);
        if pid == Ok(0) {
            run(hooks.after_child);
            if let Err(fault) = harden(terms, &order, descriptors, proc_dir, filtered) {
                // The supervisor believes this because nothing of the program has run yet.
                let report = [b'X', fault.step, fault.error.to_le_bytes()[0]];
                let _ = sys::write_all(CHANNEL, &report);
                sys::exit(98);
            }
            return i32::try_from(order.kind).unwrap_or(0);
        }
        run(hooks.after_parent);
        for descriptor in descriptors {
            sys::close(descriptor);
        }
        let pid = match pid {
            Ok(pid) => i32::try_from(pid).unwrap_or(-1),
            Err(error) => -error,
        };
        if send(socket, &LaunchReply { magic: MAGIC, pid }).is_err() {
            return -3;
        }
    }
}

const EMPTY: Order = Order {
    magic: 0,
    kind: 0,
    cpu: 0,
    data: 0,
    address_space: 0,
    file: 0,
    stack: 0,
    threads: 0,
    scratch: 0,
    core: 0,
};

fn run(hook: Hook) {
    if let Some(hook) = hook {
        // SAFETY: `serve`'s caller vouches for it.
        unsafe { hook() };
    }
}

/// Forks, with the supervisor as the parent: it alone waits for programs and kills them.
fn clone(level: u32) -> Result<u64, i32> {
    let fresh =
        if level >= 2 { sys::CLONE_NEWUSER | sys::CLONE_NEWPID | sys::CLONE_NEWNS } else { 0 };
    // SAFETY: without CLONE_VM and with no new stack this is a fork; one thread runs.
    unsafe { call(nr::CLONE, [sys::CLONE_PARENT | sys::SIGCHLD | fresh, 0, 0, 0, 0, 0]) }
}

/// Reads one message of exactly `T`'s size; `None` at the end of the connection or for any other
/// size.
///
/// # Safety
///
/// Any bytes must be a valid `T`.
unsafe fn receive<T>(socket: i32, into: &mut T) -> Option<[i32; DESCRIPTORS]> {
    let mut part = IoVec { base: (&raw mut *into).cast(), length: size_of::<T>() };
    let mut control = Control { length: 0, level: 0, kind: 0, descriptors: [-1; DESCRIPTORS] };
    let mut message = MessageHeader {
        name: core::ptr::null_mut(),
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: (&raw mut control).cast(),
        control_length: size_of::<Control>(),
        flags: 0,
    };
    let pointer = (&raw mut message) as u64;
    loop {
        // SAFETY: all parts of the message are alive and as long as they say.
        match unsafe { call(nr::RECVMSG, [fd(socket), pointer, MSG_CMSG_CLOEXEC, 0, 0, 0]) } {
            Err(sys::EINTR) => {}
            Ok(read) if usize::try_from(read) == Ok(size_of::<T>()) => break,
            _ => return None,
        }
    }
    let whole = message.control_length >= size_of::<Control>()
        && control.level == SOL_SOCKET
        && control.kind == SCM_RIGHTS
        && control.length == size_of::<Control>();
    Some(if whole { control.descriptors } else { [-1; DESCRIPTORS] })
}

fn send(socket: i32, answer: &LaunchReply) -> Result<(), i32> {
    let mut part = IoVec {
        base: core::ptr::from_ref(answer).cast_mut().cast(),
        length: size_of::<LaunchReply>(),
    };
    let message = MessageHeader {
        name: core::ptr::null_mut(),
        name_length: 0,
        parts: &raw mut part,
        part_count: 1,
        control: core::ptr::null_mut(),
        control_length: 0,
        flags: 0,
    };
    // SAFETY: the one part is alive and as long as it says; the kernel only reads it.
    unsafe { call(nr::SENDMSG, [fd(socket), sys::address(&message), 0, 0, 0, 0]) }.map(drop)
}
