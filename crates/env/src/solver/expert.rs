//! The expert: replies that undo the injections, one a turn, in the form that a student learns from.
//!
//! It knows the task's `undo`; a model that was brought has none, and so no expert. Of the injected elements it takes one that the shown IIS names; there always is one,
//! because the base model has a solution. Its thinking says only what can be read off the shown model.

use std::fmt::Write;

use whetstone_core::extract::Reply;
use whetstone_core::message::{Message, Role};
use whetstone_core::task::Task;
use whetstone_solver::Model;

use super::action::{Action, Bound};
use super::episode::Repair;
use super::{SolverEnvironment, render};
use crate::environment::{EnvError, Episode};

/// Members of an IIS that the thinking goes through.
const LISTED: usize = 12;

/// The reply to a conversation, after its replies so far; none for a model that was brought.
pub(super) fn reply(
    environment: &SolverEnvironment,
    task: &Task,
    messages: &[Message],
) -> Result<Option<String>, EnvError> {
    let mut episode = environment.begin(task)?;
    if episode.problem.undo.is_empty() {
        return Ok(None);
    }
    let replies = messages.iter().filter(|message| message.role == Role::Assistant);
    for message in replies {
        episode.reply(Reply::text(&message.content))?;
    }
    Ok(Some(answer(&episode)))
}

fn answer(episode: &Repair) -> String {
    let open = episode.problem.undo.iter().filter(|undo| is_open(episode, undo));
    let in_iis = |undo: &&&Action| {
        let target = undo.target().unwrap_or_default();
        episode.state.iis.iter().any(|name| name == &element(undo, target))
    };
    let open: Vec<&Action> = open.collect();
    let chosen = open.iter().find(in_iis).or(open.first()).copied();
    let Some(action) = chosen.cloned() else {
        return "<think>\n1. Nothing is left to repair\n</think>\n\nDiagnosis: none\nAction: SUBMIT"
            .to_owned();
    };
    written(episode, &action)
}

/// The element of an IIS that an action repairs.
fn element(action: &Action, target: &str) -> String {
    match action {
        Action::ChangeBound { bound: Bound::Lower, .. } => format!("lb({target})"),
        Action::ChangeBound { bound: Bound::Upper, .. } => format!("ub({target})"),
        _ => target.to_owned(),
    }
}

/// Whether an injection is still in the model: undoing it would change something.
fn is_open(episode: &Repair, undo: &Action) -> bool {
    let mut model = episode.model.clone();
    super::edit::apply(&mut model, undo).is_ok()
        && model != episode.model
        && !is_undone(episode, undo)
}

/// A flipped sense looks the same from both sides: compare with the broken model.
fn is_undone(episode: &Repair, undo: &Action) -> bool {
    let Action::FlipSense { row } = undo else { return false };
    let find = |model: &Model| model.row(row).map(|at| model.rows[at].clone());
    find(&episode.model) != find(&episode.problem.broken)
}

fn written(episode: &Repair, action: &Action) -> String {
    let target = element(action, action.target().unwrap_or_default());
    let iis = &episode.state.iis;
    let mut lines = vec![format!("IIS contains {}", iis.join(", "))];
    lines.extend(iis.iter().take(LISTED).filter_map(|name| requirement(&episode.model, name)));
    lines.push("These conflict".to_owned());
    lines.push(reason(action, &target));
    let mut text = "<think>\n".to_owned();
    for (at, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "{}. {line}", at + 1);
    }
    let others: Vec<&str> = iis.iter().map(String::as_str).filter(|name| *name != target).collect();
    let _ = write!(
        text,
        "</think>\n\nDiagnosis: {target} conflicts with {}\nAction: ",
        others.join(", ")
    );
    text + &plain(action)
}

/// What a member of the IIS requires.
fn requirement(model: &Model, name: &str) -> Option<String> {
    let at = model.row(name)?;
    Some(format!("{name} requires {}", render::condition(model, &model.rows[at])))
}

fn reason(action: &Action, target: &str) -> String {
    match action {
        Action::DropConstraint { .. } => format!("{target} contradicts the others"),
        Action::FlipSense { .. } => format!("{target} has the wrong sense"),
        Action::SetCoef { variable, .. } => {
            format!("{target} has a wrong coefficient of {variable}")
        }
        Action::ChangeBound { .. } => format!("{target} is a wrong bound"),
        _ => format!("{target} has a wrong limit"),
    }
}

/// `DROP_CONSTRAINT c1`: name and arguments with spaces.
fn plain(action: &Action) -> String {
    action.to_string().replace(['(', ','], " ").replace(')', "").replace("  ", " ")
}
