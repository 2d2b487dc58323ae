//! Permits for cores: one for each program that computes.
//!
//! There are more slots than cores. A slot judges while it holds a permit; a program that sleeps
//! gives its permit up, so that another slot can judge on the core that it does not use. Permits are
//! not asked for again when it wakes: then more programs than cores run for a while, which costs
//! nobody a verdict, since limits count CPU time and leave out the time that the program, or the thread
//! of it that waited longest, was ready and had no core.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Slots for programs that sleep, for each worker and in all.
const IDLE_PER_WORKER: u32 = 15;
const IDLE_MAX: u32 = 64;

/// The number of programs at the same time, sleeping ones included, for this many that compute.
pub fn slots(workers: u32) -> u32 {
    workers.saturating_add(workers.saturating_mul(IDLE_PER_WORKER).min(IDLE_MAX))
}

/// The permits of all slots.
#[derive(Debug)]
pub(crate) struct Cores {
    state: Mutex<PermitState>,
    /// One for each slot: the slot with the smallest number is woken, whose zygote is warm.
    wakes: Vec<Condvar>,
    idle_most: IdleMost,
}

/// The limits of all programs together that sleep without a permit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdleMost {
    /// Bytes that they hold, by their limits.
    pub(crate) memory: u64,
    /// Programs: each may have all the threads that one may have.
    pub(crate) programs: u64,
}

#[derive(Debug)]
struct PermitState {
    free: u32,
    waiting: BTreeSet<u32>,
    /// Limits of the programs that gave their permit up and still run.
    idle_bytes: u64,
    /// The number of these programs.
    idle_programs: u64,
    /// No waiting thread is left.
    closed: bool,
}

impl Cores {
    pub(crate) fn new(workers: u32, idle_most: IdleMost) -> Arc<Self> {
        let (waiting, closed) = (BTreeSet::new(), false);
        let state = PermitState { free: workers, waiting, idle_bytes: 0, idle_programs: 0, closed };
        let wakes = (0..slots(workers)).map(|_| Condvar::new()).collect();
        Arc::new(Self { state: Mutex::new(state), wakes, idle_most })
    }

    /// Waits for a permit for the slot `number`; `None` once the judge closes.
    pub(crate) fn acquire(self: &Arc<Self>, number: u32) -> Option<Arc<Permit>> {
        let wake = self.wakes.get(number as usize)?;
        let mut state = self.lock();
        state.waiting.insert(number);
        while !state.closed && (state.free == 0 || state.waiting.first() != Some(&number)) {
            state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&number);
        if state.closed {
            return None;
        }
        state.free -= 1;
        self.wake_first(&state);
        let idle_bytes = AtomicU64::new(HELD);
        Some(Arc::new(Permit { cores: self.clone(), idle_bytes }))
    }

    /// Wakes all that wait; there is no further permit.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wakes.iter().for_each(Condvar::notify_all);
    }

    fn wake_first(&self, state: &PermitState) {
        let first = state.waiting.first().and_then(|first| self.wakes.get(*first as usize));
        if let (Some(wake), true) = (first, state.free > 0) {
            wake.notify_all();
        }
    }

    /// A thread that panicked with the lock left nothing half-done.
    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In [`Permit::idle_bytes`]: it was not given up.
const HELD: u64 = u64::MAX;

/// A permit to use a core, for one program; dropped when the program has ended.
#[derive(Debug)]
pub(crate) struct Permit {
    cores: Arc<Cores>,
    /// The limit of memory of the program that gave it up.
    idle_bytes: AtomicU64,
}

impl Permit {
    pub(crate) fn is_held(&self) -> bool {
        self.idle_bytes.load(Ordering::Relaxed) == HELD
    }

    /// Gives the core to another slot while a program with this limit of memory sleeps, if
    /// there is memory, and there are processes, for one more of them.
    pub(crate) fn give_up(&self, memory: u64) {
        let (mut state, most) = (self.cores.lock(), self.cores.idle_most);
        let all = state.idle_bytes.saturating_add(memory);
        let is_room = all <= most.memory && state.idle_programs < most.programs;
        if self.is_held() && is_room && memory != HELD {
            self.idle_bytes.store(memory, Ordering::Relaxed);
            state.idle_bytes = all;
            state.idle_programs += 1;
            state.free += 1;
            self.cores.wake_first(&state);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.cores.lock();
        match self.idle_bytes.load(Ordering::Relaxed) {
            HELD => state.free += 1,
            bytes => {
                state.idle_bytes -= bytes;
                state.idle_programs -= 1;
            }
        }
        self.cores.wake_first(&state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn slots_grow_with_workers_up_to_a_bound() {
        let table = [(1, 16), (2, 32), (4, 64), (16, 80), (1024, 1088)];
        for (workers, expected) in table {
            assert_eq!(slots(workers), expected, "{workers} workers");
        }
    }

    #[test]
    fn a_core_that_is_given_up_goes_to_the_first_slot_that_waits() -> Result<(), mpsc::RecvError> {
        let cores = Cores::new(1, IdleMost { memory: 1000, programs: 9 });
        let first = cores.acquire(0);
        let (tell, told) = mpsc::channel();
        for number in [5, 3] {
            let (cores, tell) = (cores.clone(), tell.clone());
            thread::spawn(move || {
                let permit = cores.acquire(number);
                let _ = tell.send(number);
                // Held until the test is over: the other one goes on waiting.
                std::mem::forget(permit);
            });
        }
        while cores.lock().waiting.len() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(told.recv_timeout(Duration::from_millis(20)).is_err(), "the only core is taken");
        let first = first.expect("a core is free");
        first.give_up(400);
        assert!(!first.is_held());
        assert_eq!(told.recv()?, 3);
        assert!(told.recv_timeout(Duration::from_millis(20)).is_err(), "there was one core");
        cores.close();
        assert_eq!(told.recv()?, 5);
        Ok(())
    }

    #[test]
    fn programs_that_sleep_hold_bounded_memory_together() {
        let cores = Cores::new(3, IdleMost { memory: 1000, programs: 9 });
        let mut permits: Vec<_> = (0..3).filter_map(|number| cores.acquire(number)).collect();
        permits[0].give_up(600);
        permits[0].give_up(10);
        assert_eq!(cores.lock().idle_bytes, 600, "a second time gives nothing up");
        permits[1].give_up(600);
        assert!(permits[1].is_held(), "1,200 bytes are too many");
        permits.remove(0);
        permits[0].give_up(600);
        assert!(!permits[0].is_held(), "the first has ended");
        drop(permits);
        let state = cores.lock();
        assert_eq!((state.free, state.idle_bytes), (3, 0));
    }
    #[test]
    fn programs_that_sleep_are_as_many_as_there_are_processes_for() {
        let cores = Cores::new(3, IdleMost { memory: 1000, programs: 1 });
        let mut permits: Vec<_> = (0..3).filter_map(|number| cores.acquire(number)).collect();
        permits[0].give_up(1);
        permits[1].give_up(1);
        assert!(!permits[0].is_held() && permits[1].is_held(), "one may sleep");
        permits.remove(0);
        permits[0].give_up(1);
        assert!(!permits[0].is_held(), "the first has ended");
        drop(permits);
        assert_eq!(cores.lock().idle_programs, 0);
    }
}
