//! The tests of a task: what the model may see, and what decides.
//!
//! Visible and hidden tests are different types. A prompt is built from a
//! [`TaskView`](crate::task::TaskView), which has no hidden tests; the judge asks for them by a
//! name that says what it is doing, [`Hidden::for_the_judge`]; and printing them for debugging
//! shows their number alone, so that they cannot slip into a log that a model later reads.
//!
//! Arguments and expected values are raw JSON text: integers of any length and floats as written.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::assert_list;
use crate::wire::{Object, message};

/// The tests of a task, by how they are run.
#[derive(Debug, Clone)]
pub enum Tests {
    /// Python `assert` statements about functions that the program defines (MBPP).
    Asserts(Suite<String>),
    /// Calls of one function with the values they must return (APPS, LeetCode).
    Calls {
        /// The function, or `Class.method`; in files also `Class().method`.
        entry_point: String,
        /// The calls.
        suite: Suite<Call>,
    },
    /// Test code with a `check(candidate)` function (HumanEval).
    Script {
        /// The function handed to `check`, or `Class.method`; in files also `Class().method`.
        entry_point: String,
        /// The test code.
        suite: Suite<String>,
    },
    /// Whole programs that read standard input and write standard output (APPS).
    Stdio(Suite<Io>),
    /// None: the task's line has no `tests`. Nothing is run, and replies are worth their static terms.
    Absent,
}

/// Tests of one kind.
#[derive(Debug, Clone)]
pub struct Suite<T> {
    /// Tests that a prompt may show.
    pub visible: Visible<T>,
    /// Tests that the reward depends on; never empty.
    pub hidden: Hidden<T>,
    /// Decides in place of a comparison with the expected value, where several answers are right.
    pub checker: Option<Checker>,
    /// The comparison of outputs. Only whole programs have outputs.
    pub compare: Compare,
}

/// A program of the task's author that decides whether an answer is right: Python source which defines
/// `check(input, expected, answer)` and returns `True` or `False`. Hidden like the tests it decides.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Checker(String);

/// The comparison of an output with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// Line by line, token by token.
    #[default]
    Lines,
    /// Token by token: line breaks are blanks like others.
    Tokens,
}

/// Tests that a prompt may show.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Visible<T>(Vec<T>);

/// Tests that only the judge may see.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hidden<T>(Vec<T>);

/// One call and what it must return.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Positional arguments.
    #[serde(default)]
    pub args: Vec<Box<RawValue>>,
    /// Named arguments, a JSON object.
    #[serde(default)]
    pub kwargs: Object,
    /// The value it must return.
    pub expected: Box<RawValue>,
    /// Other values that are right too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Box<RawValue>>,
}

/// One run of a whole program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Its standard input.
    pub input: String,
    /// The expected standard output.
    pub output: String,
    /// Other outputs that are right too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
}

/// Why tests cannot judge anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TestsError {
    /// There is nothing to fail.
    #[error("`hidden` is empty: a task without hidden tests would pay every program")]
    NoHidden,
    /// Calls and scripts need a function to call.
    #[error("kind `{0}` needs an `entry_point`")]
    NoEntryPoint(&'static str),
    /// The other kinds have none.
    #[error("kind `{0}` has no `entry_point`")]
    UnusedEntryPoint(&'static str),
    /// The entry point is no dotted name.
    #[error("`entry_point` {0:?} is not a name such as `add` or `Solution.add`")]
    BadEntryPoint(String),
    /// A script decides by itself.
    #[error("kind `script` has no `checker`: its own `check` decides")]
    UnusedChecker,
    /// A checker without code.
    #[error(
        "`checker` is blank, expected Python code that defines `check(input, expected, answer)`"
    )]
    BlankChecker,
    /// Only whole programs have outputs.
    #[error("kind `{0}` has no `compare`: only `stdio` has")]
    UnusedCompare(&'static str),
    /// With a checker, nothing is compared.
    #[error("`compare` and `checker` cannot both be set: the checker alone decides")]
    CheckerAndCompare,
}

impl Tests {
    /// The kind's name in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Asserts(_) => "asserts",
            Self::Calls { .. } => "calls",
            Self::Script { .. } => "script",
            Self::Stdio(_) => "stdio",
            Self::Absent => "absent",
        }
    }

    /// The function that the tests call, where the kind has one.
    pub fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Calls { entry_point, .. } | Self::Script { entry_point, .. } => Some(entry_point),
            Self::Asserts(_) | Self::Stdio(_) | Self::Absent => None,
        }
    }

    /// The program that decides in place of a comparison, where the task has one.
    pub fn checker(&self) -> Option<&Checker> {
        match self {
            Self::Asserts(suite) | Self::Script { suite, .. } => suite.checker.as_ref(),
            Self::Calls { suite, .. } => suite.checker.as_ref(),
            Self::Stdio(suite) => suite.checker.as_ref(),
            Self::Absent => None,
        }
    }

    /// The comparison of outputs.
    pub fn compare(&self) -> Compare {
        match self {
            Self::Stdio(suite) => suite.compare,
            Self::Asserts(_) | Self::Calls { .. } | Self::Script { .. } | Self::Absent => {
                Compare::default()
            }
        }
    }

    /// The number of hidden tests.
    pub fn hidden_count(&self) -> usize {
        match self {
            Self::Asserts(suite) | Self::Script { suite, .. } => suite.hidden.len(),
            Self::Calls { suite, .. } => suite.hidden.len(),
            Self::Stdio(suite) => suite.hidden.len(),
            Self::Absent => 0,
        }
    }

    /// Whether there is nothing to run a program against.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl<T> Suite<T> {
    /// Tests of one kind, at least one of them hidden.
    pub fn new(visible: Vec<T>, hidden: Vec<T>) -> Result<Self, TestsError> {
        if hidden.is_empty() {
            return Err(TestsError::NoHidden);
        }
        let (visible, hidden) = (Visible(visible), Hidden(hidden));
        Ok(Self { visible, hidden, checker: None, compare: Compare::default() })
    }
}

impl<T> Visible<T> {
    /// The tests.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> Hidden<T> {
    /// The tests, to judge a program with. Nothing else may look at them (invariant 4).
    pub fn for_the_judge(&self) -> &[T] {
        &self.0
    }

    /// The number of tests.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Checker {
    /// A checker with this code.
    pub fn new(code: String) -> Result<Self, TestsError> {
        if code.trim().is_empty() { Err(TestsError::BlankChecker) } else { Ok(Self(code)) }
    }

    /// The code, to judge a program with. Nothing else may look at it (invariant 4).
    pub fn for_the_judge(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checker({} bytes)", self.0.len())
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({} tests)", self.0.len())
    }
}

const NO_KIND: &str = "`kind` is missing, expected `asserts`, `calls`, `script` or `stdio`";

/// The tests as they stand in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTests {
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry_point: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compare: Option<Compare>,
    #[serde(default)]
    visible: Vec<Box<RawValue>>,
    hidden: Vec<Box<RawValue>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Asserts,
    Calls,
    Script,
    Stdio,
}

impl<'de> Deserialize<'de> for Tests {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        read_json(raw.get()).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Tests {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry_point = self.entry_point().map(str::to_owned);
        let (kind, visible, hidden) = match self {
            Self::Asserts(suite) => (Kind::Asserts, raw(&suite.visible), raw(&suite.hidden)),
            Self::Calls { suite, .. } => (Kind::Calls, raw(&suite.visible), raw(&suite.hidden)),
            Self::Script { suite, .. } => (Kind::Script, raw(&suite.visible), raw(&suite.hidden)),
            Self::Stdio(suite) => (Kind::Stdio, raw(&suite.visible), raw(&suite.hidden)),
            Self::Absent => return serializer.serialize_none(),
        };
        let raw = |list: Result<_, _>| list.map_err(serde::ser::Error::custom);
        let checker = self.checker().map(|checker| checker.0.clone());
        let compare = Some(self.compare()).filter(|compare| *compare != Compare::default());
        let (visible, hidden) = (raw(visible)?, raw(hidden)?);
        let kind = Some(kind);
        RawTests { kind, entry_point, checker, compare, visible, hidden }.serialize(serializer)
    }
}

/// Tests as an object, or as a plain list of asserts.
fn read_json(json: &str) -> Result<Tests, String> {
    if json.starts_with('[') {
        let suite = Suite::new(Vec::new(), assert_list::read(json)?);
        return Ok(Tests::Asserts(suite.map_err(|err| err.to_string())?));
    }
    if !json.starts_with('{') {
        return Err(assert_list::wrong_type(json));
    }
    let raw: RawTests = serde_json::from_str(json).map_err(|err| message(&err))?;
    let kind = raw.kind.ok_or(NO_KIND)?;
    read(&raw, kind)
}

fn read(raw: &RawTests, kind: Kind) -> Result<Tests, String> {
    let entry_point = raw.entry_point.clone();
    let called = |kind| {
        let name = entry_point.clone().ok_or(TestsError::NoEntryPoint(kind));
        // `Solution().add` is `Solution.add`: of a class an object is made.
        name.map(|name| name.replace("().", "."))
            .and_then(|name| {
                if is_dotted_name(&name) { Ok(name) } else { Err(TestsError::BadEntryPoint(name)) }
            })
            .map_err(|err| err.to_string())
    };
    let uncalled = |kind| match entry_point {
        Some(_) => Err(TestsError::UnusedEntryPoint(kind).to_string()),
        None => Ok(()),
    };
    let compared = |kind| match raw.compare {
        Some(_) => Err(TestsError::UnusedCompare(kind).to_string()),
        None => Ok(()),
    };
    match kind {
        Kind::Asserts => compared("asserts")?,
        Kind::Calls => compared("calls")?,
        Kind::Script => compared("script")?,
        Kind::Stdio if raw.compare.is_some() && raw.checker.is_some() => {
            return Err(TestsError::CheckerAndCompare.to_string());
        }
        Kind::Stdio => {}
    }
    Ok(match kind {
        Kind::Asserts => {
            uncalled("asserts")?;
            Tests::Asserts(suite(raw)?)
        }
        Kind::Stdio => {
            uncalled("stdio")?;
            Tests::Stdio(suite(raw)?)
        }
        Kind::Calls => Tests::Calls { entry_point: called("calls")?, suite: suite(raw)? },
        Kind::Script if raw.checker.is_some() => {
            return Err(TestsError::UnusedChecker.to_string());
        }
        Kind::Script => Tests::Script { entry_point: called("script")?, suite: suite(raw)? },
    })
}

fn suite<T: serde::de::DeserializeOwned>(raw: &RawTests) -> Result<Suite<T>, String> {
    let list = |name, list: &[Box<RawValue>]| -> Result<Vec<T>, String> {
        let mut items = Vec::with_capacity(list.len());
        for (at, text) in list.iter().enumerate() {
            let item = serde_json::from_str(text.get());
            items.push(item.map_err(|err| format!("{name}[{at}]: {}", message(&err)))?);
        }
        Ok(items)
    };
    let checker =
        raw.checker.clone().map(Checker::new).transpose().map_err(|err| err.to_string())?;
    let suite = Suite::new(list("visible", &raw.visible)?, list("hidden", &raw.hidden)?);
    let suite = suite.map_err(|err| err.to_string())?;
    Ok(Suite { checker, compare: raw.compare.unwrap_or_default(), ..suite })
}

fn raw(list: &impl Serialize) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(list)?)
}

fn is_dotted_name(name: &str) -> bool {
    name.split('.').all(|part| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| first.is_alphabetic() || "_$".contains(first))
            && chars.all(|c| c.is_alphanumeric() || "_$".contains(c))
    })
}
