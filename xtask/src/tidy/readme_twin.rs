//! Rule `readme_twin`: the two READMEs say the same.
//!
//! Prose is translated and cannot be compared; its skeleton can. Headings have the same levels in
//! the same order, and the commands a reader would copy (blocks marked `sh`, `bash`, `console`)
//! are the same to the byte.

use super::Problem;
use super::markdown;
use super::tree::Tree;

const RULE: &str = "readme_twin";
const ENGLISH: &str = "README.md";
const CHINESE: &str = "README.zh-CN.md";
const COMMANDS: &[&str] = &["sh", "bash", "console"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let missing = [ENGLISH, CHINESE].into_iter().find(|path| tree.text(path).is_none());
    if let Some(path) = missing {
        return vec![Problem::new(RULE, path, "is missing: the README has two languages")];
    }
    let page = |path| tree.text(path).unwrap_or_default();
    let differences = [
        headings_differ(page(ENGLISH), page(CHINESE)),
        commands_differ(page(ENGLISH), page(CHINESE)),
    ];
    differences
        .into_iter()
        .flatten()
        .map(|difference| Problem::new(RULE, CHINESE, difference))
        .collect()
}

fn headings_differ(english: &str, chinese: &str) -> Option<String> {
    let (english, chinese) = (markdown::headings(english), markdown::headings(chinese));
    let levels = english.iter().zip(&chinese);
    let parted = levels.clone().find(|((one, _), (other, _))| one != other);
    if let Some(((one, here), (other, there))) = parted {
        return Some(format!(
            "`{there}` is a heading of level {other}, its twin `{here}` of {one}"
        ));
    }
    let (ours, theirs) = (english.len(), chinese.len());
    (ours != theirs).then(|| format!("has {theirs} headings, {ENGLISH} has {ours}"))
}

fn commands_differ(english: &str, chinese: &str) -> Option<String> {
    let (english, chinese) = (commands(english), commands(chinese));
    let longest = english.len().max(chinese.len());
    let at = (0..longest).find(|&at| english.get(at) != chinese.get(at))?;
    let shown =
        |lines: &[&str]| lines.get(at).map_or("nothing".to_owned(), |line| format!("`{line}`"));
    Some(format!(
        "in blocks of commands, {} stands where {ENGLISH} has {}",
        shown(&chinese),
        shown(&english)
    ))
}

/// Every line of every block of commands; a fence stands between two blocks.
fn commands(text: &str) -> Vec<&str> {
    let blocks = markdown::blocks(text).into_iter();
    let blocks = blocks.filter(|block| COMMANDS.contains(&block.language));
    blocks.flat_map(|block| [vec![block.language], block.lines, vec!["end"]].concat()).collect()
}
