//! How many sequences are sampled at a time, and the bytes of their KV cache: planned from the memory of the device
//! and from what is to be sampled.
//!
//! With `S` the bytes of the longest sequence's pages, and activations and logits of a step of 64 rows among what is
//! held anyway:
//!
//! ```text
//! CUDA   free  = 15/16 of the device - 1 GiB - weights, gradients, means, a step of 64 rows
//!        room  = 8/9 of what is left of that beside the activations of training
//!        rows  = the most of 64, 128, .. 512 with (rows - 64) · bytes of a row + rows · S <= room
//!        cache = the rest of the room
//! CPU    rows  = 64
//!        cache = a quarter of the available memory, or S if that is more and fits into three quarters
//! ```
//!
//! The cache has at least 1 GiB, and rows and cache never more than all sequences of the job can fill. A pool rounds a buffer up by
//! an eighth, hence the 8/9. Where 64 sequences do not fit beside the activations of training, they share memory with
//! them by turns. No limit changes a bit of a sample.

use whetstone_kernels::{Device, host_memory};
use whetstone_model::Config;
use whetstone_model::decoder::PAGE;
use whetstone_model::memory::{self, CUDA_OVERHEAD_BYTES, Plan, Purpose, Target, Work};

/// Rows of a step that are always allowed, and all that a CPU gains from.
const FEWEST_ROWS: usize = 64;

/// Rows of a step on a GPU at most.
const MOST_ROWS: usize = 512;

/// A cache that is always allowed.
const LEAST_CACHE_BYTES: u64 = 1 << 30;

/// Limits on concurrent work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of keys and values.
    pub cache_bytes: usize,
    /// Sequences of a step.
    pub sequences: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cache_bytes: 1 << 30, sequences: FEWEST_ROWS }
    }
}

impl Limits {
    /// The memory of sampling within these limits.
    pub fn applied_to(self, plan: &Plan) -> Plan {
        Plan { cache: plan.cache.min(self.cache_bytes as u64), ..*plan }
    }
}

/// The size of what is to be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingJob {
    /// Sequences that are asked for at a time.
    pub sequences: usize,
    /// Tokens of the longest sequence, prompt and completion together.
    pub tokens: usize,
}

/// The bytes that limits are planned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SamplingMemory {
    /// Memory of the device: of a GPU all that buffers can take, of a CPU what is available now.
    pub device_bytes: u64,
    /// What stays in memory while sampling and is not in memory yet, or on a GPU all of it: weights, gradients, means.
    pub state_bytes: u64,
    /// What training needs beside that, while nothing is sampled.
    pub training_bytes: u64,
    /// Activations and logits of prompts and of a step of 64 rows.
    pub step_bytes: u64,
    /// Activations and logits of each further row.
    pub row_bytes: u64,
    /// A page of the KV cache over all layers.
    pub page_bytes: u64,
}

impl SamplingMemory {
    /// The limits of a job on this kind of device.
    pub fn limits(&self, target: Target, job: SamplingJob) -> Limits {
        let (rows, room) = match target {
            Target::Cpu => (FEWEST_ROWS, self.room_on_cpu(job)),
            Target::Cuda => self.rows_and_room_on_cuda(job),
        };
        // One more: a prompt whose samples have not all started keeps its pages.
        let most = self.sequence_bytes(job).saturating_mul(job.sequences as u64 + 1);
        let cache = room.max(LEAST_CACHE_BYTES).min(most);
        let sequences = rows.min(job.sequences.max(1));
        Limits { cache_bytes: usize::try_from(cache).unwrap_or(usize::MAX), sequences }
    }

    /// Bytes of the longest sequence's pages, the copy of the page that its prompt leaves half empty included.
    fn sequence_bytes(&self, job: SamplingJob) -> u64 {
        self.page_bytes.saturating_mul(job.tokens.div_ceil(PAGE) as u64 + 1)
    }

    fn room_on_cpu(&self, job: SamplingJob) -> u64 {
        let taken = self.state_bytes.saturating_add(self.training_bytes);
        let left = self.device_bytes.saturating_sub(taken);
        (left / 4).max(self.sequence_bytes(job).min(left / 4 * 3))
    }

    fn rows_and_room_on_cuda(&self, job: SamplingJob) -> (usize, u64) {
        let held = [self.device_bytes / 16, CUDA_OVERHEAD_BYTES, self.state_bytes, self.step_bytes];
        let free = held.into_iter().fold(self.device_bytes, u64::saturating_sub);
        let beside = free.saturating_sub(self.training_bytes) / 9 * 8;
        let sequence = self.sequence_bytes(job);
        let fewest = sequence.saturating_mul(FEWEST_ROWS as u64).min(free / 9 * 8);
        let room = beside.max(fewest);
        let further = |rows: usize| self.row_bytes.saturating_mul((rows - FEWEST_ROWS) as u64);
        let taken =
            |rows: usize| further(rows).saturating_add(sequence.saturating_mul(rows as u64));
        let asked = job.sequences.next_multiple_of(FEWEST_ROWS).clamp(FEWEST_ROWS, MOST_ROWS);
        let mut rows = asked;
        while rows > FEWEST_ROWS && taken(rows) > room {
            rows -= FEWEST_ROWS;
        }
        (rows, room.saturating_sub(further(rows)))
    }
}

/// A model and the device that samples with it.
#[derive(Debug, Clone, Copy)]
pub struct SampledModel<'a> {
    /// Its configuration.
    pub config: &'a Config,
    /// The device.
    pub device: &'a Device,
    /// Whether projections are bytes.
    pub eight_bit: bool,
}

impl SampledModel<'_> {
    /// The limits of sampling alone; a CPU has loaded the model already.
    pub fn limits(self, job: SamplingJob) -> Limits {
        let Plan { weights, tables, .. } = self.plan(FEWEST_ROWS, job);
        self.limits_beside(&Plan { weights, tables, ..Plan::default() }, job)
    }

    /// The limits of sampling while the state of a training is in memory.
    pub fn limits_beside(self, training: &Plan, job: SamplingJob) -> Limits {
        let target = Target::of(self.device);
        let known = match self.device {
            Device::Cpu(_) => host_memory::available_bytes(),
            Device::Cuda(_) => self.device.room_bytes().map(|bytes| bytes as u64),
        };
        let Some(device_bytes) = known else { return Limits::default() };
        let Plan { weights, gradients, means, kept, temporary, logits, tables, .. } = *training;
        let loaded = if target == Target::Cuda { weights } else { 0 };
        let step = |rows: usize| {
            let plan = self.plan(rows, job);
            plan.temporary.saturating_add(plan.logits)
        };
        let (fewest, most) = (step(FEWEST_ROWS), step(MOST_ROWS));
        let memory = SamplingMemory {
            device_bytes,
            state_bytes: [loaded, gradients, means].into_iter().fold(0, u64::saturating_add),
            training_bytes: [kept, temporary, logits, tables]
                .into_iter()
                .fold(0, u64::saturating_add),
            step_bytes: fewest,
            row_bytes: most.saturating_sub(fewest).div_ceil((MOST_ROWS - FEWEST_ROWS) as u64),
            page_bytes: memory::page_bytes(self.config, target),
        };
        memory.limits(target, job)
    }

    /// The memory of sampling so many of the job's sequences at a time.
    pub fn plan(self, rows: usize, job: SamplingJob) -> Plan {
        let Self { config, device, eight_bit } = self;
        let target = Target::of(device);
        memory::plan(
            config,
            Work { batch: rows, length: job.tokens, eight_bit, target },
            Purpose::Inference,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    /// A device with pages of 1 MiB and rows of 2 MiB; a sequence of 31 pages and one takes 32 MiB, 64 of them 2 GiB.
    fn memory(device_gib: u64, training_gib: u64) -> SamplingMemory {
        SamplingMemory {
            device_bytes: device_gib * GIB,
            state_bytes: GIB,
            training_bytes: training_gib * GIB,
            step_bytes: GIB,
            row_bytes: 2 * MIB,
            page_bytes: MIB,
        }
    }

    #[track_caller]
    fn check(target: Target, memory: SamplingMemory, sequences: usize, expected: Limits) {
        let job = SamplingJob { sequences, tokens: 31 * PAGE };
        assert_eq!(memory.limits(target, job), expected, "{memory:?}");
    }

    fn limits(sequences: usize, cache_mib: usize) -> Limits {
        Limits { sequences, cache_bytes: cache_mib << 20 }
    }

    #[test]
    fn a_gpu_has_as_many_rows_as_fit_and_the_rest_is_cache() {
        let cuda = Target::Cuda;
        // 128 - 8 - 3 - 27 GiB are 90, of which 80 are room: 512 rows and 79 GiB + 128 MiB, of which 1025 sequences
        // can fill 32 GiB + 32 MiB.
        check(cuda, memory(128, 27), 1024, limits(512, 32 * 1024 + 32));
        // A job of 100 has 100 rows, and 101 sequences fill 3232 MiB.
        check(cuda, memory(128, 27), 100, limits(100, 3232));
        check(cuda, memory(128, 27), 1, limits(1, 64));
        // 32 - 2 - 3 - 9 are 18, of which 16 are room: 448 rows take 14 GiB and 768 MiB, 512 rows 16 GiB and 896 MiB.
        check(cuda, memory(32, 9), 1024, limits(448, 16 * 1024 - 768));
        // 16 - 1 - 3 are 12: beside 12 of training nothing is left, and 64 rows share 2 GiB with it by turns.
        check(cuda, memory(16, 12), 1024, limits(64, 2048));
        // Not even 64 fit: the least cache, which is checked against the device elsewhere.
        check(cuda, memory(4, 0), 1024, limits(64, 1024));
    }

    #[test]
    fn a_cpu_has_64_rows_and_a_quarter_of_what_is_available() {
        let cpu = Target::Cpu;
        // A quarter of 40 - 1 - 7.
        check(cpu, memory(40, 7), 1024, limits(64, 8 * 1024));
        check(cpu, memory(40, 7), 3, limits(3, 4 * 32));
        check(cpu, memory(4, 3), 1024, limits(64, 1024));
        // One sequence of 2049 pages has more than a quarter of 5 - 1 GiB, and fits into three quarters.
        let job = SamplingJob { sequences: 9, tokens: 2048 * PAGE };
        let bytes = |device_gib| memory(device_gib, 0).limits(cpu, job).cache_bytes as u64 / MIB;
        assert_eq!(bytes(5), 2049);
        assert_eq!(bytes(3), 1536, "three quarters of 2 GiB");
    }
}
