//! The actions of a repair, and reading one out of a reply.
//!
//! ```text
//! Action: DROP_CONSTRAINT c1          Action: RELAX_CONSTRAINT(c1, 5)
//! Action: RELAX_CONSTRAINT c1 by 5    Action: {"action": "UPDATE_RHS", "target": "c1", "value": 40}
//! ```
//!
//! The last action outside the thinking counts; how many there were is kept, so that a reply with several is seen.
//! Whatever cannot be read is an [`ActionError`] with a sentence for the model: an observation, never a failure.

use std::fmt;

use serde::Deserialize;

use super::number::show;

/// Arguments of an action at most: more are refused unread.
const MAX_ARGUMENTS: usize = 8;
/// Bytes of a name at most.
const MAX_NAME: usize = 256;

/// One action of an episode.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Show the IIS.
    GetIis,
    /// Show how far a row is from its limit, or by how much it cannot be met.
    CheckSlack {
        /// The row.
        row: String,
    },
    /// Move the limit of a row outwards; both limits of an equation.
    RelaxConstraint {
        /// The row.
        row: String,
        /// By how much, above 0.
        by: f64,
    },
    /// Remove a row.
    DropConstraint {
        /// The row.
        row: String,
    },
    /// Set the right-hand side of a row.
    UpdateRhs {
        /// The row.
        row: String,
        /// The new right-hand side.
        value: f64,
    },
    /// Set a bound of a variable.
    ChangeBound {
        /// The variable.
        variable: String,
        /// The bound.
        bound: Bound,
        /// Its new value.
        value: f64,
    },
    /// Turn `<=` into `>=`, or the other way round.
    FlipSense {
        /// The row.
        row: String,
    },
    /// Set a coefficient of a row.
    SetCoef {
        /// The row.
        row: String,
        /// The variable.
        variable: String,
        /// The new coefficient.
        value: f64,
    },
    /// Make a variable integer or continuous.
    SetType {
        /// The variable.
        variable: String,
        /// Whether it must be an integer.
        integer: bool,
    },
    /// Undo all edits.
    Reset,
    /// End the episode.
    Submit,
}

/// A bound of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The lower one.
    Lower,
    /// The upper one.
    Upper,
}

/// Why a reply has no action that can be carried out: a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionError(pub String);

/// The names of actions with their arguments, for messages and rules.
pub(super) const USAGE: [&str; 11] = [
    "GET_IIS",
    "CHECK_SLACK(row)",
    "RELAX_CONSTRAINT(row, amount)",
    "DROP_CONSTRAINT(row)",
    "UPDATE_RHS(row, value)",
    "CHANGE_BOUND(variable, lb|ub, value)",
    "FLIP_SENSE(row)",
    "SET_COEF(row, variable, value)",
    "SET_TYPE(variable, INT|CONT)",
    "RESET",
    "SUBMIT",
];

impl Action {
    /// Reads one action: what stands behind `Action:`.
    pub fn parse(text: &str) -> Result<Self, ActionError> {
        let text = text.trim().trim_matches('`').trim();
        let (name, arguments) =
            if text.starts_with('{') { from_json(text)? } else { from_call(text)? };
        build(&name, &arguments)
    }

    /// The row or variable that it is about.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::CheckSlack { row }
            | Self::RelaxConstraint { row, .. }
            | Self::DropConstraint { row }
            | Self::UpdateRhs { row, .. }
            | Self::FlipSense { row }
            | Self::SetCoef { row, .. } => Some(row),
            Self::ChangeBound { variable, .. } | Self::SetType { variable, .. } => Some(variable),
            Self::GetIis | Self::Reset | Self::Submit => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GetIis => f.write_str("GET_IIS"),
            Self::CheckSlack { row } => write!(f, "CHECK_SLACK({row})"),
            Self::RelaxConstraint { row, by } => {
                write!(f, "RELAX_CONSTRAINT({row}, {})", show(*by))
            }
            Self::DropConstraint { row } => write!(f, "DROP_CONSTRAINT({row})"),
            Self::UpdateRhs { row, value } => write!(f, "UPDATE_RHS({row}, {})", show(*value)),
            Self::ChangeBound { variable, bound, value } => {
                let bound = if *bound == Bound::Lower { "lb" } else { "ub" };
                write!(f, "CHANGE_BOUND({variable}, {bound}, {})", show(*value))
            }
            Self::FlipSense { row } => write!(f, "FLIP_SENSE({row})"),
            Self::SetCoef { row, variable, value } => {
                write!(f, "SET_COEF({row}, {variable}, {})", show(*value))
            }
            Self::SetType { variable, integer } => {
                write!(f, "SET_TYPE({variable}, {})", if *integer { "INT" } else { "CONT" })
            }
            Self::Reset => f.write_str("RESET"),
            Self::Submit => f.write_str("SUBMIT"),
        }
    }
}

/// The JSON form, as agents write it.
#[derive(Deserialize)]
struct JsonAction {
    action: String,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    value: Option<JsonValue>,
    #[serde(default)]
    value2: Option<JsonValue>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonValue {
    Number(f64),
    Text(String),
}

impl JsonValue {
    fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

fn from_json(text: &str) -> Result<(String, Vec<String>), ActionError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<JsonAction>();
    let Some(Ok(read)) = values.next() else {
        let form = r#"{"action": "NAME", "target": "row", "value": number}"#;
        return Err(ActionError(format!("the action is not JSON of the form {form}.")));
    };
    let values = [read.value, read.value2].into_iter().flatten().map(JsonValue::into_text);
    Ok((read.action, read.target.into_iter().chain(values).collect()))
}

/// `NAME(a, b)`, `NAME a b` or `NAME a by b`.
fn from_call(text: &str) -> Result<(String, Vec<String>), ActionError> {
    let name_end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let (name, rest) = text.split_at(name_end.unwrap_or(text.len()));
    let rest = rest.trim();
    let inner = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or(inside, |(inside, _)| inside),
        None => rest,
    };
    let separator = |c: char| c == ',' || c.is_whitespace();
    let arguments =
        inner.split(separator).map(|part| part.trim_matches(['"', '\'', '`', ':', '=']));
    let arguments: Vec<String> = arguments
        .filter(|part| !part.is_empty() && !["by", "to"].contains(part))
        .take(MAX_ARGUMENTS + 1)
        .map(str::to_owned)
        .collect();
    if name.is_empty() {
        return Err(ActionError(format!("no action was found. Actions: {}.", USAGE.join(", "))));
    }
    Ok((name.to_owned(), arguments))
}

fn build(name: &str, arguments: &[String]) -> Result<Action, ActionError> {
    let upper = name.to_ascii_uppercase();
    if arguments.iter().any(|argument| argument.len() > MAX_NAME) {
        return Err(ActionError(format!(
            "an argument of {upper} is longer than {MAX_NAME} bytes."
        )));
    }
    let args: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let owned = |text: &str| text.to_owned();
    match (upper.as_str(), args.as_slice()) {
        ("GET_IIS", []) => Ok(Action::GetIis),
        ("RESET", []) => Ok(Action::Reset),
        ("SUBMIT", []) => Ok(Action::Submit),
        ("CHECK_SLACK", [row]) => Ok(Action::CheckSlack { row: owned(row) }),
        ("DROP_CONSTRAINT", [row]) => Ok(Action::DropConstraint { row: owned(row) }),
        ("FLIP_SENSE", [row]) => Ok(Action::FlipSense { row: owned(row) }),
        ("RELAX_CONSTRAINT", [row, by]) => {
            Ok(Action::RelaxConstraint { row: owned(row), by: number(by)? })
        }
        ("UPDATE_RHS", [row, value]) => {
            Ok(Action::UpdateRhs { row: owned(row), value: number(value)? })
        }
        ("CHANGE_BOUND" | "UPDATE_BOUNDS", [variable, bound, value]) => Ok(Action::ChangeBound {
            variable: owned(variable),
            bound: which_bound(bound)?,
            value: number(value)?,
        }),
        ("SET_COEF", [row, variable, value]) => Ok(Action::SetCoef {
            row: owned(row),
            variable: owned(variable),
            value: number(value)?,
        }),
        ("SET_TYPE", [variable, kind]) => {
            Ok(Action::SetType { variable: owned(variable), integer: is_integer(kind)? })
        }
        _ => Err(ActionError(usage_of(&upper))),
    }
}

fn usage_of(name: &str) -> String {
    let named = |usage: &&&str| usage.split('(').next() == Some(name);
    match USAGE.iter().find(named) {
        Some(usage) => format!("the arguments of {name} are not right: {usage}."),
        None => format!("{} is no action. Actions: {}.", shortened(name), USAGE.join(", ")),
    }
}

/// The beginning of a name that may be long.
fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}

fn number(text: &str) -> Result<f64, ActionError> {
    let bad = || ActionError(format!("`{}` is not a finite number.", shortened(text)));
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(bad)
}

fn which_bound(text: &str) -> Result<Bound, ActionError> {
    match text.to_ascii_lowercase().as_str() {
        "lb" | "lower" => Ok(Bound::Lower),
        "ub" | "upper" => Ok(Bound::Upper),
        _ => Err(ActionError(format!("`{}` is no bound: lb or ub.", shortened(text)))),
    }
}

fn is_integer(text: &str) -> Result<bool, ActionError> {
    match text.to_ascii_uppercase().as_str() {
        "INT" | "INTEGER" => Ok(true),
        "CONT" | "CONTINUOUS" => Ok(false),
        _ => Err(ActionError(format!("`{}` is no type: INT or CONT.", shortened(text)))),
    }
}
