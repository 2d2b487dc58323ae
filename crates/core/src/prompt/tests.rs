//! Prompts of the built-in templates, to the byte, and what a template may not do.

use super::*;
use crate::config::{AUTO, PromptConfig, PromptLanguage, ThinkingMode};
use crate::extract::Form;
use crate::task::Task;
use crate::wire::Wire;

fn task(fields: &str) -> Task {
    let line = format!(r#"{{"id":"a","statement":" Add two numbers.\n",{fields}}}"#);
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

fn template(name: &str, language: PromptLanguage) -> PromptTemplate {
    let settings = PromptConfig { template: name.to_owned(), language, ..PromptConfig::default() };
    PromptTemplate::of(&settings).unwrap()
}

fn prompt(name: &str, fields: &str) -> Prompt {
    template(name, PromptLanguage::En).prompt(task(fields).view()).unwrap()
}

fn user(fields: &str, language: PromptLanguage) -> String {
    template("unified", language).prompt(task(fields).view()).unwrap().user
}

const ASSERTS: &str =
    r#""tests":{"kind":"asserts","visible":["assert add(1, 2) == 3"],"hidden":["assert H"]}"#;

#[test]
fn it_asks_for_thinking_and_then_code() {
    let expected = "Solve the following problem:\n\nAdd two numbers.\n\n\
        Your code should pass these tests:\n\nassert add(1, 2) == 3\n\n\
        Think step by step inside <think> tags, then give the Python code in a markdown \
        block.\n\nFormat:\n<think>\nyour reasoning, step by step\n</think>\n\n\
        ```python\n# your code\n```";
    assert_eq!(user(ASSERTS, PromptLanguage::En), expected);
}

#[test]
fn the_chinese_twin_has_the_same_parts() {
    let text = user(ASSERTS, PromptLanguage::Zh);
    let parts = ["请解决下面的问题:", "Add two numbers.", "assert add(1, 2) == 3", "<think>"];
    let places: Vec<_> = parts.iter().map(|part| text.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.ends_with("<think>\n逐步写出你的推理\n</think>\n\n```python\n# 你的代码\n```"));
}

#[test]
fn calls_are_shown_as_the_language_writes_them() {
    let tests = r#""tests":{"kind":"calls","entry_point":"f","visible":[{"args":[true,"null \"true"],"expected":[null,1.50]}],"hidden":[{"expected":0}]}"#;
    let text = user(tests, PromptLanguage::En);
    assert!(text.contains("The tests call `f`."), "{text}");
    assert!(text.contains(r#"`f(True, "null \"true")` returns `[None,1.50]`"#), "{text}");
    let script = format!(r#""language":"javascript",{tests}"#);
    let text = user(&script, PromptLanguage::En);
    assert!(text.contains(r#"`f(true, "null \"true")` returns `[null,1.50]`"#), "{text}");
    assert!(text.ends_with("[/PLAN]\n\n```javascript\n// your code\n```"), "{text}");
}

#[test]
fn example_runs_are_shown() {
    let tests = r#""tests":{"kind":"stdio","visible":[{"input":"2 3\n","output":"5\n"}],"hidden":[{"input":"","output":""}]}"#;
    let text = user(tests, PromptLanguage::En);
    assert!(text.contains("Example input:\n2 3\n\nExample output:\n5\n\nThink"), "{text}");
}

#[test]
fn hidden_tests_and_the_reference_never_enter_a_prompt() {
    for kind in ["asserts", "script"] {
        let entry = if kind == "script" { r#""entry_point":"f","# } else { "" };
        let fields = |hidden: &str, reference: &str| {
            format!(
                r#""reference":"{reference}","tests":{{"kind":"{kind}",{entry}"visible":["V"],"hidden":["{hidden}"]}}"#
            )
        };
        let one = user(&fields("secret", "answer"), PromptLanguage::En);
        let two = user(&fields("other", "different"), PromptLanguage::En);
        assert_eq!(one, two, "{kind}");
        assert!(one.contains('V'), "{kind}");
    }
}

#[test]
fn the_prompt_of_an_earlier_request_is_the_same_prompt() {
    for name in ["unified", "plain", "evalplus"] {
        let template = template(name, PromptLanguage::Zh);
        let prompt = template.prompt(task(ASSERTS).view()).unwrap();
        let again = template.of_request(prompt.user.clone(), Form::ThinkPython).unwrap();
        assert_eq!(again, prompt);
    }
}

#[test]
fn it_is_a_system_and_a_user_message() {
    let prompt = prompt("unified", ASSERTS);
    let system = "You are an expert Python programmer. You think before you write, and your code is \
                  complete and runs as it stands.";
    assert_eq!(prompt.messages(), [Message::system(system), Message::user(prompt.user.clone())]);
}

#[test]
fn the_plain_prompt_asks_for_code_alone_and_leaves_the_system_line_to_the_model() {
    let plain = prompt("plain", ASSERTS);
    let expected = "Solve the following problem:\n\nAdd two numbers.\n\nYour code should pass these \
                    tests:\n\nassert add(1, 2) == 3\n\nReply with one Python code block that has the \
                    solution alone: no tests and no example calls.";
    assert_eq!(plain.messages(), [Message::user(expected)]);
    let script = r#""language":"javascript","tests":{"kind":"script","entry_point":"f","visible":[],"hidden":["H"]}"#;
    let expected = "Solve the following problem:\n\nAdd two numbers.\n\nThe tests call `f`.\n\nReply \
                    with one JavaScript code block that has the solution alone: no tests and no example calls.";
    assert_eq!(prompt("plain", script).user, expected);
}

#[test]
fn qwen_asks_as_its_published_figures_were_measured() {
    let prompt = prompt("qwen", ASSERTS);
    let system =
        "You are an intelligent programming assistant to produce Python algorithmic solutions";
    assert_eq!((prompt.system.as_str(), prompt.prefill.as_str()), (system, "```python\n"));
    assert!(
        prompt
            .user
            .starts_with("Can you complete the following Python function?\n```python\n\"\"\"\n"),
        "{}",
        prompt.user
    );
    assert!(prompt.user.ends_with("\n\"\"\"\n```\n"), "{}", prompt.user);
}

#[test]
fn evalplus_shows_the_test_in_a_docstring_and_begins_the_answer() {
    let prompt = prompt("evalplus", ASSERTS);
    let user = "Please provide a self-contained Python script that solves the following problem in a markdown code \
                block:\n```\n\"\"\"\nAdd two numbers.\nassert add(1, 2) == 3\n\"\"\"\n```\n";
    let begun = "Below is a Python script with a self-contained function that solves the problem and passes \
                 corresponding tests:\n```python\n";
    assert_eq!(prompt.messages(), [Message::user(user), Message::assistant(begun)]);
    assert_eq!(begun_answer(&prompt.messages()), Some(begun));
    let whole = Prompt { prefill: String::new(), ..prompt.clone() }.messages();
    assert_eq!(prompt.asked(), whole, "a whole reply has its beginning");
}

#[test]
fn the_completion_form_is_the_problem_alone_which_the_answer_goes_on_with() {
    let fields = r#""tests":{"kind":"script","entry_point":"f","visible":[],"hidden":["H"]}"#;
    let template = template("completion", PromptLanguage::En);
    assert!(!template.is_chat());
    assert!(template.stop().contains(&"\ndef ".to_owned()));
    let prompt = template.prompt(task(fields).view()).unwrap();
    assert_eq!(prompt.messages(), [Message::assistant("Add two numbers.\n")]);
    assert_eq!(prompt.asked(), [Message::user("Add two numbers.\n")]);
}

#[test]
fn the_request_of_mbpp_has_its_tests() {
    let expected = "You are an expert Python programmer, and here is your task: Add two numbers. Your code \
                    should pass these tests:\n\nassert add(1, 2) == 3";
    assert_eq!(prompt("mbpp", ASSERTS).user.trim_end(), expected);
}

#[test]
fn what_is_left_open_is_the_teachers_prompt_and_without_tags_the_plain_one() {
    let of = |thinking| {
        let settings = PromptConfig { thinking, ..PromptConfig::default() };
        PromptTemplate::of(&settings).unwrap().name()
    };
    let modes = [ThinkingMode::Auto, ThinkingMode::Tags, ThinkingMode::Native, ThinkingMode::Off];
    assert_eq!(modes.map(of), ["unified", "unified", "plain", "plain"]);
    assert_eq!(PromptConfig::default().template, AUTO);
}

#[test]
fn settings_come_before_what_the_template_sets() {
    let settings = PromptConfig {
        template: "evalplus".to_owned(),
        system: "Be brief.".to_owned(),
        prefill: "```python\n".to_owned(),
        ..PromptConfig::default()
    };
    let prompt = PromptTemplate::of(&settings).unwrap().prompt(task(ASSERTS).view()).unwrap();
    assert_eq!((prompt.system.as_str(), prompt.prefill.as_str()), ("Be brief.", "```python\n"));
}

#[test]
fn the_identity_follows_every_setting_that_decides_the_text() {
    let base = PromptConfig { template: "plain".to_owned(), ..PromptConfig::default() };
    let identity = |settings: &PromptConfig| PromptTemplate::of(settings).unwrap().identity();
    let others = [
        PromptConfig { template: "mbpp".to_owned(), ..base.clone() },
        PromptConfig { system: "s".to_owned(), ..base.clone() },
        PromptConfig { prefill: "s".to_owned(), ..base.clone() },
        PromptConfig { thinking: ThinkingMode::Native, ..base.clone() },
        PromptConfig { language: PromptLanguage::Zh, ..base.clone() },
    ];
    let mut all: Vec<String> = others.iter().chain([&base]).map(identity).collect();
    assert!(all[5].starts_with("plain-") && all[5].len() == "plain-".len() + 16, "{all:?}");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
}

#[track_caller]
fn refused(template: &str, message: &str) {
    let settings = PromptConfig { template: template.to_owned(), ..PromptConfig::default() };
    let err = PromptTemplate::of(&settings).unwrap_err().to_string();
    assert!(err.contains(message), "{err}");
}

#[test]
fn a_template_that_cannot_serve_is_refused_with_its_reason() {
    refused("plian", "`plian` is no prompt: expected `unified`, `plain`,");
    refused("Solve it.\n", "does not show the problem");
    refused("{{ statement", "cannot be read");
    refused("{{ statement }} {{ reference }}\n", "undefined");
    refused("{{ statement }} {{ hidden }}\n", "undefined");
    refused(
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{{ statement }}",
        "fuel",
    );
    refused(&format!("{{{{ statement }}}}{}", "x".repeat(1 << 16)), "at most 65536");
}

#[test]
fn a_template_of_the_users_writes_the_message() {
    let text = "{% set system = 'S' %}\n{{ statement }} in {{ language_name }}\n{% if examples %}E{% endif %}\n";
    let prompt = prompt(text, ASSERTS);
    assert_eq!(
        (prompt.system.as_str(), prompt.user.as_str()),
        ("S", "Add two numbers. in Python\n")
    );
    let of_games = |template: &str| {
        let settings = PromptConfig { template: template.to_owned(), ..PromptConfig::default() };
        PromptTemplate::for_plans(&settings).unwrap().name()
    };
    assert_eq!([of_games("plain"), of_games(text)], ["unified", "custom"]);
}
