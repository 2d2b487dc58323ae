//! From a stage file to its stages in order, each with its kind, settings and inputs.
//!
//! A stage follows the one above it, or the one that `after` names. An input that is not named is that of
//! the nearest stage before it, along this line, that makes one. Everything that can be wrong with a file
//! by itself is found here, before anything begins.

mod order;
pub mod scope;

use std::collections::BTreeSet;
use std::path::PathBuf;

use whetstone_config::{Loaded, Problem, Sources, StageEntry, StageFile};

use super::job::Kind;
use super::kinds::{self, KindsThatMake};
use super::what::{Take, What};
use crate::failure::Failure;

/// The stages of a file in the order in which they run.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub file: StageFile,
    /// Settings of all stages.
    pub loaded: Loaded,
    /// The stages.
    pub stages: Vec<PlannedStage>,
}

/// A stage that can run.
#[derive(Debug)]
pub struct PlannedStage {
    /// As it stands in the file.
    pub entry: StageEntry,
    /// What it does.
    pub kind: &'static Kind,
    /// Its settings.
    pub loaded: Loaded,
    /// Where they come from.
    pub sources: Sources,
    /// Where its inputs come from.
    pub inputs: Vec<(What, Origin)>,
    /// The stages before it that it depends on, by name.
    pub follows: BTreeSet<String>,
}

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The stage of this name.
    Stage(String),
    /// A file or directory that is there.
    Path(PathBuf),
}

impl Plan {
    /// The stages of a file; `set` are keys over its settings, of all stages or of one, and options of one.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its place.
    pub fn new(file: StageFile, set: &[String]) -> Result<Self, Failure> {
        let file = scope::with_options(file, set);
        let mut draft = Draft { file: &file, problems: Vec::new() };
        let kinds = draft.kinds();
        let settings = draft.settings(set);
        let parents = draft.parents();
        let (Some(kinds), Some(settings), Some(parents)) = (kinds, settings, parents) else {
            return Err(draft.refused());
        };
        draft.check(&kinds, &settings);
        let links = draft.links(&kinds, &settings, &parents);
        let order = draft.order(&parents, &links);
        let (true, Some(order)) = (draft.problems.is_empty(), order) else {
            return Err(draft.refused());
        };
        let set = scope::of_all(set, &file);
        let base = Sources { layers: vec![file.settings()], set, ..Sources::default() };
        let loaded = base.load(&[]).map_err(Failure::Config)?;
        let stages = order.into_iter().map(|at| {
            let parent = parents[at].map(|parent| file.stages[parent].name.clone());
            let named = links[at].iter().filter_map(|(_, origin)| match origin {
                Origin::Stage(name) => Some(name.clone()),
                Origin::Path(_) => None,
            });
            PlannedStage {
                entry: file.stages[at].clone(),
                kind: kinds[at],
                loaded: settings[at].0.clone(),
                sources: settings[at].1.clone(),
                inputs: links[at].clone(),
                follows: named.chain(parent).collect(),
            }
        });
        let stages = stages.collect();
        Ok(Self { file, loaded, stages })
    }

    /// The stage of this name, by its place in the order.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn find(&self, name: &str) -> Result<usize, Failure> {
        let found = self.stages.iter().position(|stage| stage.entry.name == name);
        found.ok_or_else(|| Failure::Stages {
            problem: format!("there is no stage `{}`", crate::text::plain(name, 60)),
            hint: format!("`{}` has {}", self.file.path.display(), names(&self.file)),
        })
    }

    /// The stage at `from` and all that depend on it, by name.
    pub fn and_after(&self, from: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::from([self.stages[from].entry.name.clone()]);
        for stage in &self.stages[from + 1..] {
            if stage.follows.iter().any(|name| found.contains(name)) {
                found.insert(stage.entry.name.clone());
            }
        }
        found
    }

    /// Refuses a plan that names files which are not there.
    ///
    /// # Errors
    ///
    /// If one is missing, with the place of its stage.
    pub fn check_files(&self) -> Result<(), Failure> {
        let mut problems = Vec::new();
        for stage in &self.stages {
            for (what, origin) in &stage.inputs {
                if let Origin::Path(path) = origin
                    && !path.exists()
                {
                    let message =
                        format!("there is no `{}` to take {} from", path.display(), what.name());
                    let hint = "a path is relative to the directory in which `whet run` is typed";
                    problems.push(stage.entry.problem(message, Some(hint.to_owned())));
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::Config(problems)) }
    }
}

/// A file whose plan is being made.
struct Draft<'a> {
    file: &'a StageFile,
    problems: Vec<Problem>,
}

/// Settings, and where they come from.
type Settings = Vec<(Loaded, Sources)>;
/// The inputs of every stage.
type Links = Vec<Vec<(What, Origin)>>;

impl Draft<'_> {
    fn refused(self) -> Failure {
        Failure::Config(self.problems)
    }

    fn problem(&mut self, at: usize, message: String, hint: String) {
        self.problems.push(self.file.stages[at].problem(message, Some(hint)));
    }

    fn kinds(&mut self) -> Option<Vec<&'static Kind>> {
        let entries = self.file.stages.iter();
        let found: Vec<_> = entries.map(|entry| kinds::of(&entry.kind)).collect();
        for (at, kind) in found.iter().enumerate() {
            if kind.is_none() {
                let name = crate::text::plain(&self.file.stages[at].kind, 60);
                let message = format!("`{name}` is not a kind of stage");
                self.problem(at, message, format!("there are {}", kinds::names()));
            }
        }
        found.into_iter().collect()
    }

    /// The settings of every stage. A problem of all of them is reported once.
    fn settings(&mut self, set: &[String]) -> Option<Settings> {
        let mut loaded = Vec::new();
        for at in 0..self.file.stages.len() {
            let layers = self.file.layers(at);
            let set = scope::of_stage(set, self.file, at);
            let sources = Sources { layers, set, ..Sources::default() };
            match sources.load(&[]) {
                Ok(settings) => loaded.push((settings, sources)),
                Err(problems) => {
                    let new: Vec<Problem> =
                        problems.into_iter().filter(|one| !self.problems.contains(one)).collect();
                    self.problems.extend(new);
                }
            }
        }
        (loaded.len() == self.file.stages.len()).then_some(loaded)
    }

    /// The stage that each follows.
    fn parents(&mut self) -> Option<Vec<Option<usize>>> {
        let mut parents = Vec::new();
        for at in 0..self.file.stages.len() {
            let Some(after) = &self.file.stages[at].after else {
                parents.push(at.checked_sub(1));
                continue;
            };
            if let Some(parent) = self.at(after) {
                parents.push(Some(parent));
            } else {
                let after = crate::text::plain(after, 60);
                let message = format!("it is after `{after}`, which is not a stage");
                self.problem(at, message, format!("the stages are {}", names(self.file)));
            }
        }
        (parents.len() == self.file.stages.len()).then_some(parents)
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.file.stages.iter().position(|stage| stage.name == name)
    }

    fn check(&mut self, kinds: &[&'static Kind], settings: &Settings) {
        for ((entry, kind), (loaded, _)) in self.file.stages.iter().zip(kinds).zip(settings) {
            self.problems.extend((kind.check)(entry, loaded));
        }
    }

    /// Where every input comes from.
    fn links(
        &mut self,
        kinds: &[&'static Kind],
        settings: &Settings,
        parents: &[Option<usize>],
    ) -> Links {
        (0..kinds.len())
            .map(|at| {
                let takes = (kinds[at].takes)(&settings[at].0.config);
                let mut links = self.named(at, kinds, &takes);
                for take in &takes {
                    self.unnamed(&Link { at, take, kinds, parents }, &mut links);
                }
                links
            })
            .collect()
    }

    /// Inputs that a stage names.
    fn named(&mut self, at: usize, kinds: &[&'static Kind], takes: &[Take]) -> Vec<(What, Origin)> {
        let taken: Vec<What> = takes.iter().flat_map(Take::whats).copied().collect();
        let mut links = Vec::new();
        for (name, given) in self.file.stages[at].input.clone() {
            let what = What::of(&name).filter(|what| taken.contains(what));
            let Some(what) = what else {
                let message = format!(
                    "a stage of kind `{}` has no input `{}`",
                    kinds[at].name,
                    crate::text::plain(&name, 40)
                );
                let names: Vec<&str> = taken.iter().map(|what| what.name()).collect();
                let hint = if names.is_empty() {
                    "leave `input` out: it takes nothing of other stages".to_owned()
                } else {
                    format!("it takes {}", names.join(", "))
                };
                self.problem(at, message, hint);
                continue;
            };
            match self.origin(&given, what, kinds) {
                Ok(origin) => links.push((what, origin)),
                Err((message, hint)) => self.problem(at, message, hint),
            }
        }
        links
    }

    /// The stage or path that is given for an input, or why it cannot be one, with a hint.
    fn origin(
        &self,
        given: &str,
        what: What,
        kinds: &[&'static Kind],
    ) -> Result<Origin, (String, String)> {
        let shown = crate::text::plain(given, 100);
        if let Some(stage) = self.at(given) {
            if kinds[stage].makes.iter().any(|(made, _)| *made == what) {
                return Ok(Origin::Stage(given.to_owned()));
            }
            let makers = KindsThatMake(what);
            let message = format!("the stage `{shown}` does not make {}", what.name());
            return Err((message, format!("stages of these kinds do: {makers}")));
        }
        if given.contains(['/', '.']) {
            return Ok(Origin::Path(PathBuf::from(given)));
        }
        let message = format!("its {} are those of `{shown}`, which is not a stage", what.name());
        let stages = names(self.file);
        Err((
            message,
            format!("the stages are {stages}; a path is written with a slash: `./{shown}`"),
        ))
    }

    /// Finds inputs that are not named in the stages before, the nearest first.
    fn unnamed(&mut self, link: &Link<'_>, links: &mut Vec<(What, Origin)>) {
        let &Link { at, take, kinds, parents } = link;
        for &what in take.whats() {
            let found = |what: &What| links.iter().any(|(named, _)| named == what);
            let is_chosen = matches!(take, Take::FirstOf(all) if all.iter().any(found));
            if found(&what) || is_chosen {
                continue;
            }
            let makes = |stage: &usize| kinds[*stage].makes.iter().any(|(made, _)| *made == what);
            let maker = before(at, parents).find(makes);
            links.extend(
                maker.map(|maker| (what, Origin::Stage(self.file.stages[maker].name.clone()))),
            );
        }
        let is_there = |what: &What| links.iter().any(|(named, _)| named == what);
        let lacks = match take {
            Take::May(_) => false,
            Take::Needs(_) | Take::OneOf(_) | Take::FirstOf(_) => {
                !take.whats().iter().any(is_there)
            }
        };
        if lacks {
            let whats = take.whats();
            let wanted: Vec<&str> = whats.iter().map(|what| what.name()).collect();
            let mut makers: Vec<String> =
                whats.iter().map(|what| KindsThatMake(*what).to_string()).collect();
            makers.dedup();
            let (kind, wanted_names) = (kinds[at].name, wanted.join(" or "));
            let message = format!(
                "a stage of kind `{kind}` needs {wanted_names}, and no stage before it makes them"
            );
            let hint = format!(
                "put a stage before it that does ({}), or name a path: `input = {{ {} = \"./…\" }}`",
                makers.join("; "),
                wanted[0]
            );
            self.problem(at, message, hint);
        }
    }

    /// The stages such that each stands behind those it follows; of several the first in the file first.
    fn order(&mut self, parents: &[Option<usize>], links: &Links) -> Option<Vec<usize>> {
        let follows: Vec<BTreeSet<usize>> = (0..parents.len())
            .map(|at| {
                let named = links[at].iter().filter_map(|(_, origin)| match origin {
                    Origin::Stage(name) => self.at(name),
                    Origin::Path(_) => None,
                });
                named.chain(parents[at]).collect()
            })
            .collect();
        match order::in_order(&follows) {
            Ok(order) => Some(order),
            Err(circle) => {
                let names: Vec<&str> =
                    circle.iter().map(|&at| self.file.stages[at].name.as_str()).collect();
                let message =
                    format!("stages follow each other in a circle: {}", names.join(" → "));
                let hint = "change `after` or `input` of one of them".to_owned();
                self.problem(circle[0], message, hint);
                None
            }
        }
    }
}

/// An input to find.
struct Link<'a> {
    at: usize,
    take: &'a Take,
    kinds: &'a [&'static Kind],
    parents: &'a [Option<usize>],
}

/// The stages before one, the nearest first. A circle ends it.
fn before(at: usize, parents: &[Option<usize>]) -> impl Iterator<Item = usize> {
    let mut seen = BTreeSet::from([at]);
    std::iter::successors(parents[at], |&at| parents[at]).take_while(move |&at| seen.insert(at))
}

fn names(file: &StageFile) -> String {
    file.stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
