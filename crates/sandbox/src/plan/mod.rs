//! A task's tests as steps: what the program is asked, and what the answer is held against.
//!
//! Expected values are taken out of the tests here, so that what is sent to a program's process is
//! a call and nothing more. A test that cannot be read is the task's fault: an error that names the
//! test, never a verdict on a program.
//!
//! Parsing recurses with its input; bounds keep it within two megabytes of stack.

mod asserts;
mod names;
mod python;
mod setup;
mod source;

#[cfg(test)]
mod corpus;

use whetstone_core::program::Language;
use whetstone_core::tests::{Call, Io, Tests};

pub use source::{MAX_SOURCE_BYTES, SourceError};

use crate::value::{JsonError, MAX_BYTES, Rule, Value, encode, equal, from_json};
use names::Names;
use setup::Setup;
use source::Source;

/// What is to be done with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Runs in the program's namespace before it, and in a checker's before its test.
    pub before: String,
    /// Runs in the program's namespace after it: setup that needs the program.
    pub after: String,
    /// The hidden tests in their order, one step each.
    pub steps: Vec<Step>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Evaluate in the program's namespace; the value must be an expected one.
    Value {
        /// One Python expression.
        expression: String,
        /// What is right.
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
        /// What is right.
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
    /// How they are compared.
    pub rule: Rule,
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
    #[error("hidden test {test} cannot be used")]
    Test {
        /// Its number, from 0.
        test: usize,
        /// What is wrong.
        #[source]
        problem: SourceError,
    },
    /// A value of a test is.
    #[error("hidden test {test} cannot be used: `{part}` is no value")]
    Value {
        /// Its number, from 0.
        test: usize,
        /// Which value: `args[0]`.
        part: String,
        /// What is wrong.
        #[source]
        problem: JsonError,
    },
    /// No answer could be the expected one.
    #[error("hidden test {test} cannot be used: `{part}` is longer than an answer may be")]
    Long {
        /// Its number, from 0.
        test: usize,
        /// Which value.
        part: String,
    },
    /// A script without its function.
    #[error("hidden test {test} cannot be used: it defines no function `check`")]
    NoCheck {
        /// Its number, from 0.
        test: usize,
    },
    /// Tests in Python of a program in another language.
    #[error("tests of kind `{kind}` are Python; for JavaScript there are `calls` and `stdio`")]
    Language {
        /// The tests' kind.
        kind: &'static str,
    },
}

/// The steps that a task's hidden tests are.
pub fn plan(tests: &Tests, setup: &str, language: Language) -> Result<Plan, PlanError> {
    let setup = match language {
        Language::Python => Setup::split(setup).map_err(PlanError::Setup)?,
        Language::Javascript => Setup::foreign(setup),
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
    };
    Ok(Plan { before: setup.before, after: setup.after, steps })
}

fn numbered<T>(
    tests: &[T],
    step: impl Fn(usize, &T) -> Result<Step, PlanError>,
) -> Result<Vec<Step>, PlanError> {
    tests.iter().enumerate().map(|(number, test)| step(number, test)).collect()
}

fn script(test: usize, text: &str, setup: &Setup, entry_point: &str) -> Result<Step, PlanError> {
    let failed = |problem| PlanError::Test { test, problem };
    let source = Source::parse(text).map_err(failed)?;
    let names = Names::of(source.tree.suite());
    if names.outside {
        return Err(failed(SourceError::Outside));
    }
    if !names.bound.contains("check") {
        return Err(PlanError::NoCheck { test });
    }
    Ok(asserts::checked(source, &names, setup, Some(entry_point)))
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
        Value::Dict(pairs) => pairs.into_iter().filter_map(named).collect(),
        _ => Vec::new(),
    };
    Ok(Step::Call {
        entry_point: entry_point.to_owned(),
        args: args.collect::<Result<_, _>>()?,
        kwargs,
        expected: Expected { any_of, rule: Rule { sequences_alike: true } },
    })
}

fn run(io: &Io) -> Step {
    let outputs = std::iter::once(&io.output).chain(&io.alternatives);
    Step::Run {
        input: io.input.clone().into_bytes(),
        any_of: outputs.map(|output| output.clone().into_bytes()).collect(),
    }
}

fn named((name, value): (Value, Value)) -> Option<(String, Value)> {
    match name {
        Value::Str(name) => Some((name.to_str()?.to_owned(), value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use whetstone_core::tests::Suite;

    use super::*;

    fn asserts(tests: &[&str]) -> Tests {
        Tests::Asserts(Suite::new(vec![], tests.iter().map(ToString::to_string).collect()).unwrap())
    }

    fn tests(json: &str) -> Tests {
        serde_json::from_str(json).unwrap()
    }

    #[track_caller]
    fn fails(tests: &Tests, setup: &str, language: Language, message: &str) {
        let err = plan(tests, setup, language).unwrap_err();
        let cause = err.source().map_or(String::new(), |cause| format!(": {cause}"));
        assert_eq!(format!("{err}{cause}"), message);
    }

    #[test]
    fn calls_take_their_values_from_json_where_tuples_are_lists() {
        let text = r#"{"kind":"calls","entry_point":"S.f","hidden":[
            {"args":[1,[2.5]],"kwargs":{"b":null,"a":"x"},"expected":[1,2],"alternatives":[[2,1]]}]}"#;
        let plan = plan(&tests(text), "import re", Language::Python).unwrap();
        assert_eq!((plan.before.as_str(), plan.after.as_str()), ("import re", ""));
        let [Step::Call { entry_point, args, kwargs, expected }] = plan.steps.as_slice() else {
            panic!("{plan:?}");
        };
        assert_eq!(entry_point, "S.f");
        assert_eq!(args, &[Value::int(1), Value::List(vec![Value::Float(2.5)])]);
        assert_eq!(kwargs[0], ("b".to_owned(), Value::None));
        assert_eq!(kwargs[1], ("a".to_owned(), Value::str("x")));
        assert!(expected.accepts(&Value::Tuple(vec![Value::int(2), Value::int(1)])));
        assert!(expected.accepts(&Value::List(vec![Value::int(1), Value::Float(2.0)])));
        assert!(!expected.accepts(&Value::List(vec![Value::int(1)])));
    }

    #[test]
    fn runs_keep_every_output_that_is_right() {
        let text = r#"{"kind":"stdio","hidden":[{"input":"1","output":"2","alternatives":["3"]}]}"#;
        let plan = plan(&tests(text), "not Python", Language::Javascript).unwrap();
        assert_eq!(plan.before, "not Python");
        let any_of = vec![b"2".to_vec(), b"3".to_vec()];
        assert_eq!(plan.steps, [Step::Run { input: b"1".to_vec(), any_of }]);
    }

    #[test]
    fn a_script_is_one_check_of_its_entry_point() {
        let code =
            "METADATA = {}\ndef check(candidate):\n    assert poly(candidate(1)) < math.pi\n";
        let suite = Suite::new(vec![], vec![code.to_owned()]).unwrap();
        let tests = Tests::Script { entry_point: "f".to_owned(), suite };
        let plan = plan(&tests, "", Language::Python).unwrap();
        let expected = Step::Check {
            code: code.to_owned(),
            proxies: vec!["poly".to_owned()],
            modules: vec!["math".to_owned()],
            entry_point: Some("f".to_owned()),
        };
        assert_eq!(plan.steps, [expected]);
    }

    #[test]
    fn a_test_that_cannot_be_used_is_named() {
        let python = Language::Python;
        fails(
            &asserts(&["assert f(1) == 2", "assert f(1) ==\n"]),
            "",
            python,
            "hidden test 1 cannot be used: it is not valid Python: line 1, column 15: \
             Expected an expression",
        );
        fails(
            &asserts(&["assert f((yield)) == 1"]),
            "",
            python,
            "hidden test 0 cannot be used: it is not valid Python: `return`, `yield` or `await` \
             outside of a function",
        );
        let setup = plan(&asserts(&["assert f(1)"]), "import", python);
        assert!(matches!(setup, Err(PlanError::Setup(SourceError::Syntax { line: 1, .. }))));
        let script = r#"{"kind":"script","entry_point":"f","hidden":["assert True"]}"#;
        fails(
            &tests(script),
            "",
            python,
            "hidden test 0 cannot be used: it defines no function `check`",
        );
        let twice = r#"{"kind":"calls","entry_point":"f","hidden":[{"expected":1},
            {"args":[1,{"a":1,"a":2}],"expected":1}]}"#;
        fails(
            &tests(twice),
            "",
            python,
            "hidden test 1 cannot be used: `args[1]` is no value: an element of a set or a key of \
             a dict stands there twice",
        );
        let numbers = vec!["0"; 300_000].join(",");
        let long = format!(
            r#"{{"kind":"calls","entry_point":"f","hidden":[{{"args":[[{numbers}]],"expected":1}},
            {{"expected":[{numbers}]}}]}}"#
        );
        fails(
            &tests(&long),
            "",
            python,
            "hidden test 1 cannot be used: `expected` is longer than an answer may be",
        );
        fails(
            &asserts(&["assert f(1)"]),
            "",
            Language::Javascript,
            "tests of kind `asserts` are Python; for JavaScript there are `calls` and `stdio`",
        );
    }

    #[test]
    fn the_deepest_tests_are_planned_on_a_small_stack() {
        let brackets = format!("assert f({}{}) == 1", "[".repeat(198), "]".repeat(198));
        let value = format!("assert f(1) == {}{}", "[".repeat(199), "]".repeat(199));
        let chains = ["-", "not ", "lambda a, b: ", "1 + ", "1 ** "];
        let chains = chains.map(|link| format!("assert f({}1) == 1", link.repeat(490)));
        let calls = format!("assert f(1){} == 1", "().a".repeat(490));
        let both = format!("assert {}{}1{}", "-(".repeat(198), "-".repeat(790), ")".repeat(198));
        let indented: Vec<String> = (0..340).map(|at| " ".repeat(at) + "if f(1):\n").collect();
        let blocks = indented.concat() + &" ".repeat(340) + "pass";
        let all = [&[brackets, value, calls, both, blocks], &chains[..]].concat();
        let count = all.len();
        let work = move || {
            let tests = Tests::Asserts(Suite::new(vec![], all).unwrap());
            plan(&tests, "", Language::Python).map(|plan| plan.steps.len())
        };
        let small = std::thread::Builder::new().stack_size(2 << 20);
        assert_eq!(small.spawn(work).unwrap().join().unwrap(), Ok(count));
    }
}
