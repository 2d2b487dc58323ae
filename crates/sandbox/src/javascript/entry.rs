//! Finds the function that a test calls.
//!
//! A name is looked for where a program can have left it: among the global names, where a top-level
//! `const` is too, and in `module.exports`, where exports of a module are; without either, as a method
//! of a class `Solution`, or as the one function that is exported.

use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::{Ctx, Exception, Object, Result, Value};

use super::make::make;
use crate::value::Value as Data;

/// Calls the entry point. JavaScript has no named arguments: these follow the others.
pub(super) fn call<'js>(
    ctx: &Ctx<'js>,
    entry_point: &str,
    args: &[Data],
    named: &[Data],
) -> Result<Value<'js>> {
    let (this, found) = find(ctx, entry_point)?;
    let Some(function) = found.as_function() else {
        return Err(Exception::throw_type(ctx, "the entry point is no function"));
    };
    let mut all = Args::new_unsized(ctx.clone());
    all.this(this)?;
    for arg in args {
        all.push_arg(make(ctx, arg)?)?;
    }
    for pair in named {
        if let Data::Tuple(pair) = pair
            && let [_, value] = pair.as_slice()
        {
            all.push_arg(make(ctx, value)?)?;
        }
    }
    function.call_arg(all)
}

/// The function, and what it is a method of.
fn find<'js>(ctx: &Ctx<'js>, entry_point: &str) -> Result<(Value<'js>, Value<'js>)> {
    let mut names: Vec<&str> = entry_point.split('.').collect();
    let mut found = look_up(ctx, names.remove(0))?;
    if found.is_undefined() && names.is_empty() {
        found = look_up(ctx, "Solution")?;
        names.push(entry_point);
        if found.is_undefined() {
            found = exports(ctx).and_then(function).unwrap_or(found);
            names.clear();
        }
    }
    if found.is_undefined() {
        return Err(Exception::throw_reference(ctx, "the entry point is not defined"));
    }
    let mut this = Value::new_undefined(ctx.clone());
    for name in names {
        (this, found) = member(ctx, &found, name)?;
    }
    Ok((this, found))
}

/// A member of an object, or of an instance of a class, or of the class itself.
fn member<'js>(ctx: &Ctx<'js>, of: &Value<'js>, name: &str) -> Result<(Value<'js>, Value<'js>)> {
    let Some(object) = of.as_object() else {
        return Err(Exception::throw_type(ctx, "the entry point is no member of an object"));
    };
    if let Some(class) = of.as_constructor() {
        let instance: Object<'js> = class.construct(())?;
        let found: Value<'js> = instance.get(name)?;
        if !found.is_undefined() {
            return Ok((instance.into_value(), found));
        }
    }
    Ok((of.clone(), object.get(name)?))
}

fn look_up<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    if !name.bytes().all(plain) {
        return Ok(Value::new_undefined(ctx.clone()));
    }
    // Only code sees the names of a top-level `const`; a name that is none throws.
    let mut options = EvalOptions::default();
    options.strict = false;
    let found = ctx.eval_with_options::<Value<'js>, _>(name, options);
    match found {
        Ok(value) if !value.is_undefined() => Ok(value),
        Ok(_) | Err(_) => {
            drop(ctx.catch());
            let exported = exports(ctx).and_then(Value::into_object);
            exported.map_or(Ok(Value::new_undefined(ctx.clone())), |exports| exports.get(name))
        }
    }
}

/// What a program exports, if that is a function, or what it exports by default.
fn function(exports: Value<'_>) -> Option<Value<'_>> {
    if exports.is_function() {
        return Some(exports);
    }
    exports.as_object()?.get::<_, Value<'_>>("default").ok().filter(Value::is_function)
}

fn exports<'js>(ctx: &Ctx<'js>) -> Option<Value<'js>> {
    let module: Object<'js> = ctx.globals().get("module").ok()?;
    module.get("exports").ok()
}
