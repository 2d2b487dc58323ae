//! The engine: one runtime and one context, warmed before the first program comes.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Error, Function, Object, Persistent, Result, Runtime, Value, qjs};

use super::entry::MadeBefore;
use super::host::{self, Streams};
use super::{fault, module, read};
use crate::value::Value as Data;

/// Node's globals, as far as programs that read, compute and write use them.
const SHIM: &str = include_str!("shim.js");

/// Bytes of stack that recursion may use; the jail leaves four times as much.
const STACK: usize = 16 << 20;

/// Bytes of heap before cycles are looked for the first time: a small program is over by then.
const FIRST_COLLECTION: usize = 8 << 20;

/// A warmed engine.
pub(super) struct Engine {
    runtime: Runtime,
    context: Context,
    streams: Streams,
    loop_: Persistent<Function<'static>>,
    as_main: Persistent<Function<'static>>,
    rejections: Rejections,
}

/// Rejected promises without a handler so far: their addresses and reasons.
type Rejections = Rc<RefCell<Vec<(usize, String)>>>;

/// The time that timers may run after a piece of the program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timers {
    /// Until there are none left: a whole program ends when nothing is left to be done, as in Node.
    UntilNone,
    /// While a promise that was returned is pending, and no longer: a call has its answer then,
    /// whatever the program still has running.
    WhilePending,
}

/// The result of a call.
pub(super) enum CallResult {
    /// Plain data.
    Data(Data),
    /// Something else.
    Opaque,
    /// An exception of this name.
    Raised(String),
}

impl Engine {
    /// Makes and warms one.
    pub(super) fn warm() -> Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_max_stack_size(STACK);
        runtime.set_gc_threshold(FIRST_COLLECTION);
        let rejections = Rejections::default();
        track(&runtime, &rejections);
        let context = Context::full(&runtime)?;
        let streams = Streams::default();
        let (loop_, as_main) = context.with(|ctx| {
            let shim: Function<'_> = ctx.eval(SHIM)?;
            let made: Object<'_> = shim.call((host::functions(&ctx, &streams)?,))?;
            let save = |name| {
                let function: Function<'_> = made.get(name)?;
                Ok::<_, Error>(Persistent::save(&ctx, function))
            };
            Ok::<_, Error>((save("turn")?, save("asMain")?))
        })?;
        runtime.run_gc();
        Ok(Self { runtime, context, streams, loop_, as_main, rejections })
    }

    /// Bounds the heap, so that a program which takes too much is told so in JavaScript.
    pub(super) fn bound(&self, bytes: usize) {
        self.runtime.set_memory_limit(bytes);
    }

    /// From now on the program is the one that was started, not one that is imported.
    pub(super) fn as_main(&self) {
        self.context.with(|ctx| {
            let _ = self.as_main.clone().restore(&ctx).and_then(|main| main.call::<_, ()>(()));
        });
    }

    /// Writes what the program has written so far.
    pub(super) fn flush(&self) {
        self.streams.flush();
    }

    /// Runs a script or a module, and what it left to be done as far as `timers` says.
    pub(super) fn run(&self, source: &str, timers: Timers) -> CallResult {
        self.ask(timers, |ctx| {
            let source = source.strip_prefix('\u{feff}').unwrap_or(source);
            if module::is_module(ctx, source) {
                return module::run(ctx, source);
            }
            let mut options = EvalOptions::default();
            options.strict = false;
            options.filename = Some("/tmp/solution.js".to_owned());
            ctx.eval_with_options::<Value<'_>, _>(source, options)?;
            Ok(Value::new_undefined(ctx.clone()))
        })
    }

    /// The setup's replacement for the entry point.
    pub(super) fn made_before(&self, entry_point: &str) -> MadeBefore {
        self.context.with(|ctx| MadeBefore::look(&ctx, entry_point))
    }

    /// Asks for a value. A promise is waited for.
    pub(super) fn ask(
        &self,
        timers: Timers,
        question: impl for<'js> FnOnce(&Ctx<'js>) -> Result<Value<'js>>,
    ) -> CallResult {
        self.context.with(|ctx| {
            let turn = self.loop_.clone().restore(&ctx);
            let answer = turn.and_then(|turn| Ok((question(&ctx)?, turn)));
            let settled = answer
                .and_then(|(value, turn)| self.settle(&ctx, &turn, TimerWait { value, timers }));
            match settled {
                Err(error) => CallResult::Raised(fault::of(&ctx, &error)),
                Ok(Settled::Rejected(name)) => CallResult::Raised(name),
                Ok(Settled::Never) => CallResult::Opaque,
                Ok(Settled::Value(value)) => {
                    read::plain(&value).map_or(CallResult::Opaque, CallResult::Data)
                }
            }
        })
    }

    /// Runs what the program left to be done, jobs first, until there is nothing, or the value is no
    /// longer a pending promise. One that never comes to rest is stopped by the supervisor's clock.
    fn settle<'js>(
        &self,
        ctx: &Ctx<'js>,
        turn: &Function<'js>,
        wait: TimerWait<'js>,
    ) -> Result<Settled<'js>> {
        let TimerWait { value, timers } = wait;
        loop {
            while run_job(ctx)? {}
            if let Some((_, name)) = self.rejections.borrow_mut().drain(..).next() {
                return Ok(Settled::Rejected(name));
            }
            if let Some(promise) = value.as_promise()
                && promise.state() != PromiseState::Pending
            {
                let Some(result) = promise.result() else { continue };
                return result.map(Settled::Value);
            }
            if timers == Timers::WhilePending && !value.is_promise() {
                return Ok(Settled::Value(value));
            }
            let more: bool = turn.call(())?;
            if !more {
                let never = value.is_promise();
                return Ok(if never { Settled::Never } else { Settled::Value(value) });
            }
        }
    }
}

/// A value that may have to be waited for.
struct TimerWait<'js> {
    value: Value<'js>,
    timers: Timers,
}

enum Settled<'js> {
    Value(Value<'js>),
    /// A promise was rejected without a handler: Node ends such a program.
    Rejected(String),
    /// A promise that nothing will ever resolve.
    Never,
}

fn track(runtime: &Runtime, rejections: &Rejections) {
    let rejections = rejections.clone();
    let tracker = move |_: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled: bool| {
        let place = place(&promise);
        let mut rejections = rejections.borrow_mut();
        if handled {
            rejections.retain(|(other, _)| *other != place);
        } else {
            rejections.push((place, fault::name(&reason)));
        }
    };
    runtime.set_host_promise_rejection_tracker(Some(Box::new(tracker)));
}

/// Runs the next job, if there is one; what it throws is not lost.
#[expect(unsafe_code, reason = "the safe function drops what a job throws")]
pub(crate) fn run_job(ctx: &Ctx<'_>) -> Result<bool> {
    let mut ran_in = std::ptr::null_mut();
    // SAFETY: the runtime is alive as long as its context, and there is no other context.
    let result = unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_ExecutePendingJob(runtime, &raw mut ran_in)
    };
    if result < 0 { Err(Error::Exception) } else { Ok(result > 0) }
}

/// The address of an object: identifies it while it is alive.
#[expect(unsafe_code, reason = "an object's address is not in the safe interface")]
pub(crate) fn place(object: &Value<'_>) -> usize {
    // SAFETY: a promise is an object, which is a pointer; it is not followed.
    unsafe { qjs::JS_VALUE_GET_PTR(object.as_raw()) as usize }
}
