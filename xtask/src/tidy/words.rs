//! Rule `words`: text that must not be in the repository.
//!
//! Paths of one machine mean nothing on another. Marks for later belong in an issue: committed work
//! is finished, or states what it does not do. Phrases for which the field has a term, and turns of
//! phrase that plain English has replaced, do not come back: the former anywhere, the latter in the
//! README and the guides, where no honest sentence needs them. This file spells the words out and is
//! exempt, and so is STYLE.md, which shows both.

use super::Problem;
use super::rust_code::has_word;
use super::tree::{Tree, is_test_data};

const RULE: &str = "words";
const HERE: &str = "xtask/src/tidy/words.rs";
const STYLE: &str = "STYLE.md";
const README: &str = "README.md";
const GUIDES: &str = "docs/guides/";
const MACHINE: &str = "a path of one machine; write it relative to the root";
const TERM: &str = "a phrase for which the field has a term: see STYLE.md";
const PLAIN: &str = "a phrase that plain English has replaced: see STYLE.md";
const LATER: &str = "a mark for later; finish it, or say what it does not do";

/// A forbidden text.
#[derive(Debug)]
pub struct Word {
    /// How it is written.
    pub text: &'static str,
    /// What to write instead.
    pub instead: &'static str,
    /// Where it is looked for.
    pub reach: Reach,
}

/// Where a word is looked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Reach {
    /// In every file.
    Everywhere,
    /// In our own text, not in test data: replies of models are full of marks.
    OwnWriting,
    /// In the pages that users read first: the README and the guides.
    Pages,
}

/// Every forbidden text.
pub const WORDS: &[Word] = &[
    Word { text: "/work/", instead: MACHINE, reach: Reach::Everywhere },
    Word { text: "/root/", instead: MACHINE, reach: Reach::Everywhere },
    Word { text: "TODO", instead: LATER, reach: Reach::OwnWriting },
    Word { text: "FIXME", instead: LATER, reach: Reach::OwnWriting },
    Word { text: "XXX", instead: LATER, reach: Reach::OwnWriting },
    Word { text: "gone on with", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "the way back", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "is no number", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "number is none", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "works an adapter into", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "is no noise", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "whom its owners", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "the last one so", instead: PLAIN, reach: Reach::OwnWriting },
    Word { text: "hangs on the", instead: PLAIN, reach: Reach::OwnWriting },
    Word { text: "bytes of keys and values", instead: TERM, reach: Reach::OwnWriting },
    Word { text: "is no address", instead: PLAIN, reach: Reach::OwnWriting },
    Word { text: "whoever", instead: PLAIN, reach: Reach::Pages },
    Word { text: "Whoever", instead: PLAIN, reach: Reach::Pages },
    Word { text: "nobody", instead: PLAIN, reach: Reach::Pages },
    Word { text: "Nobody", instead: PLAIN, reach: Reach::Pages },
    Word { text: "somebody", instead: PLAIN, reach: Reach::Pages },
    Word { text: "so many", instead: PLAIN, reach: Reach::Pages },
    Word { text: "goes on", instead: PLAIN, reach: Reach::Pages },
    Word { text: "go on", instead: PLAIN, reach: Reach::Pages },
    Word { text: "that is no", instead: PLAIN, reach: Reach::Pages },
    Word { text: "What is no", instead: PLAIN, reach: Reach::Pages },
    Word { text: "the likeliest tokens", instead: TERM, reach: Reach::Pages },
    Word { text: "how they stand", instead: PLAIN, reach: Reach::Pages },
    Word { text: "by heart", instead: PLAIN, reach: Reach::Pages },
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let files = tree.texts().filter(|(path, _)| *path != HERE && *path != STYLE);
    files.flat_map(|(path, text)| words_in(path, text)).collect()
}

fn words_in(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for word in WORDS.iter().filter(|word| reaches(word, path) && text.contains(word.text)) {
        let guilty = text.lines().enumerate().filter(|(_, line)| stands_in(word.text, line));
        problems.extend(guilty.map(|(at, _)| {
            let message = format!("`{}` is {}", word.text, word.instead);
            Problem::new(RULE, &format!("{path}:{}", at + 1), message)
        }));
    }
    problems
}

fn reaches(word: &Word, path: &str) -> bool {
    match word.reach {
        Reach::Everywhere => true,
        Reach::OwnWriting => !is_test_data(path),
        Reach::Pages => path == README || path.starts_with(GUIDES),
    }
}

/// A word stands alone; an absolute path begins where no other path is under way.
fn stands_in(word: &str, line: &str) -> bool {
    if !word.starts_with('/') {
        return has_word(line, word);
    }
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '~');
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(inside))
}
