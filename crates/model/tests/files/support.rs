//! Where data is, if it is anywhere.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A folder or file of `../shared/data`.
#[expect(clippy::print_stdout, reason = "a test that was skipped says so")]
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("SKIPPED: `{name}` is not beside the repository");
        return None;
    }
    Some(path)
}

/// Every text of MBPP: statements, solutions and tests.
pub(crate) fn mbpp_texts() -> Option<Vec<String>> {
    let lines = std::fs::read_to_string(shared("mbpp/mbpp.jsonl")?).expect("MBPP as it is known");
    let mut texts = Vec::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).expect("MBPP as it is known");
        let tests = row["test_list"].as_array().expect("MBPP as it is known");
        let parts = [&row["text"], &row["code"]].into_iter().chain(tests);
        texts.extend(parts.map(|text| text.as_str().expect("MBPP as it is known").to_owned()));
    }
    Some(texts)
}
