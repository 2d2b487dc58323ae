//! What is asked of a run of a Phaser program, and what came of it.

use serde::{Deserialize, Serialize};

use super::input::InputScript;
use super::trace::{ObjectState, Trace};
use crate::job::Limits;

/// Frames of one run, at most.
pub const FRAMES_MAX: u32 = 1200;
/// Bytes of a program, at most.
pub const SOURCE_MAX: usize = 256 << 10;
/// Characters of an error's message, at most.
pub(super) const MESSAGE_MAX: usize = 400;

/// One program to run.
#[derive(Debug, Clone, Copy)]
pub struct PlayJob<'a> {
    /// Its source.
    pub source: &'a str,
    /// How it is run.
    pub settings: &'a Settings,
    /// Its limits.
    pub limits: Limits,
}

/// How a program is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A script or a module.
    pub kind: SourceKind,
    /// Frames of a sixtieth of a second that it runs for, at most [`FRAMES_MAX`].
    pub frames: u32,
    /// The seed of `Math.random`.
    pub seed: u64,
    /// Keys and pointer by frame.
    pub input: InputScript,
    /// A snapshot is taken every so many frames; around input there are more.
    pub every: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let (kind, input) = (SourceKind::Script, InputScript::default());
        Self { kind, frames: 120, seed: 0, input, every: 5 }
    }
}

/// The way in which a source is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A script, in which `Phaser` is a global name.
    #[default]
    Script,
    /// A module, which may import `phaser` as well.
    Module,
}

/// How far a program came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its source was being run.
    Load,
    /// Its game was being started.
    Boot,
    /// Its game had started.
    Frames,
    /// All frames have passed.
    Done,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The program's own fault.
    Fault,
    /// It needs what this environment does not have: `WebGL`, frames of a texture, files. A program can
    /// bring this about, so it must never be worth more than a fault of its own.
    EnvLimit,
    /// It used up its time.
    Timeout,
    /// It used up its memory.
    Memory,
    /// It called itself too deep.
    Stack,
    /// It changed what the environment measures with.
    Tampering,
}

impl FailureClass {
    /// Whether the frames before it are paid: they are the same on every machine, and the program did not end its own
    /// measurement.
    pub fn pays_frames_before(self) -> bool {
        matches!(self, Self::Fault | Self::EnvLimit)
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::EnvLimit => "env_limit",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Stack => "stack",
            Self::Tampering => "tampering",
        }
    }
}

/// What came of a program. The same program, settings and seed give the same run, but for
/// [`cpu_ms`](Self::cpu_ms), [`memory`](Self::memory) and where a limit of time is met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// How far it came.
    pub stage: Stage,
    /// Whether all frames passed without a failure.
    pub ok: bool,
    /// The kind of its failure.
    pub class: Option<FailureClass>,
    /// The failure in a sentence.
    pub error: Option<String>,
    /// The line of the program that failed, counted from 1.
    pub line: Option<u32>,
    /// Frames that passed, as the host counts them.
    pub frames: u32,
    /// Keys of the scenes that were running in the last frame.
    pub scenes: Vec<String>,
    /// The objects of the last frame, at most 200.
    pub objects: Vec<ObjectState>,
    /// Addresses of files that were asked for, at most 64.
    pub assets: Vec<String>,
    /// What it wrote to the console, at most 64 lines.
    pub log: Vec<String>,
    /// The snapshots.
    pub trace: Trace,
    /// Milliseconds of CPU time.
    pub cpu_ms: f64,
    /// Bytes of memory that its process held at most, Phaser included.
    pub memory: u64,
}

impl Run {
    /// Whether the program used up its CPU time, and not the time of a busy machine: then it does so again. A program
    /// is stopped after nine tenths of its limit, so that it can still say how far it came.
    pub fn used_up_cpu(&self, limits: Limits) -> bool {
        self.class == Some(FailureClass::Timeout)
            && self.cpu_ms >= limits.cpu.as_secs_f64() * 1e3 * 0.9
    }

    /// A run that failed without having got anywhere.
    pub(crate) fn failed(stage: Stage, class: FailureClass, error: &str) -> Self {
        Self {
            stage,
            ok: false,
            class: Some(class),
            error: Some(error.to_owned()),
            line: None,
            frames: 0,
            scenes: Vec::new(),
            objects: Vec::new(),
            assets: Vec::new(),
            log: Vec::new(),
            trace: Trace::default(),
            cpu_ms: 0.0,
            memory: 0,
        }
    }
}
