//! A thread pool with low latency.
//!
//! A decode step is a hundred operations of some dozen microseconds, and waking a thread takes as
//! long as one of them. So the caller works on its own job, threads of the pool spin for a while
//! before they sleep, and a job never waits for a thread that wakes up late.

#![expect(unsafe_code, reason = "a job is borrowed for as long as it is open")]

use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Spins of a thread before it sleeps: about fifty microseconds.
const LOOKS: usize = 1000;

thread_local! {
    /// Whether this thread is working on a job: nested jobs run on the thread itself.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Some threads.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    board: Arc<JobBoard>,
    threads: Vec<JoinHandle<()>>,
    /// Held by the caller of the present job.
    turn: Mutex<()>,
}

/// The state that jobs are published in.
#[derive(Default)]
struct JobBoard {
    /// The number of the open job, 0 if there is none.
    open: AtomicUsize,
    job: UnsafeCell<Option<PoolJob>>,
    next_part: AtomicUsize,
    /// Threads that have entered, or are about to find out that they may not.
    inside: AtomicUsize,
    panicked: AtomicBool,
    ended: AtomicBool,
    /// Number of sleeping threads.
    resting: Mutex<usize>,
    wake: Condvar,
}

/// The function to call for each part.
#[derive(Clone, Copy)]
struct PoolJob {
    work: *const (dyn Fn(usize) + Sync),
    parts: usize,
}

// SAFETY: a job is written while none is open and no thread is inside, and read by threads inside.
unsafe impl Sync for JobBoard {}
// SAFETY: the work that it points to is `Sync`, and outlives the time in which it is open.
unsafe impl Send for JobBoard {}

impl std::fmt::Debug for JobBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("open", &self.open).finish_non_exhaustive()
    }
}

impl ThreadPool {
    /// Starts `count` threads.
    pub(crate) fn new(count: usize) -> std::io::Result<Self> {
        let board = Arc::new(JobBoard::default());
        let mut pool = Self { board, threads: Vec::new(), turn: Mutex::default() };
        for _ in 0..count {
            let board = Arc::clone(&pool.board);
            let name = "whet-device".to_owned();
            pool.threads
                .push(std::thread::Builder::new().name(name).spawn(move || board.attend())?);
        }
        Ok(pool)
    }

    /// Calls `work` once for each part, here and on the threads, and returns when all are done.
    ///
    /// # Panics
    ///
    /// If a part does.
    pub(crate) fn each(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        if AT_WORK.get() {
            (0..parts).for_each(work);
            return;
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let board = &self.board;
        // SAFETY: only the lifetime of the borrow is erased: no thread is inside when this returns.
        let work = unsafe {
            std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work)
        };
        let job = PoolJob { work, parts };
        // SAFETY: no job is open, so no thread is inside and reads it.
        unsafe { *board.job.get() = Some(job) };
        board.next_part.store(0, SeqCst);
        board.open.store(next_number(), SeqCst);
        board.call();
        let outcome = catch_unwind(AssertUnwindSafe(|| board.take_part(job)));
        board.open.store(0, SeqCst);
        let mut looks = 0;
        while board.inside.load(SeqCst) > 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let panicked = board.panicked.swap(false, SeqCst);
        drop(turn);
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        assert!(!panicked, "a thread of the device panicked");
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.board.ended.store(true, SeqCst);
        drop(self.board.resting.lock().unwrap_or_else(PoisonError::into_inner));
        self.board.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread catches the panics of its parts, so it never panics itself.
            let _ = thread.join();
        }
    }
}

/// A number that no thread has seen last.
fn next_number() -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(1);
    NUMBERS.fetch_add(1, SeqCst).max(1)
}

impl JobBoard {
    /// Wakes sleeping threads.
    fn call(&self) {
        if *self.resting.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
            self.wake.notify_all();
        }
    }

    /// The main loop of a pool thread.
    fn attend(&self) {
        let mut seen = 0;
        while let Some(number) = self.next_job(seen) {
            seen = number;
            // The caller that closes a job looks for threads inside afterwards, and this thread
            // looks for an open job after it has gone inside: one of the two sees the other.
            self.inside.fetch_add(1, SeqCst);
            if self.open.load(SeqCst) != 0 {
                // SAFETY: the job is open and does not change while a thread is inside.
                let job = unsafe { *self.job.get() };
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    if let Some(job) = job {
                        self.take_part(job);
                    }
                }));
                if outcome.is_err() {
                    self.panicked.store(true, SeqCst);
                }
            }
            self.inside.fetch_sub(1, SeqCst);
        }
    }

    /// Waits for a job other than the one seen last; none when the pool is dropped.
    fn next_job(&self, seen: usize) -> Option<usize> {
        let news = || {
            let open = self.open.load(SeqCst);
            (open != 0 && open != seen).then_some(open)
        };
        for _ in 0..LOOKS {
            if let Some(number) = news() {
                return Some(number);
            }
            if self.ended.load(SeqCst) {
                return None;
            }
            std::hint::spin_loop();
        }
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        *resting += 1;
        let found = loop {
            if self.ended.load(SeqCst) {
                break None;
            }
            if let Some(number) = news() {
                break Some(number);
            }
            resting = self.wake.wait(resting).unwrap_or_else(PoisonError::into_inner);
        };
        *resting -= 1;
        found
    }

    /// Does parts until none is left.
    fn take_part(&self, job: PoolJob) {
        let before = AT_WORK.replace(true);
        let restore = Restore(before);
        loop {
            let part = self.next_part.fetch_add(1, SeqCst);
            if part >= job.parts {
                break;
            }
            // SAFETY: the work is borrowed for as long as a thread is inside or the job is
            // published.
            unsafe { (*job.work)(part) };
        }
        drop(restore);
    }
}

/// Puts [`AT_WORK`] back, also when a part panics.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        AT_WORK.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_many_times_over() {
        let pool = ThreadPool::new(3).unwrap();
        for round in 0..3000 {
            let done: Vec<AtomicUsize> = (0..round % 17).map(|_| AtomicUsize::new(0)).collect();
            pool.each(done.len(), &|part| {
                done[part].fetch_add(1, SeqCst);
            });
            assert!(done.iter().all(|count| count.load(SeqCst) == 1), "{round}");
            if round % 500 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }

    #[test]
    fn several_threads_take_turns_and_work_within_work_is_done_where_it_is() {
        let pool = ThreadPool::new(2).unwrap();
        let sum = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let add = |part| {
                            sum.fetch_add(part, SeqCst);
                        };
                        pool.each(5, &|_| pool.each(3, &add));
                    }
                });
            }
        });
        assert_eq!(sum.load(SeqCst), 4 * 200 * 5 * 3);
    }

    #[test]
    fn a_panic_reaches_whoever_asked_and_the_pool_lives_on() {
        let pool = ThreadPool::new(2).unwrap();
        for bad in 0..8 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.each(8, &|part| assert!(part != bad, "part {part}"));
            }));
            assert!(outcome.is_err());
        }
        let done = AtomicUsize::new(0);
        pool.each(8, &|_| {
            done.fetch_add(1, SeqCst);
        });
        assert_eq!(done.load(SeqCst), 8);
    }
}
