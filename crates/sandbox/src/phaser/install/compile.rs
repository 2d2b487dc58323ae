//! Phaser's source as bytecode of our own engine.

use rquickjs::module::WriteOptions;
use rquickjs::{CatchResultExt, Context, Module, Runtime, qjs};

/// The stack of the thread that compiles, and how much of it the engine may use.
const THREAD_STACK: usize = 64 << 20;
const ENGINE_STACK: usize = 32 << 20;

/// The name of the module, which is what stands in traces of calls.
pub(crate) const FILE: &str = "phaser.js";

/// The engine that bytecode is for.
#[expect(unsafe_code, reason = "the engine's version is not in the safe interface")]
pub(crate) fn engine() -> String {
    // SAFETY: a constant text of the engine's.
    let version = unsafe { std::ffi::CStr::from_ptr(qjs::JS_GetVersion()) };
    format!("quickjs {} {}", version.to_string_lossy(), std::env::consts::ARCH)
}

/// Compiles Phaser, which is not run.
pub(super) fn compile(source: &str) -> Result<Vec<u8>, String> {
    let wrapped = format!(
        "const module = {{ exports: {{}} }}; const exports = module.exports; const define = undefined;\
         \n{source}\n;globalThis.Phaser = module.exports;"
    );
    let work = move || bytecode(&wrapped);
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK).spawn(work);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("the engine failed".to_owned()))
}

fn bytecode(source: &str) -> Result<Vec<u8>, String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    runtime.set_max_stack_size(ENGINE_STACK);
    let context = Context::full(&runtime).map_err(|error| error.to_string())?;
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), FILE, source);
        let module = module.catch(&ctx).map_err(|error| error.to_string())?;
        module.write(WriteOptions::default()).catch(&ctx).map_err(|error| error.to_string())
    })
}
