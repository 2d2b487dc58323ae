//! Small questions about names and expressions.

use ruff_python_ast::{self as ast, Expr};

/// Whether a builtin of this name makes an iterator, or something else that shows its address.
pub(super) fn makes_iterator(name: &str) -> bool {
    matches!(
        name,
        "map"
            | "filter"
            | "zip"
            | "enumerate"
            | "iter"
            | "reversed"
            | "property"
            | "staticmethod"
            | "classmethod"
    )
}

/// Whether a function of this name uses up the iterators that it is called with, or gives another one.
pub(super) fn uses_up(name: &str) -> bool {
    const NAMES: [&str; 37] = [
        "Counter",
        "OrderedDict",
        "accumulate",
        "all",
        "any",
        "bytearray",
        "bytes",
        "chain",
        "combinations",
        "deque",
        "dict",
        "enumerate",
        "extend",
        "filter",
        "from_iterable",
        "frozenset",
        "fsum",
        "heapify",
        "islice",
        "iter",
        "join",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "permutations",
        "prod",
        "product",
        "reduce",
        "reversed",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    ];
    NAMES.contains(&name)
}

/// Whether a name of a module stands for plain data, and not for a function or a class.
pub(super) fn is_constant(module: &str, name: &str) -> bool {
    matches!(module, "string" | "sys" | "keyword" | "calendar")
        || matches!(name, "pi" | "e" | "tau" | "inf" | "nan" | "annotations")
        || name.chars().all(|letter| !letter.is_lowercase())
}

/// Whether a name of a module gives floats.
pub(super) fn gives_floats(module: &str, name: &str) -> bool {
    const INTEGERS: [&str; 8] =
        ["ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm"];
    matches!(module, "math" | "cmath" | "statistics") && !INTEGERS.contains(&name)
}

/// Whether a class of this name is one of exceptions, by custom.
pub(super) fn is_error(name: &str) -> bool {
    name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Warning")
}

/// Whether `name` can be called with anything once it is handed on.
pub(super) fn is_out_of_sight(name: &str) -> bool {
    matches!(name, "object" | "getattr" | "setattr" | "hasattr")
}

/// Whether instances show their fields, and are hashed by them or not at all.
pub(super) fn is_plain_data(class: &ast::StmtClassDef) -> bool {
    let plain_base = |base: &Expr| {
        let name = base.as_name_expr().map_or("", |name| name.id.as_str());
        matches!(name, "Enum" | "IntEnum" | "NamedTuple" | "TypedDict")
            || name.ends_with("Error")
            || name.ends_with("Exception")
    };
    let dataclass =
        |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id.as_str() == "dataclass");
    class.bases().iter().any(plain_base)
        || class.decorator_list.iter().any(|decorator| match &decorator.expression {
            Expr::Call(call) => {
                let changes = |word: &ast::Keyword| {
                    !matches!(word.arg.as_deref(), Some("frozen" | "order" | "slots"))
                };
                dataclass(&call.func) && !call.arguments.keywords.iter().any(changes)
            }
            other => dataclass(other),
        })
}

/// Whether a format such as `{0.real}` reads attributes or items: it names them out of sight.
pub(super) fn reads_inside(text: &str) -> bool {
    text.split('{').skip(1).any(|field| {
        let name = field.split(['}', ':', '!']).next().unwrap_or_default();
        name.contains(['.', '['])
    })
}
