//! The names through which tests reach a program.

use whetstone_core::tests::{Suite, Tests};

/// A method of a class with this name is found under the method's own name.
const SOLUTION: &str = "Solution";

/// The entry point, or every name that an assert calls. Names that the program does not define,
/// such as `sorted`, do no harm: whoever asks passes over them.
///
/// Hidden asserts are looked at too: the reward is the judge's business, and nothing of this
/// reaches a message.
pub(super) fn of(tests: &Tests) -> Vec<&str> {
    match tests {
        Tests::Calls { entry_point, .. } | Tests::Script { entry_point, .. } => vec![entry_point],
        Tests::Asserts(suite) => called(suite),
        Tests::Stdio(_) | Tests::Absent => Vec::new(),
    }
}

/// Names that asserts call by themselves, not as methods of something.
pub(super) fn called_by_themselves(suite: &Suite<String>) -> Vec<&str> {
    names(suite, |call| !call.is_method)
}

/// The names that a program must keep for its tests: the entry point, and whatever test code calls.
/// A name that the program does not define does no harm.
pub(super) fn needed(tests: &Tests) -> Vec<&str> {
    match tests {
        Tests::Calls { entry_point, .. } => of_entry_point(entry_point),
        Tests::Script { entry_point, suite } => {
            [of_entry_point(entry_point), called_by_themselves(suite)].concat()
        }
        Tests::Asserts(suite) => called_by_themselves(suite),
        Tests::Stdio(_) | Tests::Absent => Vec::new(),
    }
}

/// The names under which an entry point may be found at the top of a module.
pub(super) fn of_entry_point(entry_point: &str) -> Vec<&str> {
    match entry_point.split_once('.') {
        Some((class, _)) => vec![class],
        None => vec![entry_point, SOLUTION],
    }
}

fn called(suite: &Suite<String>) -> Vec<&str> {
    names(suite, |_| true)
}

fn names(suite: &Suite<String>, wanted: impl Fn(&Call<'_>) -> bool) -> Vec<&str> {
    let asserts = suite.visible.as_slice().iter().chain(suite.hidden.for_the_judge());
    let calls = asserts.flat_map(|assert| calls(assert)).filter(|call| wanted(call));
    let mut names: Vec<&str> = calls.map(|call| call.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

struct Call<'a> {
    name: &'a str,
    is_method: bool,
}

/// Names directly before a `(`.
fn calls(code: &str) -> impl Iterator<Item = Call<'_>> {
    code.match_indices('(').filter_map(|(at, _)| {
        let before = &code[..at];
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let (before, name) = before.split_at(before.trim_end_matches(is_name).len());
        let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        starts.then_some(Call { name, is_method: before.ends_with('.') })
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
