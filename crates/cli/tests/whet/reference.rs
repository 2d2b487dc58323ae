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

fn part(args: &[&str]) -> String {
    let ran = whet_with("", &[&["config", "reference"], args].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    ran.out
}

#[test]
fn one_key_is_shown_with_its_default_bounds_and_meaning() {
    let expected = "### `lora.rank`\n\n";
    let rank = part(&["lora.rank"]);
    assert!(rank.starts_with(expected) && rank.matches("###").count() == 1, "{rank}");
    assert!(
        rank.contains("- default: `64`\n- value: a whole number at least 1 and at most 4096\n")
    );
    assert_eq!(part(&["lora.r"]), rank, "by its other name");
    let page = part(&[]);
    assert!(page.contains(&rank), "as in the page");
}

#[test]
fn a_section_and_the_beginning_of_keys_are_several() {
    let lora = part(&["lora"]);
    assert!(lora.starts_with("## `[lora]`\n") && lora.contains("### `lora.alpha`"), "{lora}");
    assert_eq!(part(&["[lora]"]), lora);
    let clip = part(&["grpo.clip"]);
    let keys: Vec<_> = clip.lines().filter(|line| line.starts_with('#')).collect();
    assert!(keys.len() > 1 && keys.iter().all(|key| key.starts_with("### `grpo.clip")), "{keys:?}");
}

#[test]
fn a_part_of_the_schema_needs_nothing_else_to_be_read() {
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&part(&[args, &["--json"]].concat())).unwrap()
    };
    let rank = json(&["lora.rank"]);
    assert_eq!((&rank["default"], &rank["maximum"]), (&64.into(), &4096.into()));
    let lora = json(&["lora"]);
    assert_eq!(lora["properties"]["rank"]["maximum"], 4096);
    assert!(!lora.to_string().contains("$ref"), "{lora}");
    let clip = json(&["grpo.clip"]);
    assert_eq!(clip["grpo.clip_range"]["type"], "number");
}

#[test]
fn a_key_that_there_is_not_is_answered_with_the_nearest() {
    let ran = whet_with("", &["config", "reference", "grpo.kl_cof"]);
    let expected =
        "error: there is no key or section `grpo.kl_cof`\n  hint: did you mean `grpo.kl_coef`?\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (2, "", expected));
    let ran = whet_with("", &["config", "reference", "learning_rate", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("did you mean `training.learning_rate`?"), "{}", ran.err);
    assert_eq!(whet_with("", &["config", "reference", ""]).code, 2);
}
