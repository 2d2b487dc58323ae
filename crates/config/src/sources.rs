//! The sources of a config: files, then single keys.

use std::path::PathBuf;

use serde::Serialize;

use super::{Layer, Loaded, Problem, load};

/// Layers, files over them, and `key=value` arguments over those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Layers beneath the files, as a stage has them.
    pub layers: Vec<Layer>,
    /// TOML files; later ones take precedence.
    pub files: Vec<PathBuf>,
    /// `key=value` arguments; they take precedence over all files.
    pub set: Vec<String>,
}

impl Sources {
    /// Reads every layer over those `beneath`, also behind one that cannot be read, so that all problems come
    /// out at once.
    pub fn load(&self, beneath: &[Layer]) -> Result<Loaded, Vec<Problem>> {
        let mut layers = [beneath, &self.layers].concat();
        let mut unreadable = Vec::new();
        for path in &self.files {
            match Layer::read(path) {
                Ok(layer) => layers.push(layer),
                Err(problem) => unreadable.push(problem),
            }
        }
        layers.extend(self.set.iter().map(|argument| Layer::Set { argument: argument.clone() }));
        let loaded = load(&layers);
        if unreadable.is_empty() {
            return loaded;
        }
        unreadable.extend(loaded.err().unwrap_or_default());
        Err(unreadable)
    }
}

/// The problems of a config, for every command that may get it.
///
/// What `whet train grpo` alone refuses is a problem of a config that sets a key of `[grpo]`, and a
/// warning in any other: it may be meant for `whet train sft`.
#[derive(Debug, Serialize)]
pub struct CheckedConfig {
    /// It has no problems.
    pub ok: bool,
    /// Every command refuses these.
    pub problems: Vec<Problem>,
    /// The config is valid with these.
    pub warnings: Vec<Problem>,
    /// The command that refuses the config, though it has no problems.
    pub refused_by: Option<&'static str>,
}

impl CheckedConfig {
    /// Of a config that was loaded, or of the problems that it has.
    pub fn of(loaded: Result<Loaded, Vec<Problem>>) -> Self {
        let mut refused_by = None;
        let (problems, warnings) = match loaded {
            Err(problems) => (problems, Vec::new()),
            Ok(loaded) => {
                let (mut warnings, refused) = (loaded.warnings(), loaded.refused_by_grpo());
                if loaded.is_for_grpo() {
                    (refused, warnings)
                } else {
                    refused_by = (!refused.is_empty()).then_some("whet train grpo");
                    warnings.extend(refused);
                    (Vec::new(), warnings)
                }
            }
        };
        Self { ok: problems.is_empty(), problems, warnings, refused_by }
    }
}
