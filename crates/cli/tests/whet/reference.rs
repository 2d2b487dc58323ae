//! The reference page in the repository is the one that the structs make.

use std::fs;
use std::path::Path;

use whetstone_config::{Schema, reference};

use crate::binary::whet_with;

#[test]
fn the_page_in_the_repository_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    let page = fs::read_to_string(path).expect("docs/reference/config.md");
    assert!(page == reference(), "stale: run `cargo xtask docs --write`");
}

#[test]
fn the_page_has_every_key_with_its_doc_comment() {
    let page = whet_with("", &["config", "reference"]).out;
    for (key, field) in Schema::get().leaves() {
        let entry = format!("### `{key}`\n\n{}\n", field.doc);
        assert!(page.contains(&entry), "{key}");
    }
}

#[test]
fn the_schema_is_json_for_editors() {
    let out = whet_with("", &["config", "reference", "--json"]).out;
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema["properties"]["seed"]["default"], 42);
}
