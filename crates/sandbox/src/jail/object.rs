//! The root of the shared object that the Python zygote imports: see `mod.rs` beside it.
//!
//! It is an extension module of one function. Only what every CPython since 3.9 has in the same
//! place is used of its interface: the module's definition, a method table, allocators, and the fork
//! hooks.

#![no_std]
#![allow(dead_code, unreachable_pub, reason = "the same files are a module of the crate")]

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr::{null, null_mut};

#[path = "fill.rs"]
pub(crate) mod fill;
#[path = "harden.rs"]
pub(crate) mod harden;
#[path = "landlock.rs"]
pub(crate) mod landlock;
#[path = "order.rs"]
pub(crate) mod order;
#[path = "serve.rs"]
pub(crate) mod serve;
#[path = "sys.rs"]
pub(crate) mod sys;

/// So that the files can say `crate::jail::sys` in both places.
pub(crate) mod jail {
    pub(crate) use super::{harden, landlock, order, sys};
}

type Object = *mut c_void;

unsafe extern "C" {
    fn PyModule_Create2(definition: *mut ModuleDef, version: c_int) -> Object;
    fn PyArg_ParseTuple(arguments: Object, format: *const c_char, ...) -> c_int;
    fn PyLong_FromLong(value: c_long) -> Object;
    fn PyOS_BeforeFork();
    fn PyOS_AfterFork_Parent();
    fn PyOS_AfterFork_Child();
}

/// `PyModuleDef`, with the head of every object in front.
#[repr(C)]
struct ModuleDef {
    references: isize,
    kind: Object,
    init: *const c_void,
    index: isize,
    copy: Object,
    name: *const c_char,
    documentation: *const c_char,
    size: isize,
    methods: *const MethodDef,
    slots: *const c_void,
    traverse: *const c_void,
    clear: *const c_void,
    free: *const c_void,
}

/// `PyMethodDef`.
#[repr(C)]
struct MethodDef {
    name: *const c_char,
    function: Option<unsafe extern "C" fn(Object, Object) -> Object>,
    flags: c_int,
    documentation: *const c_char,
}

/// Read by one thread, the interpreter's.
#[repr(transparent)]
struct MethodTable([MethodDef; 2]);

// SAFETY: never written, and read by a process with one thread.
unsafe impl Sync for MethodTable {}

const VARARGS: c_int = 1;
/// The interface of CPython 3; any 3.x takes it.
const API_VERSION: c_int = 1013;

static METHODS: MethodTable = MethodTable([
    MethodDef {
        name: c"serve".as_ptr(),
        function: Some(whet_serve),
        flags: VARARGS,
        documentation: null(),
    },
    MethodDef { name: null(), function: None, flags: 0, documentation: null() },
]);

static mut DEFINITION: ModuleDef = ModuleDef {
    references: 1,
    kind: null_mut(),
    init: null(),
    index: 0,
    copy: null_mut(),
    name: c"jail".as_ptr(),
    documentation: null(),
    size: -1,
    methods: METHODS.0.as_ptr(),
    slots: null(),
    traverse: null(),
    clear: null(),
    free: null(),
};

/// Called by the interpreter on import.
///
/// # Safety
///
/// By an interpreter, once, with its lock held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit_jail() -> Object {
    // SAFETY: the definition lives as long as the process.
    unsafe { PyModule_Create2(&raw mut DEFINITION, API_VERSION) }
}

/// `serve(socket, proc_dir)`: waits for orders; returns in a child, with its kind, or a negative
/// number when the supervisor is gone.
unsafe extern "C" fn whet_serve(_module: Object, arguments: Object) -> Object {
    let (mut socket, mut proc_dir): (c_int, c_int) = (-1, -1);
    // SAFETY: two places for two numbers, as the format says.
    let parsed = unsafe {
        PyArg_ParseTuple(arguments, c"ii".as_ptr(), &raw mut socket, &raw mut proc_dir)
    };
    if parsed == 0 {
        return null_mut();
    }
    let hooks = serve::Hooks {
        before: Some(PyOS_BeforeFork),
        after_parent: Some(PyOS_AfterFork_Parent),
        after_child: Some(PyOS_AfterFork_Child),
    };
    // SAFETY: the interpreter's lock is held.
    unsafe { fill::fill() };
    // SAFETY: the hooks are the interpreter's own; the zygote has one thread and calls this once.
    let kind = unsafe { serve::serve(socket, proc_dir, hooks) };
    // SAFETY: makes a number.
    unsafe { PyLong_FromLong(c_long::from(kind)) }
}

/// Asked for by the unwind tables of `core`, and never called: a panic here ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(99)
}
