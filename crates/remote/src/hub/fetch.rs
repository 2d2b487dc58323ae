//! Whole repositories of the hub: which names are meant, and which files are fetched.

use std::path::{Path, PathBuf};

use super::{Hub, HubError, Origin, Progress, RemoteFile, Repo};
use crate::retry::OnRetry;

/// Files of a model: configuration, weights, tokenizer and chat template.
const MODEL_FILES: [&str; 8] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "model.safetensors.index.json",
];

/// `owner/name`, and nothing that a path would have beside it.
pub fn is_name(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let plain = |part: &str| !part.starts_with(['.', '~', '/']) && !part.is_empty();
    parts.len() == 2 && parts.iter().all(|part| plain(part))
}

/// An event of a download.
#[derive(Debug, Clone, Copy)]
pub enum DownloadEvent<'a> {
    /// A part of a file is here.
    Part(Progress),
    /// A file of a repository was downloaded.
    Done {
        /// The repository.
        repo: &'a Repo,
        /// The file's path in it.
        path: &'a str,
        /// Bytes that came over the network.
        bytes: u64,
    },
}

/// Called while files are downloaded.
pub type OnDownload<'a> = dyn Fn(DownloadEvent<'_>) + 'a;

/// What is called while files are fetched.
#[derive(Clone)]
pub struct Watch<'a> {
    /// While they are downloaded.
    pub on_download: &'a OnDownload<'a>,
    /// Before each pause between two tries.
    pub on_retry: OnRetry,
}

/// Fetches one file, unless it is here.
fn fetch(
    hub: &Hub,
    repo: &Repo,
    file: &RemoteFile,
    on_download: &OnDownload<'_>,
) -> Result<PathBuf, HubError> {
    let fetched =
        hub.file(repo, &file.path, &mut |progress| on_download(DownloadEvent::Part(progress)))?;
    if let Origin::Downloaded(bytes) = fetched.origin {
        on_download(DownloadEvent::Done { repo, path: &file.path, bytes });
    }
    Ok(fetched.path)
}

/// Fetches the files of a repository whose paths are `wanted`; `missing` names them in the error if there
/// are none.
pub fn fetch_all(
    repo: &Repo,
    wanted: &dyn Fn(&str) -> bool,
    missing: &str,
    watch: &Watch<'_>,
) -> Result<Vec<PathBuf>, HubError> {
    let hub = Hub::from_env()?.watched(watch.on_retry.clone());
    let files = hub.list(repo)?.files;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| wanted(&file.path)) {
        found.push(fetch(&hub, repo, file, watch.on_download)?);
    }
    if found.is_empty() {
        let some = files.iter().take(5).map(|file| file.path.as_str()).collect::<Vec<_>>();
        return Err(HubError::NoFile {
            repo: repo.id().to_owned(),
            path: missing.to_owned(),
            files: some.join(", "),
        });
    }
    Ok(found)
}

/// The directory of a model of the hub, with its files.
pub fn fetch_model(name: &str, watch: &Watch<'_>) -> Result<PathBuf, HubError> {
    let wanted = |path: &str| MODEL_FILES.contains(&path) || is_weights(path);
    let found = fetch_all(&Repo::model(name)?, &wanted, "config.json", watch)?;
    Ok(found.iter().rev().find_map(|path| path.parent()).unwrap_or(Path::new(name)).to_owned())
}

/// Weights at the top of a repository; those in folders are other forms of the same.
fn is_weights(path: &str) -> bool {
    !path.contains('/') && path.starts_with("model") && path.ends_with(".safetensors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_hub_is_told_from_a_path() {
        for name in ["owner/name", "Qwen/Qwen3-1.7B", "google-research-datasets/mbpp"] {
            assert!(is_name(Path::new(name)), "{name}");
        }
        for path in ["./data/mbpp", "/a/b", "../a", "a/b/c", "a"] {
            assert!(!is_name(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn weights_are_told_from_their_other_forms() {
        assert!(is_weights("model.safetensors") && is_weights("model-00001-of-00002.safetensors"));
        assert!(!is_weights("onnx/model.safetensors") && !is_weights("pytorch_model.bin"));
    }
}
