//! The name of what a program threw, found without running any of its code.

use rquickjs::{Ctx, Error, Object, Value};

use super::read::{own, text};

/// Classes above one another that are looked at.
const MAX_CLASSES: usize = 16;

/// The exit that the supervisor reads as out of memory.
pub(crate) const MEMORY: &str = "MemoryError";

/// The name of the error that a failed call left behind.
pub(super) fn of(ctx: &Ctx<'_>, error: &Error) -> String {
    match error {
        Error::Exception => name(&ctx.catch()),
        Error::Allocation => MEMORY.to_owned(),
        Error::InvalidString(_) => "SyntaxError".to_owned(),
        _ => "TypeError".to_owned(),
    }
}

/// The name of the class of what was thrown.
pub(crate) fn name(thrown: &Value<'_>) -> String {
    // The engine throws this when it has not even the memory for an error.
    if thrown.is_null() {
        return MEMORY.to_owned();
    }
    let Some(object) = thrown.as_object() else { return thrown.type_name().to_owned() };
    let name = class_name(object).unwrap_or_else(|| "exception".to_owned());
    let message = own(object, "message").and_then(|message| text(&message)).unwrap_or_default();
    if name == "InternalError" && message.starts_with(b"out of memory") {
        return MEMORY.to_owned();
    }
    name.chars().take(80).collect()
}

fn class_name(object: &Object<'_>) -> Option<String> {
    let mut looked_at = object.clone();
    for _ in 0..MAX_CLASSES {
        // A proxy would be asked.
        if looked_at.as_value().is_proxy() {
            return None;
        }
        if let Some(class) = own(&looked_at, "constructor").and_then(Value::into_object) {
            let name = if class.as_value().is_proxy() { None } else { own(&class, "name") };
            return name
                .filter(Value::is_string)
                .and_then(|name| String::from_utf8(text(&name)?).ok());
        }
        looked_at = looked_at.get_prototype()?;
    }
    None
}
