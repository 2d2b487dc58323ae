//! The location of a data set: a local path, or a name on the hub.

use std::path::{Path, PathBuf};

use whetstone_core::{Seed, Task};
use whetstone_data::source::{DataSet, is_table};
use whetstone_data::{Partition, embedded};
use whetstone_remote::hub::{Hub, HubError, Repo};

use crate::failure::Failure;
use crate::hub;
use crate::printer::Printer;

/// A data set on the hub, and its relevant files.
struct Published {
    name: &'static str,
    /// The prefix of their paths.
    files: &'static str,
    flag: &'static str,
}

const MBPP: Published =
    Published { name: "google-research-datasets/mbpp", files: "full/", flag: "--mbpp" };
const APPS: Published = Published { name: "codeparrot/apps", files: "train.jsonl", flag: "--apps" };

/// The files of a data set: the given path, or the files on the hub.
pub(super) fn locate(
    source: DataSet,
    given: Option<&Path>,
    printer: Printer,
) -> Result<Vec<PathBuf>, Failure> {
    let published = if source == DataSet::Apps { &APPS } else { &MBPP };
    match given {
        Some(path) if path.exists() || !is_name(path) => Ok(vec![path.to_owned()]),
        Some(name) => fetch(&name.to_string_lossy(), published, printer),
        None => fetch(published.name, published, printer),
    }
}

/// A name of the hub; a file of a data set has an ending.
fn is_name(path: &Path) -> bool {
    hub::is_name(path) && path.extension().is_none()
}

/// Fetches the tables of a repository: all of them, or of the published one those that count.
fn fetch(name: &str, published: &Published, printer: Printer) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::Hub {
        name: name.to_owned(),
        flag: published.flag,
        source: Box::new(source),
    };
    let hub = Hub::from_env().map_err(failed)?;
    let repo = Repo::dataset(name).map_err(failed)?;
    let files = hub.list(&repo).map_err(failed)?.files;
    let beginning = if name == published.name { published.files } else { "" };
    let mut found = Vec::new();
    let wanted = |path: &str| path.starts_with(beginning) && is_table(Path::new(path));
    for file in files.iter().filter(|file| wanted(&file.path)) {
        let fetched = hub::fetch(&hub, &repo, file, printer);
        found.push(fetched.map_err(failed)?);
    }
    if found.is_empty() {
        let some = files.iter().take(5).map(|file| file.path.as_str()).collect::<Vec<_>>();
        return Err(failed(HubError::NoFile {
            repo: name.to_owned(),
            path: format!("{beginning}*.parquet"),
            files: some.join(", "),
        }));
    }
    Ok(found)
}

/// Tasks that need no download, of some families or of all.
pub(super) fn embedded(
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
