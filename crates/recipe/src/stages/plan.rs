//! From a stage file to its stages in order, each with its kind, settings and inputs.
//!
//! A stage follows the one above it, or the one that `after` names. An input that is not named is that of
//! the nearest stage before it, along this line, that makes one. Everything that can be wrong with a file
//! by itself is found here, before anything begins.

use std::collections::BTreeSet;
use std::path::PathBuf;

use whetstone_config::{Loaded, Problem, Sources, StageEntry, StageFile};

use super::job::Kind;
use super::kinds;
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
    /// The stages of a file; `set` are keys over all of its settings.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its place.
    pub fn new(file: StageFile, set: &[String]) -> Result<Self, Failure> {
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
        let base =
            Sources { layers: vec![file.settings()], set: set.to_vec(), ..Sources::default() };
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
        Ok(Self { stages, loaded, file })
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
            let sources = Sources { layers, set: set.to_vec(), ..Sources::default() };
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
            match self.at(after) {
                Some(parent) => parents.push(Some(parent)),
                None => {
                    let message = format!(
                        "it is after `{}`, which is not a stage",
                        crate::text::plain(after, 60)
                    );
                    self.problem(at, message, format!("the stages are {}", names(self.file)));
                }
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
                    self.unnamed(Link { at, take, kinds, parents }, &mut links);
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
    fn unnamed(&mut self, link: Link<'_>, links: &mut Vec<(What, Origin)>) {
        let Link { at, take, kinds, parents } = link;
        for &what in take.whats() {
            if links.iter().any(|(named, _)| *named == what) {
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
            Take::Needs(_) | Take::OneOf(_) => !take.whats().iter().any(is_there),
        };
        if lacks {
            let whats = take.whats();
            let wanted: Vec<&str> = whats.iter().map(|what| what.name()).collect();
            let makers: Vec<String> =
                whats.iter().map(|what| KindsThatMake(*what).to_string()).collect();
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
        let mut order: Vec<usize> = Vec::new();
        while order.len() < follows.len() {
            let is_ready = |at: &usize| {
                !order.contains(at) && follows[*at].iter().all(|before| order.contains(before))
            };
            let Some(next) = (0..follows.len()).find(is_ready) else {
                self.circle(&follows, &order);
                return None;
            };
            order.push(next);
        }
        Some(order)
    }

    /// Names the stages of a circle among those that cannot be put in order.
    fn circle(&mut self, follows: &[BTreeSet<usize>], done: &[usize]) {
        let open = |at: &usize| !done.contains(at);
        let Some(mut at) = (0..follows.len()).find(open) else { return };
        let mut path = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            match follows[at].iter().find(|before| open(before)) {
                Some(&before) => at = before,
                None => return,
            }
        }
        let begin = path.iter().position(|&seen| seen == at).unwrap_or(0);
        let circle = path[begin..].iter().chain([&at]);
        let circle: Vec<&str> = circle.map(|&at| self.file.stages[at].name.as_str()).collect();
        let message = format!("stages follow each other in a circle: {}", circle.join(" → "));
        self.problem(at, message, "change `after` or `input` of one of them".to_owned());
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

/// The kinds of stages that make something, as text.
struct KindsThatMake(What);

impl std::fmt::Display for KindsThatMake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let makers =
            kinds::KINDS.iter().filter(|kind| kind.makes.iter().any(|(made, _)| *made == self.0));
        let makers: Vec<&str> = makers.map(|kind| kind.name).collect();
        f.write_str(&makers.join(", "))
    }
}

fn names(file: &StageFile) -> String {
    file.stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, String> {
        let text = text.replace("STAGE", "[[stage]]\nkind =");
        let file = StageFile::parse("f.toml".into(), text).unwrap();
        Plan::new(file, &[]).map_err(|err| err.details().join("\n"))
    }

    fn inputs(plan: &Plan, name: &str) -> Vec<String> {
        let stage = &plan.stages[plan.find(name).unwrap()];
        let text = |origin: &Origin| match origin {
            Origin::Stage(name) => name.clone(),
            Origin::Path(path) => path.display().to_string(),
        };
        let mut all: Vec<String> = stage
            .inputs
            .iter()
            .map(|(what, from)| format!("{}={}", what.name(), text(from)))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn inputs_are_those_of_the_nearest_stage_before() {
        let plan = plan(
            "STAGE 'data'\nSTAGE 'validate'\nSTAGE 'teach'\nSTAGE 'sft'\nSTAGE 'grpo'\nSTAGE 'eval'\n",
        )
        .unwrap();
        assert_eq!(inputs(&plan, "teach"), ["tasks=validate"]);
        assert_eq!(inputs(&plan, "sft"), ["traces=teach"]);
        let grpo = ["held_out=data", "model=sft", "tasks=validate", "traces=teach"];
        assert_eq!(inputs(&plan, "grpo"), grpo);
        assert_eq!(inputs(&plan, "eval"), ["held_out=data", "model=grpo"]);
    }

    #[test]
    fn a_branch_takes_what_stands_on_its_own_line() {
        let plan = plan(
            "STAGE 'data'\nSTAGE 'eval'\nname = 'before'\nSTAGE 'teach'\nSTAGE 'sft'\nSTAGE 'grpo'\n\
             STAGE 'eval'\nname = 'of-sft'\nafter = 'sft'\n",
        )
        .unwrap();
        assert_eq!(inputs(&plan, "before"), ["held_out=data"], "the student itself");
        assert_eq!(inputs(&plan, "of-sft"), ["held_out=data", "model=sft"]);
        let again = plan.and_after(plan.find("grpo").unwrap());
        assert_eq!(again, BTreeSet::from(["grpo".to_owned()]), "the branch does not depend on it");
        assert_eq!(plan.and_after(plan.find("teach").unwrap()).len(), 4);
    }

    #[test]
    fn a_stage_may_follow_one_that_stands_below_it() {
        let plan =
            plan("STAGE 'data'\nSTAGE 'sft'\nafter = 'teach'\nSTAGE 'teach'\nafter = 'data'\n")
                .unwrap();
        let order: Vec<&str> = plan.stages.iter().map(|stage| stage.entry.name.as_str()).collect();
        assert_eq!(order, ["data", "teach", "sft"]);
    }

    #[test]
    fn a_named_input_is_a_stage_or_a_path() {
        let plan = plan("STAGE 'sft'\ninput = { traces = './t.jsonl', model = './m' }\n").unwrap();
        assert_eq!(inputs(&plan, "sft"), ["model=./m", "traces=./t.jsonl"]);
        let missing = plan.check_files().unwrap_err().details().join("\n");
        assert!(missing.contains("there is no `./t.jsonl` to take traces from"), "{missing}");
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let found = plan(text).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn what_cannot_run_is_refused_with_its_place_before_anything_begins() {
        refused(
            "STAGE 'stf'\n",
            "f.toml:1:1: `stage stf`: `stf` is not a kind of stage\n  hint: there are data",
        );
        refused(
            "STAGE 'sft'\n",
            "needs traces, and no stage before it makes them\n  hint: put a stage before it",
        );
        refused(
            "STAGE 'data'\nSTAGE 'eval'\nafter = 'x'\n",
            "it is after `x`, which is not a stage",
        );
        refused(
            "STAGE 'data'\nSTAGE 'teach'\ninput = { tasks = 'dta' }\n",
            "its tasks are those of `dta`, which is not a stage\n  hint: the stages are data, teach; a path is",
        );
        refused(
            "STAGE 'data'\nSTAGE 'teach'\nSTAGE 'eval'\ninput = { model = 'teach' }\n",
            "the stage `teach` does not make model\n  hint: stages of these kinds do: sft, grpo",
        );
        refused(
            "STAGE 'data'\nSTAGE 'teach'\ninput = { model = 'x' }\n",
            "a stage of kind `teach` has no input `model`\n  hint: it takes tasks",
        );
        refused("STAGE 'data'\nembeded = 3\n", "f.toml:3:1: `stage data`: unknown field `embeded`");
        refused(
            "STAGE 'data'\nSTAGE 'teach'\nset = { 'training.lr' = 3 }\n",
            "f.toml:5:9: `training.lr`: unknown key",
        );
    }

    #[test]
    fn a_circle_is_named() {
        let circle = "STAGE 'data'\nSTAGE 'teach'\nafter = 'sft'\nSTAGE 'sft'\n\
                      input = { traces = './t.jsonl' }\n";
        refused(circle, "stages follow each other in a circle: teach → sft → teach");
        let itself = "STAGE 'data'\nSTAGE 'validate'\ninput = { tasks = 'validate' }\n";
        refused(itself, "stages follow each other in a circle: validate → validate");
    }
}
