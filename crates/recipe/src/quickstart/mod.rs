//! The quickstart: the whole pipeline, small, on what ships with `whet`.
//!
//! ```text
//! student ─► tasks ─► traces ─► pass@k ─► training ─► pass@k ─► summary, page
//! ```
//!
//! Every phase leaves its output in the run's directory. A resumed run skips completed phases, and
//! ends with the same figures as an uninterrupted one. There are no short cuts: traces are judged
//! like those of a server, training is that of `whet train grpo`, and figures are `eval`'s.

mod card;
mod dry_run;
mod measuring;
pub mod rlhf;
pub mod solver;
pub mod staged;
mod traces;
pub mod update_kl;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use whetstone_config::Loaded;
use whetstone_core::config::Config;
use whetstone_core::trace::Trace;
use whetstone_env::registry::Environments;
use whetstone_eval::{EvalError, Measured, pass_at_k};
use whetstone_record::error::RunError;
use whetstone_record::event;
use whetstone_record::report as page;
use whetstone_train::grpo::{STAGE, Source};
use whetstone_train::plan::Plan;
use whetstone_train::session::{FINAL_MODEL, Session};
use whetstone_train::student::EMBEDDED;
use whetstone_train::watch::Ended;
use whetstone_train::{Student, TrainError};

use self::dry_run::Trial;
use self::measuring::Suite;
use self::traces::JudgedFolder;
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::phases::{Phases, Trained};
use crate::prompting;
use crate::report::{QuickstartReport, Stopped};
use crate::student::Origin;
use crate::tasks::{self, Tasks};
use crate::text::estimate;
use crate::training::grpo;
use crate::training::said::{Announced, announce};
use crate::training::steps::{self, Training};
use crate::training::taught::{TraceFile, with_traces};
use crate::training::{RunRequest, begin};
use crate::{TRACES, environment, number, preset};

/// The name of the run, unless another is given.
pub const NAME: &str = "quickstart";

/// Runs the pipeline; `Err` if it was stopped, and completed phases are kept.
///
/// # Errors
///
/// If settings cannot be used, or a phase fails.
pub fn run(
    run: &RunRequest,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome<Result<QuickstartReport, Stopped>>, Failure> {
    let loaded = settings(run)?;
    let config = &loaded.config;
    // Contradictory settings are reported before anything is created.
    Plan::grpo(config, 1)?;
    tasks::generator(config)?;
    // Before anything large is loaded: the judge's processes are children of this one.
    let environment = environment::of_programs(config)?;
    let begun = begin::look(run, config, STAGE).map_err(|err| exists(run, err))?;
    let checkpoint = begun.checkpoint().map(Path::to_owned);
    if run.dry_run {
        let environment = &environment;
        let planned = dry_run::run(&Trial { run, config, environment, stop, observer })?;
        return Ok(Outcome::plan(planned));
    }
    let mut session = begun.session(run, &loaded, STAGE).map_err(|err| exists(run, err))?;
    if let Origin::Embedded(_) = Origin::of(config, session.dir()) {
        session.name_student(EMBEDDED);
    }
    let phases = known(&session, checkpoint.as_deref())?;
    let mut quickstart = Quickstart {
        run,
        config,
        environment,
        session,
        checkpoint,
        phases,
        stop,
        ended: false,
        observer,
    };
    Ok(Outcome::Done(match quickstart.go()? {
        Some(report) => Ok(quickstart.finish(report)?),
        None => Err(quickstart.stopped()?),
    }))
}

/// The command that resumes a run.
fn resume_command(run: &RunRequest) -> String {
    let name = if run.name == NAME { String::new() } else { format!(" --run {}", run.name) };
    format!("whet quickstart{name} --resume")
}

/// The settings of the run, with the path of the student that it will have.
fn settings(run: &RunRequest) -> Result<Loaded, Failure> {
    let mut loaded = begin::settings(run, &[preset::layer()])?;
    prompting::of_teacher(&mut loaded.config.prompt);
    let dir = Path::new(&loaded.config.run.dir).join(&run.name);
    if let Origin::Embedded(path) = Origin::of(&loaded.config, &dir) {
        loaded.config.student.model_name = path.display().to_string();
        loaded.places.remove("student.model_name");
    }
    Ok(loaded)
}

/// A name that is taken, with what to type instead.
fn exists(run: &RunRequest, err: TrainError) -> Failure {
    let TrainError::Run(RunError::Exists { path }) = err else { return Failure::Train(err) };
    let hint = format!(
        "resume it, or print its summary again: `{}`; start another: `whet quickstart --run NAME`",
        resume_command(run)
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
    run: &'a RunRequest,
    config: &'a Config,
    environment: Environments,
    session: Session,
    checkpoint: Option<PathBuf>,
    phases: Phases,
    stop: &'a AtomicBool,
    /// Whether the run's last event is written.
    ended: bool,
    observer: &'a dyn Observer,
}

/// When a measurement is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    After,
}

impl Quickstart<'_> {
    /// Runs every phase in order; `None` if it was stopped.
    fn go(&mut self) -> Result<Option<QuickstartReport>, Failure> {
        self.unpack()?;
        let tasks = self.tasks()?;
        let traces = self.traces(tasks.train.len())?;
        if self.phases.after.is_some() {
            self.say("4/6 to 6/6", "were done before");
        } else {
            let from = Some(final_model(&self.session)).filter(|path| path.is_dir());
            let from = from.or_else(|| self.checkpoint.clone());
            let mut student =
                begin::student(self.run, self.config, from.as_deref(), self.observer)?;
            let whole = self.measure(When::Before, &student, &tasks)?
                && self.train(&mut student, &tasks, traces)?
                && self.measure(When::After, &student, &tasks)?;
            if !whole {
                return Ok(None);
            }
        }
        Ok(Some(QuickstartReport::new(self.config, self.session.run().view(), &self.phases)?))
    }

    fn unpack(&self) -> Result<(), Failure> {
        let origin = Origin::of(self.config, self.session.dir());
        let path = origin.path().display();
        match origin.unpack(self.session.run())? {
            Some(bytes) => {
                let size = megabytes(bytes);
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

    fn traces(&mut self, tasks: usize) -> Result<Vec<Trace>, Failure> {
        self.say("3/6 traces", format_args!("the solutions that {tasks} tasks bring, judged"));
        let (config, dir, environment) = (self.config, self.session.dir(), &self.environment);
        let folder = JudgedFolder { config, dir, environment };
        let traces = traces::collect(folder, &mut self.phases, self.observer)?;
        let passing = traces.iter().filter(|trace| trace.passes()).count();
        self.told(format_args!("{passing} of {} pass", traces.len()));
        Ok(traces)
    }

    /// Measures, unless that is done; returns whether to continue.
    fn measure(&mut self, when: When, student: &Student, tasks: &Tasks) -> Result<bool, Failure> {
        let (count, samples) = (tasks.held_out.len(), self.config.eval.num_samples);
        let name = if when == When::Before { "4/6 before" } else { "6/6 after" };
        self.say(name, format_args!("{count} held-out tasks × {samples} samples"));
        if self.measured(when).is_none() {
            let suite = Suite {
                config: self.config,
                tasks: &tasks.held_out,
                environment: &self.environment,
                stop: self.stop,
            };
            let Some(found) = suite.measure(student, self.observer)? else { return Ok(false) };
            *self.measured(when) = Some(found);
            self.phases.save(self.session.dir())?;
        }
        if let Some(found) = self.measured(when).clone() {
            self.told(figures(&self.config.eval.k, &found)?);
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
    ) -> Result<bool, Failure> {
        self.say("5/6 training", "GRPO, with the teacher's traces and the student's own best");
        if !final_model(&self.session).is_dir() {
            let path = self.session.dir().join(TRACES);
            let traces = TraceFile { path: Some(&path), traces };
            let ids = tasks.train.iter().map(|task| &task.id);
            let taught = traces.teach(ids, student, self.config)?;
            taught.left_out.warn(self.observer);
            let taught = taught.rows;
            let announced = Announced {
                student,
                config: self.config,
                taught: &taught,
                held_out: tasks.held_out.len(),
            };
            announce(&announced, self.observer)?;
            let with_traces = with_traces(&tasks.train, &taught);
            let training = Training {
                reward_model: None,
                process_model: None,
                teacher: None,
                config: self.config,
                source: Source::Tasks(&with_traces),
                shown: grpo::SHOWN,
                held_out: &tasks.held_out,
                environment: &self.environment,
                checkpoint: self.checkpoint.as_deref(),
                stop: self.stop,
            };
            let ended = steps::train(student, &mut self.session, &training, self.observer);
            self.ended = true;
            if ended? != Ended::Done {
                return Ok(false);
            }
        }
        let trained = Trained::read(self.session.run().view())?;
        self.phases.training = Some(trained);
        self.phases.save(self.session.dir())?;
        self.told(learnt(&trained));
        Ok(true)
    }

    /// Writes the report and the page.
    fn finish(&mut self, report: QuickstartReport) -> Result<QuickstartReport, Failure> {
        self.end(event::Outcome::Completed)?;
        report.write(self.session.dir())?;
        card::complete(&final_model(&self.session), &self.phases, &self.config.eval.k)?;
        let view = self.session.run().view();
        page::write(view, page::PageRequest::default(), &page::default_path(view), &mut |_, _| ())?;
        Ok(report)
    }

    fn stopped(&mut self) -> Result<Stopped, Failure> {
        self.end(event::Outcome::Interrupted)?;
        Ok(Stopped::new(self.session.dir(), &resume_command(self.run)))
    }

    /// Records how the run ended, unless training has.
    fn end(&mut self, outcome: event::Outcome) -> Result<(), Failure> {
        if self.ended {
            return Ok(());
        }
        let why = if outcome == event::Outcome::Interrupted { "told to stop" } else { "" };
        Ok(self.session.finish(outcome, why.to_owned())?)
    }

    /// Says the beginning of a phase.
    fn say(&self, phase: &str, what: impl Display) {
        self.observer.note(&format_args!("{phase}: {what}"));
    }

    /// Says what came of it.
    fn told(&self, what: impl Display) {
        self.observer.note(&format_args!("    {what}"));
    }
}

/// Every pass@k of a measurement in one line.
fn figures(k: &[u32], found: &Measured) -> Result<String, EvalError> {
    let of = |&k: &u32| {
        let figure = pass_at_k(&found.tallies, u64::from(k))?;
        Ok(format!("pass@{k} {}", estimate(&figure)))
    };
    let figures = k.iter().map(of).collect::<Result<Vec<_>, EvalError>>()?;
    let rate = number(found.sampled_tokens) / found.seconds.max(1e-9);
    Ok(format!("{}; {:.1} s, {rate:.0} tokens/s", figures.join(", "), found.seconds))
}

/// The results of training, in one line.
fn learnt(trained: &Trained) -> String {
    let [first, last] = trained.pass_rate.map(|rate| 100.0 * rate);
    let (steps, rollouts, seconds) = (trained.steps, trained.rollouts, trained.seconds);
    format!(
        "{steps} steps, {rollouts} rollouts in {seconds:.1} s; {first:.1} % of them passed in the \
         first quarter, {last:.1} % in the last"
    )
}

/// Bytes for people.
fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", number(bytes as u64) / 1e6)
}
