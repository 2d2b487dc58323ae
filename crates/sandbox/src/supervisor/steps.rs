//! One question to a child and what its answer means.
//!
//! Nothing that a child says is a verdict: it sends values, and they are compared here.

use whetstone_core::verdict::Verdict;

use super::kid::{Kid, Stop};
use crate::channel::Frame;
use crate::plan::Step;
use crate::value::{Limits, Value, decode, encode};

/// Why a question has no right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It raised this exception.
    Raised(String),
    /// It answered with something that is no plain data.
    Opaque,
    /// There will be no further answer.
    Stopped(Stop),
    /// The test itself is broken.
    Test(String),
}

impl Failure {
    /// The verdict, if this happened in a test.
    pub(crate) fn in_test(self, test: u32) -> Verdict {
        match self {
            Self::Raised(kind) if kind == "MemoryError" => Verdict::Memory,
            Self::Raised(kind) => Verdict::Raised { test, kind },
            Self::Opaque | Self::Stopped(_) | Self::Test(_) => Verdict::Unserialisable { test },
        }
    }

    /// The verdict, if this happened while the program was loaded.
    pub(crate) fn while_loading(self) -> Verdict {
        match self {
            Self::Raised(kind) if kind == "MemoryError" => Verdict::Memory,
            Self::Raised(kind) => Verdict::LoadError { kind },
            _ => Verdict::LoadError { kind: "no answer".to_owned() },
        }
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Questions to one child.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    kid: &'a mut Kid,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(kid: &'a mut Kid) -> Self {
        Self { kid }
    }

    /// Loads a program.
    pub(crate) fn load(&mut self, before: &str, source: &str, after: &str) -> Result<(), Failure> {
        self.kid.send(b'L', &[&texts(&[before, source, after])])?;
        self.answer().map(drop)
    }

    /// Runs a whole program to its end.
    pub(crate) fn run(&mut self, source: &str) -> Result<(), Failure> {
        self.kid.send(b'L', &[&texts(&["", source, ""])])?;
        match self.kid.receive()? {
            Frame { kind: b'l', .. } => Ok(()),
            Frame { kind: b'e', payload } => Err(Failure::Raised(name(&payload))),
            _ => Err(Failure::Stopped(Stop::Garbled)),
        }
    }

    /// Asks for one test; whether the answer is right.
    pub(crate) fn step(&mut self, step: &Step) -> Result<bool, Failure> {
        match step {
            Step::Value { expression, expected } => {
                self.kid.send(b'V', &[expression.as_bytes()])?;
                Ok(expected.accepts(&self.answer()?))
            }
            Step::Truth { expression, expected } => {
                self.kid.send(b'T', &[expression.as_bytes()])?;
                match self.answer()? {
                    Value::Bool(truth) => Ok(truth == *expected),
                    _ => Err(Failure::Opaque),
                }
            }
            Step::Call { entry_point, args, kwargs, expected } => {
                self.kid.send(b'C', &[&encode(&call(entry_point, args, kwargs))])?;
                Ok(expected.accepts(&self.answer()?))
            }
            Step::Check { .. } | Step::Run { .. } => {
                Err(Failure::Test("not a question to a program".to_owned()))
            }
        }
    }

    /// Runs test code in `checker`, and passes its calls on to the program.
    pub(crate) fn check(
        &mut self,
        checker: &mut Kid,
        before: &str,
        step: &Step,
    ) -> Result<bool, Failure> {
        let Step::Check { code, proxies, modules, entry_point } = step else {
            return Err(Failure::Test("no test code".to_owned()));
        };
        let entry_point = entry_point.as_deref().unwrap_or_default();
        let message = texts(&[before, code, &proxies.join(" "), &modules.join(" "), entry_point]);
        // What the program did last, in case the test code fails because of it.
        let mut last: Option<Failure> = None;
        checker.send(b'K', &[&message]).map_err(checker_stopped)?;
        loop {
            let frame = checker.receive().map_err(checker_stopped)?;
            match frame.kind {
                b'p' => return Ok(true),
                b'f' => return last.map_or(Ok(false), Err),
                b'b' => {
                    let problem = String::from_utf8_lossy(&frame.payload).into_owned();
                    return Err(Failure::Test(problem));
                }
                b'q' => {
                    // From our own test code, but with a program's values in it.
                    let Ok(call) = decode(&frame.payload, Limits::default()) else {
                        return Err(Failure::Test("calls the program with too much".to_owned()));
                    };
                    self.kid.send(b'P', &[&encode(&call)])?;
                    match self.answer().and_then(outlined) {
                        Ok(value) => {
                            last = None;
                            checker.send(b'v', &[&encode(&value)]).map_err(checker_stopped)?;
                        }
                        Err(Failure::Raised(kind)) => {
                            checker.send(b'e', &[kind.as_bytes()]).map_err(checker_stopped)?;
                            last = Some(Failure::Raised(kind));
                        }
                        Err(Failure::Opaque) => {
                            checker.send(b'o', &[]).map_err(checker_stopped)?;
                            last = Some(Failure::Opaque);
                        }
                        Err(other) => return Err(other),
                    }
                }
                _ => return Err(Failure::Test("the checker is out of step".to_owned())),
            }
        }
    }

    /// Asks for a value, and leaves it to the caller whether it is right.
    pub(crate) fn value(&mut self, step: &Step) -> Result<Value, Failure> {
        match step {
            Step::Value { expression, .. } => self.kid.send(b'V', &[expression.as_bytes()])?,
            Step::Call { entry_point, args, kwargs, .. } => {
                self.kid.send(b'C', &[&encode(&call(entry_point, args, kwargs))])?;
            }
            Step::Truth { .. } | Step::Check { .. } | Step::Run { .. } => {
                return Err(Failure::Test("it has no answer to check".to_owned()));
            }
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Value, Failure> {
        let Frame { kind, payload } = self.kid.receive()?;
        match kind {
            b'v' => decode(&payload, Limits::default()).map_err(|_| Failure::Opaque),
            b'e' => Err(Failure::Raised(name(&payload))),
            b'o' => Err(Failure::Opaque),
            _ => Err(Failure::Stopped(Stop::Garbled)),
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
fn outlined(value: Value) -> Result<Value, Failure> {
    match &value {
        Value::Tuple(parts) if matches!(parts.as_slice(), [Value::Str(_), _, _]) => Ok(value),
        _ => Err(Failure::Opaque),
    }
}

/// What it means that a checker stopped: with a program's values its test can take for ever, which
/// is the program's doing; anything else is not.
fn checker_stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Timeout | Stop::Broken(_) => Failure::Stopped(stop),
        Stop::Output => Failure::Test("it writes too much".to_owned()),
        Stop::Closed => Failure::Test("its process ended".to_owned()),
        Stop::Garbled => Failure::Test("it writes to the judge's channel".to_owned()),
    }
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
