//! Drops from rows what the check cannot use: types that name nothing in the index, and types of parameters
//! that hold no function.

use std::collections::{BTreeMap, BTreeSet};

use super::row::{MemberKind, Row};

/// Prunes all rows.
pub(super) fn prune(rows: &mut BTreeMap<String, Row>) {
    let paths: BTreeSet<String> = rows.keys().cloned().collect();
    for row in rows.values_mut() {
        row.ext.dedup();
        row.t = row.t.take().and_then(|text| known(&text, &paths));
        for member in row.members.values_mut() {
            member.t = member.t.take().and_then(|text| known(&text, &paths));
        }
    }
    let functions: BTreeSet<String> =
        rows.values().filter(|row| holds_functions(row)).map(|row| row.path.clone()).collect();
    let callbacks: BTreeSet<String> = with_aliases(rows, functions);
    for row in rows.values_mut() {
        retain_callbacks(&mut row.cb, &callbacks, &paths);
        for member in row.members.values_mut() {
            retain_callbacks(&mut member.cb, &callbacks, &paths);
        }
    }
}

/// Replaces unknown paths by `?`; nothing is left of a type that is a union with such a part.
fn known(text: &str, paths: &BTreeSet<String>) -> Option<String> {
    // A body is one of Arcade or of Matter; what is not Matter is told by the program.
    let text = &text.replace("|MatterJS.BodyType", "");
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        let is_path = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_keyword = word == "this" || word == "typeof";
        out.push_str(if is_path && !is_keyword && !paths.contains(word) { "?" } else { word });
    }
    let is_plain = !out.contains(['(', '<']);
    let says_something = out.contains(|c: char| c.is_alphabetic() || c == '$' || c == '@');
    (says_something && !(is_plain && out.contains('?'))).then_some(out)
}

/// Paths and single characters between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_part = |c: char| c.is_alphanumeric() || "_.$@".contains(c);
        let end = if is_part(first) {
            rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn holds_functions(row: &Row) -> bool {
    let is_function = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('('));
    row.kind.is_type_only()
        && (is_function(&row.t)
            || row.members.values().any(|one| one.k == MemberKind::Property && is_function(&one.t)))
}

/// Adds typedefs whose members, bases or definitions name one of `functions`, twice removed at most.
fn with_aliases(rows: &BTreeMap<String, Row>, mut functions: BTreeSet<String>) -> BTreeSet<String> {
    for _ in 0..3 {
        let names_one = |text: &Option<String>| {
            text.as_ref().is_some_and(|text| words(text).any(|word| functions.contains(word)))
        };
        let more: Vec<String> = rows
            .values()
            .filter(|row| row.kind.is_type_only() && !functions.contains(&row.path))
            .filter(|row| {
                names_one(&row.t)
                    || row.ext.iter().any(|path| functions.contains(path))
                    || row.members.values().any(|member| names_one(&member.t))
            })
            .map(|row| row.path.clone())
            .collect();
        functions.extend(more);
    }
    functions
}

fn retain_callbacks(
    types: &mut BTreeMap<u8, String>,
    callbacks: &BTreeSet<String>,
    paths: &BTreeSet<String>,
) {
    let kept = std::mem::take(types).into_iter().filter_map(|(at, text)| {
        let text = known(&text, paths)?;
        let is_callback = text.contains('(') || words(&text).any(|word| callbacks.contains(word));
        (is_callback && text != "()").then_some((at, text))
    });
    *types = kept.collect();
}
