//! Our own formats agree with each other: prompt, response and extraction.

use whetstone_core::Language;
use whetstone_core::config::{Config, PromptConfig};
use whetstone_core::extract::{Form, Origin, Reply, Response, extract};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::task::{Task, TaskView, VisibleTests};
use whetstone_core::wire::Wire;
use whetstone_env::python::{Reading, Rules};
use whetstone_env::stack::on_big_stack;

use crate::Finding;

/// Thinking of a response to the task of the checks.
pub const THINKING: &str = "A number is prime if nothing up to its root divides it.";
/// The code of that response.
pub const CODE: &str =
    "def is_prime(n):\n    return n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))";

/// A task that [`CODE`] solves.
const TASK: &str = r#"{"id":"doctor","statement":"Say whether a number is prime.","tests":{"kind":"calls","entry_point":"is_prime","hidden":[{"args":[7],"expected":true},{"args":[9],"expected":false},{"args":[1],"expected":false}]}}"#;

/// The task of the checks.
pub fn task() -> Option<Task> {
    Task::from_object(serde_json::from_str(TASK).ok()?).ok()
}

/// The prompt asks for what extraction reads.
pub fn prompt(config: &Config) -> Finding {
    let task = TaskView {
        statement: "Say whether a number is prime.",
        language: Language::Python,
        entry_point: Some("is_prime"),
        visible: VisibleTests::Code(&[]),
    };
    let unified = PromptConfig { language: config.prompt.language, ..PromptConfig::default() };
    let prompt = match PromptTemplate::of(&unified).and_then(|template| template.prompt(task)) {
        Ok(prompt) => prompt,
        Err(err) => {
            let hint = "this is a bug in whet: report it";
            return Finding::fail("unified prompt", err.to_string(), hint);
        }
    };
    let parts = [task.statement, "`is_prime`", "<think>", "</think>", "```python"];
    match parts.iter().find(|part| !prompt.user.contains(*part)) {
        None => {
            let detail =
                format!("asks for thinking and code ({} characters)", prompt.user.chars().count());
            Finding::pass("unified prompt", detail)
        }
        Some(part) => Finding::fail(
            "unified prompt",
            format!("lacks {part:?}"),
            "this is a bug in whet: report it",
        ),
    }
}

/// The response format round-trips through extraction.
pub fn extraction(_: &Config) -> Finding {
    const CHECK: &str = "extraction";
    let agrees = Response::new(Form::ThinkPython, THINKING, CODE).is_ok_and(|response| {
        let text = response.render();
        let found = extract(Reply::text(&text), Form::ThinkPython);
        let code = found.code.filter(|code| code.origin == Origin::Tagged);
        found.thinking.as_deref() == Some(THINKING) && code.is_some_and(|code| code.source == CODE)
    });
    if agrees {
        Finding::pass(
            CHECK,
            format!("thinking ({} characters) and code ({}) read back", THINKING.len(), CODE.len()),
        )
    } else {
        Finding::fail(
            CHECK,
            "a response is not read back as written",
            "this is a bug in whet: report it",
        )
    }
}

/// A draft that is not a solution.
const DRAFT: &str = "```python\ndef is_prime(n):\n    return n % 2 == 1\n```";

/// A way in which teachers answer.
struct Layout {
    name: &'static str,
    text: String,
    /// Thinking that came in a field of its own.
    reasoning: Option<&'static str>,
    /// The thinking that is to be read.
    thinking: String,
}

fn layouts() -> Vec<Layout> {
    let block = format!("```python\n{CODE}\n```");
    let drafted = format!("{THINKING}\n\n{DRAFT}\n\nThat takes 9 for a prime.");
    let layout = |name, text| Layout { name, text, reasoning: None, thinking: THINKING.to_owned() };
    let with_draft = |name, text| Layout { thinking: drafted.clone(), ..layout(name, text) };
    vec![
        layout("tags and a fence", format!("<think>\n{THINKING}\n</think>\n\n{block}\n")),
        Layout {
            reasoning: Some(THINKING),
            ..layout("thinking in a field", format!("Here it is.\n\n{block}\n"))
        },
        layout(
            "a fence without a language",
            format!("<think>{THINKING}</think>\n```\n{CODE}\n```"),
        ),
        layout(
            "a fence of tildes",
            format!("<think>{THINKING}</think>\n\nSo:\n\n~~~py\n{CODE}\n~~~\nDone."),
        ),
        with_draft(
            "a draft inside the thinking",
            format!("<think>\n{drafted}\n</think>\n\n{block}\n"),
        ),
        with_draft(
            "a draft inside thinking that the chat template opened",
            format!("{drafted}\n</think>\n\n{block}\n"),
        ),
        layout(
            "answer tags",
            format!("<think>\n{THINKING}\n</think>\n<answer>\n{block}\n</answer>"),
        ),
        layout("no fence", format!("<think>\n{THINKING}\n</think>\n\n{CODE}\n")),
    ]
}

/// However a teacher lays its answer out, the same thinking and code are read, and the code compiles.
pub fn teacher_formats(config: &Config) -> Finding {
    const CHECK: &str = "teacher's formats";
    let bug = "this is a bug in whet: report it";
    let layouts = layouts();
    for Layout { name, text, reasoning, thinking } in &layouts {
        let reply = Reply { reasoning: *reasoning, ..Reply::text(text) };
        let found = extract(reply, Form::ThinkPython);
        let code = found.code.as_ref().map(|code| code.source.as_ref());
        if found.thinking.as_deref() != Some(thinking) || code != Some(CODE) {
            return Finding::fail(CHECK, format!("{name}: not read as it was written"), bug);
        }
    }
    let Some(task) = task() else { return Finding::fail(CHECK, "no task", bug) };
    let rules = Rules::new(config.reward.clone());
    let compiles = on_big_stack(|stack| {
        let runs =
            |text: &str| matches!(rules.read(&task, Reply::text(text), stack), Reading::Runs(_));
        layouts.iter().all(|layout| runs(&layout.text))
    });
    match compiles {
        Ok(true) => {
            let detail = format!("{} layouts are read alike, and the code compiles", layouts.len());
            Finding::pass(CHECK, detail)
        }
        Ok(false) => Finding::fail(CHECK, "right code does not compile", bug),
        Err(err) => Finding::fail(CHECK, err.to_string(), "no thread can be started"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_inside_the_thinking_of_the_layouts_that_say_so_and_no_other() {
        for layout in layouts() {
            let thinking = layout.text.split("</think>").next().unwrap_or_default();
            let has_draft = thinking.contains(DRAFT) && thinking.len() < layout.text.len();
            assert_eq!(has_draft, layout.name.contains("draft"), "{}", layout.name);
        }
        let finding = teacher_formats(&Config::default());
        assert_eq!(
            finding,
            Finding::pass("teacher's formats", "8 layouts are read alike, and the code compiles")
        );
    }
}
