//! Names: of a repository, of a revision, of a file in it.
//!
//! Names become parts of addresses and of paths on this machine, whether a user or a server wrote
//! them, so they are checked before they become either.

use std::fmt;

use super::HubError;
use crate::shown;

/// A repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    kind: RepoKind,
    id: String,
    revision: String,
}

/// The kind of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoKind {
    /// A data set.
    Dataset,
    /// A model.
    Model,
}

impl Repo {
    /// The data set `id`, which is `owner/name` or a bare name, at its main revision.
    pub fn dataset(id: &str) -> Result<Self, HubError> {
        Self::new(RepoKind::Dataset, id)
    }

    /// The model `id` at its main revision.
    pub fn model(id: &str) -> Result<Self, HubError> {
        Self::new(RepoKind::Model, id)
    }

    /// The same repository at another branch, tag or commit.
    pub fn at(self, revision: &str) -> Result<Self, HubError> {
        let is_good = revision.split('/').all(is_part) && revision.len() <= 200;
        if !is_good {
            return Err(HubError::Revision {
                revision: shown::beginning(revision.as_bytes(), None),
            });
        }
        Ok(Self { revision: revision.to_owned(), ..self })
    }

    fn new(kind: RepoKind, id: &str) -> Result<Self, HubError> {
        // The hub allows no `--` in a name, which is what keeps the names of cache folders apart.
        let is_name = |part: &str| is_part(part) && !part.contains("--") && !part.starts_with('-');
        let is_good = id.split('/').count() <= 2 && id.split('/').all(is_name) && id.len() <= 96;
        if !is_good {
            return Err(HubError::Name { name: shown::beginning(id.as_bytes(), None) });
        }
        Ok(Self { kind, id: id.to_owned(), revision: "main".to_owned() })
    }

    /// `owner/name`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Branch, tag or commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The folder of the cache.
    pub(crate) fn folder(&self) -> String {
        format!("{}s--{}", self.kind.name(), self.id.replace('/', "--"))
    }

    /// The path of its files, below the hub's address.
    pub(super) fn files_path(&self) -> String {
        match self.kind {
            RepoKind::Dataset => format!("datasets/{}", self.id),
            RepoKind::Model => self.id.clone(),
        }
    }

    /// The path of its description, below the hub's address.
    pub(super) fn api_path(&self) -> String {
        format!("api/{}s/{}", self.kind.name(), self.id)
    }
}

impl RepoKind {
    fn name(self) -> &'static str {
        match self {
            Self::Dataset => "dataset",
            Self::Model => "model",
        }
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        if self.revision != "main" {
            write!(f, "@{}", self.revision)?;
        }
        Ok(())
    }
}

/// Refuses a path that would leave the folder it is put into.
pub(crate) fn check_path(path: &str) -> Result<(), HubError> {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && part.len() <= 255;
    let is_good = path.len() <= 1024
        && path.split('/').all(is_part)
        && !path.contains(|c: char| c == '\\' || c.is_control());
    if !is_good {
        return Err(HubError::FileName { name: shown::beginning(path.as_bytes(), None) });
    }
    Ok(())
}

/// A commit: forty hexadecimal digits.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && is_hex(text)
}

/// Hexadecimal digits as hashes are written.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A part of a name: letters, digits and a few marks, and not a way up.
fn is_part(part: &str) -> bool {
    let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !part.is_empty() && part.bytes().all(is_mark) && !part.contains("..") && part != "."
}

/// `path` as a part of an address; `/` stays.
pub(crate) fn encoded(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_addresses_and_folders() {
        let data = Repo::dataset("google-research-datasets/mbpp").unwrap();
        assert_eq!(data.folder(), "datasets--google-research-datasets--mbpp");
        assert_eq!(data.files_path(), "datasets/google-research-datasets/mbpp");
        let model = Repo::model("gpt2").unwrap().at("refs/pr/1").unwrap();
        assert_eq!(model.folder(), "models--gpt2");
        assert_eq!(model.api_path(), "api/models/gpt2");
        assert_eq!(model.to_string(), "gpt2@refs/pr/1");
    }

    #[test]
    fn names_that_are_no_names_are_refused() {
        for id in ["", "a/b/c", "../b", "a/..", "a--b/c", "a/b?x", "/b", "a/", "a b", "-a/b"] {
            assert!(matches!(Repo::dataset(id), Err(HubError::Name { .. })), "{id}");
        }
        for revision in ["", "../x", "a//b", "a b", "/a", "..", "a%2fb"] {
            let repo = Repo::dataset("a/b").unwrap();
            assert!(matches!(repo.at(revision), Err(HubError::Revision { .. })), "{revision}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in
            ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a\\..\\b", "a\0", "."]
        {
            assert!(matches!(check_path(path), Err(HubError::FileName { .. })), "{path:?}");
        }
        let odd = check_path("../\u{1b}[2J").unwrap_err().to_string();
        assert!(odd.starts_with("`../ [2J` is not a safe file name"), "{odd}");
        for path in ["a", "data/train-00000.parquet", "..a/b..", "ünïcode file.json"] {
            check_path(path).unwrap();
        }
    }

    #[test]
    fn what_is_odd_in_a_path_is_encoded() {
        assert_eq!(encoded("a b/ü#?.json"), "a%20b/%C3%BC%23%3F.json");
    }
}
