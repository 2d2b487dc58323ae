//! What a device does, measured in a moment: for `whet doctor`.

use std::time::Instant;

use super::Cuda;
use super::error::DeviceResult;
use crate::buffer::Buffer;

/// Copies that are timed.
const COPIES: u32 = 8;

impl Cuda {
    /// Bytes a second that a copy on the device moves, read and written together.
    ///
    /// # Errors
    ///
    /// If the device fails.
    #[expect(clippy::cast_precision_loss, reason = "bytes become a rate")]
    pub fn copy_rate(&self) -> DeviceResult<f64> {
        let bytes = (self.free_bytes()? / 8).min(1 << 30);
        let (from, mut to): (Buffer<i8>, Buffer<i8>) = (self.take(bytes), self.take(bytes));
        self.copy(&mut to.view_mut(), from.view());
        self.check()?;
        let begin = Instant::now();
        for _ in 0..COPIES {
            self.copy(&mut to.view_mut(), from.view());
        }
        self.check()?;
        let moved = 2.0 * bytes as f64 * f64::from(COPIES);
        let rate = moved / begin.elapsed().as_secs_f64();
        drop((from, to));
        self.trim();
        Ok(rate)
    }
}
