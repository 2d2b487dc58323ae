//! One value as a key's kind reads it.

use toml::de::{DeInteger, DeValue};

use super::schema::{Bounds, Choice, Field, Kind};

/// `value` parsed as `kind`, or the problem with it.
pub(super) fn read(value: &DeValue<'_>, kind: &Kind) -> Result<toml::Value, String> {
    let wrong = |expected: &str| Err(format!("{}, expected {expected}", describe(value)));
    match (kind, value) {
        (Kind::Integer(bounds), DeValue::Integer(number)) => integer(number, bounds),
        (Kind::Number(bounds), DeValue::Integer(number)) => float(number.as_str(), bounds),
        (Kind::Number(bounds), DeValue::Float(number)) => float(number.as_str(), bounds),
        (Kind::Bool, DeValue::Boolean(value)) => Ok((*value).into()),
        (Kind::Text { filled }, DeValue::String(text)) => {
            if *filled && text.trim().is_empty() {
                wrong("some text")
            } else {
                Ok(text.as_ref().into())
            }
        }
        (Kind::Choice(choices), DeValue::String(word)) => {
            let is_named = |choice: &&Choice| {
                choice.word == word.as_ref() || choice.aliases.iter().any(|alias| alias == word)
            };
            match choices.iter().find(is_named) {
                Some(choice) => Ok(choice.word.as_str().into()),
                None => wrong(&expected(kind)),
            }
        }
        (Kind::List { filled: true, .. }, DeValue::Array(items)) if items.is_empty() => {
            wrong("at least one item")
        }
        (Kind::List { item, .. }, DeValue::Array(items)) => {
            let items = items.iter().enumerate().map(|(at, value)| {
                read(value.get_ref(), item).map_err(|problem| format!("item {}: {problem}", at + 1))
            });
            items.collect::<Result<Vec<_>, _>>().map(toml::Value::Array)
        }
        _ => wrong(&expected(kind)),
    }
}

/// The expected type of a key, as text.
pub(super) fn expected(kind: &Kind) -> String {
    let with = |what: &str, bounds: &Bounds| match bounds.words() {
        words if words.is_empty() => what.to_owned(),
        words => format!("{what} {words}"),
    };
    match kind {
        Kind::Section(_) => "a section with keys of its own".to_owned(),
        Kind::Integer(bounds) => with("a whole number", bounds),
        Kind::Number(bounds) => with("a number", bounds),
        Kind::Bool => "true or false".to_owned(),
        Kind::Text { .. } => "text".to_owned(),
        Kind::Choice(choices) => {
            let words: Vec<_> = choices.iter().map(|choice| format!("`{}`", choice.word)).collect();
            format!("one of {}", words.join(", "))
        }
        Kind::List { item, .. } => format!("a list, each item {}", expected(item)),
    }
}

/// A value as a message names it, at most 60 characters of it.
pub(super) fn describe(value: &DeValue<'_>) -> String {
    let text = match value {
        DeValue::String(text) => format!("text {:?}", brief(text)),
        DeValue::Integer(number) => format!("number {}", brief(&number.to_string())),
        DeValue::Float(number) => format!("number {}", brief(number.as_str())),
        DeValue::Boolean(value) => format!("`{value}`"),
        DeValue::Datetime(date) => format!("date {date}"),
        DeValue::Array(items) => format!("a list of {}", items.len()),
        DeValue::Table(_) => "a section".to_owned(),
    };
    format!("is {text}")
}

/// The default of a key as TOML writes it.
pub(super) fn default_text(field: &Field) -> String {
    toml_text(&field.default)
}

/// A JSON value as TOML writes it.
pub(super) fn toml_text(value: &serde_json::Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| String::new(), |value| value.to_string())
}

fn integer(number: &DeInteger<'_>, bounds: &Bounds) -> Result<toml::Value, String> {
    let digits = number.as_str();
    let out = || {
        let found = brief(&number.to_string());
        Err(format!("is {found}, expected {}", expected(&Kind::Integer(*bounds))))
    };
    let Ok(value) = i64::from_str_radix(digits, number.radix()) else { return out() };
    #[expect(clippy::cast_precision_loss, reason = "bounds are far coarser than the rounding")]
    let near = value as f64;
    if bounds.hold(near) { Ok(value.into()) } else { out() }
}

fn float(digits: &str, bounds: &Bounds) -> Result<toml::Value, String> {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() && bounds.hold(value) => Ok(value.into()),
        _ => {
            let found = brief(digits);
            Err(format!("is {found}, expected {}", expected(&Kind::Number(*bounds))))
        }
    }
}

fn brief(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(60).collect();
    if chars.next().is_some() { format!("{start}…") } else { start }
}
