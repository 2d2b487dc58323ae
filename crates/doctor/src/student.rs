//! Tests the student end to end: its prompt, its completion, the extraction from it, its training
//! row, and the reward of a reply.
//!
//! One small task goes through all stages of training, with the same functions. A small student may
//! well fail it: a bad completion is a warning at most.

use std::ops::ControlFlow;

use whetstone_core::Seed;
use whetstone_core::config::Config;
use whetstone_core::extract::{Form, Reply, Response, extract, opens_thinking};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::task::Task;
use whetstone_data::rows::Row;
use whetstone_env::judge;
use whetstone_env::python::{Reading, Rules};
use whetstone_env::stack::on_big_stack;
use whetstone_infer::{Generator, Limits, Local, Rule};
use whetstone_model::decoder::{LoadOptions, WeightFormat};
use whetstone_model::template::Options;
use whetstone_model::tokenizer::SpecialTokens;
use whetstone_model::{Pretrained, Tokenizer};
use whetstone_recipe::device;
use whetstone_recipe::failure::Failure;
use whetstone_recipe::find::{Around, Found, find};
use whetstone_recipe::observer::Observer;
use whetstone_recipe::prompting;
use whetstone_sandbox::job::{Job, Judging};
use whetstone_train::Ending;

use crate::formats::{CODE, THINKING, task};
use crate::{Finding, LabelledToken, replies};

/// The check of a training row.
const LABELS: &str = "SFT labels";
/// Tokens that the student may write.
const REPLY_TOKENS: usize = 256;
/// Characters of a reply that are shown.
const SHOWN: usize = 160;
/// Tokens of a row that are shown on either side of a border.
const AROUND: usize = 6;

/// Looks at the student; each finding is handed on as soon as it is there.
///
/// # Errors
///
/// Those of `say` alone.
pub fn checks<E>(
    config: &Config,
    given: &str,
    observer: &dyn Observer,
    say: &mut dyn FnMut(Finding) -> Result<(), E>,
) -> Result<(), E> {
    let mut config = config.clone();
    let opened = find(given, &Around::of(&config, observer)).and_then(|found| {
        let mut model = found.open().map_err(Failure::Model)?;
        let prompt = prompting::settle(&config.prompt, &found, &mut model, observer)?;
        Ok((model, found, prompt))
    });
    let (model, found, prompt) = match opened {
        Ok(opened) => opened,
        Err(err) => {
            let hint = "name a directory, a .gguf file, a run, a name of the hub, or `embedded`";
            return say(Finding::fail("student", whetstone_core::with_causes(&err), hint));
        }
    };
    config.prompt = prompt;
    let config = &config;
    let (tokens, positions) = (model.tokenizer.size(), model.config.positions);
    let detail = format!("`{given}`: {tokens} tokens known, sequences of up to {positions}");
    say(Finding::pass("student", detail))?;
    let Some(task) = task() else {
        return say(Finding::fail(
            "student's prompt",
            "no task",
            "this is a bug in whet: report it",
        ));
    };
    let prompt = match render(config, &model, &task) {
        Ok(prompt) => prompt,
        Err(problem) => {
            let hint = "training needs a chat template: use the instruct version of the model";
            return say(Finding::fail("student's prompt", problem, hint));
        }
    };
    say(prompt_finding(&model, &prompt))?;
    say(labels(config, &model, &prompt))?;
    // The judge's processes are children of this one: before anything large is loaded.
    say(reward(config, &task))?;
    say(reply(&Asked { config, model: &model, found: &found, observer }, &prompt))?;
    say(replies::finding(config, given, observer))
}

/// The rendered prompt.
fn render(config: &Config, model: &Pretrained, task: &Task) -> Result<String, String> {
    let prompt =
        PromptTemplate::of(&config.prompt).and_then(|template| template.prompt(task.view()));
    let messages = prompt.map_err(|err| err.to_string())?.messages();
    let template = model.template.as_ref().ok_or("the student has no chat template")?;
    template.render(&messages, &Options::prompt()).map_err(|err| err.to_string())
}

fn prompt_finding(model: &Pretrained, prompt: &str) -> Finding {
    let tokens = model.tokenizer.encode(prompt).map_or(0, |tokens| tokens.len());
    let opens = if opens_thinking(prompt) { "opens" } else { "does not open" };
    let detail = format!("{tokens} tokens; its chat template {opens} `<think>` for the student");
    Finding::pass("student's prompt", detail)
}

/// The labels of a row's tokens: all of them as data, those around the border as text.
fn labels(config: &Config, model: &Pretrained, prompt: &str) -> Finding {
    let bug = |detail: &str| Finding::fail(LABELS, detail, "this is a bug in whet: report it");
    let tokenizer = &model.tokenizer;
    let Some(ending) = Ending::of(model) else {
        let hint = "`tokenizer_config.json` names it as `eos_token`";
        return Finding::fail(LABELS, "the student has no token that ends a message", hint);
    };
    let Ok(response) = Response::new(Form::ThinkPython, THINKING, CODE) else {
        return bug("a response cannot be written");
    };
    let response = whetstone_train::thinking(config).response(&response, prompt);
    let Some(row) = Row::new(&ending, prompt, &response) else {
        return bug("the prompt has no tokens");
    };
    let labels: Vec<_> = row.labels().collect();
    let first = row.first_label();
    let masked = labels[..first].iter().all(Option::is_none);
    let own = row.tokens()[first..].iter().zip(&labels[first..]).all(|(id, at)| *at == Some(*id));
    let trained = &row.tokens()[first..row.tokens().len() - 1];
    let read_back = tokenizer.decode(trained, SpecialTokens::Shown);
    if !masked || !own {
        return bug("a token of the prompt is trained, or one of the response is not");
    }
    if read_back.ok().as_deref() != Some(response.as_str()) {
        let hint = "its tokenizer does not round-trip: training would use another text";
        return Finding::warn(LABELS, "the trained tokens are not read back as the response", hint);
    }
    row_finding(config, tokenizer, &row)
}

/// A row that is right, with all its tokens.
fn row_finding(config: &Config, tokenizer: &Tokenizer, row: &Row) -> Finding {
    let first = row.first_label();
    let text = |id: u32| tokenizer.decode(&[id], SpecialTokens::Shown).unwrap_or_default();
    let shown =
        |ids: &[u32]| ids.iter().map(|id| format!("{:?}", text(*id))).collect::<Vec<_>>().join(" ");
    let labelled = row.tokens().iter().zip(row.labels());
    let tokens = labelled.map(|(id, label)| LabelledToken {
        id: *id,
        text: text(*id),
        trained: label.is_some(),
    });
    let (before, after) = row.tokens().split_at(first);
    let thinking = if config.training.include_thinking {
        ", its thinking too"
    } else {
        ", without thinking (`training.include_thinking = false`)"
    };
    let finding = Finding::pass(
        LABELS,
        format!(
            "{first} tokens of the prompt masked, {} of the response trained{thinking}: … {} | {} … {}",
            after.len(),
            shown(&before[before.len().saturating_sub(AROUND)..]),
            shown(&after[..AROUND.min(after.len())]),
            shown(&after[after.len().saturating_sub(2)..]),
        ),
    );
    Finding { tokens: tokens.collect(), ..finding }
}

/// The student's reply, and the extraction from it.
fn reply(asked: &Asked<'_>, prompt: &str) -> Finding {
    const CHECK: &str = "student's reply";
    let text = match ask(asked, prompt) {
        Ok(text) => text,
        Err(problem) => {
            return Finding::fail(CHECK, problem, "`whet model info` shows its memory needs");
        }
    };
    let held = extract(Reply::text(&text).after(opens_thinking(prompt)), Form::ThinkPython);
    let characters = |text: &str| text.chars().count();
    let thinking = held.thinking.as_deref().map(characters);
    let code = held.code.as_ref().map(|code| characters(&code.source));
    let start: String = text.chars().take(SHOWN).collect();
    let said = |found: Option<usize>| {
        found.map_or_else(|| "none".to_owned(), |count| format!("{count} characters"))
    };
    let detail = format!(
        "{} characters: thinking {}, code {}; it begins {start:?}",
        characters(&text),
        said(thinking),
        said(code)
    );
    if thinking.is_some() && code.is_some() && !held.unclosed {
        Finding::pass(CHECK, detail)
    } else {
        let hint =
            "a student that does not write the format yet learns it from traces (`whet teach`)";
        Finding::warn(CHECK, detail, hint)
    }
}

/// A student that is asked.
struct Asked<'a> {
    config: &'a Config,
    model: &'a Pretrained,
    found: &'a Found,
    observer: &'a dyn Observer,
}

/// Asks the student, without chance.
fn ask(asked: &Asked<'_>, prompt: &str) -> Result<String, String> {
    let Asked { config, model, found, observer } = *asked;
    let said = |err: &dyn std::error::Error| whetstone_core::with_causes(err);
    let tokens = model.tokenizer.encode(prompt).map_err(|err| said(&err))?;
    let room = model.config.positions.saturating_sub(tokens.len()).min(REPLY_TOKENS);
    if room == 0 {
        return Err(format!("its prompt of {} tokens fills all positions", tokens.len()));
    }
    let device = device::open(config, None, observer).map_err(|err| said(&err))?;
    let options = LoadOptions { weights: WeightFormat::Frozen, positions: tokens.len() + room };
    let decoder = found.load(model, &device, options).map_err(|err| said(&err))?;
    let prompt = whetstone_infer::Prompt {
        tokens,
        messages: [].into(),
        samples: 1,
        first_sample: 0,
        rule: Rule { temperature: 0.0, ..Rule::default() },
        seed: Seed::new(config.seed),
        max_tokens: room,
        stop: Vec::new(),
    };
    let mut text = String::new();
    let mut local = Local::new(&decoder, &model.tokenizer, Limits::default());
    local
        .generate(&[prompt], &mut |drawn| {
            text = drawn.completion.text;
            ControlFlow::Continue(())
        })
        .map_err(|err| said(&err))?;
    Ok(text)
}

/// A whole response, read, run and paid.
fn reward(config: &Config, task: &Task) -> Finding {
    const CHECK: &str = "response to reward";
    let bug = "this is a bug in whet: report it";
    let Ok(response) = Response::new(Form::ThinkPython, THINKING, CODE) else {
        return Finding::fail(CHECK, "a response cannot be written", bug);
    };
    let started = match judge::start(config) {
        Ok(started) => started,
        Err(err) => return Finding::fail(CHECK, err.to_string(), "see the check `judge` above"),
    };
    let rules = Rules::new(config.reward.clone());
    let text = response.render();
    let Ok(reading) = on_big_stack(|stack| rules.read(task, Reply::text(&text), stack)) else {
        return Finding::fail(CHECK, "no thread can be started", "see the checks of the machine");
    };
    let Reading::Runs(candidate) = &reading else {
        return Finding::fail(CHECK, "the program of a right response does not compile", bug);
    };
    let limits = whetstone_env::python::limits(config);
    let (program, setup, tests) = (&candidate.program, task.setup.as_str(), &task.tests);
    match started.judge(Job { program, setup, tests, limits }) {
        Ok(judgement) if judgement.verdict().is_pass() => {
            let reward = rules.reward(&reading, &judgement);
            let counts = judgement.counts();
            let detail = format!(
                "{} of {} hidden tests passed, reward {:.3}",
                counts.passed,
                counts.total,
                reward.total()
            );
            Finding::pass(CHECK, detail)
        }
        Ok(judgement) => {
            let detail = format!("a right program gets `{}`", judgement.verdict().name());
            Finding::fail(CHECK, detail, bug)
        }
        Err(err) => Finding::fail(CHECK, err.to_string(), "see the check `judge` above"),
    }
}
