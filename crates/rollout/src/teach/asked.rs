//! The tasks that a teacher is asked for, and the conversations in which it is asked.

use std::collections::BTreeMap;

use whetstone_core::message::Message;
use whetstone_core::program::Language;
use whetstone_core::prompt::Prompt;
use whetstone_core::seed::Seed;
use whetstone_core::task::TaskId;
use whetstone_env::environment::{BuildError, Environment};
use whetstone_env::registry::Environments;

use super::error::TeachError;
use super::plan::Extent;
use super::records;
use super::table::SampleId;
use super::{MAX_SAMPLES, Teaching};
use crate::tasks::Tasks;

/// What is asked for, with the prompts it is asked in.
pub(super) struct Asked<'a> {
    pub(super) tasks: &'a Tasks,
    pub(super) extent: Extent,
    pub(super) teaching: &'a Teaching<'a>,
    /// What episodes of other environments than that of programs begin with.
    others: BTreeMap<u32, Vec<Message>>,
    /// One for each task.
    digests: Vec<String>,
}

impl<'a> Asked<'a> {
    /// Opens an episode of every task that asks for no program.
    ///
    /// # Errors
    ///
    /// If one cannot be opened, or has more than one turn.
    pub(super) fn new(
        teaching: &'a Teaching<'a>,
        tasks: &'a Tasks,
        environments: &Environments,
    ) -> Result<Self, TeachError> {
        let count = u32::try_from(tasks.all().len()).unwrap_or(u32::MAX);
        let extent = Extent {
            tasks: teaching.max_tasks.map_or(count, |most| most.min(count)),
            samples: teaching.samples.min(MAX_SAMPLES),
            per_request: teaching.samples_per_request.max(1),
        };
        let mut asked =
            Self { tasks, extent, teaching, others: BTreeMap::new(), digests: Vec::new() };
        for number in 0..count {
            if !asked.is_program(number) {
                asked.others.insert(number, first_messages(tasks, number, environments)?);
            }
            asked.digests.push(records::digest(&asked.prompt(number)));
        }
        Ok(asked)
    }

    /// How many tasks there are, asked for or not.
    pub(super) fn len(&self) -> usize {
        self.digests.len()
    }

    pub(super) fn is_program(&self, task: u32) -> bool {
        self.tasks.get(task).is_program(&self.teaching.config.env.kind)
    }

    /// What its programs are written in.
    pub(super) fn language(&self, task: u32) -> Language {
        self.tasks.get(task).language
    }

    /// What the teacher is asked, as it stands in traces: the last message, and those before it.
    pub(super) fn prompt(&self, task: u32) -> Prompt {
        let Some((user, before)) = self.others.get(&task).and_then(|all| all.split_last()) else {
            return Prompt::new(self.tasks.get(task).view(), self.teaching.config.prompt.language);
        };
        let before: Vec<&str> = before.iter().map(|message| message.content.as_str()).collect();
        Prompt { system: before.join("\n"), user: user.content.clone() }
    }

    /// The conversation that a teacher is sent.
    pub(super) fn messages(&self, task: u32) -> Vec<Message> {
        let other = self.others.get(&task).cloned();
        other.unwrap_or_else(|| self.prompt(task).messages().to_vec())
    }

    pub(super) fn digest(&self, task: u32) -> &str {
        &self.digests[task as usize]
    }

    /// Where a stored sample belongs, if `same` says that its prompt is still the same.
    pub(super) fn place(
        &self,
        id: &TaskId,
        sample: u32,
        same: impl Fn(u32) -> bool,
    ) -> Result<SampleId, String> {
        let Some(task) = self.tasks.find(id) else {
            return Err(format!("`{id}` is no task of `{}`", self.tasks.file().display()));
        };
        if !same(task) {
            return Err(format!("the prompt of task `{id}` is another one now"));
        }
        if sample >= MAX_SAMPLES {
            return Err(format!("sample {sample} is not below {MAX_SAMPLES}"));
        }
        Ok(SampleId { task, sample })
    }
}

/// The conversation that an episode of a task begins with.
fn first_messages(
    tasks: &Tasks,
    number: u32,
    environments: &Environments,
) -> Result<Vec<Message>, TeachError> {
    let task = tasks.get(number);
    let turns = environments.max_turns(task);
    if turns > 1 {
        return Err(TeachError::ManyTurns { task: task.id.clone(), turns });
    }
    // Only an environment that is random would say something else with another seed.
    let opened = environments.open(task, Seed::new(0)).map_err(|source| {
        TeachError::Environment(BuildError::Task { task: task.id.clone(), source })
    })?;
    Ok(opened.messages().to_vec())
}
