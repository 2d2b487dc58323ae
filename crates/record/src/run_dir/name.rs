//! Valid names of a run.
//!
//! A name becomes a directory, an argument of a command line and a part of a URL, on this machine
//! and on others, so only characters that are safe in all of them are allowed.

use crate::error::RunError;

const MAX_BYTES: usize = 100;

/// Refuses a name that could leave its directory, hide, or look like a flag.
pub(super) fn check(name: &str) -> Result<(), RunError> {
    match problem(name) {
        None => Ok(()),
        Some(problem) => Err(RunError::Name { name: name.to_owned(), problem }),
    }
}

fn problem(name: &str) -> Option<&'static str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match name.as_bytes() {
        [] => Some("it is empty"),
        bytes if bytes.len() > MAX_BYTES => Some("it has more than 100 bytes"),
        [b'.' | b'-', ..] => Some("it begins with `.` or `-`"),
        bytes if !bytes.iter().copied().all(allowed) => {
            Some("it has other characters than letters, digits, `.`, `_` and `-`")
        }
        _ if name.contains("..") => Some("it contains `..`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_people_use_are_fine() {
        for name in ["a", "grpo-3", "qwen3-1.7B_lora.r64", "2026", &"x".repeat(100)] {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn each_broken_rule_is_named() {
        let characters = "it has other characters than letters, digits, `.`, `_` and `-`";
        let table = [
            ("", "it is empty"),
            (&"x".repeat(101), "it has more than 100 bytes"),
            (".", "it begins with `.` or `-`"),
            ("..", "it begins with `.` or `-`"),
            (".hidden", "it begins with `.` or `-`"),
            ("-rf", "it begins with `.` or `-`"),
            ("a/b", characters),
            ("a\\b", characters),
            ("a b", characters),
            ("a\0", characters),
            ("läuft", characters),
            ("a..b", "it contains `..`"),
        ];
        for (name, expected) in table {
            assert_eq!(problem(name), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_refused_name_is_printed_without_its_control_characters() {
        let message = check("a\nb").unwrap_err().to_string();
        assert!(message.starts_with("`a\\nb` cannot be the name of a run"), "{message}");
    }

    proptest! {
        #[test]
        fn an_accepted_name_is_one_plain_component(name in "[A-Za-z0-9._/-]{0,6}|\\PC{0,4}") {
            if problem(&name).is_none() {
                let components: Vec<_> = Path::new(&name).components().collect();
                prop_assert_eq!(components, [Component::Normal(name.as_ref())]);
            }
        }

        #[test]
        fn every_name_within_the_rules_is_accepted(name in "[A-Za-z0-9_]([A-Za-z0-9_-]|\\.[A-Za-z0-9_-]){0,49}") {
            prop_assert_eq!(problem(&name), None);
        }
    }
}
