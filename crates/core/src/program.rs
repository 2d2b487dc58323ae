//! Source code taken out of a reply: what the judge runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program to judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The programming language.
    pub language: Language,
    /// Its source, with `\n` line ends.
    pub source: String,
    /// The reply broke off inside the program, so its end is missing.
    #[serde(default)]
    pub truncated: bool,
}

/// A programming language we can judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Python 3.
    #[default]
    Python,
    /// JavaScript.
    Javascript,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_we_do_not_know_is_refused() {
        let text = r#"{"language":"python","source":"","trusted":true}"#;
        let err = serde_json::from_str::<Program>(text).unwrap_err().to_string();
        assert!(err.contains("unknown field `trusted`"), "{err}");
    }
}
