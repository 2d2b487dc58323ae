//! Work that is captured once and replayed: a step of hundreds of launches as one.
//!
//! The first time a piece of work is asked for it is queued as it is: algorithms are looked for, programs
//! loaded and memory taken from the driver. The second time it is captured, and from then on replayed.
//! What only the first time may do cannot be captured. If the second time asks for it after all, the
//! capture is given up and the work is queued as it is, which prepares the next one: a search for an
//! algorithm at the end of the first time may have given back memory that was used at its beginning. After
//! a few such tries, or if a call fails, the work is queued as it is from then on, and the device says so
//! once.
//!
//! Memory that is taken while work is captured belongs to the captures of one [`Graphs`]: it is not handed
//! out to others until these are gone. Captures of one list share it, since a stream does one after the
//! other. One thread works on a device while it captures.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::driver::{Address, Driver, Graph};
use super::error::{DeviceError, DeviceResult};
use super::{Cuda, Inner};

/// Captured work of one kind, by a key: the same key is the same work on the same memory.
#[derive(Debug)]
pub(crate) struct Graphs {
    states: BTreeMap<u64, State>,
    arena: Arc<Arena>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Queued as it is, and so many captures were given up.
    Warm(u32),
    Captured(Graph),
    /// It cannot be captured.
    Plain,
}

/// How often work is captured in vain before it is left as it is.
const TRIES: u32 = 3;

/// Memory of captures.
#[derive(Debug)]
pub(super) struct Arena {
    owner: Arc<Inner>,
    free: Mutex<BTreeMap<usize, Vec<Address>>>,
}

impl Arena {
    fn shelves(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<Address>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self, bytes: usize) -> Option<Address> {
        self.shelves().get_mut(&bytes).and_then(Vec::pop)
    }

    pub(super) fn give_back(&self, bytes: usize, address: Address) {
        self.shelves().entry(bytes).or_default().push(address);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let free = std::mem::take(&mut *self.shelves());
        self.owner.pool.give_back_all(free);
    }
}

/// Whether work is being captured, into which memory, and why the capture was given up.
#[derive(Debug, Default)]
pub(super) struct Capture {
    is_open: AtomicBool,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    arena: Option<Arc<Arena>>,
    problem: Option<DeviceError>,
}

impl Capture {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// The memory of the capture that is open.
    pub(super) fn arena(&self) -> Option<Arc<Arena>> {
        if self.is_open() { self.now().arena.clone() } else { None }
    }

    /// Whether a capture is open and was given up.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_open() && self.now().problem.is_some()
    }

    /// Gives the open capture up; the first reason counts.
    pub(super) fn give_up(&self, problem: DeviceError) {
        self.now().problem.get_or_insert(problem);
    }

    fn open(&self, arena: &Arc<Arena>) {
        *self.now() = Now { arena: Some(Arc::clone(arena)), problem: None };
        self.is_open.store(true, Ordering::Relaxed);
    }

    fn close(&self) -> Option<DeviceError> {
        self.is_open.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.now()).problem
    }
}

/// An open capture, which ends also when the work panics.
struct Open<'a> {
    cuda: &'a Cuda,
    is_ended: bool,
}

impl<'a> Open<'a> {
    fn begin(cuda: &'a Cuda, arena: &Arc<Arena>) -> DeviceResult<Self> {
        cuda.0.driver.begin_capture()?;
        cuda.0.capture.open(arena);
        Ok(Self { cuda, is_ended: false })
    }

    fn end(mut self) -> DeviceResult<Graph> {
        self.is_ended = true;
        let inner = &self.cuda.0;
        let captured = inner.driver.end_capture();
        match (inner.capture.close(), captured) {
            (None, captured) => captured,
            (Some(problem), captured) => {
                if let Ok(graph) = captured {
                    inner.driver.release_graph(graph);
                }
                Err(problem)
            }
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            let inner = &self.cuda.0;
            let captured = inner.driver.end_capture();
            inner.capture.close();
            if let Ok(graph) = captured {
                inner.driver.release_graph(graph);
            }
        }
    }
}

impl Cuda {
    pub(crate) fn graphs(&self) -> Graphs {
        let arena = Arena { owner: Arc::clone(&self.0), free: Mutex::default() };
        Graphs { states: BTreeMap::new(), arena: Arc::new(arena) }
    }

    /// Queues work: as it is, or as it was captured under this key.
    pub(crate) fn capture_or_replay(&self, graphs: &mut Graphs, key: u64, work: &mut dyn FnMut()) {
        match graphs.states.get(&key).copied() {
            None => {
                work();
                graphs.states.insert(key, State::Warm(0));
            }
            Some(State::Plain) => work(),
            Some(State::Captured(graph)) => {
                self.attempt(|driver| driver.replay(graph));
            }
            Some(State::Warm(_)) if self.0.failure.get().is_some() => {}
            Some(State::Warm(tries)) => {
                let state = self.try_capture(&graphs.arena, tries + 1, work);
                graphs.states.insert(key, state);
            }
        }
    }

    /// Captures work and replays it; queues it as it is if that cannot be done.
    fn try_capture(&self, arena: &Arc<Arena>, tries: u32, work: &mut dyn FnMut()) -> State {
        let problem = match self.capture(arena, work) {
            Ok(graph) => {
                self.attempt(|driver| driver.replay(graph));
                return State::Captured(graph);
            }
            Err(problem) => problem,
        };
        work();
        if matches!(problem, DeviceError::NotInCapture(_)) && tries < TRIES {
            return State::Warm(tries);
        }
        self.note_once(&format!(
            "decoding without CUDA graphs, which is slower: a step cannot be captured: {problem}"
        ));
        State::Plain
    }

    fn capture(&self, arena: &Arc<Arena>, work: &mut dyn FnMut()) -> DeviceResult<Graph> {
        let open = Open::begin(self, arena)?;
        work();
        open.end()
    }

    /// Whether nothing is queued: after a failure, or in a capture that was given up.
    pub(super) fn is_idle(&self) -> bool {
        self.0.failure.get().is_some() || self.0.capture.is_given_up()
    }

    /// Whether a capture is open, which is given up then for want of this.
    pub(super) fn gives_up_capture(&self, missing: &'static str) -> bool {
        let is_open = self.0.capture.is_open();
        if is_open {
            self.0.capture.give_up(DeviceError::NotInCapture(missing));
        }
        is_open
    }

    /// A call that cannot be captured.
    pub(super) fn attempt_outside<R>(
        &self,
        what: &'static str,
        work: impl FnOnce(&dyn Driver) -> DeviceResult<R>,
    ) -> Option<R> {
        if self.gives_up_capture(what) { None } else { self.attempt(work) }
    }
}

impl Drop for Graphs {
    fn drop(&mut self) {
        let inner = &self.arena.owner;
        let captured = self.states.values().filter_map(|state| match state {
            State::Captured(graph) => Some(*graph),
            _ => None,
        });
        let captured: Vec<Graph> = captured.collect();
        // A device that failed may not answer any more.
        if captured.is_empty() || inner.failure.get().is_some() || inner.driver.wait().is_err() {
            return;
        }
        for graph in captured {
            inner.driver.release_graph(graph);
        }
    }
}
