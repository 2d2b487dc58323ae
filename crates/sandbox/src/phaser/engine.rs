//! The engine: one runtime with the shim and Phaser in it, warmed before the first program comes.

use std::fmt::Write as _;
use std::rc::Rc;

use rquickjs::{Context, Ctx, Error, Function, Module, Object, Persistent, Result, Runtime};

use super::adopted::Adopted;
use super::failure;
use super::host::{self, Told};

const SHIM: &str = include_str!("shim.js");

/// SHA-256 of the document, clock and files that games find: what comes of a game depends on them.
pub fn shim_digest() -> String {
    super::install::digest(SHIM.as_bytes())
}

/// Bytes of stack that recursion may use; the jail leaves four times as much.
const STACK: usize = 16 << 20;
/// Bytes that a program may take before cycles are looked for: a small one is over by then.
const FIRST_COLLECTION: usize = 96 << 20;

/// What the host calls.
pub(super) struct Hooks {
    pub(super) begin: Persistent<Function<'static>>,
    pub(super) turn: Persistent<Function<'static>>,
    pub(super) key: Persistent<Function<'static>>,
    pub(super) pointer: Persistent<Function<'static>>,
    pub(super) loaded: Persistent<Function<'static>>,
    pub(super) seed: Persistent<Function<'static>>,
}

/// An engine with Phaser loaded.
pub(super) struct Engine {
    pub(super) runtime: Runtime,
    pub(super) context: Context,
    pub(super) told: Rc<Told>,
    pub(super) hooks: Hooks,
    pub(super) adopted: Adopted,
}

impl Engine {
    /// Makes one, of bytecode that we compiled.
    pub(super) fn warm(bytecode: &'static [u8]) -> std::result::Result<Self, String> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_max_stack_size(STACK);
        runtime.set_gc_threshold(FIRST_COLLECTION);
        let told = Rc::<Told>::default();
        host::watch(&runtime, &told);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let (hooks, adopted) = context.with(|ctx| {
            let made = start(&ctx, &told, bytecode);
            made.map_err(|error| failure::of(&ctx, &told.stack, &error).message)
        })?;
        runtime.run_gc();
        Ok(Self { runtime, context, told, hooks, adopted })
    }
}

fn start(ctx: &Ctx<'_>, told: &Rc<Told>, bytecode: &'static [u8]) -> Result<(Hooks, Adopted)> {
    let getter = "Object.getOwnPropertyDescriptor(Error.prototype, 'stack').get";
    let getter: Function<'_> = ctx.eval(getter)?;
    *told.stack.borrow_mut() = Some(Persistent::save(ctx, getter));
    // With it a program would write traces of calls itself.
    ctx.eval::<(), _>("delete Error.prepareStackTrace; delete Error.captureStackTrace;")?;
    let shim: Function<'_> = ctx.eval(SHIM)?;
    let made: Object<'_> = shim.call((host::functions(ctx, told)?,))?;
    load(ctx, bytecode)?;
    let adopt: Function<'_> = made.get("adopt")?;
    adopt.call::<_, ()>(())?;
    importable(ctx)?;
    let save = |name| {
        let function: Function<'_> = made.get(name)?;
        Ok::<_, Error>(Persistent::save(ctx, function))
    };
    let hooks = Hooks {
        begin: save("begin")?,
        turn: save("turn")?,
        key: save("key")?,
        pointer: save("pointer")?,
        loaded: save("loaded")?,
        seed: save("seed")?,
    };
    Ok((hooks, Adopted::of(ctx)?))
}

#[expect(unsafe_code, reason = "bytecode is believed")]
fn load(ctx: &Ctx<'_>, bytecode: &'static [u8]) -> Result<()> {
    // SAFETY: its digest is that of what our own engine of this version wrote, and it is never freed.
    let module = unsafe { Module::load(ctx.clone(), bytecode)? };
    let (_, promise) = module.eval()?;
    promise.finish()
}

/// Lets modules import Phaser, as a whole or by name.
fn importable(ctx: &Ctx<'_>) -> Result<()> {
    let phaser: Object<'_> = ctx.globals().get("Phaser")?;
    let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let names: Vec<String> = phaser.keys::<String>().flatten().filter(is_name).collect();
    let mut source =
        "const P = globalThis.Phaser;\nexport default P;\nexport { P as Phaser };\n".to_owned();
    for name in names.iter().filter(|name| *name != "Phaser" && *name != "default") {
        let _ = writeln!(source, "const n{name} = P.{name}; export {{ n{name} as {name} }};");
    }
    let (_, promise) = Module::declare(ctx.clone(), "phaser", source)?.eval()?;
    promise.finish()
}
