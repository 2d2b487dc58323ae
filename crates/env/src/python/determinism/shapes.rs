//! Small questions about names and expressions.

use ruff_python_ast::{self as ast, Expr};

/// Calls that make an iterator, which shows its address as text.
const ITERATORS: [&str; 6] = ["map", "filter", "zip", "enumerate", "iter", "reversed"];

/// Whether `name` can be called with anything once it is handed on.
pub(super) fn is_out_of_sight(name: &str) -> bool {
    matches!(name, "object" | "getattr" | "setattr" | "hasattr")
}

/// Whether calling `name` makes text of its arguments.
pub(super) fn is_shown_by(name: &str) -> bool {
    matches!(name, "repr" | "ascii" | "str" | "format" | "print")
}

/// Whether an expression makes an iterator, which shows its address.
pub(super) fn is_iterator(expr: &Expr) -> bool {
    match expr {
        Expr::Generator(_) => true,
        Expr::Call(call) => {
            call.func.as_name_expr().is_some_and(|name| ITERATORS.contains(&name.id.as_str()))
        }
        _ => false,
    }
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
