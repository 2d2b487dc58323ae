//! A model as JSON, in the body of a task:
//!
//! ```json
//! {"objective":"maximize",
//!  "variables":[{"name":"x1","cost":3,"upper":40,"integer":true}],
//!  "rows":[{"name":"c1","terms":[["x1",2]],"upper":60}]}
//! ```
//!
//! A bound that is absent is 0 below and infinite above for a variable, and infinite for a row; `"lower":null` makes
//! a variable unbounded below.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize};
use whetstone_solver::{Kind, Model, Objective, Row, Term, Variable};

/// Variables of a model at most.
const MAX_VARIABLES: usize = 100_000;
/// Rows of a model at most.
const MAX_ROWS: usize = 100_000;

/// A model as it stands in a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireModel {
    objective: Objective,
    variables: Vec<WireVariable>,
    rows: Vec<WireRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireVariable {
    name: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    cost: f64,
    #[serde(default = "zero", deserialize_with = "nullable", skip_serializing_if = "is_some_zero")]
    lower: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upper: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    integer: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRow {
    name: String,
    terms: Vec<(String, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lower: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upper: Option<f64>,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn zero() -> Option<f64> {
    Some(0.0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[expect(clippy::ref_option, reason = "what serde calls it with")]
fn is_some_zero(number: &Option<f64>) -> bool {
    *number == Some(0.0)
}

fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(deserializer)
}

impl From<&Model> for WireModel {
    fn from(model: &Model) -> Self {
        let finite = |number: f64| number.is_finite().then_some(number);
        let variable = |variable: &Variable| WireVariable {
            name: variable.name.clone(),
            cost: variable.cost,
            lower: finite(variable.lower),
            upper: finite(variable.upper),
            integer: variable.kind == Kind::Integer,
        };
        let name = |term: &Term| model.variables[term.variable].name.clone();
        let row = |row: &Row| WireRow {
            name: row.name.clone(),
            terms: row.terms.iter().map(|term| (name(term), term.coefficient)).collect(),
            lower: finite(row.lower),
            upper: finite(row.upper),
        };
        Self {
            objective: model.objective,
            variables: model.variables.iter().map(variable).collect(),
            rows: model.rows.iter().map(row).collect(),
        }
    }
}

impl WireModel {
    /// The model.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with it.
    pub fn into_model(self) -> Result<Model, String> {
        if self.variables.len() > MAX_VARIABLES || self.rows.len() > MAX_ROWS {
            return Err(format!(
                "the model has {} rows and {} variables, at most {MAX_ROWS} and {MAX_VARIABLES} are taken",
                self.rows.len(),
                self.variables.len()
            ));
        }
        let names = self.variables.iter().enumerate();
        let index: HashMap<String, usize> =
            names.map(|(at, variable)| (variable.name.clone(), at)).collect();
        let rows = self.rows.into_iter().map(|row| row.into_row(&index));
        let rows = rows.collect::<Result<_, _>>()?;
        let variables = self.variables.into_iter().map(WireVariable::into_variable).collect();
        let model = Model { name: String::new(), objective: self.objective, variables, rows };
        model.check().map_err(|err| err.to_string())?;
        Ok(model)
    }
}

impl WireVariable {
    fn into_variable(self) -> Variable {
        Variable {
            name: self.name,
            cost: self.cost,
            lower: self.lower.unwrap_or(f64::NEG_INFINITY),
            upper: self.upper.unwrap_or(f64::INFINITY),
            kind: if self.integer { Kind::Integer } else { Kind::Continuous },
        }
    }
}

impl WireRow {
    fn into_row(self, index: &HashMap<String, usize>) -> Result<Row, String> {
        let Self { name, terms, lower, upper } = self;
        let mut found = Vec::with_capacity(terms.len());
        for (variable, coefficient) in terms {
            let Some(&variable) = index.get(&variable) else {
                return Err(format!(
                    "row `{name}` names variable `{variable}`, which there is not"
                ));
            };
            found.push(Term { variable, coefficient });
        }
        let (lower, upper) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
        Ok(Row { name, terms: found, lower, upper })
    }
}
