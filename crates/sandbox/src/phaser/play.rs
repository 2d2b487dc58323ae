//! One program from its source to its last frame.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Error, Function, Module, Object, Persistent, Value};

use super::engine::Engine;
use super::failure::{self, Failure, PROGRAM};
use super::input::{Action, key_names};
use super::peek::{number, object, own};
use super::run::{FRAMES_MAX, Run, Settings, SourceKind, Stage};
use super::snapshot::{Camera, Known};
use super::trace::{Snapshot, Trace};
use crate::javascript::engine::run_job;

/// Milliseconds of a frame.
const FRAME: f64 = 1000.0 / 60.0;
/// Frames in which a game must have made its first step.
const BOOT_FRAMES: u32 = 60;
/// Frames in a row without a step of the game, after which it has been stopped.
const STILL_MAX: u32 = 30;
/// Frames after an input event in which snapshots are taken.
const AFTER_INPUT: [u32; 4] = [0, 1, 2, 4];
/// Snapshots, and states of objects in all of them together, at most.
const SNAPSHOTS_MAX: usize = 160;
const STATES_MAX: usize = 5000;

type Done<T = ()> = Result<T, Failure>;

/// A program that is being run.
pub(super) struct Playing<'a, 'js> {
    engine: &'a Engine,
    ctx: Ctx<'js>,
    settings: &'a Settings,
    known: Known,
    stage: Stage,
    frames: u32,
    states: usize,
    trace: Trace,
    last: Snapshot,
}

impl<'a, 'js> Playing<'a, 'js> {
    pub(super) fn new(engine: &'a Engine, ctx: Ctx<'js>, settings: &'a Settings) -> Self {
        Self {
            engine,
            ctx,
            settings,
            known: Known::default(),
            stage: Stage::Load,
            frames: 0,
            states: 0,
            trace: Trace::default(),
            last: Snapshot::default(),
        }
    }

    /// Runs a program, as far as it goes.
    pub(super) fn run(mut self, source: &str) -> Run {
        let told = &self.engine.told;
        let failure = self.play(source).err().map(|failure| failure.judged(told.circumstances()));
        // A failure after tampering is tampering: frames before it are paid.
        let failure = match failure {
            Some(failure) if !failure.class.pays_frames_before() => Some(failure),
            failure => self.check().err().or(failure),
        };
        let ok = failure.is_none();
        let is_shown = |number| self.known.is_shown(number);
        self.trace.hide(is_shown);
        self.last.hide(is_shown);
        let mut run = Run {
            stage: self.stage,
            ok,
            class: failure.as_ref().map(|failure| failure.class),
            line: failure.as_ref().and_then(|failure| failure.line),
            error: failure.map(|failure| failure.message),
            frames: self.frames,
            scenes: self.last.scenes,
            objects: self.last.objects,
            assets: told.assets.take(),
            log: told.log.take(),
            trace: self.trace,
            cpu_ms: 0.0,
            memory: 0,
        };
        run.assets.sort();
        run.assets.dedup();
        run
    }

    fn play(&mut self, source: &str) -> Done {
        self.load(source)?;
        self.stage = Stage::Boot;
        self.boot()?;
        self.stage = Stage::Frames;
        self.frames()?;
        self.stage = Stage::Done;
        Ok(())
    }

    fn load(&self, source: &str) -> Done {
        #[expect(clippy::cast_possible_truncation, reason = "32 bits of it are used")]
        let seed = (self.settings.seed ^ (self.settings.seed >> 32)) as i32;
        self.call(&self.engine.hooks.seed, (seed ^ 0x5DEE_CE66,))?;
        let ctx = &self.ctx;
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        match self.settings.kind {
            SourceKind::Script => {
                let mut options = EvalOptions::default();
                options.strict = false;
                options.filename = Some(PROGRAM.to_owned());
                let ran = ctx.eval_with_options::<Value<'_>, _>(source, options);
                self.result(ran.map(drop))?;
            }
            SourceKind::Module => {
                let source = with_own_phaser(source);
                let ran = Module::declare(ctx.clone(), PROGRAM, source).and_then(Module::eval);
                self.result(ran.map(drop))?;
            }
        }
        self.jobs()?;
        self.call(&self.engine.hooks.loaded, ())?;
        self.jobs()
    }

    /// Ticks until the game has made its first step.
    fn boot(&mut self) -> Done {
        for _ in 0..BOOT_FRAMES {
            self.tick()?;
            if self.engine.told.take_step() {
                self.frames = 1;
                return self.snapshot();
            }
        }
        let made = self.engine.told.game.borrow().is_some();
        Err(Failure::fault(if made {
            "the game never started to run: nothing calls its steps"
        } else {
            "no game was made: there is no `new Phaser.Game(…)` that was reached"
        }))
    }

    fn frames(&mut self) -> Done {
        let mut still = 0;
        let all = self.settings.frames.clamp(1, FRAMES_MAX);
        while self.frames + still < all {
            self.input(self.frames + still)?;
            self.tick()?;
            still += 1;
            if self.engine.told.take_step() {
                self.frames += still;
                still = 0;
                if self.is_due() {
                    self.snapshot()?;
                }
            } else if still >= STILL_MAX {
                let message = format!("the game was stopped in frame {}", self.frames + 1);
                return Err(Failure::fault(&message));
            }
        }
        // A game that makes every second step only has had its frames as well.
        self.frames += still;
        Ok(())
    }

    fn input(&self, frame: u32) -> Done {
        for action in self.settings.input.at(frame) {
            match action {
                Action::Key { key, down } => {
                    let Some(names) = key_names(key) else { continue };
                    let hook = &self.engine.hooks.key;
                    self.call(hook, (names.number, names.key, names.code, *down))?;
                }
                Action::Pointer { x, y, down } => {
                    // A press happens where the pointer has come to.
                    let none = || Value::new_undefined(self.ctx.clone());
                    self.call(&self.engine.hooks.pointer, (*x, *y, none()))?;
                    if let Some(down) = down {
                        self.call(&self.engine.hooks.pointer, (*x, *y, *down))?;
                    }
                }
            }
            self.jobs()?;
        }
        Ok(())
    }

    /// One frame: what has loaded, timers that are due, the game's step.
    fn tick(&self) -> Done {
        self.call(&self.engine.hooks.begin, (FRAME,))?;
        let turn = self.result(self.engine.hooks.turn.clone().restore(&self.ctx))?;
        loop {
            let more: bool = self.result(turn.call(()))?;
            self.jobs()?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Runs what promises have left to be done.
    fn jobs(&self) -> Done {
        let told = &self.engine.told;
        while self.result(run_job(&self.ctx))? {
            if told.is_over() {
                return Err(Failure::fault(""));
            }
        }
        told.rejections.borrow_mut().drain(..).next().map_or(Ok(()), |(_, failure)| Err(failure))
    }

    fn call<A>(&self, hook: &Persistent<Function<'static>>, arguments: A) -> Done
    where
        A: rquickjs::function::IntoArgs<'js>,
    {
        let called = hook.clone().restore(&self.ctx).and_then(|hook| hook.call::<_, ()>(arguments));
        self.result(called)
    }

    fn result<T>(&self, result: Result<T, Error>) -> Done<T> {
        result.map_err(|error| failure::of(&self.ctx, &self.engine.told.stack, &error))
    }

    fn is_due(&self) -> bool {
        let (frame, every) = (self.frames, self.settings.every.max(1));
        let near =
            |event: &super::InputEvent| AFTER_INPUT.contains(&frame.wrapping_sub(event.frame));
        frame % every == 0
            || frame >= self.settings.frames
            || self.settings.input.events().iter().any(near)
    }

    /// Looks at the game. What is forged ends the run.
    fn snapshot(&mut self) -> Done {
        let Some(game) = self.game() else { return Ok(()) };
        let mut camera =
            Camera { adopted: &self.engine.adopted, known: &mut self.known, truncated: false };
        let forged = "the objects of the game are not what they seem: accessors, proxies or lists of its own";
        let shot = camera.take(&game, self.frames).map_err(|_| Failure::tampering(forged))?;
        self.trace.truncated |= camera.truncated;
        (self.trace.width, self.trace.height) = size(&game);
        self.states += shot.objects.len();
        if self.trace.snapshots.len() < SNAPSHOTS_MAX && self.states <= STATES_MAX {
            self.trace.snapshots.push(shot.clone());
        } else {
            self.trace.truncated = true;
        }
        self.last = shot;
        Ok(())
    }

    fn game(&self) -> Option<Object<'js>> {
        self.engine.told.game.borrow().clone()?.restore(&self.ctx).ok()
    }

    /// Whether what measures is still what it was.
    fn check(&self) -> Done {
        if let Some(change) = self.engine.adopted.changed(&self.ctx) {
            return Err(Failure::tampering(&format!("the program has {change}")));
        }
        let Some(game) = self.game() else { return Ok(()) };
        for name in ["step", "headlessStep"] {
            if !matches!(own(&game, name), Ok(None)) {
                let message = format!("the program has replaced the game's own {name}");
                return Err(Failure::tampering(&message));
            }
        }
        Ok(())
    }
}

/// Has a module that imports Phaser from an address import the one that there is.
fn with_own_phaser(source: &str) -> String {
    let mut made = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let address =
            line.trim_start().starts_with("import").then(|| phaser_address(line)).flatten();
        match address {
            Some(address) => made += &line.replacen(address, "phaser", 1),
            None => made += line,
        }
    }
    made
}

/// The quoted address of Phaser in an import, if it has one.
fn phaser_address(line: &str) -> Option<&str> {
    let mut quoted = line.split(['"', '\'']).skip(1).step_by(2);
    quoted.find(|text| text.contains('/') && text.to_lowercase().contains("phaser"))
}

/// The size of a game.
fn size(game: &Object<'_>) -> (f64, f64) {
    let read = || {
        let scale = object(game, "scale").ok()??;
        let size = object(&scale, "gameSize").ok()??;
        let read = |name| number(own(&size, name).ok()?);
        Some((read("_width")?, read("_height")?))
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_imports_the_phaser_that_there_is() {
        let line = "import Phaser from 'https://cdn.example/phaser@3.90.0/dist/phaser.esm.js';\nlet a = 'b/phaser';";
        assert_eq!(with_own_phaser(line), "import Phaser from 'phaser';\nlet a = 'b/phaser';");
        let other = "import x from './tools.js';\n";
        assert_eq!(with_own_phaser(other), other);
    }
}
