//! Tasks of the solver environment: generated ones, in halves.

use whetstone_core::{Seed, Task};
use whetstone_data::part::Partition;
use whetstone_data::solver::{SolverOptions, SolverTasks, families};

use crate::failure::Failure;
use crate::observer::Observer;

/// Problems to generate.
#[derive(Debug, Clone)]
pub struct SolverRequest {
    /// So many, both halves together.
    pub count: usize,
    /// Their difficulty and look.
    pub options: SolverOptions,
}

impl SolverRequest {
    /// Generates the problems: of each half its own families, the part for validation `val_fraction`.
    ///
    /// # Errors
    ///
    /// If a family is unknown, or the options leave nothing to generate.
    pub fn generate(
        &self,
        seed: Seed,
        val_fraction: f64,
        observer: &dyn Observer,
    ) -> Result<Vec<(Partition, Task)>, Failure> {
        self.check_families()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of a count"
        )]
        let validation = (self.count as f64 * val_fraction).round() as usize;
        let progress = observer.progress("model");
        progress.reach(0, self.count as u64);
        let mut made = Vec::with_capacity(self.count);
        let halves = [
            (Partition::Train, "solver-train", self.count - validation),
            (Partition::Validation, "solver-validation", validation),
        ];
        for (part, stage, count) in halves.into_iter().filter(|(.., count)| *count > 0) {
            let mut tasks = SolverTasks::new(&self.options, seed.derive(stage, 0));
            for _ in 0..count {
                made.push((part, tasks.next(part).map_err(Failure::Generate)?.task));
                progress.add_one();
            }
        }
        progress.finish();
        Ok(made)
    }

    fn check_families(&self) -> Result<(), Failure> {
        let unknown = |name: &&String| !families().any(|known| known == name.as_str());
        match self.options.families.iter().find(unknown) {
            Some(name) => Err(Failure::SolverFamily { name: name.clone() }),
            None => Ok(()),
        }
    }
}
