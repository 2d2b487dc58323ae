//! The names through which tests reach a program.

use whetstone_core::tests::{Suite, Tests};

/// The entry point, or every name that an assert calls. Names that the program does not define,
/// such as `sorted`, do no harm: whoever asks passes over them.
///
/// Hidden asserts are looked at too: the reward is the judge's business, and nothing of this
/// reaches a message.
pub(super) fn of(tests: &Tests) -> Vec<&str> {
    match tests {
        Tests::Calls { entry_point, .. } | Tests::Script { entry_point, .. } => vec![entry_point],
        Tests::Asserts(suite) => called(suite),
        Tests::Stdio(_) => Vec::new(),
    }
}

fn called(suite: &Suite<String>) -> Vec<&str> {
    let asserts = suite.visible.as_slice().iter().chain(suite.hidden.for_the_judge());
    let mut names: Vec<&str> = asserts.flat_map(|assert| calls(assert)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Names directly before a `(`.
fn calls(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices('(').filter_map(|(at, _)| {
        let before = &code[..at];
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_name).len()..];
        let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        starts.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_asserts_call_are_found() {
        let suite = Suite::new(
            vec!["assert add(1, 2) == 3".to_owned()],
            vec!["assert set(Größe(2)) == (1), str(f1(1))".to_owned()],
        );
        assert_eq!(of(&Tests::Asserts(suite.unwrap())), ["Größe", "add", "f1", "set", "str"]);
    }
}
