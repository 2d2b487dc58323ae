//! Generators of random numbers: when they give the same numbers in every run.
//!
//! Without a seed, or with `None`, the seed comes from the system. Whether a variable is `None`, or
//! what is called in the end where `Random` was handed on, nobody can say: so the seed must stand
//! there, and what makes or seeds a generator must be called where it is named.

use ruff_python_ast::{Arguments, Expr, Number, UnaryOp};

/// Whether this makes a generator or seeds one.
pub(super) fn is_generator(name: &str) -> bool {
    matches!(name, "Random" | "SystemRandom" | "seed")
}

/// Whether arguments are one seed that stands there.
pub(super) fn is_seeded(arguments: &Arguments) -> bool {
    arguments.keywords.is_empty() && matches!(&*arguments.args, [seed] if is_literal(seed))
}

fn is_literal(seed: &Expr) -> bool {
    match seed {
        Expr::NumberLiteral(number) => matches!(number.value, Number::Int(_)),
        Expr::StringLiteral(_) | Expr::BytesLiteral(_) => true,
        Expr::UnaryOp(minus) => minus.op == UnaryOp::USub && is_literal(&minus.operand),
        _ => false,
    }
}
