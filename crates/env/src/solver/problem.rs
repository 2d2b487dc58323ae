//! A task's body: the broken model, and what only the environment knows of it.
//!
//! ```json
//! {"kind":"solver","family":"transport","view":"lp","show_iis":true,
//!  "broken":{…},"base":{…},"undo":["DROP_CONSTRAINT c4"]}
//! ```
//!
//! `base` is the model before anything was injected, `undo` the actions that lead back to it. Both are hidden from
//! the model that repairs, and absent where somebody brings an infeasible model of their own.

use serde::{Deserialize, Serialize};
use whetstone_core::task::Body;
use whetstone_core::task::Task;
use whetstone_core::wire::{Object, WireError};
use whetstone_solver::Model;

use super::action::Action;
use super::wire_model::WireModel;
use super::{KIND, edit};
use crate::environment::EnvError;

/// Injections of a problem at most.
const MAX_INJECTIONS: usize = 16;

/// A model to repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The family that it was generated from; empty for a model that was brought.
    pub family: String,
    /// How the model is shown.
    pub view: View,
    /// Whether the IIS is shown at once, or has to be asked for.
    pub show_iis: bool,
    /// The infeasible model.
    pub broken: Model,
    /// The model before anything was injected.
    pub base: Option<Model>,
    /// One action for each injection, which undoes it.
    pub undo: Vec<Action>,
}

/// How a model is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// As Python code that builds it.
    Code,
    /// As an LP file.
    #[default]
    Lp,
    /// As a table of coefficients.
    Table,
}

impl Problem {
    /// The problem of a task.
    pub fn of(task: &Task) -> Result<Self, EnvError> {
        let broken: WireModel =
            field(task, "broken")?.ok_or_else(|| wrong("it has no `broken`"))?;
        let base: Option<WireModel> = field(task, "base")?;
        let undo: Vec<String> = field(task, "undo")?.unwrap_or_default();
        if undo.len() > MAX_INJECTIONS {
            return Err(wrong(format!("`undo` has more than {MAX_INJECTIONS} actions")));
        }
        let action = |text: &String| {
            Action::parse(text).map_err(|err| wrong(format!("`undo`, `{text}`: {}", err.0)))
        };
        let problem = Self {
            family: field(task, "family")?.unwrap_or_default(),
            view: field(task, "view")?.unwrap_or_default(),
            show_iis: field(task, "show_iis")?.unwrap_or(true),
            broken: broken.into_model().map_err(|err| wrong(format!("`broken`: {err}")))?,
            base: base
                .map(WireModel::into_model)
                .transpose()
                .map_err(|err| wrong(format!("`base`: {err}")))?,
            undo: undo.iter().map(action).collect::<Result<_, _>>()?,
        };
        problem.check()?;
        Ok(problem)
    }

    /// Undoing leads back to the base model.
    fn check(&self) -> Result<(), EnvError> {
        let Some(base) = &self.base else { return Ok(()) };
        let mut model = self.broken.clone();
        for action in &self.undo {
            edit::apply(&mut model, action).map_err(|err| wrong(format!("`undo`: {}", err.0)))?;
        }
        if model != *base {
            return Err(wrong("the actions of `undo` do not turn `broken` into `base`"));
        }
        Ok(())
    }

    /// As the body of a task.
    pub fn body(&self) -> Body {
        let mut fields = Object::new();
        fields.put("family", &self.family);
        fields.put("view", &self.view);
        if !self.show_iis {
            fields.put("show_iis", &false);
        }
        fields.put("broken", &WireModel::from(&self.broken));
        fields.put_some("base", self.base.as_ref().map(WireModel::from).as_ref());
        let undo: Vec<String> = self.undo.iter().map(ToString::to_string).collect();
        fields.put_some("undo", Some(&undo).filter(|undo| !undo.is_empty()));
        Body { kind: KIND.to_owned(), fields }
    }
}

fn wrong(problem: impl Into<String>) -> EnvError {
    EnvError::Task(problem.into())
}

/// A field that may be absent.
fn field<T: serde::de::DeserializeOwned>(
    task: &Task,
    name: &'static str,
) -> Result<Option<T>, EnvError> {
    match task.field(name) {
        Ok(value) => Ok(Some(value)),
        Err(WireError::Missing(_)) => Ok(None),
        Err(err) => Err(EnvError::Task(err.to_string())),
    }
}
