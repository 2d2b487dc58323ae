//! One child: its channel, its output, its clocks, and its end.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use nix::unistd::pipe2;

use super::scratch::Scratch;
use crate::channel::{Bad, Frame, Inbox};
use crate::jail::order::Order;
use crate::os::{self, Ended};
use crate::zygote::{Fds, Zygote};

/// Bytes of output that are kept.
const KEPT_MAX: usize = 8 << 20;
/// Bytes of output after which a program is a flood.
const OUTPUT_MAX: usize = 64 << 20;
/// Bytes and entries in a folder outside, at most; looked at every few ticks.
const SCRATCH_BYTES: u64 = 64 << 20;
const SCRATCH_ENTRIES: usize = 4096;
const SCRATCH_TICKS: u32 = 4;
/// Bytes read at once.
const BLOCK: usize = 4096;
/// A child younger than this is not asked for its CPU time.
const YOUNG: Duration = Duration::from_millis(50);
/// How often an older one is.
const TICK: Duration = Duration::from_millis(10);
/// What counts, at most, of the time between two looks at the clock.
const GLANCE: Duration = Duration::from_millis(100);
/// How long a child whose channel is closed may take to be dead.
const DYING: Duration = Duration::from_millis(200);

/// The judge has hung up: nobody waits for an answer any more.
pub(crate) static CLOSING: AtomicBool = AtomicBool::new(false);

/// What a child is to be; the numbers are `zygote.py`'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program whose functions are called.
    Program = 1,
    /// A program that reads and writes.
    Script = 2,
    /// Test code.
    Checker = 3,
    /// A checker of the task's author, for one answer.
    AnswerChecker = 4,
}

/// What a child may use up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) cpu: Duration,
    /// Time that we have watched it, less the time it waited for a processor.
    pub(crate) wall: Duration,
}

/// Why there will be no further answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It used up its time.
    Timeout,
    /// It wrote too much.
    Output,
    /// Its channel is closed.
    Closed,
    /// What it sent is no frame.
    Garbled,
    /// The machine broke.
    Broken(String),
}

/// One child.
#[derive(Debug)]
pub(crate) struct Kid {
    pid: i32,
    process: OwnedFd,
    channel: OwnedFd,
    output: Output,
    errors: Option<Output>,
    began: Instant,
    /// When the clock was last looked at, and how much time has been seen to pass.
    looked: Instant,
    watched: Duration,
    budget: Budget,
    /// The folder outside that it writes to, if it has one.
    scratch: Option<Arc<Scratch>>,
    ticks: u32,
    inbox: Inbox,
    ended: Option<Ended>,
}

/// One stream that a child writes to.
#[derive(Debug)]
struct Output {
    pipe: Option<File>,
    keep: bool,
    kept: Vec<u8>,
    seen: usize,
    /// Where bytes are read to; taken when there are some.
    block: Vec<u8>,
}

impl Kid {
    /// Forks a child from `zygote`.
    ///
    /// A child of kind [`Kind::Script`] has two streams, and the first is kept.
    pub(crate) fn fork(
        zygote: &mut Zygote,
        order: &Order,
        kind: Kind,
        stdin: BorrowedFd<'_>,
        budget: Budget,
        scratch: Option<Arc<Scratch>>,
    ) -> Result<Self, String> {
        let said = |error: Errno| format!("cannot make a channel: {error}");
        let none = SockFlag::SOCK_CLOEXEC;
        let (channel, theirs) =
            socketpair(AddressFamily::Unix, SockType::Stream, None, none).map_err(said)?;
        let script = kind == Kind::Script;
        let (output, output_end) = pipe2(OFlag::O_CLOEXEC).map_err(said)?;
        let errors = if script { Some(pipe2(OFlag::O_CLOEXEC).map_err(said)?) } else { None };
        let fds = Fds {
            channel: theirs.as_fd(),
            stdin,
            stdout: output_end.as_fd(),
            stderr: errors.as_ref().map_or(output_end.as_fd(), |(_, end)| end.as_fd()),
        };
        let order = Order { kind: kind as u32, ..*order };
        let pid = zygote.fork(&order, fds).map_err(|error| error.to_string())?;
        let process = match os::pidfd_open(pid) {
            Ok(process) => process,
            Err(error) => {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(pid),
                    nix::sys::signal::Signal::SIGKILL,
                );
                let _ = os::reap(pid);
                return Err(format!("cannot watch a child: {error}"));
            }
        };
        Ok(Self {
            pid,
            process,
            channel,
            output: Output::new(output, script),
            errors: errors.map(|(end, _)| Output::new(end, false)),
            began: Instant::now(),
            looked: Instant::now(),
            watched: Duration::ZERO,
            budget,
            scratch,
            ticks: 0,
            inbox: Inbox::new(),
            ended: None,
        })
    }

    /// Sends one frame.
    pub(crate) fn send(&mut self, kind: u8, payload: &[&[u8]]) -> Result<(), Stop> {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let mut frame = Vec::with_capacity(length + 5);
        let announced =
            u32::try_from(length + 1).map_err(|_| Stop::Broken("too long".to_owned()))?;
        frame.extend(announced.to_le_bytes());
        frame.push(kind);
        for part in payload {
            frame.extend_from_slice(part);
        }
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            match send(self.channel.as_raw_fd(), rest, flags) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::EAGAIN) => self.wait(PollFlags::POLLOUT)?,
                Err(Errno::EINTR) => {}
                Err(_) => return Err(Stop::Closed),
            }
        }
        Ok(())
    }

    /// Waits for the next frame.
    pub(crate) fn receive(&mut self) -> Result<Frame, Stop> {
        loop {
            match self.inbox.take() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(Bad::Garbled) => return Err(Stop::Garbled),
                Err(Bad::Jail(fault)) => return Err(Stop::Broken(jail_fault(fault))),
            }
            let room = if self.inbox.len() < BLOCK { BLOCK } else { 16 * BLOCK };
            let channel = self.channel.as_raw_fd();
            match self.inbox.fill(room, |place| recv(channel, place, MsgFlags::MSG_DONTWAIT)) {
                Ok(0) | Err(Errno::ECONNRESET) => return Err(Stop::Closed),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => self.wait(PollFlags::POLLIN)?,
                Err(error) => return Err(Stop::Broken(format!("cannot read a channel: {error}"))),
            }
        }
    }

    /// Whether the jail was shut, so that what follows is the program's doing.
    pub(crate) fn was_ready(&self) -> bool {
        self.inbox.is_ready()
    }

    /// Waits until the channel is ready, draining output and watching the clocks.
    fn wait(&mut self, events: PollFlags) -> Result<(), Stop> {
        loop {
            let age = self.began.elapsed();
            let timeout = if age < YOUNG { YOUNG.saturating_sub(age).max(TICK) } else { TICK };
            let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
            let mut waiting = vec![PollFd::new(self.channel.as_fd(), events)];
            let streams = [Some(&self.output), self.errors.as_ref()];
            let pipes = streams.into_iter().flatten().filter_map(|output| output.pipe.as_ref());
            waiting.extend(pipes.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
            match poll(&mut waiting, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(Stop::Broken(format!("cannot wait: {error}"))),
            }
            let there: Vec<bool> = waiting
                .iter()
                .map(|fd| fd.revents().is_some_and(|seen| !seen.is_empty()))
                .collect();
            drop(waiting);
            if there[1..].contains(&true) {
                self.output.drain()?;
                if let Some(errors) = &mut self.errors {
                    errors.drain()?;
                }
            }
            if CLOSING.load(Ordering::Relaxed) {
                return Err(Stop::Broken("the judge is closing".to_owned()));
            }
            if self.began.elapsed() >= YOUNG {
                self.check_clocks(there[0])?;
                self.check_scratch()?;
            }
            if there[0] {
                return Ok(());
            }
        }
    }

    /// CPU time counts always, time on the wall only while nothing has come from the child.
    ///
    /// A machine that stood still, or had no processor for us, is not the program's fault: of a
    /// long gap between two looks only a little counts.
    fn check_clocks(&mut self, answered: bool) -> Result<(), Stop> {
        if os::cpu_time(self.pid).is_some_and(|used| used > self.budget.cpu) {
            return Err(Stop::Timeout);
        }
        self.watched += self.looked.elapsed().min(GLANCE);
        self.looked = Instant::now();
        if !answered
            && self.watched > self.budget.wall
            && self.watched.saturating_sub(waited_for_processor(self.pid)) > self.budget.wall
        {
            return Err(Stop::Timeout);
        }
        Ok(())
    }

    /// Where a program writes to the machine's own file system, what it holds is looked at.
    fn check_scratch(&mut self) -> Result<(), Stop> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        self.ticks += 1;
        if !self.ticks.is_multiple_of(SCRATCH_TICKS) {
            return Ok(());
        }
        let (bytes, entries) = scratch.holds(SCRATCH_ENTRIES);
        if bytes > SCRATCH_BYTES || entries >= SCRATCH_ENTRIES {
            return Err(Stop::Output);
        }
        Ok(())
    }

    /// Ends the child, if it has not ended, and says how it did.
    ///
    /// A child that closed its channel is given a moment: it may be on its way out.
    pub(crate) fn end(&mut self, stop: Option<&Stop>) -> Ended {
        if let Some(ended) = self.ended {
            return ended;
        }
        let mut by_itself = false;
        if stop == Some(&Stop::Closed) {
            let timeout = PollTimeout::try_from(DYING).unwrap_or(PollTimeout::ZERO);
            let mut waiting = [PollFd::new(self.process.as_fd(), PollFlags::POLLIN)];
            by_itself = matches!(poll(&mut waiting, timeout), Ok(1));
        }
        if !by_itself {
            os::kill(self.process.as_fd());
        }
        let mut ended = os::reap(self.pid).unwrap_or(Ended { signal: None, cpu: Duration::ZERO });
        if !by_itself {
            ended.signal = None;
        }
        self.ended = Some(ended);
        ended
    }

    /// Kills the child without waiting for its end; says what CPU time it has used.
    pub(crate) fn leave(&mut self) -> Duration {
        let used = os::cpu_time(self.pid).unwrap_or_default();
        os::kill(self.process.as_fd());
        used
    }

    /// What a child of kind [`Kind::Script`] wrote, once it has ended.
    pub(crate) fn written(&mut self) -> Result<&[u8], Stop> {
        while self.output.pipe.is_some() {
            self.output.drain()?;
        }
        Ok(&self.output.kept)
    }
}

impl Drop for Kid {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl Output {
    fn new(pipe: OwnedFd, keep: bool) -> Self {
        Self { pipe: Some(File::from(pipe)), keep, kept: Vec::new(), seen: 0, block: Vec::new() }
    }

    /// Takes what is there, once.
    fn drain(&mut self) -> Result<(), Stop> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut waiting = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        if !matches!(poll(&mut waiting, PollTimeout::ZERO), Ok(1)) {
            return Ok(());
        }
        self.block.resize(if self.seen < BLOCK { BLOCK } else { 16 * BLOCK }, 0);
        match pipe.read(&mut self.block) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.seen += count;
                if self.keep && self.kept.len() < KEPT_MAX {
                    let room = KEPT_MAX - self.kept.len();
                    self.kept.extend_from_slice(&self.block[..count.min(room)]);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Stop::Broken(format!("cannot read output: {error}"))),
        }
        if self.seen > OUTPUT_MAX { Err(Stop::Output) } else { Ok(()) }
    }
}

/// How long a process was ready to run and did not: on a busy machine that is not its fault.
fn waited_for_processor(pid: i32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Duration::from_nanos(waited)
}

fn jail_fault(fault: Option<(u8, u8)>) -> String {
    match fault {
        Some((step, error)) => {
            let error = os::error_text(i32::from(error));
            format!("the jail could not be shut at step `{}`: {error}", char::from(step))
        }
        None => "the jail could not be shut".to_owned(),
    }
}
