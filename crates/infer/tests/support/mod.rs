//! What several tests need.

pub(crate) mod talk;

use std::path::Path;

use whetstone_model::Tokenizer;

/// A tokenizer with this many words: `<0>`, `<1>` and so on.
pub(crate) fn words(count: u32) -> Tokenizer {
    let vocab: Vec<String> = (0..count).map(|id| format!("\"<{id}>\":{id}")).collect();
    let json = format!(
        r#"{{"version":"1.0","model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"<0>"}}}}"#,
        vocab.join(",")
    );
    Tokenizer::from_json(&json, Path::new("made in a test")).expect("a tokenizer")
}
