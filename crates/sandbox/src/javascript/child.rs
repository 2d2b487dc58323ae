//! The main loop of a child: the questions of `zygote.py`, answered in JavaScript.

use nix::sys::resource::{Resource, getrlimit};

use super::channel::{OutgoingFrame, receive, send, texts};
use super::engine::{CallResult, Engine, Timers};
use super::entry::{self, EntryCall, MadeBefore};
use crate::value::{MAX_BYTES, Value as Data, ValueLimits, decode, encode};

/// A program whose functions are called.
const PROGRAM: i32 = 1;
/// A whole program with real standard streams.
const SCRIPT: i32 = 2;

/// Runs until there is nothing left to answer. The jail is shut: from here on everything in this
/// process may turn against us, and nothing here decides anything.
pub(super) fn run(engine: &Engine, kind: i32) {
    engine.bound(heap());
    let _ = match kind {
        PROGRAM => program(engine),
        SCRIPT => script(engine),
        _ => None,
    };
}

/// The kernel holds the whole process to its limit; the engine is left a little less, so that it
/// can still say that it has run out.
fn heap() -> usize {
    let (limit, _) = getrlimit(Resource::RLIMIT_DATA).unwrap_or((256 << 20, 0));
    usize::try_from(limit - limit / 8).unwrap_or(usize::MAX)
}

/// Answers questions for as long as there are any.
fn program(engine: &Engine) -> Option<()> {
    let mut made_before = MadeBefore::default();
    loop {
        let OutgoingFrame { kind, payload } = receive()?;
        let answer = match kind {
            b'S' => {
                let [setup, entry_point] = texts(&payload)?;
                let answer = load(engine, &[setup]);
                made_before = engine.made_before(&entry_point);
                answer
            }
            b'L' => load(engine, &texts::<2>(&payload)?),
            b'C' => call(engine, &payload, &made_before)?,
            _ => return None,
        };
        engine.flush();
        respond(answer)?;
    }
}

/// Runs texts in their order, up to one that fails.
fn load(engine: &Engine, sources: &[String]) -> CallResult {
    let mut answer = CallResult::Data(Data::None);
    for source in sources.iter().filter(|source| !source.is_empty()) {
        answer = engine.run(source, Timers::WhilePending);
        if matches!(answer, CallResult::Raised(_)) {
            break;
        }
    }
    answer
}

fn call(engine: &Engine, payload: &[u8], made_before: &MadeBefore) -> Option<CallResult> {
    // From the supervisor, and as long as the task's author made it.
    let limits = ValueLimits { bytes: usize::MAX, ..ValueLimits::default() };
    let Ok(Data::Tuple(call)) = decode(payload, limits) else { return None };
    let [Data::Str(entry_point), Data::List(args), Data::List(named)] = call.as_slice() else {
        return None;
    };
    let call = EntryCall { entry_point: entry_point.to_str()?, args, named };
    Some(engine.ask(Timers::WhilePending, |ctx| entry::call(ctx, &call, made_before)))
}

fn respond(answer: CallResult) -> Option<()> {
    match answer {
        CallResult::Raised(name) => send(b'e', name.as_bytes()),
        CallResult::Opaque => send(b'o', b""),
        CallResult::Data(data) => {
            let bytes = encode(&data);
            if bytes.len() <= MAX_BYTES { send(b'v', &bytes) } else { send(b'o', b"") }
        }
    }
}

/// Runs a program to its end; what it writes is its answer.
fn script(engine: &Engine) -> Option<()> {
    let [source, _] = texts(&receive()?.payload)?;
    engine.as_main();
    let answer = engine.run(&source, Timers::UntilNone);
    engine.flush();
    match answer {
        CallResult::Raised(name) => send(b'e', name.as_bytes()),
        CallResult::Opaque | CallResult::Data(_) => send(b'l', b""),
    }
}
