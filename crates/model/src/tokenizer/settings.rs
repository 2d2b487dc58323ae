//! The contents of `tokenizer_config.json`: the special tokens, and the chat template.

use std::path::Path;

use serde_json::{Map, Value};

/// The tokens that have a meaning, as text; templates use them by these names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Specials {
    /// Begins a text.
    pub bos: Option<String>,
    /// Ends a completion.
    pub eos: Option<String>,
    /// Fills.
    pub pad: Option<String>,
    /// Stands for what cannot be encoded.
    pub unk: Option<String>,
}

/// The fields of a `tokenizer_config.json` that are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenizerSettings {
    pub(crate) specials: Specials,
    pub(crate) template: Option<String>,
}

impl TokenizerSettings {
    pub(crate) fn from_object(object: &Map<String, Value>) -> Self {
        // A token is its text, or an object with its text and how it is matched.
        let token = |key: &str| {
            let value = object.get(key)?;
            value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned)
        };
        let specials = Specials {
            bos: token("bos_token"),
            eos: token("eos_token"),
            pad: token("pad_token"),
            unk: token("unk_token"),
        };
        Self { specials, template: object.get("chat_template").and_then(template) }
    }

    /// The settings of a directory; none, if it has no such file.
    pub(crate) fn from_dir(dir: &Path) -> Result<Self, crate::config::ConfigError> {
        let path = dir.join("tokenizer_config.json");
        if !path.exists() {
            return Ok(Self::default());
        }
        crate::config::read_object(&path).map(|object| Self::from_object(&object))
    }
}

/// One template, or the one called `default` of several.
fn template(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let named = value.as_array()?.iter().find(|template| template["name"] == "default")?;
    named["template"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(value: &Value) -> TokenizerSettings {
        TokenizerSettings::from_object(value.as_object().unwrap())
    }

    #[test]
    fn tokens_are_texts_or_objects_with_their_text() {
        let found = settings(&json!({
            "bos_token": null,
            "eos_token": "<|im_end|>",
            "pad_token": {"content": "<pad>", "lstrip": false},
            "chat_template": "x",
        }));
        let specials = Specials {
            bos: None,
            eos: Some("<|im_end|>".to_owned()),
            pad: Some("<pad>".to_owned()),
            unk: None,
        };
        assert_eq!(found, TokenizerSettings { specials, template: Some("x".to_owned()) });
    }

    #[test]
    fn of_several_templates_the_default_is_taken() {
        let list = json!({"chat_template": [
            {"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"},
        ]});
        assert_eq!(settings(&list).template.as_deref(), Some("b"));
        assert_eq!(settings(&json!({"chat_template": []})).template, None);
    }
}
