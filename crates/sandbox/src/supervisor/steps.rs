//! One question to a child, and the interpretation of its answer.
//!
//! Nothing that a child says is a verdict: it sends values, and they are compared here.

use whetstone_core::judgement::MAX_GOT_CHARS;
use whetstone_core::verdict::Verdict;

use super::child::ChildProcess;
use super::setting::token;
use super::stop::Stop;
use crate::channel::Frame;
use crate::plan::Step;
use crate::value::{Value, ValueLimits, decode, encode, show};

/// An exception of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raised {
    /// The name of its class.
    pub(crate) kind: String,
    /// The class of Python or of the setup that it is, or is derived from.
    base: String,
    /// Details for the test code, as plain data.
    details: Option<Value>,
}

/// The result of comparing an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepResult {
    /// It is what was expected.
    Right,
    /// It is not; with the answer for people, where one value is the answer, or what was answered last.
    Wrong(Option<String>),
}

impl StepResult {
    fn of(is_right: bool, answer: &Value) -> Self {
        if is_right { Self::Right } else { Self::Wrong(Some(shown(answer))) }
    }
}

/// An answer as people read it.
pub(crate) fn shown(answer: &Value) -> String {
    show(answer, MAX_GOT_CHARS)
}

/// Why a question has no right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepFailure {
    /// It raised this exception.
    Raised(Raised),
    /// It answered with something that is not plain data.
    Opaque,
    /// There will be no further answer.
    Stopped(Stop),
    /// The test itself is broken.
    Test(String),
}

impl StepFailure {
    /// The verdict, if this happened in a test.
    pub(crate) fn in_test(self, test: u32) -> Verdict {
        match self {
            Self::Raised(raised) if raised.kind == "MemoryError" => Verdict::Memory,
            Self::Raised(raised) => Verdict::Raised { test, kind: raised.kind },
            Self::Opaque | Self::Stopped(_) | Self::Test(_) => Verdict::Unserialisable { test },
        }
    }

    /// The verdict, if this happened while the program was loaded.
    pub(crate) fn while_loading(self) -> Verdict {
        match self {
            Self::Raised(raised) if raised.kind == "MemoryError" => Verdict::Memory,
            Self::Raised(raised) => Verdict::LoadError { kind: raised.kind },
            _ => Verdict::LoadError { kind: "no answer".to_owned() },
        }
    }
}

impl From<Stop> for StepFailure {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Questions to one child.
#[derive(Debug)]
pub(crate) struct ProgramSession<'a> {
    child: &'a mut ChildProcess,
}

impl<'a> ProgramSession<'a> {
    pub(crate) fn new(child: &'a mut ChildProcess) -> Self {
        Self { child }
    }

    /// Runs the part of a setup that comes before the program, while there is no program yet: what
    /// goes wrong here is not its doing. Its replacement for the entry point is not the program's answer.
    pub(crate) fn set_up(&mut self, before: &str, steps: &[Step]) -> Result<(), StepFailure> {
        let entry_point = match steps.first() {
            Some(Step::Call { entry_point, .. }) => entry_point,
            _ => "",
        };
        self.ask(b'S', &[&texts(&[before, entry_point])])?;
        self.answer().map(drop)
    }

    /// Loads a program, and what is to run after it.
    pub(crate) fn load(&mut self, source: &str, after: &str) -> Result<(), StepFailure> {
        self.ask(b'L', &[&texts(&[source, after])])?;
        self.answer().map(drop)
    }

    /// Runs a whole program to its end.
    pub(crate) fn run(&mut self, source: &str) -> Result<(), StepFailure> {
        self.ask(b'L', &[&texts(&[source, ""])])?;
        match self.child.receive()? {
            Frame { kind: b'l', .. } => Ok(()),
            Frame { kind: b'e', payload } => Err(StepFailure::Raised(raised(&payload))),
            _ => Err(StepFailure::Stopped(Stop::Garbled)),
        }
    }

    /// Asks for one test; whether the answer is right.
    pub(crate) fn step(&mut self, step: &Step) -> Result<StepResult, StepFailure> {
        match step {
            Step::Value { expression, expected } => {
                self.ask(b'V', &[expression.as_bytes()])?;
                let answer = self.answer()?;
                Ok(StepResult::of(expected.accepts(&answer), &answer))
            }
            Step::Truth { expression, expected } => {
                self.ask(b'T', &[expression.as_bytes()])?;
                match self.answer()? {
                    Value::Bool(truth) => {
                        Ok(StepResult::of(truth == *expected, &Value::Bool(truth)))
                    }
                    _ => Err(StepFailure::Opaque),
                }
            }
            Step::Call { entry_point, args, kwargs, expected } => {
                self.ask(b'C', &[&encode(&call(entry_point, args, kwargs))])?;
                let answer = self.answer()?;
                Ok(StepResult::of(expected.accepts(&answer), &answer))
            }
            Step::Check { .. } | Step::Run { .. } => {
                Err(StepFailure::Test("not a question to a program".to_owned()))
            }
        }
    }

    /// Runs test code in `checker`, and passes its questions on to the program.
    ///
    /// `setup` runs there first. Until the program has answered, what goes wrong is the test's doing,
    /// and from then on the program's: otherwise it could choose not to be judged. A test that passes
    /// and has asked the program nothing says nothing of it: it is broken, whatever the program is.
    pub(crate) fn check(
        &mut self,
        checker: &mut ChildProcess,
        setup: &str,
        step: &Step,
    ) -> Result<StepResult, StepFailure> {
        let Step::Check { code, proxies, modules, entry_point } = step else {
            return Err(StepFailure::Test("no test code".to_owned()));
        };
        let entry_point = entry_point.as_deref().unwrap_or_default();
        let token = token();
        let (proxies, modules) = (proxies.join(" "), modules.join(" "));
        let message = texts(&[&token, setup, code, &proxies, &modules, entry_point]);
        let mut seen = CallHistory::default();
        checker.send(b'K', &[&message]).map_err(|stop| seen.checker_stopped(stop))?;
        loop {
            let frame = checker.receive().map_err(|stop| seen.checker_stopped(stop))?;
            let signed = frame.payload.strip_prefix(token.as_bytes());
            let question = match (frame.kind, signed) {
                (b'p', Some(_)) => return seen.passed(),
                (b'f', Some(kind)) => return seen.failed(kind),
                (b'o', Some(_)) => return Err(seen.last.unwrap_or(StepFailure::Opaque)),
                (b'b', Some(problem)) => {
                    return Err(seen.broken(String::from_utf8_lossy(problem).into_owned()));
                }
                (b'q', _) => {
                    // From our own test code, but with a program's values in it.
                    let Ok(call) = decode(&frame.payload, ValueLimits::default()) else {
                        return Err(seen.broken("it calls the program with too much".to_owned()));
                    };
                    self.ask(b'P', &[&encode(&call)])?;
                    QuestionKind::Call
                }
                (b'n', _) => {
                    self.ask(b'N', &[&frame.payload])?;
                    let is_entry_point = frame.payload == entry_point.as_bytes();
                    if is_entry_point { QuestionKind::EntryPoint } else { QuestionKind::Name }
                }
                // A verdict without its token is not from our own code there.
                _ => return Err(seen.checker_stopped(Stop::Garbled)),
            };
            let answer = self.answer().and_then(outlined);
            seen.note(question, &answer);
            let told = match answer {
                Ok(value) => checker.send(b'v', &[&encode(&value)]),
                Err(StepFailure::Raised(raised)) => {
                    let details = raised.details.as_ref().map(encode).unwrap_or_default();
                    checker.send(b'e', &[raised.base.as_bytes(), b"\0", &details])
                }
                Err(StepFailure::Opaque) => checker.send(b'o', &[]),
                Err(other) => return Err(other),
            };
            told.map_err(|stop| seen.checker_stopped(stop))?;
        }
    }

    /// Sends a question. A program that has answered before it is asked has guessed what comes.
    fn ask(&mut self, kind: u8, payload: &[&[u8]]) -> Result<(), Stop> {
        if self.child.spoke_early() {
            return Err(Stop::Garbled);
        }
        self.child.send(kind, payload)
    }

    /// Asks for a value, and leaves it to the caller whether it is right.
    pub(crate) fn value(&mut self, step: &Step) -> Result<Value, StepFailure> {
        match step {
            Step::Value { expression, .. } => self.ask(b'V', &[expression.as_bytes()])?,
            Step::Call { entry_point, args, kwargs, .. } => {
                self.ask(b'C', &[&encode(&call(entry_point, args, kwargs))])?;
            }
            Step::Truth { .. } | Step::Check { .. } | Step::Run { .. } => {
                return Err(StepFailure::Test("it has no answer to check".to_owned()));
            }
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Value, StepFailure> {
        let Frame { kind, payload } = self.child.receive()?;
        match kind {
            b'v' => decode(&payload, ValueLimits::default()).map_err(|_| StepFailure::Opaque),
            b'e' => Err(StepFailure::Raised(raised(&payload))),
            b'o' => Err(StepFailure::Opaque),
            _ => Err(StepFailure::Stopped(Stop::Garbled)),
        }
    }
}

/// A call as the program's process reads it.
fn call(entry_point: &str, args: &[Value], kwargs: &[(String, Value)]) -> Value {
    let named =
        |(name, value): &(String, Value)| Value::Tuple(vec![Value::str(name), value.clone()]);
    Value::Tuple(vec![
        Value::str(entry_point),
        Value::List(args.to_vec()),
        Value::List(kwargs.iter().map(named).collect()),
    ])
}

/// What a checker is told of a call: how its value is made, from what, and changed arguments.
fn outlined(value: Value) -> Result<Value, StepFailure> {
    match &value {
        Value::Tuple(parts) if matches!(parts.as_slice(), [Value::Str(_), _, _]) => Ok(value),
        _ => Err(StepFailure::Opaque),
    }
}

/// The kind of a question that test code asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionKind {
    /// To call it.
    Call,
    /// The value of a name.
    Name,
    /// The same of the function that is handed to `check`, which is asked for whatever `check` does.
    EntryPoint,
}

/// The history of a program in one test.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and none is an argument"
)]
struct CallHistory {
    /// Its last failure, in case the test code fails because of it.
    last: Option<StepFailure>,
    /// Its last answer to a call, as text for people, if it was plain data.
    got: Option<String>,
    /// It has answered, if only that a name is a function's.
    asked: bool,
    /// It has been asked for something that the test code wants to know.
    wanted: bool,
    /// It has answered with more than that.
    answered: bool,
    /// It has answered with something that is not plain data: such a test does not pass.
    opaque: bool,
}

impl CallHistory {
    fn note(&mut self, question: QuestionKind, answer: &Result<Value, StepFailure>) {
        self.asked = true;
        self.wanted |= question != QuestionKind::EntryPoint;
        self.answered |= question == QuestionKind::Call || !is_function(answer);
        self.opaque |= matches!(answer, Err(StepFailure::Opaque));
        self.last = answer.as_ref().err().cloned();
        if question == QuestionKind::Call {
            self.got = answer.as_ref().ok().and_then(plain_answer).map(shown);
        }
    }

    /// The test code came to its end.
    fn passed(self) -> Result<StepResult, StepFailure> {
        match self {
            Self { opaque: true, .. } => Err(StepFailure::Opaque),
            Self { wanted: true, .. } => Ok(StepResult::Right),
            // What `check` is handed is a function: this program has none.
            Self { answered: true, got, .. } => Ok(StepResult::Wrong(got)),
            _ => Err(StepFailure::Test(
                "it passes without asking the program for anything".to_owned(),
            )),
        }
    }

    /// The test code failed.
    fn failed(self, kind: &[u8]) -> Result<StepResult, StepFailure> {
        match self.last {
            _ if self.opaque => Err(StepFailure::Opaque),
            Some(last) => Err(last),
            None if self.asked => Ok(StepResult::Wrong(self.got)),
            None => {
                let kind = name(kind);
                Err(StepFailure::Test(format!("it raises {kind} before it asks for anything")))
            }
        }
    }

    /// The test code cannot continue.
    fn broken(&mut self, problem: String) -> StepFailure {
        match self.last.take() {
            Some(last) => last,
            None if self.answered => StepFailure::Opaque,
            None => StepFailure::Test(problem),
        }
    }

    /// The checker stopped: after any answer, even that a name is a function's, because of it.
    fn checker_stopped(&mut self, stop: Stop) -> StepFailure {
        let problem = match stop {
            Stop::Broken(_) => return StepFailure::Stopped(stop),
            // With a program's values a test can take for ever.
            Stop::Timeout if self.asked => return StepFailure::Stopped(stop),
            Stop::Timeout => "it does not come to an end by itself",
            Stop::Output => "it writes too much",
            Stop::Memory => "it needs too much memory",
            Stop::Threads => "it starts too many threads",
            Stop::Closed => "its process ended",
            Stop::Garbled => "it writes to the judge's channel",
        };
        self.answered |= self.asked;
        self.broken(problem.to_owned())
    }
}

/// The value of an outlined answer that nothing has to be made of.
fn plain_answer(outlined: &Value) -> Option<&Value> {
    match outlined {
        Value::Tuple(parts) if parts.first() == Some(&Value::str("")) => parts.get(1),
        _ => None,
    }
}

/// Whether an answer says that a name is a function's, and no more.
fn is_function(answer: &Result<Value, StepFailure>) -> bool {
    let function = Value::str("function");
    matches!(answer, Ok(Value::Tuple(parts)) if parts.first() == Some(&function))
}

/// An exception as a child sends it: its class, a base class that test code knows, and details.
fn raised(payload: &[u8]) -> Raised {
    let mut parts = payload.splitn(3, |byte| *byte == 0);
    let kind = name(parts.next().unwrap_or_default());
    let base = parts.next().map_or_else(|| kind.clone(), name);
    let details = parts.next().and_then(|details| decode(details, ValueLimits::default()).ok());
    Raised { kind, base, details }
}

/// The name of an exception, as far as it looks like one: it goes into files and tables.
fn name(payload: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    let name: String =
        payload.iter().take(80).filter(|byte| plain(byte)).map(|&byte| char::from(byte)).collect();
    if name.is_empty() { "exception".to_owned() } else { name }
}

/// Texts one after another, each with its length before it.
fn texts(texts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(texts.iter().map(|text| text.len() + 4).sum());
    for text in texts {
        bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}
