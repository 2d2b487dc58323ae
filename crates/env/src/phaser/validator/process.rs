//! A command that is asked once: bytes in, bytes out, within bounds of time and size.
//!
//! The command runs in a process group of its own, which is killed when the command has ended, when it is late, and with us.
//! Its answer is what it had written when it ended. Pipes are read on threads that are not waited for: a process that left
//! the group may hold a pipe open for ever.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use whetstone_sandbox::bound::end_with_us;

/// Bytes of what a command says about its own failure that are kept.
const COMPLAINT_BYTES: usize = 4 << 10;
/// The longest pause between two looks at whether a command has ended.
const PAUSE: Duration = Duration::from_millis(10);
/// What a pipe that a process outside of the group holds is given to say that it has all been read.
const GRACE: Duration = Duration::from_millis(200);

/// Bounds of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Time on the clock.
    pub(super) wall: Duration,
    /// Bytes of the answer.
    pub(super) answer_bytes: usize,
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProcessError {
    #[error("cannot be started: {0}")]
    Start(io::Error),
    #[error("gave no answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("answered with more than {0} bytes")]
    TooLong(usize),
    #[error("cannot be read: {0}")]
    Pipe(io::Error),
    #[error("ended with {status}{}", after_colon(.complaint))]
    Failed { status: ExitStatus, complaint: String },
}

/// Asks a command, and gives back all that it wrote to standard output.
pub(super) fn ask(
    command: &mut Command,
    question: Vec<u8>,
    bounds: Bounds,
) -> Result<Vec<u8>, ProcessError> {
    let until = Instant::now() + bounds.wall;
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = end_with_us(pipes.process_group(0)).spawn().map_err(ProcessError::Start)?;
    let mut group = Group { child, is_over: false };
    if let Some(mut stdin) = group.child.stdin.take() {
        // A command that does not want the whole question may end without reading it.
        spawn(move || drop(stdin.write_all(&question)))?;
    }
    let complaint = Reading::of(group.child.stderr.take(), COMPLAINT_BYTES)?;
    let answer = Reading::of(group.child.stdout.take(), bounds.answer_bytes + 1)?;
    let mut pause = Duration::from_micros(200);
    while !group.has_ended().map_err(ProcessError::Pipe)? {
        if answer.length() > bounds.answer_bytes {
            return Err(ProcessError::TooLong(bounds.answer_bytes));
        }
        if Instant::now() >= until {
            return Err(ProcessError::Late(bounds.wall));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
    let status = group.end().map_err(ProcessError::Pipe)?;
    let answer = answer.all().map_err(ProcessError::Pipe)?;
    if answer.len() > bounds.answer_bytes {
        return Err(ProcessError::TooLong(bounds.answer_bytes));
    }
    if status.success() {
        return Ok(answer);
    }
    let complaint = complaint.all().unwrap_or_default();
    Err(ProcessError::Failed { status, complaint: first_line(&complaint) })
}

/// A pipe that is read on a thread.
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<io::Result<()>>,
}

impl Reading {
    /// Reads up to `most` bytes; what is written beyond them is dropped.
    fn of(pipe: Option<impl Read + Send + 'static>, most: usize) -> Result<Self, ProcessError> {
        let (sender, end) = channel();
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        spawn(move || {
            // The receiver is gone if the caller timed out.
            drop(sender.send(pipe.map_or(Ok(()), |mut pipe| keep(&mut pipe, &kept, most))));
        })?;
        Ok(Self { bytes, end })
    }

    fn length(&self) -> usize {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// What was written to it, after the command and its group have ended.
    fn all(self) -> Bytes {
        let ended = match self.end.recv_timeout(GRACE) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        };
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        ended.map(|()| std::mem::take(&mut *bytes))
    }
}

type Bytes = io::Result<Vec<u8>>;

/// Reads a pipe to its end, and keeps its beginning.
fn keep(pipe: &mut impl Read, kept: &Mutex<Vec<u8>>, most: usize) -> io::Result<()> {
    let mut part = vec![0; 16 << 10];
    loop {
        let read = match pipe.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(err),
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = most.saturating_sub(kept.len()).min(read);
        kept.extend_from_slice(&part[..room]);
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), ProcessError> {
    thread::Builder::new().spawn(work).map(drop).map_err(ProcessError::Start)
}

/// A command and all that it started; killed when it is dropped.
struct Group {
    child: Child,
    /// The command was waited for, so its number may be another process's by now.
    is_over: bool,
}

impl Group {
    /// Whether the command has ended; it is not waited for, so that its number stays its own.
    fn has_ended(&self) -> io::Result<bool> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        Ok(waitid(Id::Pid(self.pid()), flags)? != WaitStatus::StillAlive)
    }

    /// Kills what is left of the group, and waits for the command.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // Nothing is left of most groups, and that is no error here.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        self.is_over = true;
        self.child.wait()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("the kernel's numbers are 31 bits"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            drop(self.end());
        }
    }
}

/// The first line with something on it, without control characters and of bounded length.
fn first_line(bytes: &[u8]) -> String {
    const CHARS: usize = 200;
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { wall: Duration::from_secs(20), answer_bytes: 1000 };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn problem(script: &str, bounds: Bounds) -> String {
        ask(&mut shell(script), vec![b'x'; 1 << 20], bounds).expect_err("no answer").to_string()
    }

    #[test]
    fn a_command_answers_what_it_was_asked() {
        let answer = ask(&mut shell("tr a b"), b"banana".to_vec(), BOUNDS).expect("an answer");
        assert_eq!(answer, b"bbnbnb");
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_first_complaint() {
        let said = problem("echo >&2; echo no such thing >&2; echo more >&2; exit 3", BOUNDS);
        assert_eq!(said, "ended with exit status: 3: no such thing");
        assert_eq!(problem("kill -9 $$", BOUNDS), "ended with signal: 9 (SIGKILL)");
        let missing = ask(&mut Command::new("/nowhere/v"), Vec::new(), BOUNDS).expect_err("none");
        assert!(missing.to_string().starts_with("cannot be started"), "{missing}");
    }

    #[test]
    fn an_answer_beyond_its_bound_is_none() {
        let short = Bounds { answer_bytes: 10, ..BOUNDS };
        assert_eq!(problem("printf 12345678901", short), "answered with more than 10 bytes");
        assert!(ask(&mut shell("printf 1234567890"), Vec::new(), short).is_ok());
        assert_eq!(problem("exec cat /dev/zero", short), "answered with more than 10 bytes");
    }

    /// The pipe of an answer is held by a process that left the group: what was written is the answer.
    #[test]
    fn an_answer_is_there_when_the_command_has_ended() {
        let begin = Instant::now();
        let script = "setsid sleep 5 & printf done";
        let answer = ask(&mut shell(script), Vec::new(), BOUNDS).expect("an answer");
        assert_eq!(answer, b"done");
        assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    }

    #[test]
    fn a_late_command_is_killed_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let pids = folder.path().join("pids");
        // A shell that waits for a process of its own, which would outlive it.
        let script = format!("sleep 600 & echo $! > {}; wait", pids.display());
        let bounds = Bounds { wall: Duration::from_secs(1), ..BOUNDS };
        assert_eq!(problem(&script, bounds), "gave no answer within 1 s");
        let pid = std::fs::read_to_string(&pids).expect("it was started");
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        let is_gone = || state().map_or(true, |stat| stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(10);
        while !is_gone() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(is_gone(), "{:?}", state());
    }
}
