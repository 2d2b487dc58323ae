//! The teachers that a request names: a server's models, experts and traces, reference solutions.

use std::collections::BTreeMap;

use whetstone_core::config::Config;
use whetstone_remote::chat::Client;
use whetstone_rollout::teach::{Embedded, NamedTeacher, References, Teacher};

use super::remote::Remote;
use super::{TeachRequest, TeacherChoice, server};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::retries;

/// Everyone who is asked, in order.
pub(super) struct Teachers(Vec<OwnedTeacher>);

struct OwnedTeacher {
    name: String,
    teacher: Asked,
    samples: u32,
}

/// Who is asked.
enum Asked {
    Here(Box<dyn Teacher>),
    Server(Box<Remote>),
}

impl Teachers {
    /// Those of a request.
    ///
    /// # Errors
    ///
    /// If one is named twice, several samples of a task are wanted of one that has one, or a server cannot be
    /// asked as the settings say.
    pub(super) fn of(
        request: &TeachRequest,
        config: &Config,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let remote = request.teachers.contains(&TeacherChoice::Remote);
        if !remote && request.num_samples.is_some_and(|samples| samples > 1) {
            return Err(Failure::Usage {
                problem: "a task has one trace and one reference solution of its own",
                hint: "leave `--num-samples` out",
            });
        }
        let mut all = Vec::new();
        for choice in &request.teachers {
            match choice {
                TeacherChoice::Embedded => all.push(own(Embedded::MODEL, Box::new(Embedded))),
                TeacherChoice::Reference => all.push(own(References::MODEL, Box::new(References))),
                TeacherChoice::Remote => all.extend(models(request, config, observer)?),
            }
        }
        let names = |at: usize| all[..at].iter().map(|one| &one.name);
        if (0..all.len()).any(|at| names(at).any(|name| *name == all[at].name)) {
            return Err(Failure::Usage {
                problem: "a teacher is named twice",
                hint: "name each once; a model on the server cannot be called `embedded` or `reference` \
                       beside these teachers",
            });
        }
        Ok(Self(all))
    }

    /// As collecting takes them.
    pub(super) fn named(&self) -> Vec<NamedTeacher<'_>> {
        self.0.iter().map(OwnedTeacher::named).collect()
    }

    /// The same with so many samples of each task at most.
    pub(super) fn at_most(mut self, samples: u32) -> Self {
        for one in &mut self.0 {
            one.samples = one.samples.min(samples);
        }
        self
    }

    /// Samples of one task by all of them.
    pub(super) fn samples(&self) -> u64 {
        self.0.iter().map(|one| u64::from(one.samples)).sum()
    }

    /// Samples of one task by a server's models.
    pub(super) fn remote_samples(&self) -> impl Iterator<Item = u32> {
        let servers = self.0.iter().filter(|one| matches!(one.teacher, Asked::Server(_)));
        servers.map(|one| one.samples)
    }

    /// Reasons to doubt what servers answered, each a sentence.
    pub(super) fn doubts(&self) -> Vec<String> {
        self.clients().flat_map(Client::doubts).collect()
    }

    fn clients(&self) -> impl Iterator<Item = &Client> {
        self.0.iter().filter_map(|one| match &one.teacher {
            Asked::Server(remote) => Some(remote.0.client()),
            Asked::Here(_) => None,
        })
    }

    /// Tries that failed and were repeated, by what failed.
    pub(super) fn retried(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (label, count) in self.clients().flat_map(Client::retried) {
            *all.entry(label).or_default() += count;
        }
        all
    }
}

impl OwnedTeacher {
    fn named(&self) -> NamedTeacher<'_> {
        let teacher = match &self.teacher {
            Asked::Here(teacher) => teacher.as_ref(),
            Asked::Server(remote) => remote.as_ref(),
        };
        NamedTeacher { name: &self.name, teacher, samples: self.samples }
    }
}

/// A teacher on this machine: one sample of a task, more would be the same again.
fn own(name: &str, teacher: Box<dyn Teacher>) -> OwnedTeacher {
    OwnedTeacher { name: name.to_owned(), teacher: Asked::Here(teacher), samples: 1 }
}

/// The models of the server.
fn models(
    request: &TeachRequest,
    config: &Config,
    observer: &dyn Observer,
) -> Result<Vec<OwnedTeacher>, Failure> {
    let on_retry = retries::some(observer);
    let samples = request.num_samples.unwrap_or(config.teacher.num_samples_per_problem);
    let asked = config.teacher.asked_models().into_iter();
    asked
        .map(|model| {
            let server = server(config, model).map_err(Failure::Teacher)?;
            let teacher = Asked::Server(Box::new(Remote(server.watched(on_retry.clone()))));
            Ok(OwnedTeacher { name: model.to_owned(), teacher, samples })
        })
        .collect()
}
