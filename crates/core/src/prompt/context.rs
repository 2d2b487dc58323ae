//! The variables of a template: the part of a task that a model may see.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::config::PromptLanguage;
use crate::extract::Form;
use crate::task::{TaskView, VisibleTests};

/// The variables of a template.
#[derive(Debug, Serialize)]
pub(super) struct TaskContext<'a> {
    /// The problem, without blanks around it.
    pub(super) statement: &'a str,
    /// The name to define, where the tests have one.
    pub(super) entry_point: Option<&'a str>,
    /// Visible tests, one a line: assert statements, or calls with their values.
    pub(super) tests: Vec<String>,
    /// Visible runs of a whole program.
    pub(super) examples: Vec<Example<'a>>,
    /// The programming language as a fence names it.
    pub(super) language: &'static str,
    /// The programming language as prose names it.
    pub(super) language_name: &'static str,
    /// Language of the words around the problem.
    pub(super) prompt_language: PromptLanguage,
}

/// A run of a whole program.
#[derive(Debug, Serialize)]
pub(super) struct Example<'a> {
    input: &'a str,
    output: &'a str,
}

impl<'a> TaskContext<'a> {
    /// The variables for a task.
    pub(super) fn of(task: TaskView<'a>, prompt_language: PromptLanguage) -> Self {
        let form = Form::of(task.language);
        let (mut tests, mut examples) = (Vec::new(), Vec::new());
        match task.visible {
            VisibleTests::Code(code) => tests = code.to_vec(),
            VisibleTests::Calls(calls) => {
                let name = task.entry_point.unwrap_or("f");
                let returns = match prompt_language {
                    PromptLanguage::En => "returns",
                    PromptLanguage::Zh => "返回",
                };
                tests.extend(calls.iter().map(|call| {
                    let args: Vec<_> = call.args.iter().map(|arg| literal(arg, form)).collect();
                    let value = literal(&call.expected, form);
                    format!("`{name}({})` {returns} `{value}`", args.join(", "))
                }));
            }
            VisibleTests::Stdio(runs) => {
                examples.extend(runs.iter().map(|run| Example {
                    input: run.input.trim_end(),
                    output: run.output.trim_end(),
                }));
            }
        }
        Self {
            statement: task.statement.trim(),
            entry_point: task.entry_point,
            tests,
            examples,
            language: form.language_name(),
            language_name: match form {
                Form::ThinkPython => "Python",
                Form::PlanJavascript => "JavaScript",
            },
            prompt_language,
        }
    }
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

    #[test]
    fn names_are_made_python_outside_strings_alone() {
        assert_eq!(
            python_literal(r#"["a\\",true,{"null":null}]"#),
            r#"["a\\",True,{"null":None}]"#
        );
        assert_eq!(python_literal(r#""false \" true""#), r#""false \" true""#);
    }
}
