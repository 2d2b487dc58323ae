//! A file that is YAML where TOML is needed: recognised, with one of its keys as TOML would have it.
//!
//! Only for a text that is not TOML. It is YAML if lines look like `key:` or `key: value` and none
//! looks like TOML. This parses only the YAML that settings need: sections by indentation and plain
//! values.

/// A key of a YAML file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlKey {
    /// Byte offset of its line.
    pub(super) start: usize,
    /// Its path: `training.learning_rate`.
    pub(super) path: String,
    /// The equivalent TOML: `training.learning_rate = 1e-4`.
    pub(super) toml: String,
}

/// The first key with a value of its own, if the text looks like YAML; without one, the first section.
pub(super) fn first_key(text: &str) -> Option<YamlKey> {
    let mut sections: Vec<(usize, &str)> = Vec::new();
    let (mut start, mut section, mut found) = (0, None, None);
    for line in text.split_inclusive('\n') {
        let (at, code) = (start, line.trim_end());
        start += line.len();
        let code = code.split(" #").next().unwrap_or_default().trim_end();
        let (indent, code) = (code.len() - code.trim_start().len(), code.trim_start());
        if code.is_empty() || code.starts_with(['#', '-']) {
            continue;
        }
        if code.starts_with('[') || is_toml(code) {
            return None;
        }
        let (name, value) = code.split_once(':')?;
        if !is_name(name) || !(value.is_empty() || value.starts_with(' ')) {
            return None;
        }
        sections.retain(|(outer, _)| *outer < indent);
        let above: Vec<&str> = sections.iter().map(|(_, name)| *name).chain([name]).collect();
        let (path, value) = (above.join("."), value.trim());
        if value.is_empty() {
            sections.push((indent, name));
            let toml = format!("[{path}]");
            section.get_or_insert(YamlKey { start: at, path, toml });
        } else {
            let toml = format!("{path} = {}", toml_value(value));
            found.get_or_insert(YamlKey { start: at, path, toml });
        }
    }
    found.or(section)
}

fn is_toml(code: &str) -> bool {
    code.split_once('=').is_some_and(|(name, _)| is_name(name.trim_end()))
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !name.is_empty() && name.chars().all(plain)
}

/// A plain value of YAML in TOML.
fn toml_value(value: &str) -> String {
    let is_toml = toml::de::DeValue::parse(value).is_ok();
    match value.to_ascii_lowercase().as_str() {
        _ if is_toml => value.to_owned(),
        "true" | "yes" | "on" => "true".to_owned(),
        "false" | "no" | "off" => "false".to_owned(),
        _ => toml::Value::String(value.trim_matches(['\'', '"']).to_owned()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(usize, &str)>) {
        let found = first_key(text).map(|key| (key.start, key.toml));
        assert_eq!(found, expected.map(|(start, toml)| (start, toml.to_owned())), "{text}");
    }

    #[test]
    fn the_first_key_with_a_value_is_shown_as_toml() {
        check("seed: 3\n", Some((0, "seed = 3")));
        let nested = "---\n# lr\ntraining:\n  learning_rate: 1e-4  # low\n  max_steps: 9\n";
        check(nested, Some((19, "training.learning_rate = 1e-4")));
        check("run:\n  dir: my runs\n", Some((5, "run.dir = \"my runs\"")));
        check("run:\n  dir: 'runs'\n", Some((5, "run.dir = 'runs'")));
        check("lora:\n  use: yes\n", Some((6, "lora.use = true")));
        check("a:\n  b:\nc:\n  d: 1\n", Some((11, "c.d = 1")));
        check("eval:\n  k:\n    - 1\n", Some((0, "[eval]")));
    }

    #[test]
    fn broken_toml_and_prose_are_no_yaml() {
        check("seed = = 3\n", None);
        check("seed: 3\nrank = 4\n", None);
        check("[lora]\nrank: 3\n", None);
        check("Dear reader, this is: a letter\n", None);
        check("http://example.org\n", None);
        check("", None);
    }
}
