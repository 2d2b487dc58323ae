//! The tasks that teachers are asked for, and the conversations in which they are asked.

use std::collections::BTreeMap;

use whetstone_core::message::{Message, Role};
use whetstone_core::program::Language;
use whetstone_core::prompt::{Prompt, PromptTemplate};
use whetstone_core::seed::Seed;
use whetstone_core::task::{Task, TaskId};
use whetstone_env::environment::{BuildError, EnvError, Environment, Episode};
use whetstone_env::registry::Environments;

use super::error::TeachError;
use super::plan::Extent;
use super::records;
use super::table::{SampleId, Table};
use super::teacher::NamedTeacher;
use super::{MAX_SAMPLES, Teaching};
use crate::tasks::Tasks;

/// What is asked for, with the prompts it is asked in.
pub(super) struct Asked<'a> {
    pub(super) tasks: &'a Tasks,
    pub(super) extent: Extent,
    pub(super) teaching: &'a Teaching<'a>,
    environments: &'a Environments,
    /// The name and digest of the prompt of tasks for programs.
    identity: String,
    /// The prompts of tasks for programs.
    prompts: BTreeMap<u32, Prompt>,
    /// What episodes of other environments than that of programs begin with.
    others: BTreeMap<u32, Vec<Message>>,
    /// One for each task.
    digests: Vec<String>,
}

/// A sample as it stands in a file or in the journal.
#[derive(Clone, Copy)]
pub(super) struct NamedSample<'a> {
    pub(super) task: &'a TaskId,
    /// The teacher; the first one if it is not named.
    pub(super) teacher: Option<&'a str>,
    pub(super) sample: u32,
}

impl<'a> Asked<'a> {
    /// Opens an episode of every task that asks for no program.
    ///
    /// # Errors
    ///
    /// If one cannot be opened.
    pub(super) fn new(
        teaching: &'a Teaching<'a>,
        tasks: &'a Tasks,
        environments: &'a Environments,
    ) -> Result<Self, TeachError> {
        let count = u32::try_from(tasks.all().len()).unwrap_or(u32::MAX);
        let extent = Extent {
            tasks: teaching.max_tasks.map_or(count, |most| most.min(count)),
            samples: teaching.teachers.iter().map(|one| one.samples.min(MAX_SAMPLES)).collect(),
            per_request: teaching.samples_per_request.max(1),
        };
        let (others, prompts, digests) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let template = PromptTemplate::of(&teaching.config.prompt);
        let template = template.map_err(|err| TeachError::Environment(err.into()))?;
        let identity = template.identity();
        let mut asked =
            Self { tasks, extent, teaching, environments, identity, prompts, others, digests };
        for number in 0..count {
            if asked.is_program(number) {
                let prompt = template.prompt(tasks.get(number).view());
                let prompt = prompt.map_err(|err| TeachError::Environment(err.into()))?;
                asked.prompts.insert(number, prompt);
            } else {
                let opened = asked.open(number).map_err(|source| {
                    let task = tasks.get(number).id.clone();
                    TeachError::Environment(BuildError::Task { task, source })
                })?;
                asked.others.insert(number, opened.messages().to_vec());
            }
            asked.digests.push(records::digest(&asked.prompt(number)));
        }
        Ok(asked)
    }

    /// A table of what is known of each sample: nothing.
    pub(super) fn table(&self) -> Table {
        let numbers = 0..u32::try_from(self.digests.len()).unwrap_or(u32::MAX);
        let episodes = numbers.map(|task| self.turns(task) > 1).collect();
        Table::new(episodes, self.teaching.teachers.len())
    }

    pub(super) fn is_program(&self, task: u32) -> bool {
        self.tasks.get(task).is_program(&self.teaching.config.env.kind)
    }

    /// Turns of an episode of a task. A program is one reply.
    pub(super) fn turns(&self, task: u32) -> usize {
        if self.is_program(task) { 1 } else { self.environments.max_turns(self.tasks.get(task)) }
    }

    /// Whether any episode has several turns.
    pub(super) fn has_episodes(&self) -> bool {
        self.others.keys().any(|&task| self.turns(task) > 1)
    }

    /// Opens an episode of a task, with the seed that scoring opens it with.
    pub(super) fn open(&self, task: u32) -> Result<Box<dyn Episode>, EnvError> {
        self.environments.open(self.tasks.get(task), self.seed())
    }

    /// The reply of an environment's expert to a conversation.
    pub(super) fn expert(
        &self,
        task: &Task,
        messages: &[Message],
    ) -> Result<Option<String>, EnvError> {
        self.environments.expert_reply(task, self.seed(), messages)
    }

    /// The seed of the run.
    pub(super) fn seed(&self) -> Seed {
        Seed::new(self.teaching.config.seed)
    }

    pub(super) fn teacher(&self, teacher: u32) -> NamedTeacher<'a> {
        self.teaching.teachers[teacher as usize]
    }

    /// The name of a teacher, if there are several.
    pub(super) fn name_of_several(&self, teacher: u32) -> Option<&'a str> {
        (self.teaching.teachers.len() > 1).then(|| self.teacher(teacher).name)
    }

    /// What its programs are written in.
    pub(super) fn language(&self, task: u32) -> Language {
        self.tasks.get(task).language
    }

    /// The name and digest of the prompt, as it stands in traces.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// What the teacher is asked, as it stands in traces: the last message, and those before it.
    pub(super) fn prompt(&self, task: u32) -> Prompt {
        if let Some(prompt) = self.prompts.get(&task) {
            return prompt.clone();
        }
        let all = self.others.get(&task).map(Vec::as_slice).unwrap_or_default();
        let (user, before) =
            all.split_last().map_or(("", all), |(user, before)| (&user.content, before));
        let before: Vec<&str> = before.iter().map(|message| message.content.as_str()).collect();
        Prompt { system: before.join("\n"), user: user.to_owned(), prefill: String::new() }
    }

    /// The conversation that a teacher is sent.
    pub(super) fn messages(&self, task: u32) -> Vec<Message> {
        let other = self.others.get(&task).cloned();
        other.unwrap_or_else(|| self.prompt(task).messages())
    }

    pub(super) fn digest(&self, task: u32) -> &str {
        &self.digests[task as usize]
    }

    /// Where a stored sample belongs, if `same` says that its prompt is still the same.
    pub(super) fn place(
        &self,
        named: NamedSample<'_>,
        same: impl Fn(u32) -> bool,
    ) -> Result<SampleId, String> {
        let NamedSample { task: id, teacher, sample } = named;
        let Some(task) = self.tasks.find(id) else {
            return Err(format!("`{id}` is no task of `{}`", self.tasks.file().display()));
        };
        if !same(task) {
            return Err(format!("the prompt of task `{id}` is another one now"));
        }
        if sample >= MAX_SAMPLES {
            return Err(format!("sample {sample} is not below {MAX_SAMPLES}"));
        }
        Ok(SampleId { task, teacher: self.find_teacher(teacher)?, sample })
    }

    fn find_teacher(&self, name: Option<&str>) -> Result<u32, String> {
        let Some(name) = name else { return Ok(0) };
        let found = self.teaching.teachers.iter().zip(0..).find(|(one, _)| one.name == name);
        found.map(|(_, at)| at).ok_or_else(|| format!("its teacher `{name}` is not asked now"))
    }
}

/// The user messages of a conversation's part, as one text: what stands in traces and rows. Standing
/// instructions and replies are no part of it.
pub(super) fn user_text(said: &[Message]) -> String {
    let users = said.iter().filter(|message| message.role == Role::User);
    users.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
}
