//! Repositories of the hub, by name: which names are meant, and how files come here.

use std::path::{Path, PathBuf};

use whetstone_remote::hub::{Hub, HubError, Origin, RemoteFile, Repo};

use crate::failure::Failure;
use crate::printer::Printer;

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
pub(crate) fn is_name(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let plain = |part: &str| !part.starts_with(['.', '~', '/']) && !part.is_empty();
    parts.len() == 2 && parts.iter().all(|part| plain(part))
}

/// Fetches one file, unless it is here, and says how many bytes came.
pub(crate) fn fetch(
    hub: &Hub,
    repo: &Repo,
    file: &RemoteFile,
    printer: Printer,
) -> Result<PathBuf, HubError> {
    let RemoteFile { path, bytes } = file;
    let bar = printer.progress(bytes.unwrap_or(0)).with_message("bytes");
    let fetched = hub.file(repo, path, &mut |progress| {
        bar.set_length(progress.total.unwrap_or(progress.bytes));
        bar.set_position(progress.bytes);
    });
    bar.finish_and_clear();
    let fetched = fetched?;
    if let Origin::Downloaded(bytes) = fetched.origin {
        printer.note(format_args!("{}: {path} downloaded, {bytes} bytes", repo.id()));
    }
    Ok(fetched.path)
}

/// The path of a model: the given path, or the directory of a download from the hub.
pub(crate) fn model(given: &str, printer: Printer) -> Result<PathBuf, Failure> {
    let path = Path::new(given);
    if path.exists() || !is_name(path) {
        return Ok(path.to_owned());
    }
    let failed = |source| Failure::HubModel { name: given.to_owned(), source: Box::new(source) };
    let hub = Hub::from_env().map_err(failed)?;
    let repo = Repo::model(given).map_err(failed)?;
    let listing = hub.list(&repo).map_err(failed)?;
    let wanted = |path: &str| MODEL_FILES.contains(&path) || is_weights(path);
    let mut dir = None;
    for file in listing.files.iter().filter(|file| wanted(&file.path)) {
        let path = fetch(&hub, &repo, file, printer).map_err(failed)?;
        dir = path.parent().map(Path::to_owned).or(dir);
    }
    let files = listing.files.iter().take(5).map(|file| file.path.as_str()).collect::<Vec<_>>();
    dir.ok_or_else(|| {
        failed(HubError::NoFile {
            repo: given.to_owned(),
            path: "config.json".to_owned(),
            files: files.join(", "),
        })
    })
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
