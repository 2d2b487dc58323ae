//! Two references that differ in names alone are the same program.

/// Words of Python that are not names of ours.
const KEPT: &[&str] = &[
    "abs",
    "all",
    "and",
    "any",
    "append",
    "break",
    "count",
    "def",
    "default",
    "dict",
    "elif",
    "else",
    "endswith",
    "enumerate",
    "False",
    "for",
    "fromkeys",
    "gcd",
    "get",
    "if",
    "import",
    "in",
    "int",
    "isalpha",
    "isqrt",
    "isupper",
    "items",
    "join",
    "key",
    "lambda",
    "len",
    "list",
    "lower",
    "math",
    "max",
    "min",
    "next",
    "not",
    "or",
    "prod",
    "range",
    "replace",
    "return",
    "reverse",
    "set",
    "sorted",
    "split",
    "startswith",
    "str",
    "sum",
    "swapcase",
    "True",
    "upper",
    "values",
    "while",
];

/// The source with its names replaced by the order in which they appear.
///
/// Strings are left as they are: they are constants.
pub(super) fn normalised(source: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let end = if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |at| at + 2)
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        let is_name = first.is_alphabetic() || first == '_';
        if is_name && !KEPT.contains(&token) {
            let at = names.iter().position(|name| *name == token).unwrap_or_else(|| {
                names.push(token);
                names.len() - 1
            });
            out.push('v');
            out.push_str(&at.to_string());
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_matter_and_constants_do() {
        let one = normalised("def f(nums):\n    return sum(n + 1 for n in nums)");
        assert_eq!(one, "def v0(v1):\n    return sum(v2 + 1 for v2 in v1)");
        assert_eq!(one, normalised("def g(data):\n    return sum(x + 1 for x in data)"));
        assert_ne!(one, normalised("def f(nums):\n    return sum(n + 2 for n in nums)"));
        assert_eq!(normalised("a + \"a b\""), "v0 + \"a b\"");
    }
}
