//! Ways to break a program, chosen by a seed.

use whetstone_core::Seed;

/// Lines that are wrong at the top level, and some that are not.
const LINES: [&str; 44] = [
    "return 1",
    "yield x",
    "await x",
    "break",
    "continue",
    "nonlocal x",
    "x = *y",
    "*x",
    "print *a, b",
    "def f(a, a): pass",
    "def f(a=1, b): pass",
    "f(a=1, 2)",
    "f(**k, *a)",
    "f(a=1, a=2)",
    "lambda x, x: 1",
    "from __future__ import braces",
    "from __future__ import annotations",
    "from x import *",
    "import a.b as c.d",
    "x + 1 = 2",
    "f() = 1",
    "None = 1",
    "del f()",
    "x := 1",
    "(x := 1)",
    "with open(f) as 1: pass",
    "for 1 in x: pass",
    "try: pass",
    "else: pass",
    "if x = 1: pass",
    "print 'hello'",
    "exec 'x'",
    "raise A, b",
    "0777",
    "1__0",
    "'unclosed",
    "'''unclosed",
    "f'{'",
    "f'{x!z}'",
    "b'ä'",
    "a ? b : c",
    "x++",
    "global x; x = 1",
    "async with a: pass",
];

const TOKENS: [&str; 24] = [
    "(", ")", "[", "]", "{", "}", ":", ",", "=", "==", "*", "**", "if", "else", "def", "lambda",
    "not", "in", "return", "yield", "await", "1", "'", ".",
];

/// A source of choices.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The choices of item `index`.
    pub(crate) fn new(stage: &str, index: u64) -> Self {
        Self(Seed::new(0).derive(stage, index).get())
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    /// One of a list.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Changes a program once or twice.
pub(crate) fn mutate(source: &str, dice: &mut Dice) -> String {
    let once = change(source, dice);
    if dice.below(4) == 0 { change(&once, dice) } else { once }
}

fn change(source: &str, dice: &mut Dice) -> String {
    match dice.below(16) {
        0..=3 => characters(source, dice),
        4..=7 => tokens(source, dice),
        8..=10 => lines(source, dice),
        11 => truncated(source, dice),
        12 => indentation(source, dice),
        13 | 14 => illegal_line(source, dice),
        _ => fence(source, dice),
    }
}

fn characters(source: &str, dice: &mut Dice) -> String {
    let mut all: Vec<char> = source.chars().collect();
    if all.len() < 2 {
        return source.to_owned();
    }
    let at = dice.below(all.len() - 1);
    match dice.below(4) {
        0 => drop(all.remove(at)),
        1 => all.insert(at, all[at]),
        2 => all.swap(at, at + 1),
        _ => {
            let inserted: Vec<char> = "()[]{}:,'\"\\=*#@!$?\t \n;é\u{a0}0_".chars().collect();
            all.insert(at, inserted[dice.below(inserted.len())]);
        }
    }
    all.into_iter().collect()
}

/// Runs of word characters, runs of blanks, and single other characters.
fn split(source: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        ' ' => 2,
        _ => 0,
    };
    let mut parts = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in source.char_indices() {
        if last.is_some_and(|last| last != class(c) || last == 0) {
            parts.push(&source[start..at]);
            start = at;
        }
        last = Some(class(c));
    }
    parts.push(&source[start..]);
    parts
}

fn tokens(source: &str, dice: &mut Dice) -> String {
    let mut parts = split(source);
    let at = dice.below(parts.len());
    match dice.below(4) {
        0 => drop(parts.remove(at)),
        1 => parts.insert(at, parts[at]),
        2 => {
            let other = dice.below(parts.len());
            parts.swap(at, other);
        }
        _ => parts.insert(at, dice.pick(&TOKENS)),
    }
    parts.concat()
}

fn lines(source: &str, dice: &mut Dice) -> String {
    let mut all: Vec<&str> = source.lines().collect();
    if all.is_empty() {
        return source.to_owned();
    }
    let at = dice.below(all.len());
    match dice.below(4) {
        0 => drop(all.remove(at)),
        1 => all.insert(at, all[at]),
        2 => {
            let other = dice.below(all.len());
            all.swap(at, other);
        }
        _ => {
            let joined = all[at..].iter().take(2).copied().collect::<Vec<_>>().join(" ");
            let before = all[..at].join("\n");
            let after = all[(at + 2).min(all.len())..].join("\n");
            return format!("{before}\n{joined}\n{after}\n");
        }
    }
    all.join("\n") + "\n"
}

fn truncated(source: &str, dice: &mut Dice) -> String {
    source[..source.floor_char_boundary(dice.below(source.len() + 1))].to_owned()
}

fn indentation(source: &str, dice: &mut Dice) -> String {
    let mut all: Vec<String> = source.lines().map(str::to_owned).collect();
    if all.is_empty() {
        return source.to_owned();
    }
    let at = dice.below(all.len());
    let line = &all[at];
    all[at] = match dice.below(5) {
        0 => format!(" {line}"),
        1 => format!("    {line}"),
        2 => format!("\t{line}"),
        3 => line.strip_prefix(' ').unwrap_or(line).to_owned(),
        _ => line.trim_start().to_owned(),
    };
    all.join("\n") + "\n"
}

/// At the indentation of the line it comes before, or at its own.
fn illegal_line(source: &str, dice: &mut Dice) -> String {
    let mut all: Vec<&str> = source.lines().collect();
    let at = dice.below(all.len() + 1);
    let next = all.get(at).copied().unwrap_or_default();
    let indent =
        if dice.below(4) == 0 { "" } else { &next[..next.len() - next.trim_start().len()] };
    let line = format!("{indent}{}", dice.pick(&LINES));
    all.insert(at, &line);
    all.join("\n") + "\n"
}

fn fence(source: &str, dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("```python\n{source}\n```\n"),
        1 => format!("{source}\n```"),
        2 => format!("Here is the code:\n\n{source}"),
        _ => format!("{source}\nThis works because it is right.\n"),
    }
}
