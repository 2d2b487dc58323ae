//! Objects of a program, read without running any JavaScript.

use rquickjs::{Object, Value};

use crate::javascript::engine::place;
use crate::javascript::read::{Property, PropertyKey, property, text};

/// Prototypes above one another that are looked at.
const MAX_PROTOTYPES: usize = 32;

/// An object is not what it seems: a proxy, or an accessor where there is data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forged;

/// An own property of an object; an accessor or a proxy is forged.
pub(super) fn own<'js>(object: &Object<'js>, name: &str) -> Result<Option<Value<'js>>, Forged> {
    if object.as_value().is_proxy() {
        return Err(Forged);
    }
    let Some(key) = PropertyKey::of(object.ctx(), name) else { return Ok(None) };
    match property(object, key.atom) {
        Property::Data(value) => Ok(Some(value)),
        Property::Absent => Ok(None),
        Property::Accessor(_) => Err(Forged),
    }
}

/// A property of an object or of one of its prototypes.
pub(super) fn inherited<'js>(
    object: &Object<'js>,
    name: &str,
) -> Result<Option<Value<'js>>, Forged> {
    let mut looked_at = Some(object.clone());
    for _ in 0..MAX_PROTOTYPES {
        let Some(here) = looked_at else { return Ok(None) };
        if let Some(found) = own(&here, name)? {
            return Ok(Some(found));
        }
        looked_at = here.get_prototype();
    }
    Err(Forged)
}

/// The address of the getter behind a property of an object or of one of its prototypes; `None` if there is
/// data, or nothing.
pub(super) fn getter(object: &Object<'_>, name: &str) -> Option<usize> {
    let mut looked_at = object.clone();
    for _ in 0..MAX_PROTOTYPES {
        if looked_at.as_value().is_proxy() {
            return None;
        }
        let found = property(&looked_at, PropertyKey::of(object.ctx(), name)?.atom);
        match found {
            Property::Accessor(getter) => return Some(place(&getter)),
            Property::Data(_) => return None,
            Property::Absent => looked_at = looked_at.get_prototype()?,
        }
    }
    None
}

/// An own property that is an object.
pub(super) fn object<'js>(of: &Object<'js>, name: &str) -> Result<Option<Object<'js>>, Forged> {
    Ok(own(of, name)?.and_then(Value::into_object))
}

/// A number that is finite; anything else is none.
pub(super) fn number(value: Option<Value<'_>>) -> Option<f64> {
    value.and_then(|value| value.as_number()).filter(|number| number.is_finite())
}

/// A text of at most `most` characters.
pub(super) fn short(value: &Value<'_>, most: usize) -> Option<String> {
    if !value.is_string() {
        return None;
    }
    // Only as much of a long text is looked at as can be kept.
    let bytes = text(value)?;
    let bytes = &bytes[..bytes.len().min(4 * most)];
    Some(String::from_utf8_lossy(bytes).chars().take(most).collect())
}

/// The items of an array, at most so many.
pub(super) fn items<'js>(array: &Object<'js>, most: u32) -> Result<Vec<Value<'js>>, Forged> {
    let length = number(own(array, "length")?).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let length = (length as u32).min(most);
    let mut items = Vec::new();
    for index in 0..length {
        match property(array, PropertyKey::at(array.ctx(), index).atom) {
            Property::Data(item) => items.push(item),
            Property::Absent => {}
            Property::Accessor(_) => return Err(Forged),
        }
    }
    Ok(items)
}

/// The address of an object's prototype.
pub(super) fn prototype(object: &Object<'_>) -> Option<usize> {
    if object.as_value().is_proxy() {
        return None;
    }
    object.get_prototype().map(|prototype| place(prototype.as_value()))
}
