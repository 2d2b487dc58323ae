//! The progress of a run: named positions in one small file.
//!
//! ```text
//! {"v":1,"cursors":{"events":812,"step":40,"tasks":1280}}
//! ```
//!
//! The file is only ever replaced as a whole, so unexpected content cannot come from a crash. It is
//! loaded strictly: a missing file, another version, an unknown field, a duplicate name or a
//! negative number is an error, because a cursor that is silently zero would train on everything
//! again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::Path;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::atomic;
use crate::error::{CursorError, FileError};
use crate::plain_file::read_plain;

/// The version written and read.
const VERSION: u64 = 1;

/// Far more than any set of cursors, far less than would hurt.
const MAX_BYTES: u64 = 1 << 20;

/// Named positions of a run, e.g. `step` or `tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursors(BTreeMap<String, u64>);

#[derive(Serialize)]
struct Saved<'a> {
    v: u64,
    cursors: &'a BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Loaded {
    #[serde(rename = "v")]
    _version: u64,
    #[serde(deserialize_with = "without_duplicates")]
    cursors: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct CursorVersion {
    v: u64,
}

impl Cursors {
    /// The position called `name`, if it was ever set.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Sets the position called `name`.
    pub fn set(&mut self, name: &str, position: u64) {
        self.0.insert(name.to_owned(), position);
    }

    /// Whether no position was ever set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All positions, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, &position)| (name.as_str(), position))
    }

    /// Replaces the file at `path` with these positions.
    ///
    /// # Panics
    ///
    /// Never: names and numbers always have a JSON form.
    pub fn save(&self, path: &Path) -> Result<(), CursorError> {
        let mut text = serde_json::to_vec(&Saved { v: VERSION, cursors: &self.0 })
            .expect("a map of strings to numbers is JSON");
        text.push(b'\n');
        Ok(atomic::replace(path, &text)?)
    }

    /// Loads what [`Cursors::save`] saved.
    pub fn load(path: &Path) -> Result<Self, CursorError> {
        let text = read_bounded(path)?;
        let malformed = |source| CursorError::Malformed { path: path.to_owned(), source };
        let found = serde_json::from_slice::<CursorVersion>(&text).map_err(malformed)?.v;
        if found != VERSION {
            return Err(CursorError::Version { path: path.to_owned(), found, known: VERSION });
        }
        let loaded: Loaded = serde_json::from_slice(&text).map_err(malformed)?;
        Ok(Self(loaded.cursors))
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, FileError> {
    read_plain(path, MAX_BYTES).map_err(FileError::at("read", path))
}

fn without_duplicates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, u64>, D::Error> {
    struct Positions;

    impl<'de> Visitor<'de> for Positions {
        type Value = BTreeMap<String, u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of positions")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut positions = BTreeMap::new();
            while let Some((name, position)) = map.next_entry::<String, u64>()? {
                match positions.entry(name) {
                    Entry::Vacant(entry) => entry.insert(position),
                    Entry::Occupied(entry) => {
                        return Err(Error::custom(format!(
                            "cursor `{}` occurs twice",
                            entry.key()
                        )));
                    }
                };
            }
            Ok(positions)
        }
    }

    deserializer.deserialize_map(Positions)
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    /// Loads a file holding `text`; compares the error and its cause.
    #[track_caller]
    fn check(text: &str, expected: &str, cause: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cursors.json");
        fs::write(&path, text).unwrap();
        let err = Cursors::load(&path).unwrap_err();
        assert_eq!(err.to_string(), expected.replace("FILE", &path.display().to_string()));
        let found = err.source().map(ToString::to_string);
        assert!(
            found.as_deref().unwrap_or("").starts_with(cause.unwrap_or("")),
            "{found:?} is not {cause:?}"
        );
    }

    #[test]
    fn the_file_is_one_line_a_person_can_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cursors.json");
        let mut cursors = Cursors::default();
        cursors.set("tasks", 1280);
        cursors.set("step", 40);
        cursors.save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"v\":1,\"cursors\":{\"step\":40,\"tasks\":1280}}\n");
    }

    #[test]
    fn whatever_was_not_saved_here_is_refused() {
        let malformed = "`FILE` does not hold resume cursors";
        check("", malformed, Some("EOF"));
        check("[]", malformed, Some("invalid length"));
        check("{\"v\":1}", malformed, Some("missing field `cursors`"));
        check("{\"cursors\":{}}", malformed, Some("missing field `v`"));
        check("{\"v\":1,\"cursors\":{},\"extra\":0}", malformed, Some("unknown field `extra`"));
        check(
            "{\"v\":1,\"cursors\":{\"step\":-1}}",
            malformed,
            Some("invalid value: integer `-1`"),
        );
        check("{\"v\":1,\"cursors\":{\"step\":\"4\"}}", malformed, Some("invalid type: string"));
        check("{\"v\":1,\"cursors\":{\"step\":4}", malformed, Some("EOF"));
        check(
            "{\"v\":1,\"cursors\":{\"step\":4,\"step\":5}}",
            malformed,
            Some("cursor `step` occurs twice"),
        );
    }

    #[test]
    fn another_version_is_named_even_when_all_else_changed() {
        let expected = "`FILE` has version 2, this whet reads version 1";
        check("{\"v\":2,\"positions\":[]}", expected, None);
        let err = CursorError::Version { path: "c".into(), found: 2, known: 1 };
        assert_eq!(err.hint(), Some("this run was written by a newer whet: update this one"));
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let err = Cursors::load(Path::new("no/cursors.json")).unwrap_err();
        assert_eq!(err.to_string(), "cannot read `no/cursors.json`");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_saved_is_loaded(positions in prop::collection::btree_map(any::<String>(), any::<u64>(), 0..6)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("cursors.json");
            let cursors = Cursors(positions);
            cursors.save(&path).unwrap();
            prop_assert_eq!(Cursors::load(&path).unwrap(), cursors);
        }
    }
}
