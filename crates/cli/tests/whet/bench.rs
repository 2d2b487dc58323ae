//! `whet bench`: what is measured is what was asked for, whatever the model says.

use serde_json::{Value, json};

use crate::binary::whet_in;
use crate::tiny_model::tiny;

#[test]
fn sequences_are_sampled_to_their_full_length_and_sizes_are_stated() {
    let dir = tiny("llama");
    let flags = ["--batch=1", "--length=8", "--rank=2", "--sequences=40", "--new=24"];
    let command = [&["bench", "model", "--device=cpu", "--threads=1"], &flags[..]].concat();
    let ran = whet_in(dir.path(), &[&command[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&ran.out).expect(&ran.err);
    let sampling = &found["sampling"];
    // One of 64 tokens ends a reply, and some of 960 would be it.
    assert_eq!(sampling["sampled_tokens"], 40 * 24, "{found}");
    assert_eq!(sampling["rows"], 40, "{found}");
    assert_eq!(sampling["context_tokens"], json!([64, 64 + 24]), "{found}");
    let text = whet_in(dir.path(), &command).out;
    assert!(text.contains("sampling, 40 rows"), "{text}");
    assert!(text.contains("from 64 to 88 tokens, 24 sampled of each of 40 sequences"), "{text}");
}
