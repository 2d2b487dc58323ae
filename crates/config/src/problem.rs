//! Something wrong with a config: where, which key, what, and what to do.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use whetstone_core::config;

/// One thing wrong with a config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its location; `None` for a contradiction between defaults.
    pub place: Option<Place>,
    /// The key's path, e.g. `grpo.kl_coef`; `None` if the text could not be read that far.
    pub key: Option<String>,
    /// The problem.
    pub message: String,
    /// A suggestion for the user.
    pub hint: Option<String>,
}

/// The location of a key; locations in one file are ordered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Place {
    /// In a file.
    File {
        /// Its path as given.
        path: PathBuf,
        /// Counted from 1; 0 for the file as a whole.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
    },
    /// On the command line.
    Set {
        /// The argument of `--set`.
        argument: String,
    },
    /// By the suite of tasks that is named.
    Suite {
        /// Its name.
        name: String,
    },
    /// By the algorithm that is named.
    Preset {
        /// Its name.
        algorithm: String,
    },
}

impl Problem {
    /// Of the config as a whole.
    pub(super) fn whole(message: &str) -> Self {
        Self { place: None, key: None, message: message.to_owned(), hint: None }
    }

    /// Between keys that are each right by themselves.
    pub(super) fn between(problem: config::Problem, places: &BTreeMap<String, Place>) -> Self {
        let inside = format!("{}.", problem.key);
        let set = places.iter().filter(|(key, _)| **key == problem.key || key.starts_with(&inside));
        Self {
            place: set.map(|(_, place)| place).max().cloned(),
            key: Some(problem.key.to_owned()),
            message: problem.message,
            hint: Some(problem.hint.to_owned()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "`{key}`: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            // Further lines stand under the first.
            Some(hint) => write!(f, "\n  hint: {}", hint.replace('\n', "\n        ")),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line: 0, .. } => write!(f, "{}", path.display()),
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::Set { argument } => write!(f, "--set {argument}"),
            Self::Suite { name } => write!(f, "--suite {name}"),
            Self::Preset { algorithm } => write!(f, "grpo.algorithm = {algorithm}"),
        }
    }
}
