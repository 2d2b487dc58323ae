//! Methods that are told what they are compared with.

/// Whether a method of an object of this name would be told what is compared with it.
pub(super) fn is_told(object: &str, method: &str) -> bool {
    object != SOLUTION && is_comparing(method) || is_dunder(method)
}

/// By custom the class that holds the function which is asked for: a method of it is the program's
/// whatever its name is.
const SOLUTION: &str = "Solution";

/// Whether text or a set has a method of this name by which it is compared with an argument.
///
/// The checker has the same list and does not ask objects of the program for these, where an argument
/// is text or a collection.
fn is_comparing(name: &str) -> bool {
    const NAMES: [&str; 22] = [
        "count",
        "difference",
        "difference_update",
        "find",
        "index",
        "intersection",
        "intersection_update",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "strip",
        "symmetric_difference",
        "symmetric_difference_update",
        "union",
    ];
    NAMES.contains(&name)
}

fn is_dunder(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
}
