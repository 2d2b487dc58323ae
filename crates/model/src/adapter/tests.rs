//! What settings are refused, and that a written one is read back.

use serde_json::{Map, Value, json};
use whetstone_core::config::LoraConfig;

use super::AdapterSettings;

fn object(changed: &[(&str, Value)]) -> Map<String, Value> {
    let mut object = Map::from_iter([
        ("peft_type".to_owned(), json!("LORA")),
        ("r".to_owned(), json!(8)),
        ("lora_alpha".to_owned(), json!(16)),
        ("target_modules".to_owned(), json!(["v_proj", "q_proj"])),
    ]);
    object.extend(changed.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    object
}

#[test]
fn what_changes_the_numbers_is_refused_by_its_key() {
    for (key, value) in [
        ("use_dora", json!(true)),
        ("bias", json!("all")),
        ("modules_to_save", json!(["score", "lm_head"])),
        ("modules_to_save", json!("score")),
        ("rank_pattern", json!({"q_proj": 4})),
        ("r", json!(0)),
        ("r", json!(-1)),
        ("lora_alpha", json!("16")),
        ("lora_alpha", json!(0)),
        ("target_modules", json!("all-linear")),
        ("target_modules", json!(["q_proj", "lm_head"])),
        ("peft_type", json!("IA3")),
    ] {
        let problems = AdapterSettings::from_object(&object(&[(key, value.clone())])).unwrap_err();
        assert!(
            problems.iter().any(|problem| problem.contains(key)),
            "{key} {value}: {problems:?}"
        );
    }
    AdapterSettings::from_object(&object(&[("lora_dropout", json!(0.1))])).unwrap();
}

#[test]
fn every_problem_is_said_at_once() {
    let changed = [("r", json!(0)), ("use_dora", json!(true)), ("bias", json!("all"))];
    assert_eq!(AdapterSettings::from_object(&object(&changed)).unwrap_err().len(), 3);
}

#[test]
fn what_is_written_is_read_back() {
    let settings = AdapterSettings::new(&LoraConfig::default());
    let text = settings.to_json();
    assert_eq!(AdapterSettings::from_object(&serde_json::from_str(&text).unwrap()), Ok(settings));
}

#[test]
fn the_scale_is_alpha_over_the_rank_or_over_its_root() {
    let plain = AdapterSettings::from_object(&object(&[])).unwrap();
    assert!((plain.scale() - 2.0).abs() < 1e-12);
    let root = AdapterSettings::from_object(&object(&[("use_rslora", json!(true))])).unwrap();
    assert!((root.scale() - 16.0 / 8f64.sqrt()).abs() < 1e-12);
}

#[test]
fn the_head_of_a_reward_model_is_kept_and_no_other() {
    for (value, kept) in [
        (json!(null), false),
        (json!([]), false),
        (json!(["classifier"]), false),
        (json!(["score"]), true),
        (json!(["classifier", "score"]), true),
    ] {
        let settings = AdapterSettings::from_object(&object(&[("modules_to_save", value.clone())]));
        assert_eq!(settings.unwrap().score, kept, "{value}");
    }
    let reward = AdapterSettings { score: true, ..AdapterSettings::new(&LoraConfig::default()) };
    let written: Map<String, Value> = serde_json::from_str(&reward.to_json()).unwrap();
    assert_eq!(written["task_type"], "SEQ_CLS");
    assert_eq!(AdapterSettings::from_object(&written), Ok(reward));
}
