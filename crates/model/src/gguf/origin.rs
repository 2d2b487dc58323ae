//! The model of the hub that a GGUF file was made from, if its metadata say so.
//!
//! `general.source.*` names the original. `general.repo_url` may be the repository of the file
//! itself, and `general.base_model.0.*` is often the parent of the original (a chat model's
//! pretrained base): each is used only if it has the file's own name, `general.name`. An adapter on
//! another model than the one it was trained on would load and produce nonsense.

use std::collections::BTreeMap;

use super::MetadataValue;

/// Keys that name the original.
const SOURCES: [&str; 3] =
    ["general.source.huggingface.repository", "general.source.repo_url", "general.source.url"];

/// Keys that may name it.
const PERHAPS: [&str; 3] = ["general.repo_url", "general.url", "general.base_model.0.repo_url"];

/// Its name on the hub.
pub(super) fn of(metadata: &BTreeMap<String, MetadataValue>) -> Option<String> {
    let text = |key: &str| match metadata.get(key) {
        Some(MetadataValue::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let original = SOURCES.iter().find_map(|key| hub_name(text(key)?));
    let own = text("general.name").map(plain);
    let is_own = |name: &String| {
        let last = name.rsplit('/').next().unwrap_or_default();
        own.as_deref() == Some(plain(last).as_str())
    };
    original.or_else(|| PERHAPS.iter().filter_map(|key| hub_name(text(key)?)).find(is_own))
}

/// `org/name`, from an address on the hub or alone. A repository of GGUF files is not an original.
fn hub_name(text: &str) -> Option<String> {
    let path = match text.split_once("://") {
        Some((_, rest)) => rest.strip_prefix("huggingface.co/").or(rest.strip_prefix("hf.co/"))?,
        None => text,
    };
    let mut parts = path.trim_end_matches('/').split('/');
    let (org, name) = (parts.next()?, parts.next()?);
    let is_part = |part: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && part.len() <= 96 && part.chars().all(fits) && !part.starts_with('.')
    };
    let is_name = parts.next().is_none() && is_part(org) && is_part(name);
    let is_gguf = name.to_ascii_lowercase().ends_with("gguf");
    (is_name && !is_gguf).then(|| format!("{org}/{name}"))
}

/// A name in normalised spelling.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entries: &[(&str, &str)], expected: Option<&str>) {
        let metadata = entries
            .iter()
            .map(|(key, text)| (format!("general.{key}"), MetadataValue::Text((*text).to_owned())))
            .collect();
        assert_eq!(of(&metadata).as_deref(), expected, "{entries:?}");
    }

    #[test]
    fn the_original_is_taken_from_what_names_it() {
        let hub = "https://huggingface.co/Qwen/Qwen3-1.7B";
        check(&[], None);
        check(&[("source.repo_url", hub)], Some("Qwen/Qwen3-1.7B"));
        check(&[("source.huggingface.repository", "Qwen/Qwen3-1.7B")], Some("Qwen/Qwen3-1.7B"));
        check(&[("name", "Qwen3 1.7B"), ("repo_url", hub)], Some("Qwen/Qwen3-1.7B"));
        check(&[("name", "Qwen3 1.7B"), ("base_model.0.repo_url", hub)], Some("Qwen/Qwen3-1.7B"));
    }

    #[test]
    fn a_parent_or_the_files_own_repository_is_not_believed() {
        let parent = "https://huggingface.co/Qwen/Qwen3-1.7B-Base";
        check(&[("name", "Qwen3 1.7B"), ("base_model.0.repo_url", parent)], None);
        check(&[("base_model.0.repo_url", parent)], None);
        let files = "https://huggingface.co/somebody/Qwen3-1.7B-GGUF";
        check(&[("name", "Qwen3 1.7B GGUF"), ("repo_url", files)], None);
        check(&[("source.repo_url", files)], None);
        for odd in ["https://example.org/a/b", "a", "a/b/c", "/b", "a/", "../b", "a/b c"] {
            check(&[("source.repo_url", odd)], None);
        }
    }
}
