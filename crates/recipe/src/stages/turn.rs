//! The stages, each in its turn.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use whetstone_record::report::{self as page, PageRequest};
use whetstone_record::run_dir::RunDir;
use whetstone_record::stages::{STAGES_DIR, StageFileDigest, StageState, Stages, stage_dir};

use super::changed::{inputs, options, path_of, settings};
use super::digest::digest;
use super::job::{Input, Job, Stops};
use super::pages::write_stage_pages;
use super::plan::{Origin, Plan, PlannedStage};
use super::{MODELS, StagesEnd, StagesRequest, StopFlags};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::text::duration;

/// A run whose stages take their turns.
pub(super) struct Turn<'a> {
    pub(super) request: &'a StagesRequest,
    pub(super) plan: &'a Plan,
    pub(super) run: RunDir,
    pub(super) stages: Stages,
    pub(super) flags: StopFlags<'a>,
    pub(super) observer: &'a dyn Observer,
}

impl Turn<'_> {
    /// Runs every stage that is not done, up to one; `false` if it was told to stop.
    pub(super) fn go(&mut self, until: usize) -> Result<bool, Failure> {
        let (plan, all) = (self.plan, self.plan.stages.len());
        for (at, stage) in plan.stages.iter().enumerate().take(until + 1) {
            let (number, name) = (at + 1, &stage.entry.name);
            let command = stage.kind.command;
            if self.stages.stages[at].state == StageState::Done {
                self.observer.note(&format_args!("{number}/{all} {name}: done before"));
                continue;
            }
            if self.flags.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let is_begun = self.stages.stages[at].state == StageState::Begun;
            let how = if is_begun { "resumes" } else { "begins" };
            self.observer.note(&format_args!("{number}/{all} {name} {how}: `{command}`"));
            if !self.stage(at, stage)? {
                return Ok(false);
            }
            let record = &self.stages.stages[at];
            let took = duration(record.seconds);
            let figures =
                record.figures.iter().map(|one| format!("{} {}", one.name, short(one.value)));
            let figures: Vec<String> = figures.collect();
            self.observer.note(&format_args!("    {name}: {}; {took}", figures.join(", ")));
        }
        Ok(true)
    }

    /// Runs one stage and records it; `false` if it was told to stop.
    fn stage(&mut self, at: usize, stage: &PlannedStage) -> Result<bool, Failure> {
        let began = Instant::now();
        let dir = self.run.view().dir().to_owned();
        let inputs = inputs(stage, self.plan, &dir)?;
        let record = &mut self.stages.stages[at];
        record.state = StageState::Begun;
        record.settings = settings(stage);
        record.options = options(stage)?;
        record.inputs = inputs;
        self.stages.save(self.run.view())?;
        self.flags.at_once.store(stage.kind.stops == Stops::AtOnce, Ordering::Relaxed);
        let outcome = (stage.kind.run)(&self.job(stage));
        self.flags.at_once.store(false, Ordering::Relaxed);
        let record = &mut self.stages.stages[at];
        record.seconds += began.elapsed().as_secs_f64();
        let figures = match outcome {
            Ok(Outcome::Done(Some(figures))) => figures,
            Ok(Outcome::Done(None) | Outcome::Planned(_)) => {
                self.stages.save(self.run.view())?;
                return Ok(false);
            }
            Err(err) => {
                // The stage's own error is what must be told.
                let _ = self.stages.save(self.run.view());
                return Err(err);
            }
        };
        record.figures = figures;
        record.outputs.clear();
        for (what, file) in stage.kind.makes {
            let path = stage_dir(&dir, &stage.entry.name).join(file);
            if path.exists() {
                let relative = format!("{STAGES_DIR}/{}/{file}", stage.entry.name);
                let (what, blake3) = (what.name().to_owned(), digest(&path)?);
                record.outputs.push(StageFileDigest { what, path: relative, blake3 });
            }
        }
        record.state = StageState::Done;
        self.stages.save(self.run.view())?;
        Ok(true)
    }

    fn job<'j>(&'j self, stage: &'j PlannedStage) -> Job<'j> {
        let dir = self.run.view().dir();
        let input = |what, origin: &Origin| {
            let path = path_of(what, origin, self.plan, dir);
            let stage = match origin {
                Origin::Stage(name) => Some(name.clone()),
                Origin::Path(_) => None,
            };
            Input { path, stage }
        };
        let found = stage.inputs.iter().map(|(what, origin)| (*what, input(*what, origin)));
        let inputs: BTreeMap<_, _> = found.filter(|(_, input)| input.path.exists()).collect();
        Job {
            entry: &stage.entry,
            config: &stage.loaded.config,
            sources: &stage.sources,
            stages: dir.join(STAGES_DIR),
            models: dir.join(MODELS),
            inputs,
            dry_run: false,
            device: self.request.device,
            threads: self.request.threads,
            stop: self.flags.stop,
            observer: self.observer,
        }
    }

    /// Writes the pages of the run and of its trainings, and says how it ended.
    pub(super) fn end(self, whole: bool) -> Result<StagesEnd, Failure> {
        let view = self.run.view();
        let done = self.stages.stages.iter().all(|stage| stage.state == StageState::Done);
        let mut page = None;
        if whole {
            write_stage_pages(view)?;
            let out = page::default_path(view);
            page::write(view, PageRequest::default(), &out, &mut |_, _| ())?;
            page = Some(out.display().to_string());
        }
        let run = view.dir().display().to_string();
        Ok(StagesEnd { v: 1, done, stopped: !whole, run, stages: self.stages.stages, page })
    }
}

/// A figure for one line.
fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}
