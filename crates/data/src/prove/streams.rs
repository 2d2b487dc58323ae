//! Whole programs that solve nothing. Their output is known without running them, so only those are
//! run whose output passes the judge's own comparison in every test. With a checker that is not
//! known, so all of them are run.

use whetstone_core::program::Language;
use whetstone_sandbox::plan::{Plan, Step};
use whetstone_sandbox::stdio::matches;

use super::trivial::{MAX_KNOWN_BYTES, Trivial};

/// Computes a program's output from its input and the first test's input and output.
type Writes = for<'a> fn(&'a [u8], (&'a [u8], &'a [u8])) -> &'a [u8];

/// Answers to tests that run whole programs.
///
/// If all tests are identical, no answer that knows them is tried: it would pass by definition.
pub(super) fn of_streams(language: Language, plan: &Plan) -> Vec<Trivial> {
    let steps = &plan.steps;
    let mut tests = steps.iter().filter_map(|step| match step {
        Step::Run { input, any_of } => Some((input.as_slice(), any_of.first()?.as_slice())),
        _ => None,
    });
    let Some(first) = tests.next() else { return Vec::new() };
    let too_long = first.0.len().max(first.1.len()) > MAX_KNOWN_BYTES;
    let knows_it = !too_long && steps.iter().any(|step| *step != steps[0]);
    let words = Words::of(language, first.0, first.1);
    let empty: Writes = |_, _| b"";
    let echo: Writes = |input, _| input;
    let always: Writes = |_, (_, output)| output;
    let by_heart: Writes = |input, (known, output)| if input == known { output } else { b"" };
    let all: [(&str, String, Writes, bool); 4] = [
        ("the empty program", String::new(), empty, true),
        ("its input", words.echo, echo, true),
        ("the output that the first test expects, always", words.always, always, knows_it),
        ("the first test by heart, and nothing otherwise", words.by_heart, by_heart, knows_it),
    ];
    let passes = |writes: Writes| {
        steps.iter().all(|step| match step {
            Step::Run { input, any_of } if plan.checker.is_none() => {
                matches(writes(input, first), any_of, plan.compare)
            }
            _ => true,
        })
    };
    let tried = all.into_iter().filter(|(_, _, writes, fits)| *fits && passes(*writes));
    tried.map(|(what, source, _, _)| (what.to_owned(), source)).collect()
}

/// A Python program that writes the expected output of every test; `None` if that is too long.
pub(super) fn expected_program(steps: &[Step]) -> Option<String> {
    let mut pairs = Vec::new();
    for step in steps {
        let Step::Run { input, any_of } = step else { return None };
        let output = any_of.first()?;
        if input.len().max(output.len()) > MAX_KNOWN_BYTES {
            return None;
        }
        pairs.push(format!("{}: {}", super::python::bytes(input), super::python::bytes(output)));
    }
    let known = pairs.join(", ");
    Some(format!("import sys\nsys.stdout.buffer.write({{{known}}}[sys.stdin.buffer.read()])\n"))
}

/// The sources of the answers.
struct Words {
    echo: String,
    always: String,
    by_heart: String,
}

impl Words {
    fn of(language: Language, input: &[u8], output: &[u8]) -> Self {
        match language {
            Language::Python => Self::python(input, output),
            Language::Javascript => Self::javascript(input, output),
        }
    }

    fn python(input: &[u8], output: &[u8]) -> Self {
        let (input, output) = (super::python::bytes(input), super::python::bytes(output));
        let (read, write) = ("sys.stdin.buffer.read()", "sys.stdout.buffer.write");
        Self {
            echo: format!("import sys\n{write}({read})\n"),
            always: format!("import sys\n{write}({output})\n"),
            by_heart: format!("import sys\nif {read} == {input}:\n    {write}({output})\n"),
        }
    }

    fn javascript(input: &[u8], output: &[u8]) -> Self {
        // Both come out of JSON; a JSON string is a JavaScript string.
        let quoted = |text| serde_json::Value::from(String::from_utf8_lossy(text)).to_string();
        let (input, output) = (quoted(input), quoted(output));
        let (read, write) = ("require('fs').readFileSync(0, 'utf8')", "process.stdout.write");
        Self {
            echo: format!("{write}({read});\n"),
            always: format!("{write}({output});\n"),
            by_heart: format!("if ({read} === {input}) {write}({output});\n"),
        }
    }
}
