//! Examples in a statement, as asserts: `>>> f(2)` with its answer below, `f(2) == 4`, `f(2) -> 4`, `assert f(2) == 4`.
//!
//! Only what is a call with plain data on both sides is taken; everything else in the text is passed over.

use whetstone_sandbox::plan::literal_call;

/// What stands between a call and its value.
const ARROWS: [&str; 4] = ["==", "->", "=>", "→"];

/// The asserts that a statement has.
pub(super) fn examples(statement: &str) -> Vec<String> {
    let lines: Vec<&str> = statement.lines().map(str::trim).collect();
    let mut found: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let below = lines.get(at + 1).copied().unwrap_or_default();
        let pair = match line.strip_prefix(">>>") {
            Some(call) => Some((call, below)),
            None => ARROWS.iter().find_map(|arrow| line.split_once(arrow)),
        };
        let assert = pair.map(|(call, value)| {
            let call =
                call.trim().trim_start_matches("assert ").trim_start_matches(['-', '*', '`', ' ']);
            format!("assert {} == {}", call.trim(), value.trim().trim_end_matches(['`', '.', ';']))
        });
        found.extend(assert.filter(|text| literal_call(text).is_some() && !found.contains(text)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_in_their_usual_forms_and_prose_is_passed_over() {
        let statement = "Write add(a, b).\n\n>>> add(1, 2)\n3\n>>> add(x, 2)\n4\n\n- `add([1], [2])` -> `[1, 2]`.\n\
                         assert add('a', 'b') == 'ab'\nadd(0, 0) == 0\nadd(0, 0) == 0\nIt holds that a == b.";
        assert_eq!(
            examples(statement),
            ["assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'", "assert add(0, 0) == 0",]
        );
        assert_eq!(
            examples("f(1, 2) -> 3\nf(2) => [4]."),
            ["assert f(1, 2) == 3", "assert f(2) == [4]"]
        );
        assert!(examples("").is_empty());
    }
}
