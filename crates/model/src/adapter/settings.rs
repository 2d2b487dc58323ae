//! `adapter_config.json`: read strictly where a key changes the numbers, written so that PEFT reads it.

use std::path::Path;

use serde_json::{Map, Value, json};
use whetstone_core::config::{LoraConfig, Module};

use super::AdapterError;
use crate::{shown, small_file};

/// Bytes beyond which a file is not taken for settings.
const LARGEST: u64 = 1 << 20;

/// Keys that would change the computation, with the values that do not.
const NEUTRAL: [(&str, &[&str]); 11] = [
    ("use_dora", &["false", "null"]),
    ("fan_in_fan_out", &["false", "null"]),
    ("bias", &["\"none\"", "null"]),
    ("lora_bias", &["false", "null"]),
    ("rank_pattern", &["{}", "null"]),
    ("alpha_pattern", &["{}", "null"]),
    ("layers_to_transform", &["null"]),
    ("layer_replication", &["null"]),
    ("target_parameters", &["null", "[]"]),
    ("trainable_token_indices", &["null"]),
    ("alora_invocation_tokens", &["null"]),
];

/// The settings of an adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterSettings {
    /// Numbers between its two halves.
    pub rank: usize,
    /// LoRA alpha; the scale of the product is derived from it.
    pub alpha: f64,
    /// `alpha / √rank` in place of `alpha / rank`: Kalajdzievski, 2023.
    pub by_root: bool,
    /// The projections that have one, each once.
    pub modules: Vec<Module>,
    /// Whether a score head is kept with it: the adapter of a reward model.
    pub score: bool,
    /// The base model, if the file names it.
    pub base: Option<String>,
}

const MODULES: [(&str, Module); 7] = [
    ("q_proj", Module::QProj),
    ("k_proj", Module::KProj),
    ("v_proj", Module::VProj),
    ("o_proj", Module::OProj),
    ("gate_proj", Module::GateProj),
    ("up_proj", Module::UpProj),
    ("down_proj", Module::DownProj),
];

/// Modules of a classifier that PEFT saves with its adapter.
const HEADS: [&str; 2] = ["classifier", "score"];

impl AdapterSettings {
    /// Those of a configuration.
    pub fn new(config: &LoraConfig) -> Self {
        let rank = usize::try_from(config.rank).unwrap_or(usize::MAX);
        let modules = ordered(|module| config.target_modules.contains(&module));
        Self { rank, alpha: config.alpha, by_root: false, modules, score: false, base: None }
    }

    /// The scale of the product `B·A`.
    #[expect(clippy::cast_precision_loss, reason = "a rank is small")]
    pub fn scale(&self) -> f64 {
        let rank = self.rank as f64;
        self.alpha / if self.by_root { rank.sqrt() } else { rank }
    }

    /// Those of an adapter's directory.
    ///
    /// # Errors
    ///
    /// If they cannot be read, or are not supported.
    pub fn of_dir(dir: &Path) -> Result<Self, AdapterError> {
        Self::read(&dir.join(super::SETTINGS_FILE))
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, AdapterError> {
        let read = |source| AdapterError::Read { path: path.to_owned(), source };
        let settings = |problems| AdapterError::Settings { path: path.to_owned(), problems };
        let bytes = small_file::read(path, LARGEST).map_err(read)?;
        let object: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|err| settings(vec![err.to_string()]))?;
        Self::from_object(&object).map_err(settings)
    }

    pub(crate) fn from_object(object: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        if object.get("peft_type").and_then(Value::as_str) != Some("LORA") {
            problems.push("`peft_type` is not LORA".to_owned());
        }
        for (key, neutral) in NEUTRAL {
            if let Some(value) = object.get(key).map(Value::to_string)
                && !neutral.contains(&value.as_str())
            {
                let value = shown::beginning(&value);
                problems.push(format!("`{key}` is {value}, which is not supported"));
            }
        }
        let rank = object.get("r").and_then(Value::as_u64).filter(|r| (1..=4096).contains(r));
        if rank.is_none() {
            problems.push("`r` is not a whole number from 1 to 4096".to_owned());
        }
        let alpha = object.get("lora_alpha").and_then(Value::as_f64).filter(|a| *a > 0.0);
        if alpha.is_none() {
            problems.push("`lora_alpha` is not a number above 0".to_owned());
        }
        let modules = modules(object.get("target_modules"), &mut problems);
        let score = score(object, &mut problems);
        match (rank, alpha) {
            (Some(rank), Some(alpha)) if problems.is_empty() => Ok(Self {
                rank: usize::try_from(rank).unwrap_or(1),
                alpha,
                by_root: object.get("use_rslora").and_then(Value::as_bool).unwrap_or(false),
                modules,
                score,
                base: object
                    .get("base_model_name_or_path")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            }),
            _ => Err(problems),
        }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let names = MODULES.iter().filter(|(_, module)| self.modules.contains(module));
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        // PEFT's two names for the head of a classifier; a decoder's is `score`.
        let (task, kept) =
            if self.score { ("SEQ_CLS", json!(HEADS)) } else { ("CAUSAL_LM", Value::Null) };
        let object = json!({
            "base_model_name_or_path": self.base,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "modules_to_save": kept,
            "peft_type": "LORA",
            "r": self.rank,
            "target_modules": names,
            "task_type": task,
            "use_dora": false,
            "use_rslora": self.by_root,
        });
        format!("{object:#}\n")
    }
}

/// Whether the score head is kept; `modules_to_save` may name nothing else.
fn score(object: &Map<String, Value>, problems: &mut Vec<String>) -> bool {
    let kept = match object.get("modules_to_save") {
        None | Some(Value::Null) => return false,
        Some(Value::Array(names)) => names,
        Some(_) => {
            problems.push("`modules_to_save` is not a list of names".to_owned());
            return false;
        }
    };
    let known = |name: &Value| name.as_str().is_some_and(|name| HEADS.contains(&name));
    if let Some(stranger) = kept.iter().find(|name| !known(name)) {
        let stranger = shown::beginning(&stranger.to_string());
        problems.push(format!("`modules_to_save` names {stranger}; only `score` is supported"));
    }
    kept.iter().any(|name| name == "score")
}

fn modules(value: Option<&Value>, problems: &mut Vec<String>) -> Vec<Module> {
    let Some(names) = value.and_then(Value::as_array).filter(|names| !names.is_empty()) else {
        problems.push("`target_modules` is not a list of names".to_owned());
        return Vec::new();
    };
    let known = |name: &Value| MODULES.iter().find(|(known, _)| name.as_str() == Some(known));
    if let Some(stranger) = names.iter().find(|name| known(name).is_none()) {
        let stranger = shown::beginning(&stranger.to_string());
        problems.push(format!("`target_modules` names {stranger}, which no layer has"));
    }
    let named: Vec<Module> = names.iter().filter_map(known).map(|(_, module)| *module).collect();
    ordered(|module| named.contains(&module))
}

/// Modules in the order of a layer.
fn ordered(wanted: impl Fn(Module) -> bool) -> Vec<Module> {
    MODULES.iter().map(|(_, module)| *module).filter(|module| wanted(*module)).collect()
}

/// A module's place in the hub's names.
pub(crate) fn path_of(module: Module) -> &'static str {
    match module {
        Module::QProj => "self_attn.q_proj",
        Module::KProj => "self_attn.k_proj",
        Module::VProj => "self_attn.v_proj",
        Module::OProj => "self_attn.o_proj",
        Module::GateProj => "mlp.gate_proj",
        Module::UpProj => "mlp.up_proj",
        Module::DownProj => "mlp.down_proj",
    }
}
