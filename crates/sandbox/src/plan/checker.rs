//! A checker of the task's author: whether it can be used, and what it is told of a test.

use whetstone_core::tests::Checker;

use super::names::ScopeNames;
use super::source::ParsedSource;
use super::{PlanError, Step};
use crate::value::Value;

/// The input of a checker besides the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckerInput {
    /// For a call a dictionary with `args` and `kwargs`, for an assert the text of the call, for a whole
    /// program what it read.
    pub input: Value,
    /// The answer that the test names as a right one.
    pub expected: Value,
}

impl CheckerInput {
    /// The checker's input for a step; `None` if the step has no answer to check.
    pub fn of(step: &Step) -> Option<Self> {
        let first = |expected: &super::Expected| expected.any_of.first().cloned();
        match step {
            Step::Value { expression, expected } => {
                Some(Self { input: Value::str(expression), expected: first(expected)? })
            }
            Step::Call { args, kwargs, expected, .. } => {
                let named = kwargs.iter().map(|(name, value)| (Value::str(name), value.clone()));
                let input = Value::Dict(vec![
                    (Value::str("args"), Value::List(args.clone())),
                    (Value::str("kwargs"), Value::Dict(named.collect())),
                ]);
                Some(Self { input, expected: first(expected)? })
            }
            Step::Run { input, any_of } => {
                let text = |bytes: &[u8]| Some(Value::str(std::str::from_utf8(bytes).ok()?));
                Some(Self { input: text(input)?, expected: text(any_of.first()?)? })
            }
            Step::Truth { .. } | Step::Check { .. } => None,
        }
    }
}

/// The code of a checker, if it and the tests fit together.
pub(super) fn read(checker: &Checker, steps: &[Step]) -> Result<String, PlanError> {
    let code = checker.for_the_judge();
    let source = ParsedSource::parse(code).map_err(PlanError::Checker)?;
    if !ScopeNames::of(source.tree.suite()).bound.contains("check") {
        return Err(PlanError::NoCheckFunction);
    }
    for (test, step) in steps.iter().enumerate() {
        let answers = match step {
            Step::Value { expected, .. } | Step::Call { expected, .. } => expected.any_of.len(),
            Step::Run { any_of, .. } => any_of.len(),
            Step::Truth { .. } | Step::Check { .. } => return Err(PlanError::Unchecked { test }),
        };
        if answers != 1 {
            return Err(PlanError::Alternatives { test });
        }
    }
    Ok(code.to_owned())
}
