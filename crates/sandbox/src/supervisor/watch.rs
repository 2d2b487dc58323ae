//! What a child holds of the machine that no limit of its own counts: memory that is shared, threads
//! where the kernel would count them with all of its user's, and files outside.
//!
//! It is looked at while somebody waits: at memory and threads every hundredth of a second, at files
//! less often, and the less the longer that takes. A program is looked at while its checker is waited
//! for as well.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};

use super::nameless::nameless;
use super::room::{SCRATCH_BYTES, SCRATCH_ENTRIES};
use super::scratch::{FolderSize, ProgramFolder};
use super::stop::Stop;
use crate::os;

/// Threads of one child, the first of them too.
pub(crate) const THREADS_MAX: u64 = 32;
/// Memory beside what the limit counts: a stack, the interpreter's files, files that are mapped.
const MEMORY_ROOM: u64 = 128 << 20;
/// The interval between checks of memory and threads.
const EVERY: Duration = Duration::from_millis(10);
/// How often files are, at most, and how many times a look's processor time the pause after it is.
const FILES_EVERY: Duration = Duration::from_millis(40);
const FILES_PAUSE: u32 = 8;
/// Looks at the files of a program that was halted because they moved.
const HALTED_LOOKS: usize = 64;

/// A child as it is looked at.
#[derive(Debug)]
pub(crate) struct Watch {
    pid: i32,
    process: OwnedFd,
    most_memory: u64,
    seen: Mutex<ProcessWatch>,
}

#[derive(Debug)]
struct ProcessWatch {
    next: Instant,
    next_files: Instant,
    /// The folder outside that it writes to, if it has one.
    scratch: Option<Arc<ProgramFolder>>,
    /// Time that looking at files took: the child made them.
    spent: Duration,
    too_much: Option<Stop>,
    /// Its first thread had left at the last look, and others had not.
    leaderless: bool,
}

impl Watch {
    /// Watches a child that may use `memory` bytes of its own.
    pub(crate) fn new(
        pid: i32,
        process: OwnedFd,
        memory: u64,
        scratch: Option<Arc<ProgramFolder>>,
    ) -> Self {
        let now = Instant::now();
        let seen = ProcessWatch {
            next: now + EVERY,
            next_files: now + FILES_EVERY,
            scratch,
            spent: Duration::ZERO,
            too_much: None,
            leaderless: false,
        };
        let most_memory = memory.saturating_add(MEMORY_ROOM);
        Self { pid, process, most_memory, seen: Mutex::new(seen) }
    }

    /// A descriptor that stands for the process.
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Stops counting the files: another process is responsible for them.
    pub(crate) fn forget_files(&self) {
        self.seen().scratch = None;
    }

    /// The limit that it exceeds, if it is time to check or was observed before.
    pub(crate) fn look(&self) -> Option<Stop> {
        let now = Instant::now();
        let mut seen = self.seen();
        if seen.too_much.is_none() && now >= seen.next {
            seen.next = now + EVERY;
            if let Some(held) = self.holds() {
                // A process that ends is seen like that once, and on a busy machine more often.
                let goes_on = held.leaderless && seen.leaderless && !self.is_ending();
                seen.leaderless = held.leaderless;
                let stop = || goes_on.then_some(Stop::Threads);
                seen.too_much = self.exceeded_by(held).or_else(stop);
            }
        }
        if seen.too_much.is_none() && now >= seen.next_files {
            self.look_at_files(&mut seen);
        }
        seen.too_much.clone()
    }

    /// The same, whether or not it is time.
    pub(crate) fn look_now(&self) -> Option<Stop> {
        self.seen().next = Instant::now();
        self.look()
    }

    /// Time that looking at its files took.
    pub(crate) fn spent(&self) -> Duration {
        self.seen().spent
    }

    fn look_at_files(&self, seen: &mut ProcessWatch) {
        let Some(scratch) = &seen.scratch else { return };
        let (began, before) = (Instant::now(), os::thread_cpu_time());
        let left =
            SCRATCH_BYTES.checked_sub(os::as_user(scratch.user(), || nameless(self.pid, scratch)));
        if left.is_none_or(|left| self.exceeds(scratch, left)) {
            seen.too_much = Some(Stop::Output);
        }
        let used = os::thread_cpu_time().saturating_sub(before);
        seen.spent += began.elapsed();
        seen.next_files = Instant::now() + FILES_EVERY.max(FILES_PAUSE * used);
    }

    /// Whether there are more files than there may be. A program that moves them while we look is
    /// halted for another look.
    fn exceeds(&self, scratch: &ProgramFolder, bytes: u64) -> bool {
        let look = || scratch.look(bytes, SCRATCH_ENTRIES);
        let mut found = look();
        if found == FolderSize::Moving {
            os::signal(self.process(), libc::SIGSTOP);
            // Its threads halt one after another.
            let halted =
                (0..HALTED_LOOKS).map(|_| look()).find(|found| *found != FolderSize::Moving);
            os::signal(self.process(), libc::SIGCONT);
            found = halted.unwrap_or(FolderSize::Within);
        }
        found == FolderSize::TooMuch
    }

    fn exceeded_by(&self, held: ProcessUsage) -> Option<Stop> {
        if held.memory > self.most_memory {
            Some(Stop::Memory)
        } else {
            (held.threads > THREADS_MAX).then_some(Stop::Threads)
        }
    }

    fn holds(&self) -> Option<ProcessUsage> {
        // The name in it may be any bytes.
        let stat = std::fs::read(format!("/proc/{}/stat", self.pid)).ok()?;
        read(&String::from_utf8_lossy(&stat))
    }

    /// Whether every thread that is left has been killed and has only to be scheduled once more. A thread
    /// that nobody has killed can take no part in this: it cannot have `SIGKILL` pending and go on.
    fn is_ending(&self) -> bool {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return true };
        tasks.flatten().filter(|task| task.file_name() != *self.pid.to_string()).all(|task| {
            let file = |name| std::fs::read(task.path().join(name));
            match (file("stat"), file("status")) {
                (Ok(stat), Ok(status)) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    is_killed(&text(&stat), &text(&status))
                }
                // It has ended since.
                _ => true,
            }
        })
    }

    fn seen(&self) -> MutexGuard<'_, ProcessWatch> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The resources of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessUsage {
    threads: u64,
    /// Bytes in memory, shared ones too.
    memory: u64,
    /// Its first thread has left, and others go on: what they hold is not told of any more.
    leaderless: bool,
}

/// Reads a line of `/proc/PID/stat`. The name in it may hold anything; what follows does not.
fn read(stat: &str) -> Option<ProcessUsage> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let has_left = matches!(fields.next()?, "Z" | "X");
    let threads = fields.nth(16)?.parse().ok()?;
    let pages: u64 = fields.nth(3)?.parse().ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096);
    let memory = pages.saturating_mul(u64::try_from(page).unwrap_or(4096));
    Some(ProcessUsage { threads, memory, leaderless: has_left && threads > 1 })
}

/// Whether a thread is exiting, or has a `SIGKILL` pending; from its `/proc/PID/task/TID/stat` and `status`.
fn is_killed(stat: &str, status: &str) -> bool {
    const EXITING: u64 = 0x4;
    let flags = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(6));
    let flags = flags.and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    flags & EXITING != 0 || pending & (1 << (libc::SIGKILL - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_killed_is_told_from_one_that_goes_on() {
        let stat = |flags: u64| format!("7 (a) b (c) S 1 7 7 0 -1 {flags} 1 2 3\n");
        let status = |name: &str, pending: u64| {
            format!("Name:\t{name}\nSigPnd:\t{pending:016x}\nShdPnd:\t{:016x}\n", 0x100)
        };
        assert!(!is_killed(&stat(4_194_560), &status("SigPnd:0100", 0)));
        assert!(!is_killed(&stat(4_194_560), &status("a", 0x80)), "another signal");
        assert!(is_killed(&stat(4_194_560), &status("a", 0x180)));
        assert!(is_killed(&stat(4_194_564), &status("a", 0)));
        assert!(!is_killed("7 (a) S 1", ""));
        let own = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap();
        assert!(!is_killed(&own("stat"), &own("status")));
    }

    #[test]
    fn threads_and_memory_are_read_behind_a_name_that_holds_anything() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 33 0 99 555 1000 777\n";
        let page = sysconf(SysconfVar::PAGE_SIZE).unwrap().unwrap();
        let memory = 1000 * u64::try_from(page).unwrap();
        assert_eq!(read(stat), Some(ProcessUsage { threads: 33, memory, leaderless: false }));
        let left = read(&stat.replace(") S ", ") Z ")).unwrap();
        assert!(left.leaderless, "its first thread has left");
        assert_eq!(read("7 (a) S 1"), None);
        let own = read(&std::fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        assert!(own.threads >= 1 && own.memory > 1 << 20, "{own:?}");
    }
}
