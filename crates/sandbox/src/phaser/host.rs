//! The functions that the shim is built on; a program cannot name them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use rquickjs::{Ctx, Function, Object, Persistent, Result, Runtime, Value};

use super::failure::{self, Circumstances, Failure, StackGetter};
use super::peek::short;
use crate::javascript::engine::place;
use crate::os;

/// Lines of the console and addresses of files that are kept, and characters of each.
const LINES_MAX: usize = 64;
const LINE_MAX: usize = 200;

/// What the shim and the engine have told so far.
#[derive(Default)]
pub(super) struct Told {
    pub(super) assets: RefCell<Vec<String>>,
    pub(super) log: RefCell<Vec<String>>,
    /// The game that was started last.
    pub(super) game: RefCell<Option<Persistent<Object<'static>>>>,
    game_at: Cell<usize>,
    /// The game is in the middle of a step.
    inside: Cell<bool>,
    /// The game has made a step since this was last asked.
    stepped: Cell<bool>,
    pub(super) webgl: Cell<bool>,
    pub(super) stack: StackGetter,
    /// CPU time after which the program is interrupted.
    pub(super) deadline: Cell<Option<Duration>>,
    pub(super) timed_out: Cell<bool>,
    /// Rejected promises that nobody has handled: their addresses and what they were rejected with.
    pub(super) rejections: RefCell<Vec<(usize, Failure)>>,
}

impl Told {
    /// Whether the game has made a step since this was last asked.
    pub(super) fn take_step(&self) -> bool {
        self.stepped.take()
    }

    /// Whether the program's time is over.
    pub(super) fn is_over(&self) -> bool {
        let over = self.deadline.get().is_some_and(|deadline| os::thread_cpu_time() > deadline);
        if over {
            self.timed_out.set(true);
        }
        over
    }

    /// What is known of the run, should it fail.
    pub(super) fn circumstances(&self) -> Circumstances {
        Circumstances {
            timed_out: self.timed_out.get(),
            files: !self.assets.borrow().is_empty(),
            webgl: self.webgl.get(),
        }
    }

    fn register<'js>(&self, ctx: &Ctx<'js>, game: Value<'js>) {
        self.game_at.set(place(&game));
        if let Some(game) = game.into_object() {
            *self.game.borrow_mut() = Some(Persistent::save(ctx, game));
        }
    }

    fn entered(&self, game: &Value<'_>) {
        self.inside.set(place(game) == self.game_at.get());
    }

    fn left(&self, game: &Value<'_>) {
        if self.inside.take() && place(game) == self.game_at.get() {
            self.stepped.set(true);
        }
    }
}

fn keep(lines: &RefCell<Vec<String>>, value: &Value<'_>) {
    let mut lines = lines.borrow_mut();
    if lines.len() < LINES_MAX
        && let Some(line) = short(value, LINE_MAX)
    {
        lines.push(line);
    }
}

/// The object that the shim is called with.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, told: &Rc<Told>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let state = told.clone();
    let log = move |line: Value<'js>| keep(&state.log, &line);
    host.set("log", Function::new(ctx.clone(), log)?)?;
    let state = told.clone();
    let asset = move |address: Value<'js>| keep(&state.assets, &address);
    host.set("asset", Function::new(ctx.clone(), asset)?)?;
    let state = told.clone();
    host.set("webgl", Function::new(ctx.clone(), move || state.webgl.set(true))?)?;
    let state = told.clone();
    let register = move |ctx: Ctx<'js>, game: Value<'js>| state.register(&ctx, game);
    host.set("register", Function::new(ctx.clone(), register)?)?;
    let state = told.clone();
    let entered = move |game: Value<'js>| state.entered(&game);
    host.set("entered", Function::new(ctx.clone(), entered)?)?;
    let state = told.clone();
    let left = move |game: Value<'js>| state.left(&game);
    host.set("left", Function::new(ctx.clone(), left)?)?;
    Ok(host)
}

/// Has the engine stop programs whose time is over, and tell of rejected promises.
pub(super) fn watch(runtime: &Runtime, told: &Rc<Told>) {
    let state = told.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || state.is_over())));
    let state = told.clone();
    let tracker = move |_: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled: bool| {
        let failure = failure::thrown(&state.stack, &reason);
        let mut rejections = state.rejections.borrow_mut();
        let at = place(&promise);
        rejections.retain(|(other, _)| *other != at);
        if !handled && rejections.len() < LINES_MAX {
            rejections.push((at, failure));
        }
    };
    runtime.set_host_promise_rejection_tracker(Some(Box::new(tracker)));
}
