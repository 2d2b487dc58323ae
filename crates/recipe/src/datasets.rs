//! The location of a data set: a local path, or a name on the hub.

use std::path::{Path, PathBuf};

use whetstone_core::{Seed, Task};
use whetstone_data::source::{DataSet, Difficulty, TaskSource, is_table};
use whetstone_data::{Partition, embedded};
use whetstone_remote::hub::{self, HubError, Repo, Watch, fetch_all};

use crate::downloads::on_download;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::retries;

/// A data set on the hub, and its relevant files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    name: &'static str,
    /// The prefixes of their paths.
    files: &'static [&'static str],
    flag: &'static str,
}

const MBPP: Published = Published {
    name: "google-research-datasets/mbpp",
    files: &["full/", "sanitized/"],
    flag: "--mbpp",
};
/// The full set of MBPP, for a suite.
pub(crate) const MBPP_FULL: Published = Published { files: &["full/"], flag: "--tasks", ..MBPP };
/// The sanitized set of MBPP, for a suite.
pub(crate) const MBPP_SANITIZED: Published =
    Published { files: &["sanitized/"], flag: "--tasks", ..MBPP };
/// `HumanEval`, for a suite.
pub(crate) const HUMANEVAL: Published =
    Published { name: "openai/openai_humaneval", files: &["openai_humaneval/"], flag: "--tasks" };
const APPS: Published =
    Published { name: "codeparrot/apps", files: &["train.jsonl"], flag: "--apps" };

/// The sources that are named.
#[derive(Debug, Clone, Default)]
pub struct SourcesNamed {
    /// MBPP: paths, or its name on the hub.
    pub mbpp: Vec<PathBuf>,
    /// APPS: a path, or its name on the hub.
    pub apps: Option<PathBuf>,
    /// HumanEval: a path.
    pub humaneval: Option<PathBuf>,
    /// `LeetCodeDataset`: a path.
    pub leetcode: Option<PathBuf>,
    /// Files of tasks.
    pub tasks: Vec<PathBuf>,
    /// The difficulties of APPS that are used; an empty list means all.
    pub difficulties: Vec<Difficulty>,
    /// APPS is left out if nothing is named.
    pub skip_apps: bool,
    /// Embedded tasks are wanted.
    pub embedded: bool,
}

impl SourcesNamed {
    /// Where to read: with nothing named, MBPP and APPS, from the hub.
    ///
    /// # Errors
    ///
    /// If the hub does not give a data set.
    pub fn origins(&self, observer: &dyn Observer) -> Result<Vec<TaskSource>, Failure> {
        let by_name = self.is_nothing_named() && !self.embedded;
        let mut found = Vec::new();
        let mut add = |kind, paths: Vec<PathBuf>| {
            found.extend(paths.into_iter().map(|path| (kind, path)));
        };
        for path in &self.mbpp {
            add(Some(DataSet::Mbpp), locate(&MBPP, Some(path), observer)?);
        }
        if by_name {
            add(Some(DataSet::Mbpp), locate(&MBPP, None, observer)?);
        }
        if (by_name && !self.skip_apps) || self.apps.is_some() {
            add(Some(DataSet::Apps), locate(&APPS, self.apps.as_deref(), observer)?);
        }
        add(Some(DataSet::HumanEval), self.humaneval.iter().cloned().collect());
        add(Some(DataSet::LeetCode), self.leetcode.iter().cloned().collect());
        add(None, self.tasks.clone());
        let origin = |(kind, path): (_, PathBuf)| TaskSource {
            difficulties: self.difficulties.clone(),
            ..TaskSource::new(kind, &path)
        };
        Ok(found.into_iter().map(origin).collect())
    }

    /// Whether no data set and no file is named.
    pub(crate) fn is_nothing_named(&self) -> bool {
        self.paths().next().is_none() && self.tasks.is_empty()
    }

    /// The paths or names of data sets, each with the data set's name.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let mbpp = self.mbpp.iter().map(|path| ("MBPP", path));
        let others =
            [("APPS", &self.apps), ("HumanEval", &self.humaneval), ("LeetCode", &self.leetcode)];
        mbpp.chain(others.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))))
    }
}

/// The files of a data set: the given path, or the files on the hub.
pub(crate) fn locate(
    published: &Published,
    given: Option<&Path>,
    observer: &dyn Observer,
) -> Result<Vec<PathBuf>, Failure> {
    match given {
        Some(path) if path.exists() || !is_name(path) => Ok(vec![path.to_owned()]),
        Some(name) => fetch(&name.to_string_lossy(), published, observer),
        None => fetch(published.name, published, observer),
    }
}

/// A name of the hub; a file of a data set has an ending.
fn is_name(path: &Path) -> bool {
    hub::is_name(path) && path.extension().is_none()
}

/// Fetches the tables of a repository: all of them, or of the published one those that count.
fn fetch(
    name: &str,
    published: &Published,
    observer: &dyn Observer,
) -> Result<Vec<PathBuf>, Failure> {
    let beginnings = if name == published.name { published.files } else { &[""] };
    let wanted = |path: &str| {
        beginnings.iter().any(|beginning| path.starts_with(beginning)) && is_table(Path::new(path))
    };
    let watch = Watch { on_download: &on_download(observer), on_retry: retries::each(observer) };
    let fetched = Repo::dataset(name)
        .and_then(|repo| fetch_all(&repo, &wanted, &format!("{}*.parquet", beginnings[0]), &watch));
    fetched.map_err(|source: HubError| Failure::Hub {
        name: name.to_owned(),
        flag: published.flag,
        source: Box::new(source),
    })
}

/// Tasks that need no download, of some families or of all.
///
/// # Errors
///
/// If there is no such family.
pub fn embedded(
    seed: Seed,
    count: usize,
    families: &[String],
) -> Result<Vec<(Partition, Task)>, Failure> {
    let names: Vec<&str> = families.iter().map(String::as_str).collect();
    let generator = if names.is_empty() {
        embedded::Generator::new(seed)
    } else {
        embedded::Generator::of_families(seed, &names)
            .map_err(|name| Failure::Family { name: name.to_owned() })?
    };
    Ok(generator.take(count).map(|made| (made.part, made.task)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_hub_is_told_from_a_path() {
        for name in ["owner/name", "google-research-datasets/mbpp"] {
            assert!(is_name(Path::new(name)), "{name}");
        }
        for path in ["mbpp.jsonl", "data/mbpp.jsonl", "./data/mbpp", "/a/b", "../a", "a/b/c", "a"] {
            assert!(!is_name(Path::new(path)), "{path}");
        }
    }
}
