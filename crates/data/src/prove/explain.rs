//! The actual answer of a reference to the test that it fails, for the author of the task.
//!
//! A judge reports which test a program fails and never the program's answer. Here the one test is
//! judged again with a checker that fails on purpose and quotes the answer; the judge then calls
//! the test broken, and reports the checker's message. This is neither counted nor rewarded.

use whetstone_core::task::Task;
use whetstone_core::tests::{Checker, Compare, Suite, Tests};
use whetstone_core::verdict::Verdict;

use super::decide::Answer;

/// Raises whatever it is asked.
const QUOTE: &str = "def check(input, expected, answer):\n    raise AssertionError(answer)\n";
/// The text around a quoted value.
const QUOTED: &str = "line 2 of the checker: AssertionError(";
/// Characters of a value that are shown.
const SHOWN: usize = 200;

/// A question about a reference: whether it passes these tests.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// Of the questions about one task, which this is.
    pub(super) number: usize,
    pub(super) tests: Tests,
}

/// The wrong answer of a reference, as text; `None` if it is not known.
pub(super) fn explain<E>(
    task: &Task,
    answer: &Answer,
    mut ask: impl FnMut(Question) -> Result<Answer, E>,
) -> Result<Option<String>, E> {
    let Some(test) = wrong_test(answer) else { return Ok(None) };
    let checker = Checker::new(QUOTE.to_owned()).ok();
    let Some(tests) = single(&task.tests, test, checker, Compare::default()) else {
        return Ok(None);
    };
    let Answer::Broken(said) = ask(Question { number: 0, tests })? else { return Ok(None) };
    let Some(words) = quoted(&said) else { return Ok(None) };
    let is_by_lines = matches!(&task.tests, Tests::Stdio(suite)
        if suite.checker.is_none() && suite.compare == Compare::Lines);
    let tests = single(&task.tests, test, None, Compare::Tokens).filter(|_| is_by_lines);
    let Some(tests) = tests else { return Ok(Some(words)) };
    Ok(Some(match ask(Question { number: 1, tests })? {
        Answer::Judged(judgement) if judgement.verdict().is_pass() => format!(
            "{words}; only white space differs: `\"compare\": \"tokens\"` in `tests` accepts it"
        ),
        _ => words,
    }))
}

/// The test that a program was wrong in.
fn wrong_test(answer: &Answer) -> Option<usize> {
    let Answer::Judged(judgement) = answer else { return None };
    let Verdict::Wrong { test } = judgement.verdict() else { return None };
    usize::try_from(*test).ok()
}

/// The values that a checker quoted.
fn quoted(said: &str) -> Option<String> {
    let (_, said) = said.split_once("on an answer: ")?;
    let (got, expected) = said.split_once("; on the expected answer: ")?;
    Some(format!("expected {}, got {}", value(expected)?, value(got)?))
}

/// The tests with one hidden test alone, and this checker in place of a comparison.
fn single(tests: &Tests, test: usize, checker: Option<Checker>, compare: Compare) -> Option<Tests> {
    Some(match tests {
        Tests::Asserts(suite) => {
            let hidden = vec![suite.hidden.for_the_judge().get(test)?.clone()];
            Tests::Asserts(Suite { checker, ..Suite::new(Vec::new(), hidden).ok()? })
        }
        Tests::Calls { entry_point, suite } => {
            let mut call = suite.hidden.for_the_judge().get(test)?.clone();
            call.alternatives = Vec::new();
            let suite = Suite { checker, ..Suite::new(Vec::new(), vec![call]).ok()? };
            Tests::Calls { entry_point: entry_point.clone(), suite }
        }
        Tests::Stdio(suite) => {
            let mut io = suite.hidden.for_the_judge().get(test)?.clone();
            if checker.is_some() {
                io.alternatives = Vec::new();
            }
            let suite = Suite::new(Vec::new(), vec![io]).ok()?;
            Tests::Stdio(Suite { checker, compare, ..suite })
        }
        // Test code decides by itself: there is no single answer.
        Tests::Script { .. } | Tests::Absent => return None,
    })
}

/// A value as Python writes it, in ASCII, cut where it is long.
fn value(said: &str) -> Option<String> {
    let (_, quoted) = said.split_once(QUOTED)?;
    let whole = quoted.strip_suffix(')').unwrap_or(quoted);
    let brief: String = whole.chars().take(SHOWN).collect();
    let is_cut = brief.len() < quoted.len().saturating_sub(1) || whole.len() == quoted.len();
    Some(if is_cut { format!("{brief}…") } else { brief })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_out_of_what_a_checker_said() {
        let said = |text: &str| value(&format!("line 2 of the checker: AssertionError({text}"));
        assert_eq!(said("[1, 2])").as_deref(), Some("[1, 2]"));
        assert_eq!(said("(1, 2))").as_deref(), Some("(1, 2)"));
        assert_eq!(said("'never closed").as_deref(), Some("'never closed…"));
        assert_eq!(said(&format!("'{}')", "x".repeat(300))).unwrap().chars().count(), SHOWN + 1);
        assert_eq!(value("it does not end in time"), None);
    }
}
