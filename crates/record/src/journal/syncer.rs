//! The thread that syncs a journal to disk.
//!
//! A record is safe from `kill -9` as soon as the kernel has it; only a power cut can still take
//! it. So appends do not wait for the disk: this thread calls `fdatasync` once 64 records or
//! 200 ms have gathered, on its own handle of the file. Without records it sleeps.
//!
//! A failed sync stays failed. The kernel may drop the pages it could not write and report success
//! for the next sync, so only opening the file again shows what is really on disk.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// When a sync starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Sync after this many unsynced records.
    pub(super) records: u64,
    /// Sync when one has waited so long.
    pub(super) delay: Duration,
}

/// The pace of every journal.
pub(super) const PACE: Pace = Pace { records: 64, delay: Duration::from_millis(200) };

/// A running sync thread; dropping it syncs the remaining records and ends it.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<SyncShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SyncShared {
    pace: Pace,
    state: Mutex<SyncState>,
    /// Something changed that the thread waits for.
    work: Condvar,
    /// Something changed that a caller waits for.
    done: Condvar,
}

/// Records are counted from the start of the thread.
#[derive(Debug, Default)]
struct SyncState {
    appended: u64,
    synced: u64,
    wanted: u64,
    closing: bool,
    failure: Option<io::Error>,
}

impl Syncer {
    /// Starts the thread on its own handle of the file.
    pub(super) fn start(file: File, pace: Pace) -> io::Result<Self> {
        let (work, done) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(SyncShared { pace, state: Mutex::default(), work, done });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("journal-sync".to_owned())
            .spawn(move || theirs.run(&file))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Counts one more record that the kernel has.
    pub(super) fn appended(&self) {
        let mut state = self.shared.lock();
        state.appended += 1;
        // Waking the thread costs a system call: do it only for the first unsynced record and when
        // a sync is due.
        let waiting = state.appended - state.synced;
        if waiting == 1 || waiting == self.shared.pace.records {
            self.shared.work.notify_one();
        }
    }

    /// The failure of a sync so far, if there was one.
    pub(super) fn check(&self) -> io::Result<()> {
        self.shared.lock().check()
    }

    /// Waits until everything appended so far is on the disk.
    pub(super) fn wait(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        let target = state.appended;
        state.wanted = target;
        self.shared.work.notify_one();
        self.shared.wait_until_synced(state, target).check()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, there is nothing left to sync with.
            drop(thread.join());
        }
    }
}

impl SyncShared {
    fn run(&self, file: &File) {
        while let Some(target) = self.next_batch() {
            self.finish(target, file.sync_data());
        }
    }

    /// Sleeps until a sync is due; returns how many records it will cover, `None` to end.
    fn next_batch(&self) -> Option<u64> {
        let state = self
            .work
            .wait_while(self.lock(), |state| state.waiting() == 0 && !state.closing)
            .unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self
            .work
            .wait_timeout_while(state, self.pace.delay, |state| !state.is_due(self.pace.records))
            .unwrap_or_else(PoisonError::into_inner);
        (state.waiting() > 0 && state.failure.is_none()).then_some(state.appended)
    }

    fn finish(&self, target: u64, result: io::Result<()>) {
        let mut state = self.lock();
        match result {
            Ok(()) => state.synced = target,
            Err(failure) => state.failure = Some(failure),
        }
        self.done.notify_all();
    }

    fn wait_until_synced<'a>(
        &self,
        state: MutexGuard<'a, SyncState>,
        target: u64,
    ) -> MutexGuard<'a, SyncState> {
        self.done
            .wait_while(state, |state| state.synced < target && state.failure.is_none())
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SyncState {
    fn waiting(&self) -> u64 {
        self.appended - self.synced
    }

    fn is_due(&self, records: u64) -> bool {
        self.waiting() >= records
            || self.wanted > self.synced
            || self.closing
            || self.failure.is_some()
    }

    /// `io::Error` cannot be cloned, but its kind and message can be returned again.
    fn check(&self) -> io::Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(err) => Err(err
                .raw_os_error()
                .map_or_else(|| err.kind().into(), io::Error::from_raw_os_error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_hours(1);
    const GIVE_UP: Duration = Duration::from_secs(10);

    /// Enough for the thread to be caught asleep, awake and in between.
    const ROUNDS: u32 = 200;

    fn syncer(records: u64, delay: Duration) -> Syncer {
        Syncer::start(tempfile::tempfile().unwrap(), Pace { records, delay }).unwrap()
    }

    /// Waits for the thread to sync all records of its own accord; fails if it never does.
    #[track_caller]
    fn assert_synced_unasked(syncer: &Syncer) {
        let (state, _) = syncer
            .shared
            .done
            .wait_timeout_while(syncer.shared.lock(), GIVE_UP, |state| state.waiting() > 0)
            .unwrap();
        assert_eq!(state.waiting(), 0, "records wait for ever");
    }

    #[test]
    fn a_sync_is_due_at_the_64th_record_and_not_before() {
        let state = |appended| SyncState { appended, synced: 100, ..SyncState::default() };
        assert!(!state(163).is_due(PACE.records));
        assert!(state(164).is_due(PACE.records));
    }

    #[test]
    fn one_record_reaches_the_disk_after_the_delay() {
        let syncer = syncer(u64::MAX, Duration::from_millis(1));
        for _ in 0..ROUNDS {
            syncer.appended();
            assert_synced_unasked(&syncer);
        }
    }

    #[test]
    fn enough_records_reach_the_disk_without_the_delay() {
        let syncer = syncer(PACE.records, NEVER);
        for _ in 0..ROUNDS {
            for _ in 0..PACE.records {
                syncer.appended();
                thread::yield_now();
            }
            assert_synced_unasked(&syncer);
        }
    }

    #[test]
    fn asking_for_a_sync_does_not_wait_for_the_delay() {
        let syncer = syncer(64, NEVER);
        syncer.wait().unwrap();
        syncer.appended();
        syncer.wait().unwrap();
        assert_eq!(syncer.shared.lock().synced, 1);
    }

    #[test]
    fn dropping_syncs_what_is_left() {
        let syncer = syncer(64, NEVER);
        syncer.appended();
        let shared = Arc::clone(&syncer.shared);
        drop(syncer);
        assert_eq!(shared.lock().synced, 1);
    }

    #[test]
    fn a_failed_sync_is_reported_for_ever() {
        // Devices cannot be synced: the kernel answers "invalid argument".
        let null = File::options().write(true).open("/dev/null").unwrap();
        let syncer = Syncer::start(null, PACE).unwrap();
        syncer.check().unwrap();
        syncer.appended();
        for _ in 0..2 {
            assert_eq!(syncer.wait().unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert_eq!(syncer.check().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
