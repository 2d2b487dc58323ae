//! Functions in Rust source: their names, parameters and lengths; and the parameters of closures.
//!
//! Not a parser: it takes what [`code_of`](super::rust_code::code_of) leaves and follows brackets, which
//! is enough for code that compiles.

/// A function with its signature.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The line of its name, from 1.
    pub(crate) line: usize,
    pub(crate) parameters: Vec<Parameter<'a>>,
    /// Lines from its name to the end of its body; 0 without a body.
    pub(crate) lines: usize,
}

/// A parameter; a receiver is one without a type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parameter<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) kind: Option<&'a str>,
}

impl Parameter<'_> {
    /// Whether it is `self`, in any form.
    pub(crate) fn is_receiver(&self) -> bool {
        self.pattern.split([' ', '&']).any(|word| word == "self")
    }

    /// Whether it hides several parameters: a tuple as its pattern, or as its type.
    pub(crate) fn is_tuple(&self) -> bool {
        self.kind.is_some_and(|kind| self.pattern.starts_with('(') || is_tuple_type(kind))
    }
}

/// All functions of a file without comments and literals, in their order.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let begins = code.match_indices("fn ").map(|(at, _)| at);
    let alone = begins.filter(|&at| !code[..at].ends_with(is_name));
    alone.filter_map(|at| function(code, at + "fn ".len())).collect()
}

/// The parameter lists of all closures, with the line of each.
pub(crate) fn closures(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find('|').map(|at| from + at) {
        let rest = &code[at + 1..];
        let end = rest.find('|').filter(|_| opens_closure(&code[..at]) && !rest.starts_with('|'));
        found.extend(end.map(|end| (line_of(code, at), &rest[..end])));
        from = at + 1 + end.map_or(usize::from(rest.starts_with('|')), |end| end + 1);
    }
    found
}

/// Whether what stands before a `|` is followed by a closure, and not by the right side of an operator.
fn opens_closure(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with(['(', ',', '=', '{', '[', ';', '&', '>'])
        || ["move", "return", "mut"].iter().any(|word| before.ends_with(word))
}

/// The function whose name begins at `at`.
fn function(code: &str, at: usize) -> Option<Function<'_>> {
    let name = &code[at..at + code[at..].find(|c| !is_name(c))?];
    let after = at + name.len();
    let open = if code[after..].starts_with('<') { after + angle(&code[after..])? } else { after };
    let close = open + code[open..].starts_with('(').then(|| closing(&code[open..]))??;
    let parameters = split(&code[open + 1..close]).into_iter().map(parameter).collect();
    let lines = body(code, close + 1).map_or(0, |end| code[at..end].matches('\n').count() + 1);
    Some(Function { name, line: line_of(code, at), parameters, lines })
}

/// Where the body of a function ends, given the end of its parameters.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(from + at + closing(&code[from + at..])?),
            _ => {}
        }
    }
    None
}

fn parameter(text: &str) -> Parameter<'_> {
    let is_double = |at: usize| text[at..].starts_with("::") || text[..at].ends_with(':');
    let colon = text.match_indices(':').map(|(at, _)| at).find(|&at| !is_double(at));
    let colon = colon.filter(|&at| is_balanced(&text[..at]));
    match colon {
        Some(at) => Parameter { pattern: text[..at].trim(), kind: Some(text[at + 1..].trim()) },
        None => Parameter { pattern: text.trim(), kind: None },
    }
}

/// Whether a type is a tuple of several, by value or by reference.
fn is_tuple_type(kind: &str) -> bool {
    let mut kind = kind.trim_start_matches('&');
    if let Some(lifetime) = kind.strip_prefix('\'') {
        kind = lifetime.split_once(' ').map_or("", |(_, rest)| rest);
    }
    let kind = kind.trim_start_matches("mut ").trim_start();
    let inner = kind.starts_with('(').then(|| closing(kind)).flatten().map(|end| &kind[1..end]);
    inner.is_some_and(|inner| split(inner).len() > 1)
}

/// The parts between the commas that no bracket encloses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if before != '-' && before != '=' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&text[from..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Where the bracket that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Behind the generics that `text` begins with.
fn angle(text: &str) -> Option<usize> {
    let (mut depth, mut before) = (0_i32, ' ');
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>' && before != '-');
        if depth == 0 {
            return Some(at + 1);
        }
        before = c;
    }
    None
}

fn is_balanced(text: &str) -> bool {
    let count = |wanted: [char; 3]| text.matches(wanted).count();
    count(['(', '[', '{']) == count([')', ']', '}'])
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects these to be the parameters of the first function that are tuples.
    #[track_caller]
    fn check(code: &str, expected: &[&str]) {
        let function = functions(code).remove(0);
        let tuples = function.parameters.iter().filter(|parameter| parameter.is_tuple());
        assert_eq!(
            tuples.map(|parameter| parameter.pattern).collect::<Vec<_>>(),
            expected,
            "{code}"
        );
    }

    #[test]
    fn tuples_are_found_as_patterns_and_as_types() {
        check("fn f((a, b): (u8, u8), c: u8) {}", &["(a, b)"]);
        check("fn f(a: (u8, u8)) -> u8 { 1 }", &["a"]);
        check("fn f(&self, a: &'x mut (u8, &[u8])) {}", &["a"]);
        check("fn f((a, b): Pair, (c, d): &(u8, u8)) {}", &["(a, b)", "(c, d)"]);
    }

    #[test]
    fn lists_of_pairs_calls_and_strategies_are_no_tuples() {
        check("fn f(a: &[(u8, u8)]) {}", &[]);
        check("fn f(a: impl Fn(u8, u8) -> (u8, u8), b: ()) {}", &[]);
        check("fn f<F: Fn((u8, u8)) -> u8>(a: Option<(u8, u8)>, b: F) {}", &[]);
        check("fn f((a, b) in pairs(), c in any::<u8>()) {}", &[]);
    }

    #[test]
    fn receivers_lines_and_bodies_are_counted() {
        let code =
            "trait T {\n    fn a(&mut self) -> [u8; 2];\n}\nfn b(x: u8) -> [u8; 2] {\n    g()\n}\n";
        let found = functions(code);
        assert_eq!(
            found.iter().map(|one| (one.line, one.lines)).collect::<Vec<_>>(),
            [(2, 0), (4, 3)]
        );
        assert!(found[0].parameters[0].is_receiver() && !found[1].parameters[0].is_receiver());
    }

    #[test]
    fn parameters_of_closures_are_told_from_operators() {
        let code = "let x = a | b;\nmap(|it| it + 1).fold(0, |a, b| a | b);\nlet f = move |(x, y)| x || y;\n";
        assert_eq!(closures(code), [(2, "it"), (2, "a, b"), (3, "(x, y)")]);
    }
}
