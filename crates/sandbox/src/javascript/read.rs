//! A JavaScript value as plain data, read without running any JavaScript.
//!
//! Objects are read through their own properties alone, by the engine's C interface: no getter, no
//! trap of a proxy, no `toJSON`, `valueOf` or patched prototype has a say. What is no JSON-plain
//! value has no data: functions, symbols, instances of classes, maps, accessors, cycles.

#![expect(unsafe_code, reason = "descriptors of own properties are not in the safe interface")]

use std::mem::MaybeUninit;

use rquickjs::qjs::{self, JSAtom, JSValue};
use rquickjs::{Ctx, Object, Type, Value};

use crate::value::{Int, MAX_BYTES, Text, Value as Data};

/// Objects inside one another, at most: fewer than the supervisor would read.
const MAX_DEPTH: usize = 60;

/// The largest integer up to which every integer is a number.
const MAX_SAFE: f64 = 9_007_199_254_740_992.0;

/// The value as plain data; `None` if it is not plain data, or too large.
pub(super) fn plain(value: &Value<'_>) -> Option<Data> {
    let ctx = value.ctx();
    let [object, array] =
        [new(ctx, qjs::JS_NewObject), new(ctx, qjs::JS_NewArray)].map(Value::into_object);
    let (object, array) = (object?, array?);
    let mut reader = ObjectReader {
        object: PlainClass { class: class(&object), prototype: object.get_prototype()? },
        array: PlainClass { class: class(&array), prototype: array.get_prototype()? },
        left: MAX_BYTES,
    };
    reader.value(value, 0)
}

/// A string, a number or an atom as text, in the encoding of [`Text`]; `None` without memory.
///
/// Only for primitive values: an object would be asked to convert itself.
pub(crate) fn text(value: &Value<'_>) -> Option<Vec<u8>> {
    if value.is_object() || value.is_symbol() {
        return None;
    }
    let ctx = value.ctx().as_raw().as_ptr();
    let mut length = 0;
    // SAFETY: the value lives in this context.
    let pointer = unsafe { qjs::JS_ToCStringLen(ctx, &raw mut length, value.as_raw()) };
    if pointer.is_null() {
        drop(value.ctx().catch());
        return None;
    }
    // SAFETY: that many bytes are there until they are freed, which is once and here.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) }.to_vec();
    // SAFETY: as above.
    unsafe { qjs::JS_FreeCString(ctx, pointer) };
    Some(bytes)
}

/// The value of an own data property; `None` if there is none, or it is an accessor.
pub(crate) fn own<'js>(object: &Object<'js>, name: &str) -> Option<Value<'js>> {
    let key = PropertyKey::of(object.ctx(), name)?;
    match property(object, key.atom) {
        Property::Data(value) => Some(value),
        Property::Absent | Property::Accessor(_) => None,
    }
}

/// The class and the prototype that all plain objects, or all plain arrays, share.
struct PlainClass<'js> {
    class: qjs::JSClassID,
    prototype: Object<'js>,
}

struct ObjectReader<'js> {
    object: PlainClass<'js>,
    array: PlainClass<'js>,
    /// Bytes that the rest of the value may take.
    left: usize,
}

impl<'js> ObjectReader<'js> {
    fn value(&mut self, value: &Value<'js>, depth: usize) -> Option<Data> {
        self.spend(1)?;
        match value.type_of() {
            Type::Null | Type::Undefined => Some(Data::None),
            Type::Bool => value.as_bool().map(Data::Bool),
            Type::Int => value.as_int().map(|number| Data::int(number.into())),
            Type::Float => value.as_float().map(number),
            Type::String => self.string(value).map(Data::Str),
            Type::BigInt => self.big_int(value).map(Data::Int),
            _ if value.is_object() && depth < MAX_DEPTH => self.object(value.as_object()?, depth),
            _ => None,
        }
    }

    fn object(&mut self, object: &Object<'js>, depth: usize) -> Option<Data> {
        let class = class(object);
        if class == self.array.class {
            let alike = object.get_prototype().as_ref() == Some(&self.array.prototype);
            return if alike { self.items(object, depth).map(Data::List) } else { None };
        }
        if class != self.object.class {
            return None;
        }
        let plain = object.get_prototype().is_none_or(|its| its == self.object.prototype);
        if plain { self.pairs(object, depth).map(Data::Dict) } else { None }
    }

    /// A hole is `undefined`, whatever stands behind it in the prototype.
    fn items(&mut self, array: &Object<'js>, depth: usize) -> Option<Vec<Data>> {
        let length = own(array, "length")?.as_number()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a u32")]
        let length = length as u32;
        // Each item takes a byte at least: a length that cannot be is not walked.
        if length as usize > self.left {
            return None;
        }
        let mut items = Vec::with_capacity(length as usize);
        for index in 0..length {
            let key = PropertyKey::at(array.ctx(), index);
            items.push(match property(array, key.atom) {
                Property::Data(item) => self.value(&item, depth + 1)?,
                Property::Absent => {
                    self.spend(1)?;
                    Data::None
                }
                Property::Accessor(_) => return None,
            });
        }
        Some(items)
    }

    fn pairs(&mut self, object: &Object<'js>, depth: usize) -> Option<Vec<(Data, Data)>> {
        let names = PropertyNames::of(object)?;
        let mut pairs = Vec::with_capacity(names.all().len());
        for name in names.all() {
            // SAFETY: the atom lives as long as the list.
            let key = unsafe { qjs::JS_AtomToValue(names.ctx(), name.atom) };
            // SAFETY: a new value, and ours.
            let key = unsafe { Value::from_raw(object.ctx().clone(), key) };
            if !key.is_string() {
                return None;
            }
            self.spend(1)?;
            let key = Data::Str(self.string(&key)?);
            let Property::Data(item) = property(object, name.atom) else { return None };
            pairs.push((key, self.value(&item, depth + 1)?));
        }
        Some(pairs)
    }

    fn string(&mut self, value: &Value<'js>) -> Option<Text> {
        let bytes = text(value)?;
        self.spend(bytes.len() + 4)?;
        Text::from_bytes(bytes)
    }

    fn big_int(&mut self, value: &Value<'js>) -> Option<Int> {
        let digits = String::from_utf8(text(value)?).ok()?;
        self.spend(digits.len())?;
        match digits.strip_prefix('-') {
            Some(digits) => Int::from_decimal(true, digits),
            None => Int::from_decimal(false, &digits),
        }
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

/// A whole number is an integer, as far as every integer is a number; minus zero is none.
fn number(number: f64) -> Data {
    let negative_zero = number == 0.0 && number.is_sign_negative();
    match Int::from_float(number) {
        Some(int) if number.abs() <= MAX_SAFE && !negative_zero => Data::Int(int),
        _ => Data::Float(number),
    }
}

fn new<'js>(
    ctx: &Ctx<'js>,
    make: unsafe extern "C" fn(*mut qjs::JSContext) -> JSValue,
) -> Value<'js> {
    // SAFETY: a new value of this context, and ours.
    unsafe { Value::from_raw(ctx.clone(), make(ctx.as_raw().as_ptr())) }
}

fn class(object: &Object<'_>) -> qjs::JSClassID {
    // SAFETY: looks at a value that is alive.
    unsafe { qjs::JS_GetClassID(object.as_raw()) }
}

/// The key of a property.
pub(crate) struct PropertyKey<'a, 'js> {
    ctx: &'a Ctx<'js>,
    pub(crate) atom: JSAtom,
}

impl<'a, 'js> PropertyKey<'a, 'js> {
    /// The key of a name; `None` without memory.
    pub(crate) fn of(ctx: &'a Ctx<'js>, name: &str) -> Option<Self> {
        let pointer = ctx.as_raw().as_ptr();
        // SAFETY: the name is as long as said.
        let atom =
            unsafe { qjs::JS_NewAtomLen(pointer, name.as_ptr().cast(), name.len() as qjs::size_t) };
        (atom != qjs::JS_ATOM_NULL).then_some(Self { ctx, atom })
    }

    /// The key of a place in an array.
    pub(crate) fn at(ctx: &'a Ctx<'js>, index: u32) -> Self {
        // SAFETY: a number.
        Self { ctx, atom: unsafe { qjs::JS_NewAtomUInt32(ctx.as_raw().as_ptr(), index) } }
    }
}

impl Drop for PropertyKey<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: ours, once.
        unsafe { qjs::JS_FreeAtom(self.ctx.as_raw().as_ptr(), self.atom) };
    }
}

/// An own property of an object.
pub(crate) enum Property<'js> {
    /// There is none.
    Absent,
    /// It has a value.
    Data(Value<'js>),
    /// It has a getter, which this is, or a setter.
    Accessor(Value<'js>),
}

/// An own property, as it is. Never for a proxy, which would be asked.
pub(crate) fn property<'js>(object: &Object<'js>, atom: JSAtom) -> Property<'js> {
    let ctx = object.ctx();
    let mut found = MaybeUninit::<qjs::JSPropertyDescriptor>::uninit();
    // SAFETY: object and atom live in this context, and the place is large enough.
    let result = unsafe {
        let pointer = ctx.as_raw().as_ptr();
        qjs::JS_GetOwnProperty(pointer, found.as_mut_ptr(), object.as_raw(), atom)
    };
    if result != 1 {
        if result < 0 {
            drop(ctx.catch());
        }
        return Property::Absent;
    }
    // SAFETY: filled in when the answer is 1, with three values that are ours.
    let (found, values) = unsafe {
        let found = found.assume_init();
        let values = [found.value, found.getter, found.setter];
        (found, values.map(|value| Value::from_raw(ctx.clone(), value)))
    };
    let [value, getter, _] = values;
    if found.flags & qjs::JS_PROP_GETSET.cast_signed() != 0 {
        return Property::Accessor(getter);
    }
    Property::Data(value)
}

/// The names of an object's own enumerable properties, symbols among them.
struct PropertyNames<'a, 'js> {
    object: &'a Object<'js>,
    table: *mut qjs::JSPropertyEnum,
    count: u32,
}

impl<'a, 'js> PropertyNames<'a, 'js> {
    fn of(object: &'a Object<'js>) -> Option<Self> {
        let mut names = Self { object, table: std::ptr::null_mut(), count: 0 };
        let flags = qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK | qjs::JS_GPN_ENUM_ONLY;
        let ctx = names.ctx();
        let (table, count) = (&raw mut names.table, &raw mut names.count);
        let flags = flags.cast_signed();
        // SAFETY: the object lives in this context, and both places are alive.
        let result =
            unsafe { qjs::JS_GetOwnPropertyNames(ctx, table, count, object.as_raw(), flags) };
        if result < 0 {
            drop(object.ctx().catch());
            names.count = 0;
            return None;
        }
        Some(names)
    }

    fn all(&self) -> &[qjs::JSPropertyEnum] {
        if self.table.is_null() {
            return &[];
        }
        // SAFETY: the engine wrote as many as it says, and they are freed in `drop`.
        unsafe { std::slice::from_raw_parts(self.table, self.count as usize) }
    }

    fn ctx(&self) -> *mut qjs::JSContext {
        self.object.ctx().as_raw().as_ptr()
    }
}

impl Drop for PropertyNames<'_, '_> {
    fn drop(&mut self) {
        if !self.table.is_null() {
            // SAFETY: the engine's own table, once.
            unsafe { qjs::JS_FreePropertyEnum(self.ctx(), self.table, self.count) };
        }
    }
}
