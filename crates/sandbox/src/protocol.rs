//! What a [`Judge`](crate::Judge) and its supervisor say to each other: JSON in frames of a known
//! length.
//!
//! Both ends are the same binary, but a frame is read as if it were not: bounded, and refused as a
//! whole when anything is off.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whetstone_core::judgement::{Isolation, Judgement};
use whetstone_core::program::Program;
use whetstone_core::tests::Tests;

use crate::phaser::{Installation, Run, Settings};

/// The version of everything here.
pub const VERSION: u32 = 5;

/// Bytes of one frame, at most: the tests of a task can be large.
pub const FRAME_MAX: usize = 256 << 20;

/// The first thing a supervisor is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// [`VERSION`].
    pub v: u32,
    /// The command that starts this binary as a launcher of zygotes.
    pub command: Vec<String>,
    /// The command of the interpreter.
    pub python: String,
    /// Programs at the same time.
    pub workers: u32,
    /// Refuse to run below this.
    pub minimum: Isolation,
    /// Do not try above this.
    pub ceiling: Isolation,
    /// The parent of program folders, if programs need one outside the sandbox.
    pub scratch: PathBuf,
    /// The value of `PYTHONHASHSEED`.
    pub hash_seed: u32,
    /// Use no later version of Landlock than this.
    pub landlock: u32,
    /// The Phaser for programs that use it.
    pub phaser: Option<Installation>,
}

/// The supervisor's reply to [`Start`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hello {
    /// It can judge.
    Ready(About),
    /// It cannot, and why.
    Refused(String),
}

/// The isolation on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The isolation of programs.
    pub isolation: Isolation,
    /// Why not better, if there is a better.
    pub why_not_better: Option<String>,
    /// Landlock's version in this kernel; 0 if it has none.
    pub landlock: u32,
    /// Whether memory and processes are bounded by control groups as well.
    pub control_groups: bool,
    /// The interpreter.
    pub python: PathBuf,
    /// Its version.
    pub python_version: [u32; 3],
    /// Programs that compute at the same time.
    pub workers: u32,
    /// Programs at the same time, sleeping ones included: this many callers keep it busy.
    pub slots: u32,
}

/// What a supervisor is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To judge a program by tests.
    Judge(JudgeRequest),
    /// To run a program that uses Phaser.
    Play(PlayRequest),
}

impl Request {
    /// The number that comes back with the answer.
    pub fn id(&self) -> u64 {
        match self {
            Self::Judge(request) => request.id,
            Self::Play(request) => request.id,
        }
    }
}

/// One program that uses Phaser.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayRequest {
    /// Comes back with the answer.
    pub id: u64,
    /// Its source.
    pub source: String,
    /// How it is run.
    pub settings: Settings,
    /// Milliseconds of CPU time.
    pub cpu_ms: u64,
    /// Bytes of memory.
    pub memory: u64,
}

/// One program to judge.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeRequest {
    /// Comes back with the answer.
    pub id: u64,
    /// The program.
    pub program: Program,
    /// Code of the task that the tests need.
    pub setup: String,
    /// The tests.
    pub tests: Tests,
    /// Milliseconds of CPU time.
    pub cpu_ms: u64,
    /// Bytes of memory.
    pub memory: u64,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeResponse {
    /// The request's.
    pub id: u64,
    /// The judgement, or why there is none.
    pub outcome: Outcome,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The program was judged.
    Judged(Judgement),
    /// The program was run.
    Played(Box<Run>),
    /// The machine broke.
    Failed(String),
    /// The tests are at fault.
    BrokenTests(String),
}

/// Writes one frame.
pub fn write_frame(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&frame)
}

/// Reads one frame; `None` at the end of the connection.
pub fn read_frame<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let Some(bytes) = read_bytes(&mut from)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other)
}

/// Reads the bytes of one frame; `None` at the end of the connection.
pub fn read_bytes(mut from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut filled = 0;
    while filled < length.len() {
        match from.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    // Memory is taken as bytes arrive, not as they are promised.
    let mut bytes = Vec::with_capacity(length.min(1 << 16));
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() == length { Ok(Some(bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
