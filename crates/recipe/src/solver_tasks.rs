//! Tasks of the solver environment: generated ones, in halves, and models of files.

use std::path::PathBuf;
use std::thread;

use whetstone_core::{Seed, Task};
use whetstone_data::part::Partition;
use whetstone_data::prepare::PrepareError;
use whetstone_data::solver::{
    ModelFile, ModelOptions, SolverOptions, SolverTasks, families, model_files,
};
use whetstone_data::source::SourceError;

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
            let tasks = SolverTasks::new(&self.options, seed.derive(stage, 0));
            let make = |number: usize| {
                let task = tasks.make(part, number as u64).map(|made| made.task);
                progress.add_one();
                task
            };
            for task in in_parallel(count, &make) {
                made.push((part, task.map_err(Failure::Generate)?));
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

/// Models to read from files.
#[derive(Debug, Clone)]
pub struct ModelsRequest {
    /// Files, and folders of files.
    pub paths: Vec<PathBuf>,
    /// How they are shown.
    pub options: ModelOptions,
}

impl ModelsRequest {
    /// Reads and solves the models, in the order of their paths.
    ///
    /// # Errors
    ///
    /// If a path is not there, holds no model or cannot be read.
    pub fn read(&self, seed: Seed, observer: &dyn Observer) -> Result<Vec<ModelFile>, Failure> {
        let failed = |err: SourceError| Failure::Prepare(PrepareError::Source(err));
        let files = model_files(&self.paths).map_err(failed)?;
        let progress = observer.progress("model");
        progress.reach(0, files.len() as u64);
        let seed = seed.derive("solver-models", 0);
        let read = |number: usize| {
            let read = files[number].read(&self.options, seed);
            progress.add_one();
            read
        };
        let read = in_parallel(files.len(), &read).into_iter().collect::<Result<_, _>>();
        progress.finish();
        read.map_err(failed)
    }
}

/// Calls `make` with each number below `count` on all cores; the results in the order of the numbers.
fn in_parallel<T: Send>(count: usize, make: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = |thread: usize| (thread..count).step_by(threads).map(make).collect();
    let mut parts: Vec<std::vec::IntoIter<T>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|at| scope.spawn(move || part(at))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<T>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).into_iter()
        };
        workers.into_iter().map(join).collect()
    });
    (0..count).filter_map(|at| parts[at % threads].next()).collect()
}
