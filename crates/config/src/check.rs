//! One layer against the schema: every problem in it, and the keys that are right.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::Setting;
use super::layer::Layer;
use super::problem::{Place, Problem};
use super::schema::{Field, Kind, Schema, join};
use super::stage_file::{SET, STAGE, STAGE_FILE_KEYS};
use super::suggest::suggestion;
use super::value::{default_text, describe, read};
use super::yaml;

/// More than anyone reads; a file with more is not a config with slips in it.
const MAX_PROBLEMS: usize = 200;

/// Keys that earlier versions wrote into the settings of every run.
const RETIRED: [&str; 1] = ["ppo.bootstrap_truncated"];

/// Keys that runs of earlier versions do not have in their settings, which are complete otherwise, and whose default
/// would change the steps that are left: with the value that is as if they were not there.
const ABSENT: [(&str, f64); 2] = [("training.clip_to_median", 0.0), ("held_out.split", 0.0)];

/// The checked keys of a layer.
pub(super) struct Checked {
    pub(super) settings: BTreeMap<String, Setting>,
    pub(super) problems: Vec<Problem>,
}

/// Checks one layer.
pub(super) fn layer(layer: &Layer) -> Checked {
    let mut check = Check {
        schema: Schema::get(),
        source: Source::of(layer),
        passed_over: match layer {
            Layer::StageFile { .. } => STAGE_FILE_KEYS,
            Layer::Run { .. } => &RETIRED,
            _ => &[],
        },
        broken_lines: BTreeSet::new(),
        out: Checked { settings: BTreeMap::new(), problems: Vec::new() },
    };
    match layer {
        Layer::File { text, .. } | Layer::Run { text, .. } | Layer::StageFile { text, .. } => {
            check.file(text);
        }
        Layer::Stage { text, index, .. } => check.stage(text, *index),
        Layer::Set { argument } | Layer::Suite { argument, .. } => check.set(argument),
    }
    if let Layer::Run { path, .. } = layer {
        for (key, value) in ABSENT {
            let place = Place::File { path: path.clone(), line: 0, column: 0 };
            let setting = Setting { value: value.into(), place };
            check.out.settings.entry(key.to_owned()).or_insert(setting);
        }
    }
    // In the order of the file, whatever order its keys are held in.
    check.out.problems.sort_by(|one, other| one.place.cmp(&other.place));
    check.out
}

/// The origin of a layer's text, to report a location in it.
enum Source<'a> {
    File { path: &'a Path, line_starts: Vec<usize> },
    Set { argument: &'a str },
    Suite { name: &'a str },
}

impl<'a> Source<'a> {
    fn of(layer: &'a Layer) -> Self {
        match layer {
            Layer::File { path, text }
            | Layer::Run { path, text }
            | Layer::StageFile { path, text }
            | Layer::Stage { path, text, .. } => {
                let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
                let line_starts = std::iter::once(0).chain(after_newline).collect();
                Self::File { path, line_starts }
            }
            Layer::Set { argument } => Self::Set { argument },
            Layer::Suite { name, .. } => Self::Suite { name },
        }
    }

    /// The line of a file, counted from 1.
    fn line(&self, span: &Range<usize>) -> usize {
        match self {
            Self::Set { .. } | Self::Suite { .. } => 0,
            Self::File { line_starts, .. } => {
                line_starts.partition_point(|start| *start <= span.start)
            }
        }
    }

    fn place(&self, span: &Range<usize>) -> Place {
        match self {
            Self::Set { argument } => Place::Set { argument: (*argument).to_owned() },
            Self::Suite { name } => Place::Suite { name: (*name).to_owned() },
            Self::File { path, line_starts } => {
                let line = self.line(span);
                let column = span.start - line_starts[line - 1] + 1;
                Place::File { path: path.to_path_buf(), line, column }
            }
        }
    }
}

struct Check<'a> {
    schema: &'static Schema,
    source: Source<'a>,
    /// Keys of the file that are not settings.
    passed_over: &'static [&'static str],
    /// Lines that are not TOML.
    broken_lines: BTreeSet<usize>,
    out: Checked,
}

impl Check<'_> {
    fn file(&mut self, text: &str) {
        let (table, mut errors) = DeTable::parse_recoverable(text);
        if let Some(key) = yaml::first_key(text).filter(|_| !errors.is_empty()) {
            let span = key.start..key.start;
            let message = "this is YAML, and settings are TOML".to_owned();
            let hint = format!("in TOML this key is `{}`", key.toml);
            return self.problem(&span, Some(key.path), message, Some(hint));
        }
        errors.sort_by_key(|err| err.span().unwrap_or_default().start);
        let mut broken = BTreeSet::new();
        for err in &errors {
            let span = err.span().unwrap_or_default();
            // One slip makes several errors in its line; the first one is where it is.
            if self.is_full() || !broken.insert(self.source.line(&span)) {
                continue;
            }
            let message = format!("not TOML: {}", err.message().replace('\n', "; "));
            self.problem(&span, key_at(text, span.start), message, None);
        }
        self.broken_lines = broken;
        self.section(table.get_ref(), &self.schema.fields, "");
    }

    /// The `set` of one stage; the file itself is TOML, or is reported as a whole.
    fn stage(&mut self, text: &str, index: usize) {
        let (table, _) = DeTable::parse_recoverable(text);
        let stages = table.get_ref().get(STAGE).and_then(|stages| stages.get_ref().as_array());
        let stage = stages.and_then(|stages| stages.get(index)?.get_ref().as_table());
        let set = stage.and_then(|stage| stage.get(SET)?.get_ref().as_table());
        if let Some(set) = set {
            self.keys(set, "");
        }
    }

    /// Keys as a stage sets them: `"training.max_steps" = 3`, or tables inside tables.
    fn keys(&mut self, table: &DeTable<'_>, path: &str) {
        for (name, value) in table {
            let key = join(path, name.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                self.keys(inner, &key);
            } else if let Some((field, key)) = self.find(&key, &name.span()) {
                self.leaf(value.get_ref(), &value.span(), field, key);
            }
        }
    }

    /// `a.b=value`: TOML where it is TOML, and the text itself where the key holds text.
    fn set(&mut self, argument: &str) {
        let Some((path, value)) = argument.split_once('=') else {
            let hint = "write it as `--set key=value`, e.g. `--set training.learning_rate=1e-4`";
            return self.problem(&(0..0), None, "no `=` in it".to_owned(), Some(hint.to_owned()));
        };
        let Some((field, key)) = self.find(path.trim(), &(0..0)) else { return };
        let value = value.trim();
        let text = || DeValue::String(value.into());
        let value = match (&field.kind, DeValue::parse(value)) {
            (Kind::Text { .. } | Kind::Choice(_), Ok(parsed)) if !parsed.get_ref().is_str() => {
                text()
            }
            (_, Ok(parsed)) => parsed.into_inner(),
            (_, Err(_)) => text(),
        };
        self.leaf(&value, &(0..0), field, key);
    }

    /// The key at `path`, with its path in full names.
    fn find(&mut self, path: &str, span: &Range<usize>) -> Option<(&'static Field, String)> {
        let mut fields = self.schema.fields.as_slice();
        let mut key = String::new();
        let mut names = path.split('.').map(str::trim).peekable();
        while let Some(name) = names.next() {
            let Some(field) = named(fields, name) else {
                let unknown = join(&key, name);
                if let Some(found) = elsewhere(self.schema, &unknown)
                    && names.peek().is_none()
                {
                    return Some(found);
                }
                self.unknown(span, &unknown, fields);
                return None;
            };
            key = join(&key, &field.name);
            match (&field.kind, names.peek()) {
                (Kind::Section(inner), Some(_)) => fields = inner,
                (Kind::Section(inner), None) => {
                    let keys: Vec<_> = inner.iter().map(|field| join(&key, &field.name)).collect();
                    let hint = format!("set one of its keys: {}", keys.join(", "));
                    self.problem(span, Some(key), "a section, not a key".to_owned(), Some(hint));
                    return None;
                }
                (_, None) => return Some((field, key)),
                (_, Some(_)) => {
                    let hint = format!("`{key}` has no keys below it");
                    self.problem(span, Some(path.into()), "unknown key".to_owned(), Some(hint));
                    return None;
                }
            }
        }
        None
    }

    fn section(&mut self, table: &DeTable<'_>, fields: &[Field], path: &str) {
        for (name, value) in table {
            let key = join(path, name.get_ref());
            if self.passed_over.contains(&key.as_str()) {
                continue;
            }
            let Some(field) = named(fields, name.get_ref()) else {
                match elsewhere(self.schema, &key) {
                    Some((field, key)) => self.leaf(value.get_ref(), &value.span(), field, key),
                    None => self.unknown(&name.span(), &key, fields),
                }
                continue;
            };
            let key = join(path, &field.name);
            match (&field.kind, value.get_ref()) {
                (Kind::Section(inner), DeValue::Table(table)) => self.section(table, inner, &key),
                (Kind::Section(inner), other) => {
                    let first = inner.first().map_or("key", |field| field.name.as_str());
                    let hint = format!("write its keys in a section, e.g. `{key}.{first} = …`");
                    let found = describe(other);
                    let message = format!("{found}, expected a section with keys of its own");
                    self.problem(&value.span(), Some(key), message, Some(hint));
                }
                _ => self.leaf(value.get_ref(), &value.span(), field, key),
            }
        }
    }

    fn leaf(&mut self, value: &DeValue<'_>, span: &Range<usize>, field: &Field, key: String) {
        let place = self.source.place(span);
        match read(value, &field.kind) {
            Ok(value) => {
                let again = self.out.settings.insert(key.clone(), Setting { value, place });
                if again.is_some() {
                    let message = "set twice, under this name and under another".to_owned();
                    self.problem(span, Some(key), message, Some("keep one of them".to_owned()));
                }
            }
            Err(message) => {
                let hint = format!(
                    "{} The default is `{}`.",
                    field.doc.replace('\n', " "),
                    default_text(field)
                );
                self.problem(span, Some(key), message, Some(hint));
            }
        }
    }

    fn unknown(&mut self, span: &Range<usize>, key: &str, siblings: &[Field]) {
        if self.is_full() {
            return;
        }
        let hint = suggestion(key, siblings, self.schema);
        self.problem(span, Some(key.to_owned()), "unknown key".to_owned(), Some(hint));
    }

    /// Whether more problems would not be reported; their hints need not be worked out then.
    fn is_full(&self) -> bool {
        self.out.problems.len() == MAX_PROBLEMS
    }

    fn problem(
        &mut self,
        span: &Range<usize>,
        key: Option<String>,
        message: String,
        hint: Option<String>,
    ) {
        // The content of a broken line is a guess of the parser, and the line is reported already.
        let said = self.broken_lines.contains(&self.source.line(span));
        if said || self.is_full() {
            return;
        }
        let place = Some(self.source.place(span));
        self.out.problems.push(Problem { place, key, message, hint });
    }
}

/// The key that is being written at `at`, as far as broken TOML tells.
fn key_at(text: &str, at: usize) -> Option<String> {
    let before = text.get(..at)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?;
    let name = line.split(['=', '#']).next()?.trim();
    let is_key = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || !name.chars().all(is_key) {
        return None;
    }
    let headers = before.lines().rev().map(str::trim).filter_map(|line| line.strip_prefix('['));
    let section = headers.filter_map(|line| line.split_once(']')).map(|(name, _)| name).next();
    Some(join(section.unwrap_or_default().trim(), name))
}

/// The field that goes by `name`, or by an alias of it.
fn named<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
    let by_name = fields.iter().find(|field| field.name == name);
    by_name.or_else(|| fields.iter().find(|field| field.aliases.iter().any(|alias| alias == name)))
}

/// The key that goes by `path` in another section, which is an alias with a dot.
fn elsewhere(schema: &'static Schema, path: &str) -> Option<(&'static Field, String)> {
    let is_alias = |field: &Field| field.aliases.iter().any(|alias| alias == path);
    let found =
        schema.leaves().into_iter().find(|(_, field)| path.contains('.') && is_alias(field));
    found.map(|(key, field)| (field, key))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_run_without_a_newer_key_resumes_as_if_there_were_none_and_one_with_it_keeps_its_value() {
        let clip = |text: &str| {
            let run = Layer::Run { path: PathBuf::from("config.toml"), text: text.to_owned() };
            crate::load(&[run]).unwrap().config.training.clip_to_median
        };
        assert_eq!(clip("").to_bits(), 0.0_f64.to_bits());
        assert_eq!(clip("[training]\nclip_to_median = 4.0\n").to_bits(), 4.0_f64.to_bits());
        let new = crate::load(&[]).unwrap().config.training.clip_to_median;
        assert_eq!(new.to_bits(), 3.0_f64.to_bits());
    }

    #[test]
    fn a_run_of_an_earlier_version_has_keys_that_are_gone() {
        let text = "[ppo]\nbootstrap_truncated = true\nkl_coef = 0.25\n".to_owned();
        let path = PathBuf::from("config.toml");
        let of_run = layer(&Layer::Run { path: path.clone(), text: text.clone() });
        assert_eq!(of_run.problems, []);
        let keys: Vec<&String> = of_run.settings.keys().collect();
        assert_eq!(keys, ["held_out.split", "ppo.kl_coef", "training.clip_to_median"]);
        let of_user = layer(&Layer::File { path, text });
        let [problem] = &of_user.problems[..] else { panic!("{:?}", of_user.problems) };
        assert_eq!(problem.message, "unknown key");
        assert!(problem.hint.as_ref().unwrap().contains("`ppo.mask_truncated_completions`"));
        assert!(!of_user.settings.contains_key("training.clip_to_median"));
        let unknown = "[ppo]\nboot = true\n".to_owned();
        assert_eq!(layer(&Layer::Run { path: PathBuf::new(), text: unknown }).problems.len(), 1);
    }
}
