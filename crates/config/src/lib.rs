//! Assembling a config: files in layers, then `--set`, checked against the schema of the structs.
//!
//! Every layer is checked key by key before anything is merged, so that all problems are reported
//! at once, each with its location. The structs in `whetstone_core::config` define the keys; this
//! crate only reads. Layers are merged by leaves (`training.learning_rate`), the later layer
//! winning; a list is replaced as a whole. A named algorithm (`grpo.algorithm`) sets the keys that
//! no layer sets.

#![forbid(unsafe_code)]

mod check;
mod layer;
mod problem;
mod reference;
mod schema;
mod show;
mod sources;
mod stage_file;
mod suggest;
mod template;
mod value;
mod yaml;

use std::collections::BTreeMap;

use whetstone_core::config::{self, Algorithm, Config};

pub use layer::Layer;
pub use problem::{Place, Problem};
pub use reference::{ReferencePart, reference};
pub use schema::{Bounds, Field, Kind, Schema};
pub use show::show;
pub use sources::{CheckedConfig, Sources};
pub use stage_file::{StageEntry, StageFile};

/// A config with where each key that is not a default was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// The location of each key, by its path.
    pub places: BTreeMap<String, Place>,
}

impl Loaded {
    /// Warnings about valid settings, with the locations of the keys.
    pub fn warnings(&self) -> Vec<Problem> {
        self.placed(self.config.warnings())
    }

    /// The default values of k that are left out, because they need more samples than there are.
    pub fn left_out_k(&self) -> Vec<u32> {
        if self.places.contains_key("eval.k") {
            return Vec::new();
        }
        let samples = self.config.eval.num_samples;
        Config::default().eval.k.into_iter().filter(|&k| k > samples).collect()
    }

    /// Problems that only `whet train grpo` refuses, with the locations of the keys.
    pub fn refused_by_grpo(&self) -> Vec<Problem> {
        self.placed(self.config.refused_by_grpo())
    }

    /// Whether a key of `[grpo]` is set: then the config is meant for `whet train grpo`.
    pub fn is_for_grpo(&self) -> bool {
        self.places.keys().any(|key| key.starts_with("grpo."))
    }

    fn placed(&self, problems: Vec<config::Problem>) -> Vec<Problem> {
        let problems = problems.into_iter();
        problems.map(|problem| Problem::between(problem, &self.places)).collect()
    }
}

/// One key as a layer sets it.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    value: toml::Value,
    place: Place,
}

/// Merges `layers`, later ones over earlier ones, and the defaults under all.
pub fn load(layers: &[Layer]) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut settings = BTreeMap::new();
    for layer in layers {
        let checked = check::layer(layer);
        problems.extend(checked.problems);
        settings.extend(checked.settings);
    }
    with_preset(&mut settings);
    let places =
        settings.iter().map(|(key, set): (&String, &Setting)| (key.clone(), set.place.clone()));
    let places: BTreeMap<_, _> = places.collect();
    let mut config = match config_of(settings) {
        Ok(config) => with_fitting_k(config, &places),
        Err(err) => {
            problems.push(Problem::whole(err.message()));
            return Err(problems);
        }
    };
    let unread = template::read(&mut config.prompt).err();
    let between = unread.into_iter().chain(config.problems());
    problems.extend(between.map(|problem| Problem::between(problem, &places)));
    if problems.is_empty() { Ok(Loaded { config, places }) } else { Err(problems) }
}

/// Adds the keys of the algorithm that is named, beneath those that are given. No paper adds a cross-entropy
/// to its loss.
fn with_preset(settings: &mut BTreeMap<String, Setting>) {
    let Some(named) = settings.get("grpo.algorithm") else { return };
    let preset = named.value.clone().try_into::<Algorithm>().ok().and_then(Algorithm::preset);
    let Ok(toml::Value::Table(keys)) = toml::Value::try_from(preset) else { return };
    let algorithm = named.value.as_str().unwrap_or_default().to_owned();
    let others = ["teacher_sft_weight", "self_sft_weight"];
    let others = others.map(|key| (format!("dual_source.{key}"), toml::Value::Float(0.0)));
    let keys = keys.into_iter().map(|(key, value)| (format!("grpo.{key}"), value));
    for (key, value) in keys.chain(others) {
        let place = Place::Preset { algorithm: algorithm.clone() };
        settings.entry(key).or_insert(Setting { value, place });
    }
}

/// The config without the default values of k that need more samples than there are. Values that a layer sets stay, and
/// are a problem.
fn with_fitting_k(mut config: Config, places: &BTreeMap<String, Place>) -> Config {
    if !places.contains_key("eval.k") {
        let samples = config.eval.num_samples;
        config.eval.k.retain(|&k| k <= samples);
    }
    config
}

/// The typed config of checked leaves.
fn config_of(settings: BTreeMap<String, Setting>) -> Result<Config, toml::de::Error> {
    let mut root = toml::Table::new();
    for (key, setting) in settings {
        let mut table = &mut root;
        let (sections, name) = key.rsplit_once('.').unwrap_or(("", &key));
        for section in sections.split('.').filter(|section| !section.is_empty()) {
            let entry = table.entry(section).or_insert_with(|| toml::Table::new().into());
            let toml::Value::Table(next) = entry else { unreachable!("a section is a table") };
            table = next;
        }
        table.insert(name.to_owned(), setting.value);
    }
    root.try_into()
}
