//! What is not a reward model of this base, and pairs that teach nothing.

use std::fs;
use std::path::Path;

use whetstone_train::reward_model::RewardModel;

use super::{Data, FINAL, planted, school};
use crate::school::School;

/// Makes the first number of an adapter's file NaN: it stands behind the header, whose length comes first.
fn with_nan(dir: &Path) {
    let path = dir.join("adapter_model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let begin = 8 + usize::try_from(header).unwrap();
    bytes[begin..begin + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).unwrap();
}

#[test]
fn what_is_not_a_reward_model_of_this_base_is_refused_by_a_sentence() {
    let school = school();
    let data = Data::of(&school, planted(60, 1));
    data.rm(&school, "run").unwrap();
    school.sft("taught").unwrap();
    let dir = school.path("run", FINAL);
    let student = school.student(None).unwrap();
    let refused = |dir: &Path| {
        let err = RewardModel::open(dir, &student.model, "model").unwrap_err();
        assert!(err.is_usage());
        whetstone_core::with_causes(&err)
    };
    assert!(RewardModel::open(&dir, &student.model, "model").is_ok());
    let said = refused(&school.path("taught", FINAL));
    assert!(said.ends_with("is not a reward model: it has no `reward_model.json`"), "{said}");

    let other = School::with_model(6);
    let base = other.student(None).unwrap();
    let err = RewardModel::open(&dir, &base.model, "other").unwrap_err();
    let said = err.to_string();
    assert!(said.contains("cannot score on `other`"), "{said}");
    assert!(said.ends_with("the two have the same shapes, but different weights"), "{said}");
    assert!(err.hint().unwrap().contains("student.model_name"));

    let text = fs::read_to_string(dir.join("reward_model.json")).unwrap();
    let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    let put = |key: &str, value: serde_json::Value| {
        let mut facts = facts.clone();
        *facts.pointer_mut(key).unwrap() = value;
        fs::write(dir.join("reward_model.json"), facts.to_string()).unwrap();
        refused(&dir)
    };
    let said = put("/base/tokenizer", "another".into());
    assert!(said.ends_with("the two have different tokenizers"), "{said}");
    let said = put("/base/width", 32.into());
    assert!(said.ends_with("that has 32 numbers in a hidden state, this 16"), "{said}");
    let said = put("/std", 0.0.into());
    assert!(said.ends_with("gives every reply the same score"), "{said}");
    let said = put("/v", 2.into());
    assert!(said.ends_with("it has version 2, and this whet knows 1"), "{said}");
    let said = put("/mean", serde_json::Value::Null);
    assert!(said.contains("cannot read `"), "{said}");
    fs::write(dir.join("reward_model.json"), text).unwrap();
    with_nan(&dir);
    let said = refused(&dir);
    assert!(said.starts_with("cannot use the weights of the reward model `"), "{said}");
    assert!(said.ends_with("holds NaN in row 0, column 0"), "{said}");
}

#[test]
fn pairs_that_teach_nothing_end_before_the_first_step() {
    let mut school = school();
    let mut data = Data::of(&school, planted(20, 1));
    data.held_out.clear();
    let err = data.rm(&school, "none").unwrap_err().to_string();
    assert!(err.starts_with("no held-out pair is left to measure by"), "{err}");
    let mut data = Data::of(&school, planted(20, 1));
    // Scores of zero everywhere: nothing was learnt from anything.
    school.config.training.warmup_start = 0.0;
    school.config.training.warmup_ratio = 1.0;
    school.config.training.max_steps = 1;
    let err = data.rm(&school, "same").unwrap_err();
    assert!(err.is_no(), "{err}");
    assert!(err.to_string().ends_with("the same score"), "{err}");
    assert!(!school.path("same", FINAL).exists());
    data.train.clear();
    let err = data.rm(&school, "empty").unwrap_err().to_string();
    assert_eq!(err, "there is no preference pair to learn from");
}
