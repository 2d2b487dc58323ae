//! A fixed number of threads, and work that is divided in advance.

#![expect(unsafe_code, reason = "pieces of a slice for different threads")]

use super::shared::Shared;
use super::thread_pool::ThreadPool;

/// The threads of a device.
#[derive(Debug)]
pub(crate) struct Threads {
    count: usize,
    /// All but the caller's own.
    pool: Option<ThreadPool>,
}

impl Threads {
    /// A single thread is the caller's own.
    pub(crate) fn new(count: usize) -> std::io::Result<Self> {
        let count = count.max(1);
        let pool = if count > 1 { Some(ThreadPool::new(count - 1)?) } else { None };
        Ok(Self { count, pool })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` once for each part. The thread of a part varies; the division into parts does
    /// not.
    pub(crate) fn each(&self, parts: usize, work: impl Fn(usize) + Send + Sync) {
        match &self.pool {
            Some(pool) if parts > 1 => pool.each(parts, &work),
            _ => (0..parts).for_each(work),
        }
    }

    /// Calls `work` with each piece of `size` numbers of `data` and its place among them.
    pub(crate) fn pieces<T: Send>(
        &self,
        data: &mut [T],
        size: usize,
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let size = size.max(1);
        let length = data.len();
        let data = Shared::new(data);
        self.each(length.div_ceil(size), |part| {
            let begin = part * size;
            // SAFETY: pieces do not overlap.
            work(part, unsafe { data.part(begin, size.min(length - begin)) });
        });
    }
}
