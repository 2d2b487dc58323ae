//! Reads a value out of a Python expression, where it is certain what `CPython` would make of it.
//!
//! Displays of constants, signs before numbers, `1+2j`, and a few calls of built-in types that have
//! no display: `set()`, `frozenset([1, 2])`, `float("inf")`. Whoever asks has made sure that those
//! names mean the built-in types, and that line ends in the source are `\n`, as `CPython` reads them.
//! Everything else gives `None` and is left to `CPython`.

use ruff_python_ast::{Expr, ExprCall, ExprDict, Number, Operator, UnaryOp};

use super::check::firsts;
use super::int::Int;
use super::{MAX_DEPTH, Text, Value, check};

/// `CPython` refuses to compile a decimal integer of more digits.
const MAX_DECIMALS: usize = 4300;

/// A float holds every integer up to here.
const EXACT: i64 = 1 << 53;

/// The value of an expression, if it is plain data beyond doubt.
pub fn literal(expression: &Expr) -> Option<Value> {
    read(expression, MAX_DEPTH).filter(|value| check(value).is_ok())
}

fn read(expression: &Expr, depth: usize) -> Option<Value> {
    Some(match expression {
        Expr::NoneLiteral(_) => Value::None,
        Expr::EllipsisLiteral(_) => Value::Ellipsis,
        Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
        Expr::NumberLiteral(literal) => number(&literal.value)?,
        Expr::StringLiteral(literal) => string(literal.value.to_str())?,
        Expr::BytesLiteral(literal) => Value::Bytes(literal.value.bytes().collect()),
        Expr::List(list) => Value::List(items(&list.elts, depth)?),
        Expr::Tuple(tuple) => Value::Tuple(items(&tuple.elts, depth)?),
        Expr::Set(set) => Value::Set(once(items(&set.elts, depth)?)),
        Expr::Dict(dict) => Value::Dict(last(pairs(dict, depth)?)),
        Expr::UnaryOp(sign) => signed(sign.op, read(&sign.operand, depth.checked_sub(1)?)?)?,
        Expr::BinOp(sum) => {
            let inner = depth.checked_sub(1)?;
            complex(read(&sum.left, inner)?, sum.op, &read(&sum.right, inner)?)?
        }
        Expr::Call(call) => made(call, depth)?,
        _ => return None,
    })
}

fn items(items: &[Expr], depth: usize) -> Option<Vec<Value>> {
    let depth = depth.checked_sub(1)?;
    items.iter().map(|item| read(item, depth)).collect()
}

fn pairs(dict: &ExprDict, depth: usize) -> Option<Vec<(Value, Value)>> {
    let depth = depth.checked_sub(1)?;
    let pair = |item: &ruff_python_ast::DictItem| {
        Some((read(item.key.as_ref()?, depth)?, read(&item.value, depth)?))
    };
    dict.items.iter().map(pair).collect()
}

fn number(number: &Number) -> Option<Value> {
    Some(match number {
        Number::Int(value) => match value.as_u64() {
            Some(small) => Value::Int(Int::from(small)),
            None => Value::Int(long(&value.to_string())?),
        },
        Number::Float(value) => Value::Float(*value),
        Number::Complex { real, imag } => Value::Complex(*real, *imag),
    })
}

fn long(token: &str) -> Option<Int> {
    let token = token.replace('_', "").to_ascii_lowercase();
    match token.get(..2) {
        Some("0x") => Int::from_bits(&token[2..], 4),
        Some("0o") => Int::from_bits(&token[2..], 3),
        Some("0b") => Int::from_bits(&token[2..], 1),
        _ if token.len() <= MAX_DECIMALS => Int::from_decimal(false, &token),
        _ => None,
    }
}

/// The parser writes U+FFFD for an escaped surrogate, so either may be meant.
fn string(text: &str) -> Option<Value> {
    (!text.contains(char::REPLACEMENT_CHARACTER)).then(|| Value::Str(Text::from(text)))
}

fn signed(sign: UnaryOp, value: Value) -> Option<Value> {
    Some(match (sign, value) {
        (UnaryOp::UAdd, value @ (Value::Int(_) | Value::Float(_) | Value::Complex(..))) => value,
        (UnaryOp::USub, Value::Int(value)) => Value::Int(value.negated()),
        (UnaryOp::USub, Value::Float(value)) => Value::Float(-value),
        (UnaryOp::USub, Value::Complex(real, imaginary)) => Value::Complex(-real, -imaginary),
        _ => return None,
    })
}

/// A real number plus or minus an imaginary one: how Python writes complex constants.
fn complex(left: Value, operator: Operator, right: &Value) -> Option<Value> {
    let real = match left {
        #[expect(clippy::cast_precision_loss, reason = "checked to be exact")]
        Value::Int(int) => int.as_i64().filter(|int| (-EXACT..=EXACT).contains(int))? as f64,
        Value::Float(float) => float,
        _ => return None,
    };
    match (operator, right) {
        (Operator::Add, Value::Complex(more, part)) => Some(Value::Complex(real + more, *part)),
        (Operator::Sub, Value::Complex(less, part)) => Some(Value::Complex(real - less, -part)),
        _ => None,
    }
}

/// `set()`, `frozenset({1})`, `float("inf")` and the like.
fn made(call: &ExprCall, depth: usize) -> Option<Value> {
    let Expr::Name(name) = call.func.as_ref() else { return None };
    if !call.arguments.keywords.is_empty() {
        return None;
    }
    match (name.id.as_str(), &*call.arguments.args) {
        ("set", []) => Some(Value::Set(vec![])),
        ("frozenset", []) => Some(Value::FrozenSet(vec![])),
        ("dict", []) => Some(Value::Dict(vec![])),
        ("list", []) => Some(Value::List(vec![])),
        ("tuple", []) => Some(Value::Tuple(vec![])),
        ("set", [of]) => Some(Value::Set(elements(of, depth)?)),
        ("frozenset", [of]) => Some(Value::FrozenSet(elements(of, depth)?)),
        ("float", [Expr::StringLiteral(text)]) => match text.value.to_str() {
            "inf" => Some(Value::Float(f64::INFINITY)),
            "-inf" => Some(Value::Float(f64::NEG_INFINITY)),
            "nan" => Some(Value::Float(f64::NAN)),
            _ => None,
        },
        _ => None,
    }
}

fn elements(of: &Expr, depth: usize) -> Option<Vec<Value>> {
    let items = match of {
        Expr::List(list) => items(&list.elts, depth),
        Expr::Tuple(tuple) => items(&tuple.elts, depth),
        Expr::Set(set) => items(&set.elts, depth),
        _ => None,
    };
    items.map(once)
}

/// The elements of a set: of equal ones the first stays.
fn once(items: Vec<Value>) -> Vec<Value> {
    let firsts = firsts(&items.iter().collect::<Vec<_>>(), &mut None);
    let items = items.into_iter().zip(firsts).enumerate();
    items.filter(|(at, (_, first))| at == first).map(|(_, (item, _))| item).collect()
}

/// The pairs of a dict: of equal keys the first stays, with the last one's value.
fn last(pairs: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    let firsts = firsts(&pairs.iter().map(|(key, _)| key).collect::<Vec<_>>(), &mut None);
    let mut kept: Vec<(Value, Value)> = Vec::with_capacity(pairs.len());
    let mut places = Vec::with_capacity(pairs.len());
    for (at, ((key, value), first)) in pairs.into_iter().zip(firsts).enumerate() {
        if at == first {
            places.push(kept.len());
            kept.push((key, value));
        } else {
            let place: usize = places[first];
            places.push(place);
            kept[place].1 = value;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_expression;

    use super::*;

    fn value(source: &str) -> Option<Value> {
        literal(parse_expression(source).unwrap().expr())
    }

    #[track_caller]
    fn is(source: &str, expected: &Value) {
        assert_eq!(value(source).as_ref(), Some(expected), "{source}");
    }

    #[track_caller]
    fn unknown(source: &str) {
        assert_eq!(value(source), None, "{source}");
    }

    #[test]
    fn constants_and_displays_are_values() {
        is("None", &Value::None);
        is("...", &Value::Ellipsis);
        is("(True)", &Value::Bool(true));
        is("0x_FF", &Value::int(255));
        is("'a' \"b\" u'\\n'", &Value::str("ab\n"));
        is("b'a' rb'\\x'", &Value::Bytes(b"a\\x".to_vec()));
        is("b'\\xff\\777'", &Value::Bytes(vec![255, 255]));
        is("(1,)", &Value::Tuple(vec![Value::int(1)]));
        is("[()]", &Value::List(vec![Value::Tuple(vec![])]));
        is("{1, 2}", &Value::Set(vec![Value::int(1), Value::int(2)]));
        is("{'a': 1.5}", &Value::Dict(vec![(Value::str("a"), Value::Float(1.5))]));
    }

    #[test]
    fn integers_of_any_base_and_length_are_exact() {
        let googol = format!("1{}", "0".repeat(100));
        let expected = Value::Int(Int::from_decimal(false, &googol).unwrap());
        is(&googol, &expected);
        is(
            "0x1249ad2594c37ceb0b2784c4ce0bf38ace408e211a7caab24308a82e8f10000000000000000000000000",
            &expected,
        );
        is("18446744073709551615", &Value::Int(Int::from(u64::MAX)));
        is("-9_223_372_036_854_775_808", &Value::int(i64::MIN));
        is("0b1", &Value::int(1));
        is("0O17", &Value::int(15));
        is(
            &"9".repeat(MAX_DECIMALS),
            &Value::Int(Int::from_decimal(false, &"9".repeat(MAX_DECIMALS)).unwrap()),
        );
        unknown(&"9".repeat(MAX_DECIMALS + 1));
    }

    #[test]
    fn signs_and_complex_sums_are_calculated() {
        is("-1", &Value::int(-1));
        is("+-1.5", &Value::Float(-1.5));
        is("1+2j", &Value::Complex(1.0, 2.0));
        is("-1.5-2j", &Value::Complex(-1.5, -2.0));
        is("-2j", &Value::Complex(-0.0, -2.0));
        unknown("1+2");
        unknown("2j+1");
        unknown("9007199254740993+1j");
        unknown("True+1j");
        unknown("-True");
        unknown("~1");
        unknown("not 1");
    }

    #[test]
    fn types_without_a_display_are_made() {
        is("set()", &Value::Set(vec![]));
        is("frozenset([1])", &Value::FrozenSet(vec![Value::int(1)]));
        is("set((1, 'a'))", &Value::Set(vec![Value::int(1), Value::str("a")]));
        is("float('-inf')", &Value::Float(f64::NEG_INFINITY));
        is("float(\"nan\")", &Value::Float(f64::NAN));
        is("dict()", &Value::Dict(vec![]));
        unknown("set('ab')");
        unknown("set([1], [2])");
        unknown("dict(a=1)");
        unknown("float('1')");
        unknown("a.set()");
    }

    #[test]
    fn of_equal_elements_the_first_stays_and_of_equal_keys_the_last_value() {
        is("{1, 1.0, True, 2}", &Value::Set(vec![Value::int(1), Value::int(2)]));
        is("set([(1,), (True,)])", &Value::Set(vec![Value::Tuple(vec![Value::int(1)])]));
        let (a, b) = (Value::str("a"), Value::str("b"));
        let expected = vec![(Value::int(1), b.clone()), (a, Value::int(3)), (b, Value::int(2))];
        is("{1: 'a', 'a': 1, True: 'b', 'b': 2, 'a': 3}", &Value::Dict(expected));
    }

    #[test]
    fn what_is_doubtful_is_left_to_python() {
        unknown("x");
        unknown("f'{1}'");
        unknown("[*[1]]");
        unknown("{**{}}");
        unknown("[x for x in []]");
        unknown("'\\ud800'");
        unknown("{[1]}");
        unknown("set([[1]])");
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(value(&nested(MAX_DEPTH)).is_some());
        unknown(&nested(MAX_DEPTH + 1));
    }
}
