//! Programs that use Phaser: the real Phaser, headless, in a `QuickJS` engine in the jail.
//!
//! Phaser is not part of Whetstone: [`install()`] compiles it once, from the archive that `npm pack`
//! gives, and a zygote has it loaded. [`Judge::play`](crate::Judge::play) forks a child of that zygote
//! for each program, runs it for some frames with scripted input, and answers with a [`Run`].
//!
//! A program can do as it likes with the document, the clock and the Phaser that it finds: the host
//! counts the frames, and reads scenes through own properties and known prototypes without running
//! any JavaScript.

mod adopted;
mod child;
mod colors;
mod engine;
mod failure;
mod host;
pub mod input;
pub mod install;
mod peek;
mod play;
pub mod run;
mod snapshot;
pub mod trace;
mod views;
mod zygote;

pub(crate) use child::{ANSWER, QUESTION, Question};
pub use engine::shim_digest;
pub use input::{Action, InputEvent, InputScript};
pub use install::{InstallError, Installation, Version, install};
pub use run::{FailureClass, PlayJob, Run, Settings, SourceKind, Stage};
pub use trace::{BodyState, ObjectState, Snapshot, Trace};
pub(crate) use zygote::become_zygote;
