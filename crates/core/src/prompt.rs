//! The unified prompt: one template, in English and Chinese, for every stage.
//!
//! It is made from a [`TaskView`], which has neither hidden tests nor the reference solution, so
//! neither can get into a prompt (invariant 4). The problem stands in it as its source wrote it;
//! only the words around it change with the language.

use std::fmt::Write;

use crate::config::PromptLanguage;
use crate::extract::Form;
use crate::message::Message;
use crate::task::{TaskView, VisibleTests};
use serde_json::value::RawValue;

/// A prompt: standing instructions and one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Standing instructions.
    pub system: String,
    /// The problem and the format of the answer.
    pub user: String,
}

impl Prompt {
    /// The prompt for a task.
    pub fn new(task: TaskView<'_>, language: PromptLanguage) -> Self {
        let form = Form::of(task.language);
        let words = PromptWords::of(language, form);
        let problem = problem(task, words, form);
        let (tag, code) = (form.tag(), form.language_name());
        let user = format!(
            "{}\n\n{problem}\n\n{}\n\n{}\n{}\n{}\n{}\n\n```{code}\n{}\n```",
            words.solve,
            words.think,
            words.format,
            tag.open,
            words.reasoning,
            tag.close,
            words.code,
        );
        Self { system: words.system.to_owned(), user }
    }

    /// The prompt of a request that was made before, e.g. a trace's.
    pub fn of_request(user: impl Into<String>, form: Form, language: PromptLanguage) -> Self {
        Self { system: PromptWords::of(language, form).system.to_owned(), user: user.into() }
    }

    /// The prompt as a conversation.
    pub fn messages(&self) -> [Message; 2] {
        [Message::system(self.system.as_str()), Message::user(self.user.as_str())]
    }
}

/// The words around a problem.
#[derive(Clone, Copy)]
struct PromptWords {
    system: &'static str,
    solve: &'static str,
    entry_point: &'static str,
    tests: &'static str,
    returns: &'static str,
    input: &'static str,
    output: &'static str,
    think: &'static str,
    format: &'static str,
    reasoning: &'static str,
    code: &'static str,
}

impl PromptWords {
    fn of(language: PromptLanguage, form: Form) -> Self {
        match (language, form) {
            (PromptLanguage::En, Form::ThinkPython) => ENGLISH,
            (PromptLanguage::Zh, Form::ThinkPython) => CHINESE,
            (PromptLanguage::En, Form::PlanJavascript) => Self {
                system: "You are an expert JavaScript programmer. You plan before you write, and \
                         your code is complete and runs as it stands.",
                think: "Write your plan inside [PLAN] tags, then give the JavaScript code in a \
                        markdown block.",
                reasoning: "your plan, step by step",
                code: "// your code",
                ..ENGLISH
            },
            (PromptLanguage::Zh, Form::PlanJavascript) => Self {
                system: "你是一名资深的 JavaScript 程序员。先规划,再动手;给出的代码必须完整,可以直接运行。",
                think: "请先在 [PLAN] 标签内写出计划,再用 markdown 代码块给出 JavaScript 代码。",
                reasoning: "逐步写出你的计划",
                code: "// 你的代码",
                ..CHINESE
            },
        }
    }
}

const ENGLISH: PromptWords = PromptWords {
    system: "You are an expert Python programmer. You think before you write, and your code is \
             complete and runs as it stands.",
    solve: "Solve the following problem:",
    entry_point: "The tests call",
    tests: "Your code should pass these tests:",
    returns: "returns",
    input: "Example input:",
    output: "Example output:",
    think: "Think step by step inside <think> tags, then give the Python code in a markdown block.",
    format: "Format:",
    reasoning: "your reasoning, step by step",
    code: "# your code",
};

const CHINESE: PromptWords = PromptWords {
    system: "你是一名资深的 Python 程序员。先思考,再动手;给出的代码必须完整,可以直接运行。",
    solve: "请解决下面的问题:",
    entry_point: "测试会调用",
    tests: "你的代码应当通过以下测试:",
    returns: "返回",
    input: "输入示例:",
    output: "输出示例:",
    think: "请先在 <think> 标签内逐步思考,再用 markdown 代码块给出 Python 代码。",
    format: "格式:",
    reasoning: "逐步写出你的推理",
    code: "# 你的代码",
};

/// The statement, the name to define, and the tests that may be shown.
fn problem(task: TaskView<'_>, words: PromptWords, form: Form) -> String {
    let mut text = task.statement.trim().to_owned();
    if let Some(name) = task.entry_point {
        let _ = write!(text, "\n\n{} `{name}`.", words.entry_point);
    }
    match task.visible {
        VisibleTests::Code(tests) if !tests.is_empty() => {
            let _ = write!(text, "\n\n{}\n\n{}", words.tests, tests.join("\n"));
        }
        VisibleTests::Calls(calls) if !calls.is_empty() => {
            let _ = write!(text, "\n\n{}\n", words.tests);
            for call in calls {
                let args: Vec<_> = call.args.iter().map(|arg| literal(arg, form)).collect();
                let (name, value) =
                    (task.entry_point.unwrap_or("f"), literal(&call.expected, form));
                let _ = write!(text, "\n`{name}({})` {} `{value}`", args.join(", "), words.returns);
            }
        }
        VisibleTests::Stdio(runs) => {
            for run in runs {
                let (input, output) = (run.input.trim_end(), run.output.trim_end());
                let _ = write!(text, "\n\n{}\n{input}\n\n{}\n{output}", words.input, words.output);
            }
        }
        VisibleTests::Code(_) | VisibleTests::Calls(_) => {}
    }
    text
}

/// A JSON value as the program's language writes it.
fn literal(value: &RawValue, form: Form) -> String {
    match form {
        Form::ThinkPython => python_literal(value.get()),
        Form::PlanJavascript => value.get().to_owned(),
    }
}

/// JSON as Python: `true`, `false` and `null` outside strings become Python's names.
fn python_literal(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        out.push_str(&python_names(&rest[..quote]));
        let end = string_end(&rest[quote..]);
        out.push_str(&rest[quote..quote + end]);
        rest = &rest[quote + end..];
    }
    out + &python_names(rest)
}

fn python_names(json: &str) -> String {
    json.replace("true", "True").replace("false", "False").replace("null", "None")
}

/// The end of the JSON string that `text` starts with.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let closes = |&(_, c): &(usize, char)| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    };
    text.char_indices().skip(1).find(closes).map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;
    use crate::wire::Wire;

    fn task(fields: &str) -> Task {
        let line = format!(r#"{{"id":"a","statement":" Add two numbers.\n",{fields}}}"#);
        Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
    }

    fn user(fields: &str, language: PromptLanguage) -> String {
        Prompt::new(task(fields).view(), language).user
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
        assert!(
            text.ends_with("<think>\n逐步写出你的推理\n</think>\n\n```python\n# 你的代码\n```")
        );
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
    fn names_are_made_python_outside_strings_alone() {
        assert_eq!(
            python_literal(r#"["a\\",true,{"null":null}]"#),
            r#"["a\\",True,{"null":None}]"#
        );
        assert_eq!(python_literal(r#""false \" true""#), r#""false \" true""#);
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
        for language in [PromptLanguage::En, PromptLanguage::Zh] {
            let prompt = Prompt::new(task(ASSERTS).view(), language);
            let again = Prompt::of_request(prompt.user.clone(), Form::ThinkPython, language);
            assert_eq!(again, prompt);
        }
    }

    #[test]
    fn it_is_a_system_and_a_user_message() {
        let prompt = Prompt::new(task(ASSERTS).view(), PromptLanguage::En);
        let [system, user] = prompt.messages();
        assert_eq!(system, Message::system(ENGLISH.system));
        assert_eq!(user, Message::user(prompt.user.clone()));
    }
}
