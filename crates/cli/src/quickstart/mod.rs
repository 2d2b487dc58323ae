//! `whet quickstart`: the whole pipeline, small, on what ships with `whet`.
//!
//! ```text
//! student ─► tasks ─► traces ─► pass@k ─► training ─► pass@k ─► summary, page
//! ```
//!
//! Every phase leaves its output in the run's directory. A resumed run skips completed phases, and
//! ends with the same figures as an uninterrupted one. There are no short cuts: traces are judged
//! like those of a server, training is that of `whet train grpo`, and figures are `eval`'s.

mod args;
mod dry_run;
mod measuring;
#[cfg(test)]
mod sample_report;
mod summary;
mod traces;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::config::Config;
use whetstone_core::trace::Trace;
use whetstone_env::registry::Environments;
use whetstone_eval::Measured;
use whetstone_recipe::phases::{Phases, Trained};
use whetstone_recipe::report::{Report, Stopped};
use whetstone_recipe::student::Origin;
use whetstone_recipe::tasks::{self, Tasks};
use whetstone_recipe::{TRACES, preset};
use whetstone_record::error::RunError;
use whetstone_record::event::Outcome;
use whetstone_record::report as page;
use whetstone_train::grpo::{STAGE, Source};
use whetstone_train::plan::Plan;
use whetstone_train::session::{FINAL_MODEL, Session};
use whetstone_train::watch::Ended;
use whetstone_train::{Student, TrainError};

pub use self::args::QuickstartArgs;
use self::dry_run::Trial;
use self::measuring::Suite;
use self::traces::JudgedFolder;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::train::grpo::{self, TraceFile, Training};
use crate::train::{RunArgs, begin, stop};

/// Runs the pipeline.
pub(crate) fn run(args: &QuickstartArgs, printer: Printer) -> anyhow::Result<Exit> {
    let stop = stop::on_signal(printer);
    let run = args.run_args();
    let loaded = settings(&run)?;
    let config = &loaded.config;
    // Contradictory settings are reported before anything is created.
    Plan::grpo(config, 1).map_err(Failure::Train)?;
    tasks::generator(config).map_err(Failure::from)?;
    // Before anything large is loaded: the judge's processes are children of this one.
    let environment = crate::environment::of_programs(config)?;
    let begun = begin::look(&run, config, STAGE).map_err(|err| exists(args, err))?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    if args.dry_run {
        let (run, environment, stop) = (&run, &environment, &stop);
        return dry_run::run(&Trial { run, config, environment, stop, printer });
    }
    let session = begun.session(&run, &loaded, STAGE).map_err(|err| exists(args, err))?;
    let phases = known(&session, checkpoint.as_deref()).map_err(Failure::Train)?;
    let mut quickstart = Quickstart {
        run: &run,
        config,
        environment,
        session,
        checkpoint,
        phases,
        stop,
        ended: false,
        printer,
    };
    match quickstart.go()? {
        Some(report) => quickstart.finish(&report),
        None => quickstart.stopped(&args.resume_command()),
    }
}

/// The settings of the run, with the path of the student that it will have.
fn settings(run: &RunArgs) -> anyhow::Result<Loaded> {
    let mut loaded = begin::settings(run, &[preset::layer()])?;
    let dir = Path::new(&loaded.config.run.dir).join(&run.run);
    if let Origin::Embedded(path) = Origin::of(&loaded.config, &dir) {
        loaded.config.student.model_name = path.display().to_string();
        loaded.places.remove("student.model_name");
    }
    Ok(loaded)
}

/// A name that is taken, with what to type instead.
fn exists(args: &QuickstartArgs, err: TrainError) -> Failure {
    let TrainError::Run(RunError::Exists { path }) = err else { return Failure::Train(err) };
    let hint = format!(
        "resume it, or print its summary again: `{}`; start another: `whet quickstart --run NAME`",
        args.resume_command()
    );
    Failure::RunExists { path, hint }
}

/// The completed phases of a run. A run with weights but without the first measurement was made by
/// another command.
fn known(session: &Session, checkpoint: Option<&Path>) -> Result<Phases, TrainError> {
    let phases = Phases::load(session.dir())?.unwrap_or_default();
    let trained = checkpoint.is_some() || final_model(session).is_dir();
    if trained && phases.before.is_none() {
        let problem = "it was not started with `whet quickstart`".to_owned();
        return Err(TrainError::OtherRun { path: session.dir().to_owned(), problem });
    }
    Ok(phases)
}

fn final_model(session: &Session) -> PathBuf {
    session.run().view().outputs_dir().join(FINAL_MODEL)
}

/// A quickstart under way.
struct Quickstart<'a> {
    run: &'a RunArgs,
    config: &'a Config,
    environment: Environments,
    session: Session,
    checkpoint: Option<PathBuf>,
    phases: Phases,
    stop: Arc<AtomicBool>,
    /// Whether the run's last event is written.
    ended: bool,
    printer: Printer,
}

/// When a measurement is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    After,
}

impl Quickstart<'_> {
    /// Runs every phase in order; `None` if it was stopped.
    fn go(&mut self) -> anyhow::Result<Option<Report>> {
        self.unpack()?;
        let tasks = self.tasks()?;
        let traces = self.traces(tasks.train.len())?;
        if self.phases.after.is_some() {
            self.say("4/6 to 6/6", "were done before");
        } else {
            let from = Some(final_model(&self.session)).filter(|path| path.is_dir());
            let from = from.or_else(|| self.checkpoint.clone());
            let mut student = begin::student(self.run, self.config, from.as_deref(), self.printer)?;
            let whole = self.measure(When::Before, &student, &tasks)?
                && self.train(&mut student, &tasks, traces)?
                && self.measure(When::After, &student, &tasks)?;
            if !whole {
                return Ok(None);
            }
        }
        Ok(Some(Report::new(self.config, self.session.run().view(), &self.phases)?))
    }

    fn unpack(&self) -> Result<(), Failure> {
        let origin = Origin::of(self.config, self.session.dir());
        let path = origin.path().display();
        match origin.unpack(self.session.run())? {
            Some(bytes) => {
                let size = summary::megabytes(bytes);
                self.say("1/6 student", format_args!("embedded, {size}, unpacked to {path}"));
            }
            None => self.say("1/6 student", path),
        }
        Ok(())
    }

    fn tasks(&mut self) -> Result<Tasks, Failure> {
        self.say("2/6 tasks", "small generated functions; training and held-out shapes differ");
        let tasks = tasks::prepare(self.config, self.session.dir(), &mut self.phases)?;
        let (train, held_out) = (tasks.train.len(), tasks.held_out.len());
        self.told(format_args!("{train} for training, {held_out} held out"));
        Ok(tasks)
    }

    fn traces(&mut self, tasks: usize) -> anyhow::Result<Vec<Trace>> {
        self.say("3/6 traces", format_args!("the solutions that {tasks} tasks bring, judged"));
        let (config, dir, environment) = (self.config, self.session.dir(), &self.environment);
        let folder = JudgedFolder { config, dir, environment };
        let traces = traces::collect(folder, &mut self.phases, self.printer)?;
        let passing = traces.iter().filter(|trace| trace.passes()).count();
        self.told(format_args!("{passing} of {} pass", traces.len()));
        Ok(traces)
    }

    /// Measures, unless that is done; returns whether to continue.
    fn measure(&mut self, when: When, student: &Student, tasks: &Tasks) -> anyhow::Result<bool> {
        let (count, samples) = (tasks.held_out.len(), self.config.eval.num_samples);
        let name = if when == When::Before { "4/6 before" } else { "6/6 after" };
        self.say(name, format_args!("{count} held-out tasks × {samples} samples"));
        if self.measured(when).is_none() {
            let suite = Suite {
                config: self.config,
                tasks: &tasks.held_out,
                environment: &self.environment,
                stop: &self.stop,
            };
            let Some(found) = suite.measure(student, self.printer)? else { return Ok(false) };
            *self.measured(when) = Some(found);
            self.phases.save(self.session.dir()).map_err(Failure::Train)?;
        }
        if let Some(found) = self.measured(when).clone() {
            self.told(summary::figures(&self.config.eval.k, &found)?);
        }
        Ok(true)
    }

    fn measured(&mut self, when: When) -> &mut Option<Measured> {
        match when {
            When::Before => &mut self.phases.before,
            When::After => &mut self.phases.after,
        }
    }

    /// Trains, unless that is done; returns whether to continue.
    fn train(
        &mut self,
        student: &mut Student,
        tasks: &Tasks,
        traces: Vec<Trace>,
    ) -> anyhow::Result<bool> {
        self.say("5/6 training", "GRPO, with the teacher's traces and the student's own best");
        if !final_model(&self.session).is_dir() {
            let path = self.session.dir().join(TRACES);
            let traces = TraceFile { path: &path, traces };
            let taught = traces
                .teach(&tasks.train, student, self.config, self.printer)
                .map_err(Failure::Train)?;
            let plan = Plan::grpo(self.config, tasks.train.len()).map_err(Failure::Train)?;
            let arithmetic = plan.arithmetic("tasks", self.config.training.max_steps == 0);
            self.printer.note(&arithmetic);
            grpo::preflight(student, self.config, &taught, self.printer);
            let with_traces = grpo::with_traces(&tasks.train, &taught);
            let training = Training {
                config: self.config,
                source: Source::Tasks(&with_traces),
                shown: &grpo::SHOWN,
                held_out: &tasks.held_out,
                environment: &self.environment,
                checkpoint: self.checkpoint.as_deref(),
                stop: &self.stop,
            };
            let ended = grpo::train(student, &mut self.session, &training, self.printer);
            self.ended = true;
            if ended.map_err(Failure::Train)? != Ended::Done {
                return Ok(false);
            }
        }
        let trained = Trained::read(self.session.run().view()).map_err(Failure::Train)?;
        self.phases.training = Some(trained);
        self.phases.save(self.session.dir()).map_err(Failure::Train)?;
        self.told(summary::learnt(&trained));
        Ok(true)
    }

    /// Writes and prints the report.
    fn finish(&mut self, report: &Report) -> anyhow::Result<Exit> {
        self.end(Outcome::Completed)?;
        report.write(self.session.dir()).map_err(Failure::Train)?;
        let view = self.session.run().view();
        page::write(view, page::PageRequest::default(), &page::default_path(view), &mut |_, _| ())
            .map_err(Failure::View)?;
        if self.run.json {
            self.printer.json(report)?;
        } else {
            self.printer.raw(&summary::text(report, self.printer))?;
        }
        Ok(Exit::Done)
    }

    /// Prints how to resume.
    fn stopped(&mut self, resume: &str) -> anyhow::Result<Exit> {
        self.end(Outcome::Interrupted)?;
        if self.run.json {
            self.printer.json(&Stopped::new(self.session.dir(), resume))?;
        }
        self.printer
            .note(format_args!("stopped; completed phases are kept, resume with `{resume}`"));
        Ok(Exit::Done)
    }

    /// Records how the run ended, unless training has.
    fn end(&mut self, outcome: Outcome) -> Result<(), Failure> {
        if self.ended {
            return Ok(());
        }
        let why = if outcome == Outcome::Interrupted { "told to stop" } else { "" };
        Ok(self.session.finish(outcome, why.to_owned())?)
    }

    /// Prints the beginning of a phase.
    fn say(&self, phase: &str, what: impl std::fmt::Display) {
        self.printer.note(format_args!("{phase}: {what}"));
    }

    /// Says what came of it.
    fn told(&self, what: impl std::fmt::Display) {
        self.printer.note(format_args!("    {what}"));
    }
}
