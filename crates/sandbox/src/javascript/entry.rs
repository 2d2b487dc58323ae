//! Finds the function that a test calls.
//!
//! A name is looked for where a program can have left it: among the global names, where a top-level
//! `const` is too, and in `module.exports`, where exports of a module are; without either, as a method
//! of a class `Solution`, or as the one function that is exported. What the setup has left there is none of the
//! program's.

use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::{Ctx, Exception, Object, Persistent, Result, Value};

use super::make::make;
use crate::value::Value as Data;

/// By custom the class that holds the function which is asked for.
const SOLUTION: &str = "Solution";

/// The setup's replacement for the entry point.
#[derive(Default)]
pub(super) struct MadeBefore(Vec<Persistent<Value<'static>>>);

impl MadeBefore {
    /// Looks for it, before the program is loaded.
    pub(super) fn look(ctx: &Ctx<'_>, entry_point: &str) -> Self {
        let head = entry_point.split('.').next().unwrap_or_default();
        let found = [head, SOLUTION].map(|name| look_up(ctx, name, &[]));
        let found = found.into_iter().flatten().chain(exports(ctx).and_then(function));
        let found = found.filter(|value| !value.is_undefined());
        Self(found.map(|value| Persistent::save(ctx, value)).collect())
    }

    fn values<'js>(&self, ctx: &Ctx<'js>) -> Result<Vec<Value<'js>>> {
        self.0.iter().map(|value| value.clone().restore(ctx)).collect()
    }
}

/// A call of the entry point.
pub(super) struct EntryCall<'a> {
    pub(super) entry_point: &'a str,
    pub(super) args: &'a [Data],
    pub(super) named: &'a [Data],
}

/// Calls the entry point. JavaScript has no named arguments: these follow the others.
pub(super) fn call<'js>(
    ctx: &Ctx<'js>,
    call: &EntryCall<'_>,
    made_before: &MadeBefore,
) -> Result<Value<'js>> {
    let EntryCall { entry_point, args, named } = *call;
    let (this, found) = find(ctx, entry_point, &made_before.values(ctx)?)?;
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
fn find<'js>(
    ctx: &Ctx<'js>,
    entry_point: &str,
    made_before: &[Value<'js>],
) -> Result<(Value<'js>, Value<'js>)> {
    let mut names: Vec<&str> = entry_point.split('.').collect();
    let mut found = look_up(ctx, names.remove(0), made_before)?;
    if found.is_undefined() && names.is_empty() {
        found = look_up(ctx, SOLUTION, made_before)?;
        names.push(entry_point);
        if found.is_undefined() {
            let exported = exports(ctx).and_then(function);
            found = exported.filter(|one| !made_before.contains(one)).unwrap_or(found);
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

/// The value of a name, unless it is one of these values.
fn look_up<'js>(ctx: &Ctx<'js>, name: &str, made_before: &[Value<'js>]) -> Result<Value<'js>> {
    let nothing = || Value::new_undefined(ctx.clone());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    if !name.bytes().all(plain) {
        return Ok(nothing());
    }
    // Only code sees the names of a top-level `const`; a name that is none throws.
    let mut options = EvalOptions::default();
    options.strict = false;
    let found = ctx.eval_with_options::<Value<'js>, _>(name, options);
    match found {
        Ok(value) if !value.is_undefined() && !made_before.contains(&value) => Ok(value),
        Ok(_) | Err(_) => {
            drop(ctx.catch());
            let exported = exports(ctx).and_then(Value::into_object);
            let found = exported.map_or(Ok(nothing()), |exports| exports.get(name))?;
            Ok(if made_before.contains(&found) { nothing() } else { found })
        }
    }
}

/// The program's export if it is a function, otherwise its default export.
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
