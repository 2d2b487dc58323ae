//! Our own formats agree with each other: prompt, response and extraction.

use whetstone_core::Language;
use whetstone_core::config::Config;
use whetstone_core::extract::{Form, Origin, Reply, Response, extract};
use whetstone_core::prompt::Prompt;
use whetstone_core::task::{TaskView, VisibleTests};

use super::Finding;

const THINKING: &str = "A number is prime if nothing up to its root divides it.";
const CODE: &str =
    "def is_prime(n):\n    return n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))";

/// The prompt asks for what extraction reads.
pub(super) fn prompt(config: &Config) -> Finding {
    let task = TaskView {
        statement: "Say whether a number is prime.",
        language: Language::Python,
        entry_point: Some("is_prime"),
        visible: VisibleTests::Code(&[]),
    };
    let prompt = Prompt::new(task, config.prompt.language);
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

/// What is written in the response format is read back.
pub(super) fn extraction(_: &Config) -> Finding {
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
