//! The front matter of a model card: YAML between two lines `---`, as the hub of Hugging Face reads it.
//!
//! Only words that were checked go into it, so nothing has to be quoted: names of the hub, licences, and words of our
//! own. A base that is not a name of the hub is left out, since the hub refuses it.

use std::path::Path;

use whetstone_record::plain_file::read_plain;

use super::escape::is_hub_name;

/// Bytes of a model card, at most.
pub const LIMIT_BYTES: u64 = 1 << 20;

/// The front matter of a card.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Front {
    /// The base model's name on the hub, if it has one.
    pub base_model: Option<String>,
    /// What the model is to its base: `adapter` or `finetune`.
    pub relation: &'static str,
    /// The library that loads it: `peft` or `transformers`.
    pub library: &'static str,
    /// The hub's word for what it does.
    pub pipeline: &'static str,
    /// The licence of the base model, if it is known.
    pub license: Option<String>,
    /// More words to find it by.
    pub tags: Vec<String>,
}

impl Front {
    /// The text, with both lines `---`.
    pub fn text(&self) -> String {
        let mut lines = vec!["---".to_owned()];
        if let Some(base) = self.base_model.as_ref().filter(|base| is_hub_name(base)) {
            lines.push(format!("base_model: \"{base}\""));
            lines.push(format!("base_model_relation: {}", self.relation));
        }
        lines.push(format!("library_name: {}", self.library));
        lines.push(format!("pipeline_tag: {}", self.pipeline));
        let license = self.license.as_deref().filter(|license| is_license(license));
        lines.push(format!("license: {}", license.unwrap_or("other")));
        lines.push("tags:".to_owned());
        lines.extend(self.tags.iter().map(|tag| format!("- {tag}")));
        lines.push("---\n".to_owned());
        lines.join("\n")
    }
}

/// The licence of a model by the front matter of its own card, in its directory or beside its file.
pub fn license_of(model: &Path) -> Option<String> {
    let dir = if model.is_dir() { model } else { model.parent()? };
    // Of a directory of the hub's cache the files are links; the card is the user's own file, or ours.
    let bytes =
        read_plain(&std::fs::canonicalize(dir.join("README.md")).ok()?, LIMIT_BYTES).ok()?;
    let license = value(split(str::from_utf8(&bytes).ok()?).0?, "license");
    license.filter(|license| is_license(license) && license != "other")
}

/// Splits a card into its front matter, if there is one, and its body.
pub fn split(card: &str) -> (Option<&str>, &str) {
    let parts = card.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    parts.map_or((None, card), |(front, body)| (Some(front), body))
}

/// A value of the front matter's first level: a plain or a quoted word on the line of its key.
pub fn value(front: &str, key: &str) -> Option<String> {
    let rest = front.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let word = rest.trim().trim_matches(['"', '\'']);
    (!word.is_empty()).then(|| word.to_owned())
}

/// A licence as the hub names it, e.g. `apache-2.0`.
fn is_license(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(base: &str, license: &str) -> String {
        let front = Front {
            base_model: Some(base.to_owned()),
            relation: "adapter",
            library: "peft",
            pipeline: "text-generation",
            license: Some(license.to_owned()),
            tags: vec!["whetstone".to_owned()],
        };
        front.text()
    }

    #[test]
    fn the_front_matter_is_what_the_hub_reads() {
        assert_eq!(
            front("org/name", "apache-2.0"),
            "---\nbase_model: \"org/name\"\nbase_model_relation: adapter\nlibrary_name: peft\n\
             pipeline_tag: text-generation\nlicense: apache-2.0\ntags:\n- whetstone\n---\n"
        );
    }

    #[test]
    fn hostile_names_never_get_into_it() {
        let plain = "---\nlibrary_name: peft\npipeline_tag: text-generation\nlicense: other\ntags:\n- whetstone\n---\n";
        for name in
            ["a\n---\n# owned", "org/na\"me", "models/a: b", "/tmp/model", "org/name\nlicense: mit"]
        {
            assert_eq!(front(name, "mit\ntags: x"), plain, "{name:?}");
        }
    }

    #[test]
    fn a_licence_comes_from_the_card_of_the_base() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(license_of(dir.path()), None);
        let card = dir.path().join("README.md");
        let check = |text: &str, expected: Option<&str>| {
            std::fs::write(&card, text).unwrap();
            assert_eq!(license_of(dir.path()).as_deref(), expected, "{text:?}");
            assert_eq!(license_of(&dir.path().join("model.gguf")).as_deref(), expected);
        };
        check("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n", Some("apache-2.0"));
        check("---\nlicense: 'mit'\n---\n", Some("mit"));
        check("---\nlicense: other\n---\n", None);
        check("---\nlicense: [mit, other]\n---\n", None);
        check("# A model\n\nlicense: mit\n", None);
        check("---\nlicense: mit\n", None);
        check("---\nlicenses: mit\n---\n", None);
    }

    #[test]
    fn a_card_without_front_matter_is_body_alone() {
        assert_eq!(split("---\na: b\n---\ntext"), (Some("a: b"), "text"));
        assert_eq!(split("text\n---\na: b\n---\n"), (None, "text\n---\na: b\n---\n"));
    }
}
