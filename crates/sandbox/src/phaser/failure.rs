//! What a program threw, and whose fault that is; read without running any of its code.

use std::cell::RefCell;

use rquickjs::function::This;
use rquickjs::{Ctx, Error, Function, Persistent, Value};

use super::install::FILE;
use super::peek::{self, short};
use super::run::{FailureClass, MESSAGE_MAX};
use crate::javascript::fault;

/// The name of the program in traces of calls.
pub(super) const PROGRAM: &str = "game.js";

/// Characters of a trace of calls that are looked at.
const STACK_MAX: usize = 4000;

/// Words in errors of Phaser's own that come of blank files.
const BLANK: [&str; 19] = [
    "frame",
    "texture",
    "gltexture",
    "source",
    "image",
    "atlas",
    "tile",
    "layer",
    "cache",
    "data",
    "xml",
    "cutwidth",
    "tolowercase",
    "properties",
    "objects",
    "bitmaptext",
    "getattribute",
    "duration",
    "chars",
];
/// Words in errors that come of a renderer that is not there.
const RENDERER: [&str; 8] =
    ["webgl", "'gl'", "renderer", "pipeline", "shader", "glsl", "stream_draw", "\'zero\'"];

/// The engine's own function that reads the trace of calls of an error, once it is known.
pub(super) type StackGetter = RefCell<Option<Persistent<Function<'static>>>>;

/// What is known of a run that failed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circumstances {
    pub(super) timed_out: bool,
    /// It asked for files.
    pub(super) files: bool,
    /// It asked for `WebGL`.
    pub(super) webgl: bool,
}

/// Why a program failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: FailureClass,
    pub(super) message: String,
    pub(super) line: Option<u32>,
    /// Whether it was thrown in Phaser itself.
    in_phaser: bool,
}

impl Failure {
    pub(super) fn new(class: FailureClass, message: &str) -> Self {
        Self { class, message: message.to_owned(), line: None, in_phaser: false }
    }

    pub(super) fn fault(message: &str) -> Self {
        Self::new(FailureClass::Fault, message)
    }

    pub(super) fn tampering(what: &str) -> Self {
        Self::new(FailureClass::Tampering, what)
    }

    /// Whose fault it is, with all that is known of the run.
    pub(super) fn judged(mut self, known: Circumstances) -> Self {
        if known.timed_out {
            self.class = FailureClass::Timeout;
            "the program used up its CPU time".clone_into(&mut self.message);
        } else if self.class == FailureClass::Fault && self.is_environment(known) {
            self.class = FailureClass::EnvLimit;
        }
        self
    }

    fn is_environment(&self, known: Circumstances) -> bool {
        let message = self.message.to_lowercase();
        let mentions = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let blank = self.in_phaser && known.files && mentions(&BLANK);
        blank || (self.in_phaser || known.webgl) && mentions(&RENDERER)
    }
}

/// The failure that a call left behind.
pub(super) fn of(ctx: &Ctx<'_>, stack: &StackGetter, error: &Error) -> Failure {
    match error {
        Error::Exception => thrown(stack, &ctx.catch()),
        Error::Allocation => memory(),
        other => Failure::fault(&other.to_string()),
    }
}

fn memory() -> Failure {
    Failure::new(FailureClass::Memory, "the program used up its memory")
}

/// The failure of a value that was thrown.
pub(super) fn thrown(stack: &StackGetter, value: &Value<'_>) -> Failure {
    let name = fault::name(value);
    if name == fault::MEMORY {
        return memory();
    }
    let Some(object) = value.as_object() else {
        let text = short(value, MESSAGE_MAX).unwrap_or_else(|| name.clone());
        return Failure::fault(&format!("a {name} was thrown: {text}"));
    };
    let message = peek::own(object, "message").ok().flatten();
    let message = message.and_then(|text| short(&text, MESSAGE_MAX)).unwrap_or_default();
    let class = if is_deep(&name, &message) { FailureClass::Stack } else { FailureClass::Fault };
    let stack = trace_of_calls(stack, value).unwrap_or_default();
    let message = if message.is_empty() { name } else { format!("{name}: {message}") };
    Failure { class, message, line: line(&stack), in_phaser: is_in_phaser(&stack) }
}

/// The trace of calls that the engine itself keeps in an error; a program cannot write to it.
fn trace_of_calls(stack: &StackGetter, error: &Value<'_>) -> Option<String> {
    let getter = stack.borrow().clone()?.restore(error.ctx()).ok()?;
    let stack = getter.call::<_, Value<'_>>((This(error.clone()),));
    if stack.is_err() {
        drop(error.ctx().catch());
    }
    short(&stack.ok()?, STACK_MAX)
}

/// Whether this is the engine's error of a stack that is used up.
fn is_deep(name: &str, message: &str) -> bool {
    matches!(name, "RangeError" | "InternalError")
        && (message.contains("call stack") || message.contains("stack overflow"))
}

/// The first line of the program in a trace of calls.
fn line(stack: &str) -> Option<u32> {
    let marker = format!("{PROGRAM}:");
    let after = stack.split(&marker).nth(1)?;
    after.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn is_in_phaser(stack: &str) -> bool {
    let place = stack.lines().find(|line| line.contains(PROGRAM) || line.contains(FILE));
    place.is_some_and(|line| line.contains(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_of_calls_names_the_programs_line_and_who_threw() {
        let stack = "    at f (phaser.js:2:100)\n    at create (game.js:12:7)\n";
        assert_eq!(line(stack), Some(12));
        assert!(is_in_phaser(stack));
        assert!(!is_in_phaser("    at create (game.js:12:7)\n    at f (phaser.js:2:100)\n"));
        assert_eq!(line("    at f (native)"), None);
    }

    #[test]
    fn an_error_of_phasers_own_is_the_environments_only_where_files_were_asked_for() {
        let failure = Failure {
            in_phaser: true,
            ..Failure::fault("TypeError: cannot read property 'frames' of undefined")
        };
        let none = Circumstances::default();
        assert_eq!(failure.clone().judged(none).class, FailureClass::Fault);
        let files = Circumstances { files: true, ..none };
        assert_eq!(failure.clone().judged(files).class, FailureClass::EnvLimit);
        let own = Failure { in_phaser: false, ..failure };
        assert_eq!(own.judged(files).class, FailureClass::Fault);
    }
}
