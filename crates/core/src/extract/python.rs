//! Whether a text without any fence reads as a Python program.
//!
//! A recogniser, not a parser: it looks at tokens and lines and asks what tells code from prose.
//!
//! - Strings are closed and brackets match. (An apostrophe in prose opens a string.)
//! - No character stands outside strings that Python has no use for: `?`, `$`, a backtick.
//! - No two operands stand side by side, as in "the code": between names and numbers there is an
//!   operator, a comma, or a keyword.
//! - A line that ends in `:` is followed by a deeper one, and no other line gets deeper.
//! - Something is done: a definition, an import, an assignment, a branch, a loop or a call. `Yes`
//!   and `Answer: 42` are Python, but not programs.
//!
//! Whatever Python accepts passes, with few exceptions, and so does some that it does not: whether
//! a program parses is for its judge to say, and neither is paid. A true parser would be exact and
//! cost more to build than all the rest of this workspace (docs/adr/0006-plain-python.md).

use super::python_tokens::{PythonToken, TokenKind, tokens};

/// Longest text that is considered; longer programs come in a fence.
const MAX_BYTES: usize = 64 << 10;

/// Words that join operands, or start what is not an operand.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Keywords that are operands.
const OPERANDS: &[&str] = &["False", "None", "True"];

/// Words that start a statement which does something.
const ACTING: &[&str] =
    &["def", "class", "import", "from", "for", "while", "if", "with", "try", "async"];

/// Whether `text` reads as a Python program that does something.
pub(super) fn is_program(text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return false;
    }
    let Some(lines) = tokens(text) else { return false };
    let mut depth = Depth::default();
    let fits = lines
        .iter()
        .all(|line| depth.takes(line.indent, &line.tokens) && is_statement(&line.tokens));
    fits && !depth.expects_block && lines.iter().any(|line| acts(&line.tokens))
}

/// The indentation levels of the lines so far.
#[derive(Default)]
struct Depth {
    levels: Vec<usize>,
    expects_block: bool,
}

impl Depth {
    /// Takes in a line; whether it may stand where it does.
    fn takes(&mut self, indent: usize, line: &[PythonToken<'_>]) -> bool {
        let current = self.levels.last().copied().unwrap_or(0);
        if self.expects_block != (indent > current) {
            return false;
        }
        if self.expects_block {
            self.levels.push(indent);
        }
        while self.levels.last().is_some_and(|level| *level > indent) {
            self.levels.pop();
        }
        self.expects_block = line.last().is_some_and(|token| token.text == ":");
        self.levels.last().copied().unwrap_or(0) == indent
    }
}

/// Whether no two operands stand side by side.
fn is_statement(line: &[PythonToken<'_>]) -> bool {
    let line = match line {
        // `match` and `case` are names too, so a line that they head is known by its end.
        [first, rest @ ..] if matches!(first.text, "match" | "case" | "type") => match rest {
            [second, ..] if is_operand(*second) => rest,
            _ => line,
        },
        _ => line,
    };
    let side_by_side = |pair: &[PythonToken<'_>]| {
        let strings = pair[0].kind == TokenKind::Text && pair[1].kind == TokenKind::Text;
        let ends = is_operand(pair[0]) || matches!(pair[0].text, ")" | "]" | "}");
        ends && is_operand(pair[1]) && !strings
    };
    !line.windows(2).any(side_by_side)
}

fn is_operand(token: PythonToken<'_>) -> bool {
    match token.kind {
        TokenKind::Number | TokenKind::Text => true,
        TokenKind::Name => !KEYWORDS.contains(&token.text) || OPERANDS.contains(&token.text),
        TokenKind::Mark => false,
    }
}

fn acts(line: &[PythonToken<'_>]) -> bool {
    let [first, rest @ ..] = line else { return false };
    if ACTING.contains(&first.text) || line.iter().any(|token| token.outside && assigns(token.text))
    {
        return true;
    }
    let called = rest.iter().any(|token| token.text == "(");
    first.kind == TokenKind::Name && called && rest.last().is_some_and(|token| token.text == ")")
}

fn assigns(mark: &str) -> bool {
    matches!(mark, "=" | "+=" | "-=" | "*=" | "/=" | "//=" | "%=" | "**=" | "|=" | "&=" | "^=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_programs() {
        for text in [
            "x = 1",
            "print(input())",
            "def f(): pass",
            "import os, sys",
            "x: int = 3",
            "def f(a, *b, c=1, **d) -> int:\n    '''It's fine.'''\n    return a if b else -c",
            "for i in range(3):\n  if i % 2 == 0: continue\n  print(i, end='')\nelse:\n  pass",
            "x = [\n  1,\n      2,\n]\ny = {k: v for k, v in z}",
            "s = 'a' \"b\" f'{c}' rb'\\'' '''d\n? $ d'''",
            "try:\n    a @= b\nexcept (E, F) as e:\n    raise G from e",
            "match x:\n    case [1, *_] | None:\n        y = 0x_ff + 1e-5 + 2j",
            "lambda_ = lambda *a: (yield)\nwith open(x) as f, g: f.read()",
            "async def f():\n\tawait g()\n\tasync for x in y:\n\t\treturn not x is None",
            "x = 1 + \\\n    2  # it's a comment?\n\n\n# more\nprint(x)",
            "a.b[1:2, ::3] //= ~c ** -d @ e; print(a)",
            "@cache\ndef f(x, /): ...",
            "if (n := 3) != 4 and x <= y >= z: print(n)",
        ] {
            assert!(is_program(text), "{text}");
        }
    }

    #[test]
    fn prose_that_happens_to_be_python_is_none() {
        for text in
            ["Yes", "Answer: 42", "not sure", "Done; thanks", "...", "\"quoted\"", "", "1", " \n"]
        {
            assert!(!is_program(text), "{text}");
        }
    }

    #[test]
    fn prose_is_none() {
        for text in [
            "I cannot do that.",
            "Here is the code:\n\ndef f():\n    return 1",
            "It's simple",
            "What is x = 1?",
            "def f(:",
            "x = (1",
            "x = 1)",
            "x = '",
            "print \"hello\"",
            "int main() { return 0; }",
            "x = 1\n    y = 2",
            "def f():\nreturn 1",
            "if x:",
            "if x:\n        a = 1\n    b = 2",
            ">>> add(1, 2)\n3",
            "Use `x = 1`",
            "f(x) is (as said) clear",
        ] {
            assert!(!is_program(text), "{text}");
        }
    }

    #[test]
    fn nesting_is_no_matter() {
        for piece in ["(", "[", "-", "not ", "lambda:", "f(", "a.", "x if y else "] {
            assert!(
                !is_program(&piece.repeat(MAX_BYTES / piece.len())),
                "{piece:?} without its end"
            );
        }
        let text = format!("x={}1", "-".repeat(MAX_BYTES - 3));
        assert!(is_program(&text));
    }

    #[test]
    fn a_text_beyond_the_cap_is_not_considered() {
        let text = format!("x = 1\n{}", "# comment\n".repeat(MAX_BYTES / 10 + 1));
        assert!(text.len() > MAX_BYTES && !is_program(&text));
    }
}
