//! Names that are never findings.

/// Members that every object or function has.
const UNIVERSAL: [&str; 19] = [
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
    // Physics gives a body to whatever it is told to.
    "body",
];

/// Whether a name is that of a private member, or one that every value may have.
pub(super) fn is_allowed(name: &str) -> bool {
    name.starts_with('_') || UNIVERSAL.contains(&name)
}
