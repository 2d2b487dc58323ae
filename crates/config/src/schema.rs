//! The tree of keys, read from the schema that the config structs generate.
//!
//! The check, the reference page and `whet config show` all walk this tree, so they cannot differ
//! from the structs: a field, its doc comment, its bounds and its default are written once.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use whetstone_core::config::Config;

/// Every section and key, in the order of the structs.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The fields at the top level of a file.
    pub fields: Vec<Field>,
}

/// A key, or a section of keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name within its section.
    pub name: String,
    /// Its description, from the doc comment.
    pub doc: String,
    /// Other names that are accepted for it.
    pub aliases: Vec<String>,
    /// The type of its value.
    pub kind: Kind,
    /// Its default.
    pub default: Value,
}

/// The type of a key's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A section with keys of its own.
    Section(Vec<Field>),
    /// A whole number.
    Integer(Bounds),
    /// A number.
    Number(Bounds),
    /// True or false.
    Bool,
    /// Text.
    Text {
        /// It must not be empty.
        filled: bool,
    },
    /// One of some words.
    Choice(Vec<Choice>),
    /// A list.
    List {
        /// The type of each item.
        item: Box<Self>,
        /// It must not be empty.
        filled: bool,
    },
}

/// One word that a key may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub word: String,
    /// Its meaning.
    pub doc: String,
    /// Other spellings of it.
    pub aliases: Vec<String>,
}

/// The bounds of a number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// At least this.
    pub min: Option<f64>,
    /// At most this.
    pub max: Option<f64>,
    /// More than this.
    pub above: Option<f64>,
    /// Less than this.
    pub below: Option<f64>,
}

impl Schema {
    /// The tree, which is read from the structs once.
    pub fn get() -> &'static Self {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::read);
        &SCHEMA
    }

    fn read() -> Self {
        let root = schemars::schema_for!(Config).to_value();
        let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
        let Kind::Section(fields) = kind(&root, &root, &defaults) else {
            unreachable!("a config is a section")
        };
        Self { fields }
    }

    /// Every key that is not a section, with its path.
    pub fn leaves(&self) -> Vec<(String, &Field)> {
        fn walk<'a>(fields: &'a [Field], path: &str, out: &mut Vec<(String, &'a Field)>) {
            for field in fields {
                let key = join(path, &field.name);
                match &field.kind {
                    Kind::Section(inner) => walk(inner, &key, out),
                    _ => out.push((key, field)),
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.fields, "", &mut out);
        out
    }
}

impl Bounds {
    /// Whether `number` is within the bounds.
    pub fn hold(&self, number: f64) -> bool {
        self.min.is_none_or(|min| number >= min)
            && self.max.is_none_or(|max| number <= max)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }

    /// The bounds as text, e.g. `above 0 and at most 1`; empty if there are none.
    pub fn words(&self) -> String {
        let parts = [
            self.above.map(|n| format!("above {n}")),
            self.min.map(|n| format!("at least {n}")),
            self.below.map(|n| format!("below {n}")),
            // The bound of an integer type is not worth mentioning.
            self.max.filter(|n| *n < 4e9).map(|n| format!("at most {n}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

/// `section.name`.
pub(super) fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn kind(node: &Value, root: &Value, default: &Value) -> Kind {
    let node = resolved(node, root);
    let text = |key: &str| node.get(key).and_then(Value::as_str);
    let filled = |key: &str| node.get(key).and_then(Value::as_u64).is_some_and(|least| least > 0);
    if let Some(variants) = node.get("oneOf").and_then(Value::as_array) {
        return Kind::Choice(variants.iter().map(choice).collect());
    }
    match text("type") {
        Some("object") => Kind::Section(fields(node, root, default)),
        Some("integer") => Kind::Integer(bounds(node)),
        Some("number") => Kind::Number(bounds(node)),
        Some("boolean") => Kind::Bool,
        Some("string") => Kind::Text { filled: filled("minLength") },
        Some("array") => Kind::List {
            item: Box::new(kind(&node["items"], root, &Value::Null)),
            filled: filled("minItems"),
        },
        other => unreachable!("a config struct has a field of schema type {other:?}"),
    }
}

fn fields(node: &Value, root: &Value, default: &Value) -> Vec<Field> {
    let empty = Map::new();
    let properties = node.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let field = |(name, field): (&String, &Value)| {
        let default = default.get(name).cloned().unwrap_or_default();
        Field {
            name: name.clone(),
            doc: doc(field),
            aliases: aliases(field),
            kind: kind(field, root, &default),
            default,
        }
    };
    properties.iter().map(field).collect()
}

fn doc(node: &Value) -> String {
    node.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn aliases(node: &Value) -> Vec<String> {
    let list = node.get("x-aliases").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn choice(node: &Value) -> Choice {
    let word = node.get("const").and_then(Value::as_str).unwrap_or_default().to_owned();
    Choice { word, doc: doc(node), aliases: aliases(node) }
}

fn bounds(node: &Value) -> Bounds {
    let number = |key: &str| node.get(key).and_then(Value::as_f64);
    let of_type = (node.get("format").and_then(Value::as_str) == Some("uint32"))
        .then_some(f64::from(u32::MAX));
    Bounds {
        min: number("minimum"),
        max: number("maximum").or(of_type),
        above: number("exclusiveMinimum"),
        below: number("exclusiveMaximum"),
    }
}

/// Follows `$ref`, which schemas of nested structs are written with.
fn resolved<'a>(node: &'a Value, root: &'a Value) -> &'a Value {
    let target = node.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    target.and_then(|path| root.pointer(path)).unwrap_or(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_words_and_a_default() {
        for (key, field) in Schema::get().leaves() {
            assert!(!field.doc.is_empty(), "`{key}` has no doc comment");
            assert!(!field.default.is_null(), "`{key}` has no default");
            if let Kind::Choice(words) = &field.kind {
                assert!(words.iter().all(|choice| !choice.doc.is_empty()), "`{key}`");
            }
        }
    }

    #[test]
    fn every_default_lies_between_its_bounds() {
        for (key, field) in Schema::get().leaves() {
            if let Kind::Integer(bounds) | Kind::Number(bounds) = &field.kind {
                let default = field.default.as_f64().unwrap();
                assert!(bounds.hold(default), "`{key}` = {default}, {}", bounds.words());
            }
        }
    }

    #[test]
    fn keys_stand_in_the_order_of_the_structs() {
        let schema = Schema::get();
        let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names[..4], ["seed", "run", "prompt", "teacher"]);
    }

    #[test]
    fn bounds_are_said_in_words() {
        let bounds = Bounds { above: Some(0.0), max: Some(1.0), ..Bounds::default() };
        assert_eq!(bounds.words(), "above 0 and at most 1");
        assert!(!bounds.hold(0.0) && bounds.hold(1.0) && !bounds.hold(1.5));
        assert!(!bounds.hold(f64::NAN), "no number lies between bounds");
        let bounds = Bounds { min: Some(0.0), below: Some(1.0), ..Bounds::default() };
        assert_eq!(bounds.words(), "at least 0 and below 1");
        assert!(bounds.hold(0.0) && !bounds.hold(1.0));
    }
}
