//! Tasks of the run: some to learn from, some to measure with.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use whetstone_core::config::Config;
use whetstone_core::jsonl::{LineError, read_tasks};
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_data::Partition;
use whetstone_data::embedded::Generator;
use whetstone_data::prepare::{TRAIN, VAL};
use whetstone_record::atomic;
use whetstone_train::TrainError;
use whetstone_train::plan::Plan;

use crate::phases::{Phases, Prepared};

/// The tasks of a run.
#[derive(Debug, Default)]
pub struct Tasks {
    /// To learn from.
    pub train: Vec<Task>,
    /// To measure with.
    pub held_out: Vec<Task>,
}

/// Why a run has no tasks.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// A file of tasks cannot be read.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// There is no such family of tasks.
    #[error("`{name}` is not a family of embedded tasks")]
    Family {
        /// The name.
        name: String,
    },
    /// The settings do not fit together, or a file cannot be written.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Makes the tasks of a run, or reads those that it has.
///
/// # Errors
///
/// If a file cannot be read or written, or the settings name no tasks.
pub fn prepare(config: &Config, dir: &Path, phases: &mut Phases) -> Result<Tasks, TasksError> {
    if phases.tasks.is_some() {
        let read = |name| read_tasks(&dir.join(name)).map_err(TasksError::Lines);
        return Ok(Tasks { train: read(TRAIN)?, held_out: read(VAL)? });
    }
    let began = Instant::now();
    let tasks = compose(config)?;
    write(&dir.join(TRAIN), &tasks.train)?;
    write(&dir.join(VAL), &tasks.held_out)?;
    let (train, held_out) = (tasks.train.len(), tasks.held_out.len());
    let seconds = began.elapsed().as_secs_f64();
    phases.tasks = Some(Prepared { train, held_out, seconds });
    phases.save(dir)?;
    Ok(tasks)
}

/// Makes the tasks of a run.
///
/// # Errors
///
/// If the settings name no tasks.
pub fn compose(config: &Config) -> Result<Tasks, TasksError> {
    let held_out = config.quickstart.held_out_tasks as usize;
    Ok(make(generator(config)?, taken(config)?, held_out))
}

/// The number of tasks that training uses.
fn taken(config: &Config) -> Result<usize, TrainError> {
    let most = config.quickstart.train_tasks as usize;
    let plan = Plan::grpo(config, most)?;
    let rounds = 1 + u64::from(config.grpo.dynamic_sampling_rounds);
    let taken = plan.steps * plan.items_per_step * rounds;
    Ok(most.min(usize::try_from(taken).unwrap_or(usize::MAX)))
}

/// Tasks of the families that are asked for: others than `whet data prepare` makes of the same seed,
/// which the student may have seen.
///
/// # Errors
///
/// If a family is not known.
pub fn generator(config: &Config) -> Result<Generator, TasksError> {
    let seed = Seed::new(config.seed).derive("quickstart", 0);
    let names: Vec<&str> = config.quickstart.families.iter().map(String::as_str).collect();
    if names.is_empty() {
        return Ok(Generator::new(seed));
    }
    let unknown = |name: &str| TasksError::Family { name: name.to_owned() };
    Generator::of_families(seed, &names).map_err(unknown)
}

/// The first tasks, until there are enough of both parts.
fn make(generator: Generator, train: usize, held_out: usize) -> Tasks {
    let mut tasks = Tasks::default();
    for made in generator {
        let (part, wanted) = match made.part {
            Partition::Train => (&mut tasks.train, train),
            Partition::Development | Partition::Validation => (&mut tasks.held_out, held_out),
        };
        if part.len() < wanted {
            part.push(made.task);
        }
        if tasks.train.len() >= train && tasks.held_out.len() >= held_out {
            break;
        }
    }
    tasks
}

/// Writes tasks as JSON lines.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write(path: &Path, tasks: &[Task]) -> Result<(), TrainError> {
    let written = atomic::replace_with(path, |out| {
        for task in tasks {
            serde_json::to_writer(&mut *out, &task.to_object())?;
            out.write_all(b"\n")?;
        }
        Ok(())
    });
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_were_wanted_of_each_part() {
        for (train, held_out) in [(9, 1), (1, 4), (3, 3)] {
            let tasks = make(Generator::new(Seed::new(42)), train, held_out);
            assert_eq!((tasks.train.len(), tasks.held_out.len()), (train, held_out));
        }
    }

    #[test]
    fn no_more_tasks_are_made_than_steps_take() {
        let mut config = Config::default();
        config.training.max_steps = 5;
        assert_eq!(taken(&config).unwrap(), 20, "four groups a step");
        config.grpo.dynamic_sampling_rounds = 2;
        assert_eq!(taken(&config).unwrap(), 60);
        config.quickstart.train_tasks = 7;
        assert_eq!(taken(&config).unwrap(), 7);
        config.training.max_steps = 0;
        assert_eq!(taken(&config).unwrap(), 7, "epochs take what there is");
    }
}
