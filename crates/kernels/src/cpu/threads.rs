//! A fixed number of threads, and work that is divided before it begins.

#![expect(unsafe_code, reason = "pieces of a slice for different threads")]

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::shared::Shared;

/// The threads of a device.
#[derive(Debug)]
pub(crate) struct Threads {
    count: usize,
    pool: Option<ThreadPool>,
}

impl Threads {
    /// A single thread is the caller's own.
    pub(crate) fn new(count: usize) -> std::io::Result<Self> {
        let count = count.max(1);
        let pool = match count {
            1 => None,
            _ => Some(
                ThreadPoolBuilder::new()
                    .num_threads(count)
                    .build()
                    .map_err(std::io::Error::other)?,
            ),
        };
        Ok(Self { count, pool })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` once for each part. Which thread takes a part is chance; what a part is, is not.
    pub(crate) fn each(&self, parts: usize, work: impl Fn(usize) + Send + Sync) {
        match &self.pool {
            Some(pool) if parts > 1 => {
                pool.install(|| (0..parts).into_par_iter().for_each(work));
            }
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
