//! The prompt of a command: what `prompt.template = "auto"` stands for once the student is known.
//!
//! One prompt serves all stages of a run. So a student that learns from traces is asked as their teacher was,
//! unless the settings say otherwise; a model that whet trained is asked as in its training; any other is asked
//! as its chat template allows ([`whetstone_model::prompting`]).

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_config::Loaded;
use whetstone_core::config::{PromptConfig, ThinkingMode};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::trace::Trace;
use whetstone_model::Pretrained;
use whetstone_model::prompting::{recorded, settle as settle_settings};
use whetstone_rollout::teach::PROMPT_FIELD;

use crate::failure::Failure;
use crate::find::{Around, Found, find};
use crate::observer::Observer;
use crate::text::many;
use crate::training::lengths;

/// The prompt of traces that do not say it: whet had one.
const UNIFIED: &str = "unified";

/// Settles the prompt of a model that is sampled, and makes its chat template do what the prompt says.
///
/// # Errors
///
/// If a prompt that was recorded beside the model cannot be used.
pub fn settle(
    asked: &PromptConfig,
    found: &Found,
    model: &mut Pretrained,
    observer: &dyn Observer,
) -> Result<PromptConfig, Failure> {
    let settled = settled(asked, found, model)?;
    model.use_prompt(&settled)?;
    say(&settled, observer)?;
    Ok(settled)
}

/// The prompt of a server's model, about which nothing is known: plain, and thinking is the server's.
pub(crate) fn of_server(asked: &PromptConfig) -> PromptConfig {
    if !asked.is_auto() {
        return asked.clone();
    }
    PromptConfig { thinking: ThinkingMode::Off, template: "plain".to_owned(), ..asked.clone() }
}

/// Settles the prompt of a training whose traces are made in the same command.
pub(crate) fn of_teacher(asked: &mut PromptConfig) {
    if asked.is_auto() {
        UNIFIED.clone_into(&mut asked.template);
        asked.thinking = ThinkingMode::Tags;
    }
}

/// Settles lengths and prompt of a training. The prompt is that of its traces, that of the checkpoint or model it starts
/// from, or what the student's chat template can do.
///
/// # Errors
///
/// If the student cannot be found, or a recorded prompt cannot be used.
pub(crate) fn of_training(
    loaded: Loaded,
    from: Option<&Path>,
    traces: &[Trace],
    observer: &dyn Observer,
) -> Result<Loaded, Failure> {
    let mut loaded = lengths::fit(loaded, observer)?;
    let asked = &loaded.config.prompt;
    let counts = trace_prompts(traces);
    let only = counts.keys().next().filter(|_| counts.len() == 1);
    let settled = if asked.is_auto() && only.is_some_and(|name| is_unified(name)) {
        let mut settled = asked.clone();
        of_teacher(&mut settled);
        settled
    } else if asked.thinking == ThinkingMode::Auto || asked.template == whetstone_core::config::AUTO
    {
        let name = &loaded.config.student.model_name;
        let found = find(name, &Around::of(&loaded.config, observer))?;
        let adapter = from.map(Path::to_owned).or(found.adapter.clone());
        let found = Found { adapter, ..found };
        settled(asked, &found, &found.open()?)?
    } else {
        asked.clone()
    };
    say(&settled, observer)?;
    warn_of_others(&counts, &settled, observer)?;
    loaded.config.prompt = settled;
    Ok(loaded)
}

/// The name and digest of a prompt, for records.
pub(crate) fn identity(prompt: &PromptConfig) -> String {
    PromptTemplate::of(prompt).map_or_else(|_| String::new(), |template| template.identity())
}

/// The settings with nothing left open.
fn settled(
    asked: &PromptConfig,
    found: &Found,
    model: &Pretrained,
) -> Result<PromptConfig, Failure> {
    Ok(settle_settings(asked, recorded_beside(found)?.as_ref(), model.template.as_ref()))
}

/// The prompt that was recorded beside an adapter, or else beside its model.
pub(crate) fn recorded_beside(found: &Found) -> Result<Option<PromptConfig>, Failure> {
    match found.adapter.as_deref().map(recorded).transpose()?.flatten() {
        Some(prompt) => Ok(Some(prompt)),
        None => Ok(recorded(&found.model)?),
    }
}

/// Says which prompt it is.
fn say(settled: &PromptConfig, observer: &dyn Observer) -> Result<(), Failure> {
    let identity = PromptTemplate::of(settled)?.identity();
    observer.note(&format_args!("prompt {identity}, thinking {}", settled.thinking));
    Ok(())
}

/// How many traces were made with each prompt.
fn trace_prompts(traces: &[Trace]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for trace in traces {
        let raw = trace.rest.get(PROMPT_FIELD);
        let name = raw.and_then(|raw| serde_json::from_str::<String>(raw).ok());
        *counts.entry(name.unwrap_or_else(|| UNIFIED.to_owned())).or_default() += 1;
    }
    counts
}

fn is_unified(identity: &str) -> bool {
    identity.split('-').next() == Some(UNIFIED)
}

/// Warns where traces were made with another prompt than the run's.
fn warn_of_others(
    counts: &BTreeMap<String, u64>,
    settled: &PromptConfig,
    observer: &dyn Observer,
) -> Result<(), Failure> {
    let template = PromptTemplate::of(settled)?;
    let own = template.identity();
    // Thinking in tags is what the unified prompt asks for, whether or not the teacher's settings said so.
    let is_same = |name: &str| name == own || (is_unified(name) && template.name() == UNIFIED);
    for (name, count) in counts.iter().filter(|(name, _)| !is_same(name)) {
        observer.warning(&format_args!(
            "{} made with the prompt `{name}`, and the run asks with `{own}`: one prompt should serve all stages \
             (`prompt.template`)",
            match count {
                1 => "1 trace was".to_owned(),
                count => format!("{} were", many(*count, "trace")),
            }
        ));
    }
    Ok(())
}
