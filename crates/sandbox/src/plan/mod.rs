//! A task's tests as steps: the questions to the program, and the expected answers.
//!
//! Expected values are taken out of the tests here, so that what is sent to a program's process is
//! a call and nothing more. A test that cannot be read is the task's fault: an error that names the
//! test, never a verdict on a program.
//!
//! Parsing recurses with its input; bounds keep it within two megabytes of stack.

mod answers;
mod asserts;
mod checker;
mod comparing;
pub mod constant;
mod follow;
mod function;
mod given;
mod judged;
mod literal_call;
mod names;
mod parts;
mod python;
mod question;
mod setup;
mod source;
mod stars;
mod unused;
mod wildcard;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use whetstone_core::program::Language;
use whetstone_core::tests::{Call, Io, Tests};

pub use checker::CheckerInput;
pub use literal_call::{LiteralCall, literal_call};
pub use python::is_builtin;
pub use source::{MAX_SOURCE_BYTES, SourceError};
pub use wildcard::equal_to_everything;

use crate::stdio::StdioRule;
use crate::value::{EqualityRule, JsonError, MAX_BYTES, Value, encode, equal, from_json};
use names::ScopeNames;
use setup::TestSetup;
use source::ParsedSource;

/// The steps of judging a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Runs in the program's namespace before it: setup that needs nothing of the program.
    pub before: String,
    /// Runs in the program's namespace after it: setup that gives values to the program.
    pub after: String,
    /// Runs in a checker's namespace before each test: all of the setup but `after`.
    pub checker_setup: String,
    /// The hidden tests in their order, one step each.
    pub steps: Vec<Step>,
    /// Decides in place of a comparison: code of the task's author, for a process of its own.
    pub checker: Option<String>,
    /// The comparison of outputs.
    pub compare: StdioRule,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Evaluate in the program's namespace; the value must be an expected one.
    Value {
        /// One Python expression.
        expression: String,
        /// The expected value.
        expected: Expected,
    },
    /// Evaluate in the program's namespace; only the truth of the value counts.
    Truth {
        /// One Python expression.
        expression: String,
        /// Whether it must be true or false.
        expected: bool,
    },
    /// Call the entry point with plain data; what it returns must be an expected value.
    Call {
        /// The function, or `Class.method`.
        entry_point: String,
        /// Positional arguments.
        args: Vec<Value>,
        /// Named arguments.
        kwargs: Vec<(String, Value)>,
        /// The expected value.
        expected: Expected,
    },
    /// Test code for a checker process, which never loads the program.
    Check {
        /// Python statements.
        code: String,
        /// Names that are the program's: each is a proxy there that calls the program, unless the
        /// setup, with a star import, has made the name after all.
        proxies: Vec<String>,
        /// Modules of the standard library that the code uses without importing them.
        modules: Vec<String>,
        /// If there is one, `code` defines `check`, to be called with a proxy of this function.
        entry_point: Option<String>,
    },
    /// Run the whole program on this input; what it writes must match an expected output by the
    /// rules of [`stdio`](crate::stdio).
    Run {
        /// Its standard input.
        input: Vec<u8>,
        /// Outputs that are right.
        any_of: Vec<Vec<u8>>,
    },
}

/// Values that are right, and what counts as equal to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The values; never empty.
    pub any_of: Vec<Value>,
    /// The comparison.
    pub rule: EqualityRule,
}

impl Expected {
    /// Whether a value is one of them.
    pub fn accepts(&self, value: &Value) -> bool {
        self.any_of.iter().any(|expected| equal(value, expected, self.rule))
    }
}

/// Why a task's tests cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The setup is at fault.
    #[error("the setup cannot be used")]
    Setup(#[source] SourceError),
    /// The code of a test is.
    #[error("hidden test {} cannot be used", .test + 1)]
    Test {
        /// Its number, from 0.
        test: usize,
        /// The problem.
        #[source]
        problem: SourceError,
    },
    /// A value of a test is.
    #[error("hidden test {} cannot be used: `{part}` is no value", .test + 1)]
    Value {
        /// Its number, from 0.
        test: usize,
        /// The path of the value: `args[0]`.
        part: String,
        /// The problem.
        #[source]
        problem: JsonError,
    },
    /// No answer could be the expected one.
    #[error("hidden test {} cannot be used: `{part}` is longer than an answer may be", .test + 1)]
    Long {
        /// Its number, from 0.
        test: usize,
        /// The path of the value.
        part: String,
    },
    /// A script without its function.
    #[error("hidden test {} cannot be used: it defines no function `check`", .test + 1)]
    NoCheck {
        /// Its number, from 0.
        test: usize,
    },
    /// The checker cannot be read.
    #[error("the checker cannot be used")]
    Checker(#[source] SourceError),
    /// It does not define what is called.
    #[error("the checker cannot be used: it defines no function `check`")]
    NoCheckFunction,
    /// A test that has no answer to check.
    #[error("hidden test {} cannot be used: with a checker, write `assert call == value`", .test + 1)]
    Unchecked {
        /// Its number, from 0.
        test: usize,
    },
    /// Two ways to say what is right.
    #[error("hidden test {} cannot be used: it has `alternatives` beside the checker", .test + 1)]
    Alternatives {
        /// Its number, from 0.
        test: usize,
    },
    /// Tests in Python of a program in another language.
    #[error("tests of kind `{kind}` are Python; for JavaScript there are `calls` and `stdio`")]
    Language {
        /// The tests' kind.
        kind: &'static str,
    },
    /// There is nothing to judge by.
    #[error("the task has no tests")]
    Absent,
}

/// The steps that a task's hidden tests are.
pub fn plan(tests: &Tests, setup: &str, language: Language) -> Result<Plan, PlanError> {
    let setup = match language {
        Language::Python => TestSetup::split(setup).map_err(PlanError::Setup)?,
        Language::Javascript => TestSetup::foreign(setup),
    };
    let steps = match tests {
        Tests::Asserts(_) | Tests::Script { .. } if language != Language::Python => {
            return Err(PlanError::Language { kind: tests.kind() });
        }
        Tests::Asserts(suite) => numbered(suite.hidden.for_the_judge(), |test, text| {
            asserts::step(text, &setup).map_err(|problem| PlanError::Test { test, problem })
        })?,
        Tests::Script { entry_point, suite } => {
            numbered(suite.hidden.for_the_judge(), |test, text| {
                script(test, text, &setup, entry_point)
            })?
        }
        Tests::Calls { entry_point, suite } => {
            numbered(suite.hidden.for_the_judge(), |test, step| call(test, step, entry_point))?
        }
        Tests::Stdio(suite) => suite.hidden.for_the_judge().iter().map(run).collect(),
        Tests::Absent => return Err(PlanError::Absent),
    };
    let checker = tests.checker().map(|checker| checker::read(checker, &steps)).transpose()?;
    let compare = tests.compare().into();
    let checker_setup = match language {
        Language::Python => {
            let source = ParsedSource::parse(&setup.checker).map_err(PlanError::Setup)?;
            unused::mark_unused_in_setup(&source)
        }
        Language::Javascript => setup.checker,
    };
    Ok(Plan { before: setup.before, after: setup.after, checker_setup, steps, checker, compare })
}

/// The names that a setup in Python makes at its top; none if it does not parse. Of a star import,
/// those that are known.
pub fn bound_names(setup: &str) -> BTreeSet<String> {
    ParsedSource::parse(setup)
        .map(|source| ScopeNames::of(source.tree.suite()).bound)
        .unwrap_or_default()
}

fn numbered<T>(
    tests: &[T],
    step: impl Fn(usize, &T) -> Result<Step, PlanError>,
) -> Result<Vec<Step>, PlanError> {
    tests.iter().enumerate().map(|(number, test)| step(number, test)).collect()
}

fn script(
    test: usize,
    text: &str,
    setup: &TestSetup,
    entry_point: &str,
) -> Result<Step, PlanError> {
    let failed = |problem| PlanError::Test { test, problem };
    let source = ParsedSource::parse(text).map_err(failed)?;
    let names = ScopeNames::of(source.tree.suite());
    if names.outside {
        return Err(failed(SourceError::Outside));
    }
    if !names.bound.contains("check") {
        return Err(PlanError::NoCheck { test });
    }
    asserts::checked(&source, &names, setup, Some(entry_point)).map_err(failed)
}

fn call(test: usize, call: &Call, entry_point: &str) -> Result<Step, PlanError> {
    let value = |part: &str, text: &str| {
        let part = part.to_owned();
        from_json(text).map_err(|problem| PlanError::Value { test, part, problem })
    };
    let args = call.args.iter().enumerate();
    let args = args.map(|(at, arg)| value(&format!("args[{at}]"), arg.get()));
    let answer = |part: &str, text: &str| {
        let value = value(part, text)?;
        let is_long = encode(&value).len() > MAX_BYTES;
        if is_long { Err(PlanError::Long { test, part: part.to_owned() }) } else { Ok(value) }
    };
    let mut any_of = vec![answer("expected", call.expected.get())?];
    for (at, other) in call.alternatives.iter().enumerate() {
        any_of.push(answer(&format!("alternatives[{at}]"), other.get())?);
    }
    // An object's keys are strings, and an object is what this is.
    let kwargs = serde_json::to_string(&call.kwargs).unwrap_or_default();
    let kwargs = match value("kwargs", &kwargs)? {
        Value::Dict(pairs) => {
            pairs.into_iter().filter_map(|(name, value)| named(name, value)).collect()
        }
        _ => Vec::new(),
    };
    Ok(Step::Call {
        entry_point: entry_point.to_owned(),
        args: args.collect::<Result<_, _>>()?,
        kwargs,
        expected: Expected { any_of, rule: EqualityRule { sequences_alike: true } },
    })
}

fn run(io: &Io) -> Step {
    let outputs = std::iter::once(&io.output).chain(&io.alternatives);
    Step::Run {
        input: io.input.clone().into_bytes(),
        any_of: outputs.map(|output| output.clone().into_bytes()).collect(),
    }
}

fn named(name: Value, value: Value) -> Option<(String, Value)> {
    match name {
        Value::Str(name) => Some((name.to_str()?.to_owned(), value)),
        _ => None,
    }
}
