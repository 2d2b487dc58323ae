//! The settings of a run that differ from the defaults, as TOML.

use serde_json::Value;
use whetstone_core::config::Config;

use super::escape::toml_string;
use super::file_name;

/// Where a run is and what it runs on, and the address of a teacher: not a part of what was trained.
const LEFT_OUT: [&str; 2] = ["run.", "teacher."];

/// A line for each setting that differs. Local paths are shortened to their last name: a card is published.
pub(super) fn changed(config: &Config) -> Vec<String> {
    let (given, defaults) = (json(config), json(&Config::default()));
    let mut lines = Vec::new();
    collect("", Pair { given: &given, default: &defaults }, &mut lines);
    lines
}

fn json(config: &Config) -> Value {
    serde_json::to_value(config).expect("settings are plain data")
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    given: &'a Value,
    default: &'a Value,
}

fn collect(key: &str, pair: Pair<'_>, lines: &mut Vec<String>) {
    let Pair { given, default } = pair;
    if let (Value::Object(given), Value::Object(default)) = (given, default) {
        for (name, value) in given {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            let default = default.get(name).unwrap_or(&Value::Null);
            collect(&key, Pair { given: value, default }, lines);
        }
    } else if given != default
        && !given.is_null()
        && !LEFT_OUT.iter().any(|section| key.starts_with(section))
    {
        lines.push(format!("{key} = {}", toml(given)));
    }
}

fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => toml_string(&without_folders(text)),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(toml).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(all) => {
            let all =
                all.iter().map(|(name, value)| format!("{} = {}", toml_string(name), toml(value)));
            format!("{{ {} }}", all.collect::<Vec<_>>().join(", "))
        }
        Value::Null => "\"\"".to_owned(),
        other => other.to_string(),
    }
}

/// A path without the folders of this machine; other text as it is.
fn without_folders(text: &str) -> String {
    let is_local = text.starts_with('/') || text.starts_with("~/") || text.starts_with("../");
    let is_of_runs = text.starts_with("./") || text.split('/').count() > 2 && !text.contains("://");
    if is_local || is_of_runs { file_name(text) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_listed_and_the_place_of_the_run_is_not() {
        assert_eq!(changed(&Config::default()), Vec::<String>::new());
        let mut config = Config { seed: 7, ..Config::default() };
        config.run.dir = "/home/someone/runs".to_owned();
        config.run.tensorboard = true;
        config.teacher.api_url = "http://teacher.internal/v1/chat/completions".to_owned();
        config.student.model_name = "/home/someone/models/a\"b\n".to_owned();
        config.training.learning_rate = 1e-5;
        config.eval.k = vec![1, 2];
        assert_eq!(
            changed(&config),
            [
                "seed = 7",
                "student.model_name = \"a\\\"b\\U0000000A\"",
                "training.learning_rate = 0.00001",
                "eval.k = [1, 2]",
            ]
        );
    }

    #[test]
    fn names_of_the_hub_and_addresses_stay() {
        for same in ["org/name", "embedded", "http://localhost:8129/v1/chat/completions", "vllm"] {
            assert_eq!(without_folders(same), same);
        }
        assert_eq!(without_folders("runs/rm-1/outputs/final_model"), "final_model");
        assert_eq!(without_folders("~/models/x"), "x");
    }
}
