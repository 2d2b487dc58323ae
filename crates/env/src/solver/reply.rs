//! Diagnosis and action of a reply: what it says outside its thinking.
//!
//! ```text
//! <think>
//! 1. …
//! </think>
//!
//! Diagnosis: c1 conflicts with c2
//! Action: DROP_CONSTRAINT c1
//! ```

use std::collections::BTreeSet;

use whetstone_core::extract::{Reply, outside_thinking};

use super::action::{Action, ActionError, USAGE};

/// Bytes of a reply that are read: what stands beyond has no meaning.
const MAX_BYTES: usize = 64 * 1024;

/// What a reply says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// The last action, or why there is none.
    pub(super) action: Result<Action, ActionError>,
    /// How many actions there are.
    pub(super) actions: usize,
    /// The words of its diagnosis that may be names.
    pub(super) diagnosis: BTreeSet<String>,
}

impl Said {
    pub(super) fn in_reply(reply: Reply<'_>) -> Self {
        let outside = outside_thinking(reply);
        let outside = &outside[..outside.floor_char_boundary(MAX_BYTES)];
        let mut actions = Vec::new();
        let mut diagnosis = BTreeSet::new();
        let lines: Vec<&str> = outside.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if let Some(said) = after(line, "action") {
                // JSON may stand on the lines behind the label.
                let is_json = said.trim_start().starts_with('{') || said.trim().is_empty();
                actions.push(if is_json { text_from(&lines, at, said) } else { said.to_owned() });
            } else if let Some(said) = after(line, "diagnosis") {
                diagnosis.extend(words(said));
            }
        }
        let action = match actions.last() {
            Some(text) => Action::parse(text),
            None => Err(ActionError(format!(
                "no line begins with `Action:`. Actions: {}.",
                USAGE.join(", ")
            ))),
        };
        Self { action, actions: actions.len(), diagnosis }
    }
}

/// What stands behind a label such as `Action:`, whatever marks stand around it.
fn after<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*#->`".contains(c));
    let head = line.get(..label.len())?;
    if !head.eq_ignore_ascii_case(label) {
        return None;
    }
    let rest = line[label.len()..].trim_start_matches('*').trim_start();
    Some(rest.strip_prefix(':')?.trim_start_matches('*').trim())
}

/// The text from a label on, over the lines behind it.
fn text_from(lines: &[&str], at: usize, said: &str) -> String {
    let behind = lines[at + 1..].iter().take_while(|line| after(line, "action").is_none());
    [said].into_iter().chain(behind.copied()).collect::<Vec<_>>().join("\n")
}

/// Words as names are written: letters, digits, `_`, `[`, `]`, `.`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_inner = |c: char| c.is_alphanumeric() || "_[].()".contains(c);
    let words = text.split(move |c: char| !is_inner(c));
    words.map(|word| word.trim_end_matches('.').to_owned()).filter(|word| !word.is_empty())
}
