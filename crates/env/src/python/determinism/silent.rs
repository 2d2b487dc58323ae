//! What makes no text of the objects that it is called with.
//!
//! A program that has an object with an address varies as soon as it calls or hands on anything else:
//! there are more ways to make text than anyone lists, and fewer that make none. The exceptions of these
//! may show an object all the same, so a program that looks into one makes text.

use super::names::Bound;
use super::shapes::is_error;

/// Builtins; exceptions are known by their names.
const BUILTINS: &str = "
    __debug__ __name__ abs all any bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float frozenset getattr hasattr hex int isinstance issubclass iter len list map max
    min next oct ord pow property range reversed round set setattr slice sorted staticmethod sum super
    tuple zip Ellipsis NotImplemented object
";

/// Methods of Python's own types, wherever they are called.
const METHODS: &str = "
    add append appendleft as_integer_ratio bit_count bit_length cache_clear capitalize casefold center
    clear close conjugate copy count date day days decode difference difference_update digest discard
    elements encode end endswith expandtabs extend extendleft find findall finditer from_bytes
    from_iterable fromhex fromkeys fromordinal fullmatch get group groupdict groups hex hexdigest index
    insert intersection intersection_update is_integer isalnum isalpha isascii isdecimal isdigit
    isdisjoint isidentifier islower isnumeric isocalendar isoformat isoweekday isprintable isspace
    issubset issuperset istitle isupper items join keys limit_denominator ljust lower lstrip maketrans
    match month most_common move_to_end partition pop popitem popleft quantize remove removeprefix
    removesuffix replace reverse rfind rindex rjust rotate rpartition rsplit rstrip search send
    setdefault sort span split splitlines start startswith strftime strip strptime sub subn subtract
    swapcase symmetric_difference symmetric_difference_update timestamp title to_bytes toordinal total
    total_seconds choice choices gauss getrandbits randint random randrange sample shuffle uniform
    translate union update upper values weekday year zfill
";

/// Modules of which everything is silent, but for the names after the colon.
const MODULES: [&str; 27] = [
    "__future__",
    "abc",
    "array",
    "bisect",
    "cmath",
    "collections: ChainMap UserDict UserList UserString",
    "collections.abc",
    "copy",
    "dataclasses: make_dataclass",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools: singledispatch",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "numbers",
    "operator: mod imod",
    "random",
    "re: template",
    "statistics",
    "string: Formatter Template capwords",
    "sys: stdout stderr",
    "typing: NewType cast",
    "unicodedata",
];

/// Methods that a program writes for Python to call: called by name, they make text of an object.
const SHOWING: [&str; 9] = [
    "__call__",
    "__format__",
    "__imod__",
    "__mod__",
    "__repr__",
    "__rmod__",
    "__str__",
    "args",
    "format",
];

/// Whether an attribute of this name gives the text of what it is of.
pub(super) fn is_text(name: &str) -> bool {
    matches!(name, "__format__" | "__repr__" | "__str__")
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}

/// A name of a module.
pub(super) fn of_module(module: &str, name: &str) -> bool {
    MODULES.iter().any(|row| {
        let (one, but) = row.split_once(':').unwrap_or((row, ""));
        one == module && !has(but, name)
    })
}

/// A name that is called or handed on. What a program binds itself it has from somewhere, and is looked at
/// there.
pub(super) fn name(name: &str, bound: &Bound, is_builtin: bool) -> bool {
    if is_builtin {
        return has(BUILTINS, name)
            || is_error(name)
            || matches!(name, "StopIteration" | "GeneratorExit");
    }
    let from = bound.imported.get(name);
    from.is_none_or(|from| of_module(&from.module, &from.name))
}

/// An attribute that makes text, whoever calls it. Of Python's own types there are no others; what makes
/// text in modules has been imported.
pub(super) fn shows(name: &str) -> bool {
    SHOWING.contains(&name)
}

/// An attribute of no module that is called.
pub(super) fn attribute(name: &str, bound: &Bound) -> bool {
    !shows(name)
        && (has(METHODS, name)
            || (name.starts_with("__") && name.ends_with("__"))
            || bound.definitions.contains(name)
            || bound.fields.contains(name)
            || super::steady::DATA.contains(&name))
}
