//! A program that uses Phaser, run in a child of the zygote that has it loaded.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::child::{Budget, CLOSING, ChildKind, ChildProcess};
use super::slot::{How, Slot};
use super::stop::Stop;
use crate::channel::Frame;
use crate::job::Limits;
use crate::phaser::run::SOURCE_MAX;
use crate::phaser::{ANSWER, FailureClass, QUESTION, Question, Run, Stage};
use crate::protocol::{JudgeResponse, Outcome, PlayRequest};
use crate::zygote::launch::ZygoteKind;

/// The part of its CPU time after which a child stops by itself: so it can still say how far it came.
const SOFT_PART: u64 = 10;

impl Slot {
    /// Runs one program; where the machine breaks it is tried a second time, with a fresh zygote.
    pub(crate) fn play(&mut self, request: &PlayRequest) -> JudgeResponse {
        self.used = Budget::NOTHING;
        let played = self.play_once(request).or_else(|broken| {
            if CLOSING.load(Ordering::Relaxed) {
                return Err(broken);
            }
            self.zygote = None;
            self.second_try = true;
            let played = self.play_once(request);
            self.second_try = false;
            played
        });
        let outcome = match played {
            Ok(run) => Outcome::Played(Box::new(run)),
            Err(problem) => Outcome::Failed(problem),
        };
        JudgeResponse { id: request.id, outcome }
    }

    fn play_once(&mut self, request: &PlayRequest) -> Result<Run, String> {
        if self.setting.phaser.is_none() {
            return Err("Phaser is not installed, so no program that uses it can be run".to_owned());
        }
        if request.source.len() > SOURCE_MAX {
            let length = request.source.len();
            let error = format!("the program has {length} bytes: at most {SOURCE_MAX} are run");
            return Ok(Run::failed(Stage::Load, FailureClass::Fault, &error));
        }
        self.rest();
        self.speak(ZygoteKind::Phaser);
        let limits = Limits { cpu: Duration::from_millis(request.cpu_ms), memory: request.memory };
        let mut child = self.fork(ChildKind::Game, limits, None)?;
        let mut run = match ask(&mut child, request) {
            Ok(run) => {
                child.leave();
                run
            }
            Err(stop) => stopped(self.how(&mut child, Some(&stop), limits)?),
        };
        run.cpu_ms = child.end(None).cpu.as_secs_f64() * 1e3;
        Ok(run)
    }
}

/// Asks a child to run a program. Bytes that are not a run are not an answer.
fn ask(child: &mut ChildProcess, request: &PlayRequest) -> Result<Run, Stop> {
    let soft = request.cpu_ms - request.cpu_ms / SOFT_PART;
    let (source, settings) = (request.source.clone(), request.settings.clone());
    let question = Question { source, settings, cpu_ms: soft };
    let question =
        serde_json::to_vec(&question).map_err(|error| Stop::Broken(error.to_string()))?;
    child.send(QUESTION, &[&question])?;
    match child.receive()? {
        Frame { kind: ANSWER, payload } => {
            serde_json::from_slice(&payload).map_err(|_| Stop::Garbled)
        }
        _ => Err(Stop::Garbled),
    }
}

/// The run of a child that gave no answer.
fn stopped(how: How) -> Run {
    let crashed;
    let (class, error) = match how {
        How::Timeout => (FailureClass::Timeout, "the program used up its time"),
        How::Memory => (FailureClass::Memory, "the program used up its memory"),
        How::Output => (FailureClass::Fault, "the program wrote too much"),
        How::Crashed(signal) => {
            crashed = format!("the program brought the engine down with signal {signal}");
            (FailureClass::Fault, crashed.as_str())
        }
        How::Left | How::Garbled | How::Threads => {
            (FailureClass::Tampering, "the program's process did what no program can")
        }
    };
    Run::failed(Stage::Load, class, error)
}
