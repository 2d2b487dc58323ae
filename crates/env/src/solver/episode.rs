//! One episode: the model is shown, an action is carried out, the solver answers.
//!
//! ```text
//! user       Debug the infeasible optimization model. Model: … Status: INFEASIBLE IIS: [c1, c2, c3]
//! assistant  <think>…</think> Diagnosis: … Action: DROP_CONSTRAINT c1
//! user       Status: INFEASIBLE IIS: [c2, c5]
//! assistant  …
//! ```
//!
//! It ends when the model is OPTIMAL, with `SUBMIT`, or when the steps are used up. An action that cannot be read or
//! carried out is answered with a sentence and costs a step. So does an edit after which the solver has no verdict,
//! for whatever reason: it is taken back, because a reply must not be able to look like a broken machine. The model
//! before it was solved within the same bounds, so the edit is what made the difference.

use std::collections::BTreeSet;
use std::fmt::Write;

use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::outcome::Transition;
use whetstone_solver::{Limits, Model};

use super::action::{Action, ActionError};
use super::edit;
use super::limits::limits;
use super::number::show_rounded;
use super::problem::Problem;
use super::reply::Said;
use super::reward::{self, Done, Target};
use super::state::{State, Status};
use super::{KIND, elastic};
use crate::environment::{EnvError, Episode, Next, Outcome};

/// An episode in progress.
pub(super) struct Repair {
    pub(super) problem: Problem,
    pub(super) target: Target,
    pub(super) model: Model,
    pub(super) state: State,
    /// The state that the episode began with.
    first: State,
    pub(super) messages: Vec<Message>,
    pub(super) max_steps: usize,
    /// The bounds of a solve after an edit.
    pub(super) limits: fn(&Model) -> Limits,
    /// The cost of the edits in force.
    cost: f64,
    steps: usize,
    invalid: usize,
    /// Actions beyond the first of a reply.
    extra_actions: usize,
    /// Edits that the solver had no verdict for.
    undecided: usize,
    /// For each reply, the share of the IIS that its diagnosis names.
    diagnosed: Vec<f64>,
    named: BTreeSet<String>,
    transitions: Vec<Transition>,
    over: bool,
}

/// What an action led to.
struct Carried {
    /// A line for the model before the status, if there is something to say.
    note: Option<String>,
    valid: bool,
}

impl Repair {
    pub(super) fn new(problem: Problem, target: Target, state: State) -> Self {
        Self {
            model: problem.broken.clone(),
            first: state.clone(),
            problem,
            target,
            state,
            messages: Vec::new(),
            max_steps: super::MAX_STEPS,
            limits,
            cost: 0.0,
            steps: 0,
            invalid: 0,
            extra_actions: 0,
            undecided: 0,
            diagnosed: Vec::new(),
            named: BTreeSet::new(),
            transitions: Vec::new(),
            over: false,
        }
    }

    /// Carries out an action on the model.
    fn carry_out(&mut self, action: &Action) -> Carried {
        match action {
            Action::Submit => Carried { note: None, valid: true },
            Action::GetIis => self.told_iis(),
            Action::CheckSlack { row } => self.check_slack(row),
            Action::Reset => {
                self.model = self.problem.broken.clone();
                self.cost = 0.0;
                self.state = self.first.clone();
                Carried { note: None, valid: true }
            }
            edit => self.edit(edit),
        }
    }

    fn told_iis(&self) -> Carried {
        let note = if self.state.iis.is_empty() {
            "There is no IIS: the model is not infeasible.".to_owned()
        } else {
            self.state.iis_line()
        };
        // Where the IIS is shown anyway, the status says it.
        let note = (!self.problem.show_iis || self.state.iis.is_empty()).then_some(note);
        Carried { note, valid: true }
    }

    fn check_slack(&self, row: &str) -> Carried {
        let at = match edit::find_row(&self.model, row) {
            Ok(at) => at,
            Err(err) => return refused(&err),
        };
        let note = match elastic::violations(&self.model, &(self.limits)(&self.model)) {
            Ok(Some(by)) if by[at] > 1e-9 => {
                format!(
                    "{row} gives way by {} in the least repair of all rows.",
                    show_rounded(by[at])
                )
            }
            Ok(Some(_)) => format!("{row} need not give way in the least repair of all rows."),
            Ok(None) => "The bounds alone have no solution.".to_owned(),
            Err(_) => "The solver found no slack.".to_owned(),
        };
        Carried { note: Some(note), valid: true }
    }

    fn edit(&mut self, action: &Action) -> Carried {
        let mut model = self.model.clone();
        let cost = match edit::apply(&mut model, action) {
            Ok(cost) => cost,
            Err(err) => return refused(&err),
        };
        let Ok(state) = State::find(&model, &(self.limits)(&model)) else {
            self.undecided += 1;
            let note = "the solver cannot decide the model after this edit; it was taken back.";
            return refused(&ActionError(note.to_owned()));
        };
        (self.model, self.state) = (model, state);
        self.cost += cost;
        Carried { note: None, valid: true }
    }

    /// Notes the share of the IIS that a diagnosis names.
    fn diagnose(&mut self, iis: &[String], diagnosis: &BTreeSet<String>) {
        if iis.is_empty() {
            return;
        }
        let named = iis.iter().filter(|name| diagnosis.contains(*name)).count();
        #[expect(clippy::cast_precision_loss, reason = "members are far below 2^53")]
        self.diagnosed.push(named as f64 / iis.len() as f64);
        self.named.extend(diagnosis.iter().cloned());
    }

    fn outcome(&mut self, ended: &str) -> Outcome {
        self.over = true;
        let done = Done { steps: self.steps, invalid: self.invalid };
        let optimum = self.state.optimum().cloned();
        let (reward, kept) = match &optimum {
            Some(optimum) => {
                let kept = self.target.kept(&self.model, optimum, self.cost);
                (reward::solved(kept, done, self.target.steps), kept)
            }
            None => (reward::unsolved(done), reward::Kept::default()),
        };
        let mut outcome = Outcome::observed(KIND, optimum.is_some(), reward)
            .with_fact("steps", &self.steps)
            .with_fact("invalid", &self.invalid)
            .with_fact("diagnosis_accuracy", &mean(&self.diagnosed))
            .with_fact("root_named", &self.root_named())
            .with_fact("iis_size", &self.first.iis.len())
            .with_fact("extra_actions", &self.extra_actions)
            .with_fact("undecided", &self.undecided)
            .with_fact("ended", &ended)
            .with_fact("family", &self.problem.family);
        if let Some(rows_kept) = self.target.rows_kept(&self.model) {
            outcome = outcome
                .with_fact("optimum_kept", &kept.objective)
                .with_fact("rows_kept", &rows_kept);
        }
        outcome.with_transitions(std::mem::take(&mut self.transitions))
    }

    /// The share of injected elements that some diagnosis named.
    fn root_named(&self) -> f64 {
        let roots: Vec<&str> = self.problem.undo.iter().filter_map(Action::target).collect();
        let named = roots.iter().filter(|root| self.named.contains(**root)).count();
        #[expect(clippy::cast_precision_loss, reason = "injections are few")]
        let share = named as f64 / roots.len().max(1) as f64;
        share
    }

    /// What the model is told after an action.
    fn answer(&self, carried: &Carried, actions: usize) -> String {
        let mut text = String::new();
        if let Some(note) = &carried.note {
            let _ = writeln!(text, "{note}");
        }
        if actions > 1 {
            let _ = writeln!(text, "{actions} actions were given: only the last one counts.");
        }
        text + &self.state.told(self.problem.show_iis)
    }
}

impl Episode for Repair {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        let said = Said::in_reply(reply);
        let before = self.state.clone();
        let (carried, action) = match &said.action {
            Ok(action) => (self.carry_out(action), action.to_string()),
            Err(err) => (refused(err), "none".to_owned()),
        };
        self.diagnose(&before.iis, &said.diagnosis);
        self.steps += 1;
        self.invalid += usize::from(!carried.valid);
        self.extra_actions += said.actions.saturating_sub(1);
        self.transitions.push(transition(&before, &self.state, action, carried.valid));
        if matches!(self.state.status, Status::Optimal(_)) {
            return Ok(Next::Done(self.outcome("optimal")));
        }
        if carried.valid && said.action == Ok(Action::Submit) {
            return Ok(Next::Done(self.outcome("submit")));
        }
        if self.steps >= self.max_steps {
            return Ok(Next::Done(self.outcome("limit")));
        }
        let answer = self.answer(&carried, said.actions);
        self.messages.extend([Message::assistant(reply.text), Message::user(answer)]);
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        if self.over {
            return Err(EnvError::Over);
        }
        Ok(self.outcome("limit"))
    }
}

/// The label of a step: the IIS is smaller, or the status became OPTIMAL.
fn transition(before: &State, after: &State, action: String, valid: bool) -> Transition {
    let solved = matches!(after.status, Status::Optimal(_));
    let both = matches!((&before.status, &after.status), (Status::Infeasible, Status::Infeasible));
    let smaller = both && after.iis.len() < before.iis.len();
    let (state, next_state) = (before.summary(), after.summary());
    Transition { state, action, next_state, valid, progress: valid && (solved || smaller) }
}

fn refused(err: &ActionError) -> Carried {
    Carried { note: Some(format!("Error: {}", err.0)), valid: false }
}

fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "replies are far below 2^53")]
    let count = values.len().max(1) as f64;
    values.iter().sum::<f64>() / count
}
