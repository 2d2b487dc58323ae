//! Where a data set is: on this machine, or on the hub, by its name.

use std::path::{Path, PathBuf};

use whetstone_core::{Seed, Task};
use whetstone_data::Part;
use whetstone_data::source::{Kind, is_table};
use whetstone_remote::hub::{Hub, HubError, Origin, Repo};

use crate::failure::Failure;
use crate::printer::Printer;

/// Where the hub has a data set, and which of its files are the ones.
struct Published {
    name: &'static str,
    /// How their paths begin.
    files: &'static str,
    flag: &'static str,
}

const MBPP: Published =
    Published { name: "google-research-datasets/mbpp", files: "full/", flag: "--mbpp" };
const APPS: Published = Published { name: "codeparrot/apps", files: "train.jsonl", flag: "--apps" };

/// The files of a data set: the path that was given, or what the hub has under a name.
pub(super) fn locate(
    source: Kind,
    given: Option<&Path>,
    printer: Printer,
) -> Result<Vec<PathBuf>, Failure> {
    let published = if source == Kind::Apps { &APPS } else { &MBPP };
    match given {
        Some(path) if path.exists() || !is_name(path) => Ok(vec![path.to_owned()]),
        Some(name) => fetch(&name.to_string_lossy(), published, printer),
        None => fetch(published.name, published, printer),
    }
}

/// `owner/name`, and nothing that a path would have beside it.
fn is_name(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let plain = |part: &str| !part.starts_with(['.', '~', '/']) && !part.is_empty();
    parts.len() == 2 && parts.iter().all(|part| plain(part)) && path.extension().is_none()
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
        let bar = printer.progress_with_rate(file.bytes.unwrap_or(0), "bytes");
        let fetched = hub.file(&repo, &file.path, &mut |progress| {
            bar.set_length(progress.total.unwrap_or(progress.bytes));
            bar.set_position(progress.bytes);
        });
        bar.finish_and_clear();
        let fetched = fetched.map_err(failed)?;
        if let Origin::Downloaded(bytes) = fetched.origin {
            printer.note(format_args!("{name}: {} downloaded, {bytes} bytes", file.path));
        }
        found.push(fetched.path);
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

/// Tasks that need no download.
pub(super) fn embedded(seed: Seed, count: usize) -> Vec<(Part, Task)> {
    let made = whetstone_data::embedded::generate(seed, count);
    made.into_iter().map(|made| (made.part, made.task)).collect()
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
