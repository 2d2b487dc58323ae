//! One child: its channel, its output, its clocks, and its end.
// size: one structure and what is done with it; half of it would need the other's fields.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use nix::unistd::pipe2;

use super::cores::Permit;
use super::fault::jail_fault;
use super::scratch::ProgramFolder;
use super::stop::Stop;
use super::watch::Watch;
use crate::channel::{ChannelError, Frame, Inbox};
use crate::jail::order::Order;
use crate::job::Limits;
use crate::os::{self, ChildExit};
use crate::zygote::{Fds, Zygote};

/// Bytes of output that are kept.
const KEPT_MAX: usize = 8 << 20;
/// Bytes of output after which a program is a flood.
const OUTPUT_MAX: usize = 64 << 20;
/// Bytes read at once.
const BLOCK: usize = 4096;
/// A child younger than this is not asked for its CPU time.
const YOUNG: Duration = Duration::from_millis(50);
/// How often an older one is.
const TICK: Duration = Duration::from_millis(10);
/// What counts, at most, of the time between two looks at the clock.
const GLANCE: Duration = Duration::from_millis(100);
/// The time that a child may take to exit after its channel was closed.
const DYING: Duration = Duration::from_millis(200);
/// Over so much time it is found out whether a child computes or sleeps.
const ACTIVITY: Duration = Duration::from_millis(40);
/// A child that computes for less than this part of that time sleeps.
const ACTIVE_PART: u32 = 8;
/// Threads that are asked how long they waited for a processor.
const WAITING_THREADS: usize = 64;
/// Reads that one frame may take: an honest one, written at once, takes a few dozen at most.
const READS_MAX: u32 = 1024;
/// Output that trickles is looked at no more often than this.
const TRICKLE: Duration = Duration::from_millis(2);

/// The judge has hung up: no answer is awaited any more.
pub(crate) static CLOSING: AtomicBool = AtomicBool::new(false);

/// The kind of a child; the numbers are those of `zygote.py`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildKind {
    /// A program whose functions are called.
    Program = 1,
    /// A program that reads and writes.
    Script = 2,
    /// Test code.
    Checker = 3,
    /// A checker of the task's author, for one answer.
    AnswerChecker = 4,
    /// A program that uses Phaser.
    Game = 5,
}

/// The CPU and wall time of a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) cpu: Duration,
    /// Time that we have watched it, less the time it waited for a processor.
    pub(crate) wall: Duration,
}

/// The budget of all runs of a program, as a multiple of the budget of one run.
const RUNS_CPU: u32 = 4;
const RUNS_WALL: u32 = 2;

impl Budget {
    /// None of it.
    pub(crate) const NOTHING: Self = Self { cpu: Duration::ZERO, wall: Duration::ZERO };

    /// The budget of one child.
    pub(crate) fn for_one(limits: Limits) -> Self {
        Self { cpu: limits.cpu, wall: 3 * limits.cpu + Duration::from_secs(2) }
    }

    /// The budget of all runs of one program, where each test is a run.
    pub(crate) fn for_all_runs(limits: Limits) -> Self {
        let one = Self::for_one(limits);
        Self { cpu: RUNS_CPU * one.cpu, wall: RUNS_WALL * one.wall }
    }

    /// The smaller of two, in each.
    pub(crate) fn at_most(self, other: Self) -> Self {
        Self { cpu: self.cpu.min(other.cpu), wall: self.wall.min(other.wall) }
    }

    /// The rest, when some is used up.
    pub(crate) fn less(self, used: Self) -> Self {
        let (cpu, wall) = (self.cpu.saturating_sub(used.cpu), self.wall.saturating_sub(used.wall));
        Self { cpu, wall }
    }

    /// Whether there is no CPU time or no time on the wall left.
    pub(crate) fn is_spent(self) -> bool {
        self.cpu.is_zero() || self.wall.is_zero()
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, wall: self.wall + other.wall }
    }
}

/// The kind of a child and its resources.
pub(crate) struct ChildOptions<'a> {
    pub(crate) kind: ChildKind,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) budget: Budget,
    /// The folder outside that it writes to, if it has one.
    pub(crate) scratch: Option<Arc<ProgramFolder>>,
}

/// The event to wait for.
#[derive(Debug, Clone, Copy)]
enum Awaited {
    Channel(PollFlags),
    End,
}

/// One child.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pid: i32,
    watch: Arc<Watch>,
    /// The program that this child checks: it keeps running while we wait for this one.
    beside: Option<Beside>,
    channel: OwnedFd,
    output: OutputStream,
    errors: Option<OutputStream>,
    began: Instant,
    /// When the clock was last looked at, and how much time has been seen to pass.
    looked: Instant,
    watched: Duration,
    budget: Budget,
    /// Its time on the wall was over when it last said something: a whole frame by then still
    /// counts, a further piece of one does not.
    overdue: bool,
    /// When little output was last taken.
    trickled: Option<Instant>,
    inbox: Inbox,
    ended: Option<ChildExit>,
    core: Option<Core>,
}

/// A program that keeps running while its checker is waited for.
#[derive(Debug)]
struct Beside {
    watch: Arc<Watch>,
    pid: i32,
    /// CPU time that it may use.
    cpu: Duration,
}

/// The core that a child computes on, and how much it does.
#[derive(Debug)]
struct Core {
    permit: Arc<Permit>,
    memory: u64,
    /// Since when we wait for it, or since when it was last looked at.
    since: Instant,
    /// CPU time at the last look, and time it had waited for a core by then.
    used: Duration,
    waited: Duration,
}

/// One stream that a child writes to.
#[derive(Debug)]
struct OutputStream {
    pipe: Option<File>,
    keep: bool,
    kept: Vec<u8>,
    seen: usize,
    /// The buffer of the next read; taken when it holds bytes.
    block: Vec<u8>,
}

impl ChildProcess {
    /// Forks a child from `zygote`.
    ///
    /// A child of kind [`ChildKind::Script`] has two streams, and the first is kept.
    pub(crate) fn fork(
        zygote: &mut Zygote,
        order: &Order,
        options: ChildOptions<'_>,
    ) -> Result<Self, String> {
        let ChildOptions { kind, stdin, budget, scratch } = options;
        let said = |error: Errno| format!("cannot make a channel: {error}");
        let none = SockFlag::SOCK_CLOEXEC;
        let (channel, theirs) =
            socketpair(AddressFamily::Unix, SockType::Stream, None, none).map_err(said)?;
        let script = kind == ChildKind::Script;
        let (output, output_end) = output_pipe().map_err(said)?;
        let errors = if script { Some(output_pipe().map_err(said)?) } else { None };
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
            watch: Arc::new(Watch::new(pid, process, order.data, scratch)),
            beside: None,
            channel,
            output: OutputStream::new(output, script),
            errors: errors.map(|(end, _)| OutputStream::new(end, false)),
            began: Instant::now(),
            looked: Instant::now(),
            watched: Duration::ZERO,
            budget,
            overdue: false,
            trickled: None,
            inbox: Inbox::new(),
            ended: None,
            core: None,
        })
    }

    /// It computes with this permit, and gives it up when it sleeps.
    pub(crate) fn uses(&mut self, permit: Arc<Permit>, memory: u64) {
        let none = Duration::ZERO;
        let core = Core { permit, memory, since: Instant::now(), used: none, waited: none };
        self.core = Some(core);
    }

    /// From now on `program` is watched while this child is waited for; what lies in their folder is
    /// the program's.
    pub(crate) fn stand_beside(&mut self, program: &Self) {
        self.watch.forget_files();
        let (watch, pid, cpu) = (program.watch.clone(), program.pid, program.budget.cpu);
        self.beside = Some(Beside { watch, pid, cpu });
    }

    /// The limit that it exceeds or has exceeded, as far as was observed.
    pub(crate) fn exceeds(&self) -> Option<Stop> {
        self.watch.look().or_else(|| self.check_cpu().err())
    }

    /// Whether it has written something that it was not asked for: an answer before its question.
    pub(crate) fn spoke_early(&self) -> bool {
        // EOF would count as readable, but a child that was killed has not answered early: look for a byte.
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_PEEK;
        let is_there = || matches!(recv(self.channel.as_raw_fd(), &mut [0], flags), Ok(1..));
        self.inbox.is_ready() && (!self.inbox.is_empty() || is_there())
    }

    /// The limit that it exceeds now.
    pub(crate) fn exceeds_now(&self) -> Option<Stop> {
        self.watch.look_now()
    }

    /// Sends one frame.
    pub(crate) fn send(&mut self, kind: u8, payload: &[&[u8]]) -> Result<(), Stop> {
        if let Some(core) = &mut self.core {
            // Before this it may have waited for us.
            core.since = Instant::now();
        }
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
                Err(Errno::EAGAIN) => self.wait(Awaited::Channel(PollFlags::POLLOUT))?,
                Err(Errno::EINTR) => {}
                Err(_) => return Err(Stop::Closed),
            }
        }
        Ok(())
    }

    /// Waits for the next frame. Only a whole one is an answer.
    pub(crate) fn receive(&mut self) -> Result<Frame, Stop> {
        let mut reads = 0;
        loop {
            match self.inbox.take() {
                Ok(Some(frame)) => {
                    // It may have been there without any waiting.
                    self.check_cpu()?;
                    return Ok(frame);
                }
                Ok(None) if reads > READS_MAX => return Err(Stop::Garbled),
                Ok(None) => {}
                Err(ChannelError::Garbled) => return Err(Stop::Garbled),
                Err(ChannelError::Jail(fault)) => return Err(Stop::Broken(jail_fault(fault))),
            }
            let room = if self.inbox.len() < BLOCK { BLOCK } else { 16 * BLOCK };
            let channel = self.channel.as_raw_fd();
            match self.inbox.fill(room, |place| recv(channel, place, MsgFlags::MSG_DONTWAIT)) {
                Ok(0) | Err(Errno::ECONNRESET) => return Err(Stop::Closed),
                Ok(_) => reads += 1,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => self.wait(Awaited::Channel(PollFlags::POLLIN))?,
                Err(error) => return Err(Stop::Broken(format!("cannot read a channel: {error}"))),
            }
        }
    }

    /// Whether the jail was shut, so that what follows is the program's doing.
    pub(crate) fn was_ready(&self) -> bool {
        self.inbox.is_ready()
    }

    /// Waits until the child has ended by itself, within its budget.
    pub(crate) fn finish(&mut self) -> Result<(), Stop> {
        self.wait(Awaited::End)
    }

    /// Waits until the channel is ready or the child has ended, draining output and watching the
    /// clocks.
    fn wait(&mut self, awaited: Awaited) -> Result<(), Stop> {
        loop {
            let (there, output_there) = self.poll(awaited)?;
            if output_there {
                let before = self.seen();
                self.output.drain()?;
                if let Some(errors) = &mut self.errors {
                    errors.drain()?;
                }
                self.trickled = (self.seen() - before < BLOCK).then(Instant::now);
            }
            if CLOSING.load(Ordering::Relaxed) {
                return Err(Stop::Broken("the judge is closing".to_owned()));
            }
            if self.began.elapsed() >= YOUNG {
                self.check_clocks(there)?;
            }
            self.check_holdings()?;
            if there {
                return Ok(());
            }
        }
    }

    /// Waits a tick at most; whether what is awaited is there, and whether output is.
    fn poll(&self, awaited: Awaited) -> Result<(bool, bool), Stop> {
        let mut timeout = TICK;
        let first = match awaited {
            Awaited::Channel(events) => PollFd::new(self.channel.as_fd(), events),
            Awaited::End => PollFd::new(self.watch.process(), PollFlags::POLLIN),
        };
        let mut waiting = vec![first];
        // Who writes byte by byte must not wake us for each.
        let pause = self.trickled.map_or(Duration::ZERO, |at| TRICKLE.saturating_sub(at.elapsed()));
        if pause.is_zero() {
            let streams = [Some(&self.output), self.errors.as_ref()];
            let pipes = streams.into_iter().flatten().filter_map(|output| output.pipe.as_ref());
            waiting.extend(pipes.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
        } else {
            timeout = TRICKLE;
        }
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        match poll(&mut waiting, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Stop::Broken(format!("cannot wait: {error}"))),
        }
        let is_there = |fd: &PollFd<'_>| fd.revents().is_some_and(|seen| !seen.is_empty());
        Ok((is_there(&waiting[0]), waiting[1..].iter().any(is_there)))
    }

    /// Bytes of output so far.
    fn seen(&self) -> usize {
        self.output.seen + self.errors.as_ref().map_or(0, |errors| errors.seen)
    }

    /// Time that it has been watched, as far as it counts.
    pub(crate) fn watched(&self) -> Duration {
        self.watched + self.looked.elapsed().min(GLANCE) + self.watch.spent()
    }

    /// CPU time, which also passes while its checker is waited for.
    fn check_cpu(&self) -> Result<(), Stop> {
        let is_old = self.began.elapsed() >= YOUNG;
        let used = is_old.then(|| os::cpu_time(self.pid)).flatten();
        if used.is_some_and(|used| used > self.budget.cpu) { Err(Stop::Timeout) } else { Ok(()) }
    }

    /// CPU time and time on the wall.
    ///
    /// A machine that stood still, or had no processor for us, is not the program's fault: of a
    /// long gap between two looks only a little counts. What the child has just said is read once
    /// more before its time is over, and only once.
    fn check_clocks(&mut self, answered: bool) -> Result<(), Stop> {
        if let Some(used) = os::cpu_time(self.pid) {
            if used > self.budget.cpu {
                return Err(Stop::Timeout);
            }
            self.check_activity(used);
        }
        self.watched += self.looked.elapsed().min(GLANCE);
        self.looked = Instant::now();
        let passed = self.watched + self.watch.spent();
        if passed > self.budget.wall
            && passed.saturating_sub(waited_for_processor(self.pid)) > self.budget.wall
        {
            if !answered || self.overdue {
                return Err(Stop::Timeout);
            }
            self.overdue = true;
        }
        Ok(())
    }

    /// A child that sleeps leaves its core to another slot.
    fn check_activity(&mut self, used: Duration) {
        let Some(core) = &mut self.core else { return };
        let time = core.since.elapsed();
        if time < ACTIVITY || !core.permit.is_held() {
            return;
        }
        let waited = waited_for_processor(self.pid);
        let active = used.saturating_sub(core.used) + waited.saturating_sub(core.waited);
        if active < time / ACTIVE_PART {
            core.permit.give_up(core.memory);
        }
        (core.since, core.used, core.waited) = (Instant::now(), used, waited);
    }

    /// What it holds, and what the program beside it does, which is ended at once if that is too
    /// much. The time that this takes is not the child's, but for what its own files cost.
    fn check_holdings(&mut self) -> Result<(), Stop> {
        let began = Instant::now();
        if let Some(Beside { watch, pid, cpu }) = &self.beside
            && (watch.look().is_some() || os::cpu_time(*pid).is_some_and(|used| used > *cpu))
        {
            os::kill(watch.process());
        }
        let stop = self.watch.look();
        self.looked += began.elapsed();
        stop.map_or(Ok(()), Err)
    }

    /// Ends the child, if it has not ended, and says how it did.
    ///
    /// A child that closed its channel is given a moment: it may be on its way out.
    pub(crate) fn end(&mut self, stop: Option<&Stop>) -> ChildExit {
        if let Some(ended) = self.ended {
            return ended;
        }
        let mut by_itself = false;
        if stop == Some(&Stop::Closed) {
            let timeout = PollTimeout::try_from(DYING).unwrap_or(PollTimeout::ZERO);
            let mut waiting = [PollFd::new(self.watch.process(), PollFlags::POLLIN)];
            by_itself = matches!(poll(&mut waiting, timeout), Ok(1));
        }
        if !by_itself {
            os::kill(self.watch.process());
        }
        let mut ended =
            os::reap(self.pid).unwrap_or(ChildExit { signal: None, cpu: Duration::ZERO });
        if !by_itself {
            ended.signal = None;
        }
        self.ended = Some(ended);
        ended
    }

    /// Kills the child without waiting for its end; says what CPU time it has used.
    pub(crate) fn leave(&mut self) -> Duration {
        let used = os::cpu_time(self.pid).unwrap_or_default();
        os::kill(self.watch.process());
        used
    }

    /// What a child of kind [`ChildKind::Script`] wrote, once it has ended; `None` if that is more than
    /// is kept, so that a part is never taken for the whole.
    pub(crate) fn written(&mut self) -> Result<Option<&[u8]>, Stop> {
        while self.output.pipe.is_some() {
            self.output.drain()?;
        }
        Ok((self.output.seen <= KEPT_MAX).then_some(self.output.kept.as_slice()))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl OutputStream {
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
            // The program may have taken it away again.
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(Stop::Broken(format!("cannot read output: {error}"))),
        }
        if self.seen > OUTPUT_MAX { Err(Stop::Output) } else { Ok(()) }
    }
}

/// A pipe for output. Reading never waits: at `landlock` a program can open the reading end through
/// `/proc`, and take away what was there when we looked.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reading, writing) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&reading, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok((reading, writing))
}

/// How long a process was ready to run and did not: on a busy machine that is not its fault. Of its
/// threads the one that waited longest counts: the others may have waited for it.
fn waited_for_processor(pid: i32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waited = threads.take(WAITING_THREADS).filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    });
    Duration::from_nanos(waited.max().unwrap_or(0))
}
