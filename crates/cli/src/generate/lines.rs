//! Answers to JSON Lines: a line for each, with its own fields, as soon as its completions are done.
//!
//! Lines leave in the order in which they are done, so that nothing waits and nothing is lost: a signal ends the
//! sampling, and lines with the completions that are there are written.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::Context;
use serde::Serialize;
use whetstone_core::Completion;
use whetstone_core::completion::{Finish, SampledTokens};
use whetstone_core::wire::Object;
use whetstone_infer::{Sampled, SampledCompletion};
use whetstone_recipe::failure::Failure;
use whetstone_recipe::generation::{self, Shown, Sink};
use whetstone_recipe::prompt_lines::COMPLETIONS;
use whetstone_recipe::prompts::{Asked, Given};

use super::args::GenerateArgs;
use super::{chat_hint, output};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::train::stop;

/// Completes the prompts of a file in JSON Lines.
pub(super) fn run(
    args: &GenerateArgs,
    given: Vec<Given>,
    printer: Printer,
) -> anyhow::Result<Exit> {
    if args.stream {
        return Err(Failure::Usage {
            problem: "`--stream` shows text, and answers to JSON Lines are lines",
            hint: "leave out `--stream`",
        }
        .into());
    }
    let stop = stop::on_signal(printer);
    let is_text = given.iter().any(|given| matches!(given.asked, Asked::Text(_)));
    let hint = chat_hint(args, printer).filter(|_| is_text);
    let mut answers = Answers::new(&given, args);
    let mut trouble = None;
    let take = &mut |sampled: Sampled<'_>| {
        let Sampled::Done(sampled) = sampled else { return ControlFlow::Continue(()) };
        match answers.take(sampled).and_then(|line| write(line, printer)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(err) => {
                trouble = Some(err);
                ControlFlow::Break(())
            }
        }
    };
    let request = args.request(Shown::Progress, hint);
    let mut sink = Sink { take, stop: &stop };
    let generated = generation::run(&request, given, &mut sink, &printer);
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    for line in answers.rest() {
        write(line?, printer)?;
    }
    output::talk(&generated?.usage, &answers.finished, printer);
    Ok(if answers.missing > 0 { Exit::Stopped } else { Exit::Done })
}

fn write(line: impl Into<Option<String>>, printer: Printer) -> anyhow::Result<()> {
    // One call, so that a program that is killed has written whole lines.
    line.into().map_or(Ok(()), |line| printer.piece(&format!("{line}\n")))
}

/// A completion in the line of its prompt.
#[derive(Debug, Serialize)]
struct AnswerReport {
    sample: usize,
    text: String,
    finish: Finish,
    token_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<SampledTokens>,
}

/// Lines that are waiting for completions.
struct Answers {
    waiting: BTreeMap<usize, (Object, Vec<AnswerReport>)>,
    samples: usize,
    keeps_tokens: bool,
    /// Completions that are not there.
    missing: usize,
    finished: Vec<Finish>,
}

impl Answers {
    fn new(given: &[Given], args: &GenerateArgs) -> Self {
        let samples = args.samples as usize;
        let fields = given.iter().map(|given| given.fields.clone().unwrap_or_default());
        let waiting = fields.map(|fields| (fields, Vec::new())).enumerate().collect();
        let missing = given.len() * samples;
        Self { waiting, samples, keeps_tokens: args.json, missing, finished: Vec::new() }
    }

    /// Takes a completion; returns the line of its prompt if that is whole.
    fn take(&mut self, sampled: SampledCompletion) -> anyhow::Result<Option<String>> {
        let SampledCompletion { prompt, sample, completion } = sampled;
        let Some((_, done)) = self.waiting.get_mut(&prompt) else { return Ok(None) };
        let Completion { text, finish, tokens, .. } = completion;
        let token_count = tokens.as_ref().map_or(0, |tokens| tokens.ids().len());
        let tokens = tokens.filter(|_| self.keeps_tokens);
        done.push(AnswerReport { sample, text, finish, token_count, tokens });
        self.missing -= 1;
        self.finished.push(finish);
        let is_whole = done.len() == self.samples;
        let whole = if is_whole { self.waiting.remove(&prompt) } else { None };
        whole.map(|(fields, done)| line(fields, done)).transpose()
    }

    /// Lines of prompts that have some of their completions.
    fn rest(&mut self) -> Vec<anyhow::Result<String>> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let begun = waiting.filter(|(_, done)| !done.is_empty());
        begun.map(|(fields, done)| line(fields, done)).collect()
    }
}

fn line(mut fields: Object, mut done: Vec<AnswerReport>) -> anyhow::Result<String> {
    done.sort_by_key(|answer| answer.sample);
    fields.put(COMPLETIONS, &done);
    serde_json::to_string(&fields).context("cannot write as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(rows: &[&str], samples: usize) -> Answers {
        let row = |row: &&str| (serde_json::from_str(row).unwrap(), Vec::new());
        Answers {
            waiting: rows.iter().map(row).enumerate().collect(),
            samples,
            keeps_tokens: false,
            missing: rows.len() * samples,
            finished: Vec::new(),
        }
    }

    fn sampled(prompt: usize, sample: usize, text: &str) -> SampledCompletion {
        let tokens = SampledTokens::new(vec![7, 8], vec![-0.5, -1.0]).ok();
        let completion =
            Completion { text: text.to_owned(), reasoning: None, finish: Finish::Stop, tokens };
        SampledCompletion { prompt, sample, completion }
    }

    #[test]
    fn a_line_leaves_when_its_completions_are_done_with_its_fields() {
        let mut all = answers(&[r#"{"id":1.50,"prompt":"a"}"#, r#"{"prompt":"b"}"#], 2);
        assert_eq!(all.take(sampled(1, 1, "y")).unwrap(), None);
        assert_eq!(all.take(sampled(0, 0, "p")).unwrap(), None);
        let second = all.take(sampled(1, 0, "x")).unwrap().unwrap();
        let expected = concat!(
            r#"{"prompt":"b","completions":[{"sample":0,"text":"x","finish":"stop","token_count":2},"#,
            r#"{"sample":1,"text":"y","finish":"stop","token_count":2}]}"#
        );
        assert_eq!(second, expected);
        let rest: Vec<String> = all.rest().into_iter().map(Result::unwrap).collect();
        let begun = r#"{"id":1.50,"prompt":"a","completions":[{"sample":0,"text":"p","finish":"stop","token_count":2}]}"#;
        assert_eq!((rest, all.missing), (vec![begun.to_owned()], 1));
    }

    #[test]
    fn tokens_are_kept_if_they_are_asked_for() {
        let mut all = Answers { keeps_tokens: true, ..answers(&["{}"], 1) };
        let line = all.take(sampled(0, 0, "x")).unwrap().unwrap();
        assert!(line.ends_with(r#""tokens":{"ids":[7,8],"logps":[-0.5,-1.0]}}]}"#), "{line}");
    }
}
