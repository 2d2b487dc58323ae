//! Programs that are modules: `export function f() {}`.
//!
//! A program that compiles as a script is one, as ever. What does not is tried as a module, and its
//! exports are then found where `module.exports` of a script would be. There is nothing to import.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Module, Object, Result, Value};

/// Words without which no module differs from a script.
const WORDS: [&str; 3] = ["export", "import", "await"];

/// Whether source compiles as a module and not as a script.
pub(super) fn is_module(ctx: &Ctx<'_>, source: &str) -> bool {
    if !WORDS.iter().any(|word| source.contains(word)) {
        return false;
    }
    // In a function nothing is exported or imported, and nothing runs that is not called.
    let body = if source.starts_with("#!") {
        source.split_once('\n').unwrap_or_default().1
    } else {
        source
    };
    let mut options = EvalOptions::default();
    options.strict = false;
    let wrapped = format!("(function () {{\n{body}\n}})");
    if ctx.eval_with_options::<Value<'_>, _>(wrapped, options).is_ok() {
        return false;
    }
    drop(ctx.catch());
    let compiled = Module::declare(ctx.clone(), "/tmp/tried.js", source).is_ok();
    if !compiled {
        drop(ctx.catch());
    }
    compiled
}

/// Runs a module. Its value is the promise that it has run.
pub(super) fn run<'js>(ctx: &Ctx<'js>, source: &str) -> Result<Value<'js>> {
    let module = Module::declare(ctx.clone(), "/tmp/solution.js", source)?;
    let (module, promise) = module.eval()?;
    let common: Object<'js> = ctx.globals().get("module")?;
    common.set("exports", module.namespace()?)?;
    Ok(promise.into_value())
}
