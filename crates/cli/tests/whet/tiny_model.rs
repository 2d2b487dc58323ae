//! The tiny models whose numbers are PyTorch's, with a tokenizer and a template of the test's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Tokens of the tiny models.
pub(crate) const VOCAB: u32 = 64;

/// What the model's own files say.
pub(crate) fn golden(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden").join(family)
}

/// A folder with a model in `model`: token `n` is the text `<n>`, words stand between spaces.
pub(crate) fn tiny(family: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let model = dir.path().join("model");
    fs::create_dir(&model).expect("a folder");
    for name in ["config.json", "model.safetensors"] {
        fs::copy(golden(family).join(name), model.join(name)).expect("a file");
    }
    write_json(&model.join("tokenizer.json"), &tokenizer(VOCAB));
    dir
}

/// The same with a template that writes a role as token 10, 11 or 12, or as 13 without thinking.
pub(crate) fn tiny_chat(family: &str) -> TempDir {
    let dir = tiny(family);
    let template = "{% for m in messages %}{{ {'system': '<10>', 'user': '<11>'}[m.role] }} \
                    {{ m.content }} {% endfor %}\
                    {{ '<13>' if enable_thinking is defined and not enable_thinking else '<12>' }}";
    fs::write(dir.path().join("model/chat_template.jinja"), template).expect("a file");
    dir
}

/// A tokenizer with this many words.
pub(crate) fn tokenizer(size: u32) -> Value {
    let vocab: serde_json::Map<String, Value> =
        (0..size).map(|id| (format!("<{id}>"), id.into())).collect();
    json!({
        "version": "1.0",
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<0>"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "Fuse"},
    })
}

pub(crate) fn write_json(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).expect("a file");
}

/// Writes over the first number of a tensor.
pub(crate) fn poke(dir: &Path, tensor: &str, number: f32) {
    let path = dir.join("model/model.safetensors");
    let mut bytes = fs::read(&path).expect("a file");
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let length = usize::try_from(length).expect("a header in memory");
    let header: Value = serde_json::from_slice(&rest[..length]).expect("a header");
    let begin = header[tensor]["data_offsets"][0].as_u64().expect("an offset");
    let begin = 8 + length + usize::try_from(begin).expect("an offset in memory");
    bytes[begin..begin + 4].copy_from_slice(&number.to_le_bytes());
    fs::write(path, bytes).expect("a file");
}
