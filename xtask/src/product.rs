//! What is product code and what is a test of it.

/// Whether a file of a crate is for tests alone, by its path in the crate's folder.
pub(crate) fn is_test(inside: &str) -> bool {
    // The tests of a task: the one `tests.rs` that is no test.
    if inside == "src/tests.rs" {
        return false;
    }
    let for_tests = |part: &str| {
        matches!(part, "tests" | "tests.rs" | "testing" | "testing.rs" | "loopback" | "benches")
            || part == "examples"
            || part.ends_with("_tests.rs")
    };
    inside.split('/').any(for_tests)
}

/// The text above a file's own tests, which come last.
pub(crate) fn before_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}
