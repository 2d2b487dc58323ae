//! Requests a program from the teacher as `whet teach` does; the reply must contain one.

use whetstone_core::completion::Finish;
use whetstone_core::config::Config;
use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::verdict::Verdict;
use whetstone_env::python::{Reading, Rules};
use whetstone_env::stack::on_big_stack;
use whetstone_recipe::teaching::connection::{self, ServerAnswer};

use crate::Finding;
use crate::formats::task;

const CHECK: &str = "teacher";
/// Characters of a reply that are shown.
const SHOWN: usize = 160;

/// Asks the teacher of the settings for one program.
pub fn finding(config: &Config) -> Finding {
    let Some(task) = task() else {
        return Finding::fail(CHECK, "no task", "this is a bug in whet: report it");
    };
    let prompt =
        PromptTemplate::of(&config.prompt).and_then(|template| template.prompt(task.view()));
    let messages = match prompt {
        Ok(prompt) => prompt.messages(),
        Err(err) => return Finding::fail(CHECK, err.to_string(), "mend `prompt.template`"),
    };
    let answer = match connection::ask(config, messages) {
        Ok(answer) => answer,
        Err(problem) => {
            let hint = "`whet teach --test-connection` shows details";
            return Finding::fail(CHECK, problem, hint);
        }
    };
    let reply = Reply::of(&answer.completion);
    let rules = Rules::new(config.reward.clone());
    match on_big_stack(|stack| rules.read(&task, reply, stack)) {
        Ok(reading) => judged(&answer, &reading, config),
        Err(err) => Finding::fail(CHECK, err.to_string(), "no thread can be started"),
    }
}

/// The finding from a teacher's reply.
fn judged(answer: &ServerAnswer, reading: &Reading, config: &Config) -> Finding {
    let ServerAnswer { server, seconds, completion } = answer;
    let held = extract(Reply::of(completion), Form::ThinkPython);
    let thinking = held.thinking.map_or(0, |thinking| thinking.chars().count());
    let said = match (completion.text.trim(), &completion.reasoning) {
        ("", Some(reasoning)) => reasoning,
        (text, _) => text,
    };
    let start: String = said.chars().take(SHOWN).collect();
    let begins = format!("it begins {start:?}");
    let cut = match completion.finish {
        Finish::Length => ", cut off by the limit on tokens",
        Finish::Stop => "",
    };
    let answers = format!("{server} answers in {seconds:.2} s{cut}");
    if let Reading::Settled { judgement, .. } = reading {
        let what = match judgement.verdict() {
            Verdict::NoCode => "no code",
            _ => "code that does not compile",
        };
        let hint = "use a model that follows instructions, and leave room for its thinking \
                    (`teacher.max_tokens`, and the server's own token limit)";
        let detail = format!("{answers}; asked for a program it writes {what}: {begins}");
        return Finding::fail(CHECK, detail, hint);
    }
    if thinking == 0 && config.teacher.enable_thinking {
        let hint = "traces would have code without thinking: use a model that thinks, or set \
                    `teacher.enable_thinking=false`";
        let detail = format!(
            "{answers}; its code compiles; thinking was requested, but none was returned: \
             {begins}"
        );
        return Finding::warn(CHECK, detail, hint);
    }
    let thinking = match thinking {
        0 => "no thinking, as configured".to_owned(),
        count => format!("{count} characters of thinking"),
    };
    Finding::pass(CHECK, format!("{answers}; {thinking}, and its code compiles"))
}
