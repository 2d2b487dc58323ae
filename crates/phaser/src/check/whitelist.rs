//! Names that are never findings.

/// Members that every object or function has.
const UNIVERSAL: [&str; 18] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
    "apply",
    "bind",
    "call",
    "length",
    "name",
    "prototype",
    "arguments",
    "caller",
    "Class",
    "then",
    "toJSON",
];

/// Whether a name is that of a private member, or one that every value may have.
pub(super) fn is_allowed(name: &str) -> bool {
    name.starts_with('_') || UNIVERSAL.contains(&name)
}
