//! The fix of a bad line: the field that was meant, or the contents of a missing one.

use whetstone_core::wire::Object;

use super::kind::FileKind;
use super::line::LineFault;

/// Names of other tools for fields of ours.
const ALIASES: &[(FileKind, &str, &[&str])] = &[
    (FileKind::Tasks, "id", &["task_id", "name", "problem_id", "question_id"]),
    (
        FileKind::Tasks,
        "statement",
        &[
            "prompt",
            "question",
            "text",
            "problem",
            "instruction",
            "description",
            "problem_description",
        ],
    ),
    (FileKind::Tasks, "reference", &["canonical_solution", "solution", "code", "answer"]),
    (FileKind::Tasks, "tests", &["test_list", "test", "test_cases", "asserts"]),
    (FileKind::Tasks, "difficulty", &["level"]),
    (FileKind::Tasks, "language", &["lang"]),
    (FileKind::Traces, "task_id", &["prompt_id", "id"]),
    (FileKind::Traces, "text", &["completion", "response", "output", "reply"]),
    (FileKind::Rollouts, "prompt_id", &["id", "problem_id", "question_id"]),
    (FileKind::Rollouts, "text", &["output", "reply", "answer", "generation", "content"]),
    (FileKind::Scored, "prompt_id", &["id", "problem_id", "question_id"]),
    (FileKind::Scored, "text", &["output", "reply", "answer", "generation", "content"]),
    (FileKind::Rows, "instruction", &["prompt", "question", "query"]),
    (FileKind::Rows, "output", &["response", "completion", "answer", "text"]),
    (FileKind::PromptSeeds, "prompt", &["statement", "text"]),
];

/// The contents of required fields.
const CONTENTS: &[(&str, &str)] = &[
    ("id", "a name of 1 to 256 bytes that no other line has"),
    ("statement", "what the model is asked to do"),
    ("prompt_id", "the `id` of the task that it answers"),
    ("task_id", "the `id` of the task that it answers"),
    ("text", "the reply of the model, as it came"),
    ("sample", "the number of the reply among those to its task, from 0"),
    ("prompt", "what was asked"),
    ("model", "the name of the model that replied"),
    ("instruction", "the first line of what was asked"),
    ("output", "the reply to learn"),
    ("chosen", "the reply that is preferred"),
    ("rejected", "the other reply"),
    ("checks", "what the game must do: docs/reference/phaser-checks.md"),
    ("validation", "`whet score` writes it"),
];

/// The fix of a fault of a line.
pub(super) fn fix(kind: FileKind, line: &Object, fault: &LineFault) -> Option<String> {
    let field = fault.field.as_deref()?;
    if !fault.is_missing {
        let value = line.get(field).unwrap_or_default();
        let is_number = value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let wants_text = fault.reason.contains("expected a string");
        return (is_number && wants_text && value.len() < 64)
            .then(|| format!("write it as text: \"{field}\": \"{value}\""));
    }
    let names: Vec<&str> = line.fields().map(|(name, _)| name).collect();
    if let Some(theirs) = names.iter().find(|name| meant(kind, name) == Some(field)) {
        return Some(format!("rename `{}` to `{field}`", brief(theirs)));
    }
    let contents = CONTENTS.iter().find(|(name, _)| *name == field).map(|(_, contents)| *contents);
    contents.map(|contents| format!("add `{field}`: {contents}"))
}

/// The field of a kind that another name probably means.
pub(super) fn meant(kind: FileKind, name: &str) -> Option<&'static str> {
    let ours = || ALIASES.iter().filter(move |(of, ..)| *of == kind);
    let alias = ours().find(|(_, _, theirs)| theirs.contains(&name)).map(|(_, field, _)| *field);
    let slip = || super::line::fields(kind).iter().copied().find(|field| is_slip(name, field));
    alias.or_else(slip)
}

/// Whether a name is a field in other letters, or with one letter more, less or changed.
fn is_slip(name: &str, field: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' ', '_'], "");
    let (name, field) = (plain(name), plain(field));
    if field.len() < 4 || name.len() > 64 {
        return name == field;
    }
    let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), field.chars().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(x, y)| x == y).count();
    a.len().max(b.len()) - head - tail <= 1
}

/// A field's name as it may be shown.
pub(super) fn brief(name: &str) -> String {
    crate::text::plain(name, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_and_slips_are_known() {
        let tasks = |name| meant(FileKind::Tasks, name);
        assert_eq!(tasks("canonical_solution"), Some("reference"));
        assert_eq!(tasks("referense"), Some("reference"));
        assert_eq!(tasks("Statement"), Some("statement"));
        assert_eq!(tasks("statment"), Some("statement"));
        assert_eq!(tasks("difficulties"), None, "three letters differ");
        assert_eq!(tasks("url"), None);
        assert_eq!(meant(FileKind::Rollouts, "generation"), Some("text"));
        assert_eq!(meant(FileKind::Rows, "generation"), None, "aliases are of one kind");
    }
}
