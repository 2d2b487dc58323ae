//! Output of completions: text in order, or one JSON document; and the timings.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::Serialize;
use whetstone_core::Completion;
use whetstone_core::completion::Finish;
use whetstone_infer::{SampledCompletion, Usage};
use whetstone_recipe::prompts::Rendered;
use whetstone_recipe::text::counted;

use crate::printer::Printer;

/// Completions arrive as they end, and leave in the order of prompts and samples.
#[derive(Debug)]
pub(super) struct Completions {
    prompts: usize,
    samples: usize,
    printer: Option<Printer>,
    done: BTreeMap<(usize, usize), Completion>,
    printed: usize,
    trouble: Option<anyhow::Error>,
}

impl Completions {
    /// For this many prompts and samples of each; with a printer, text is printed as soon as
    /// everything before it is.
    pub(super) fn new(prompts: usize, samples: usize, printer: Option<Printer>) -> Self {
        Self { prompts, samples, printer, done: BTreeMap::new(), printed: 0, trouble: None }
    }

    /// Takes one. Asks to end the work if it cannot be printed.
    pub(super) fn take(&mut self, drawn: SampledCompletion) -> ControlFlow<()> {
        self.done.insert((drawn.prompt, drawn.sample), drawn.completion);
        let Some(printer) = self.printer else { return ControlFlow::Continue(()) };
        while let Some(text) = self.next_text() {
            // One call for each, so that an interrupted command has printed only complete
            // completions.
            if let Err(err) = printer.raw(&text) {
                self.trouble = Some(err);
                return ControlFlow::Break(());
            }
            self.printed += 1;
        }
        ControlFlow::Continue(())
    }

    /// The text that comes next, if it is there, with its title if there are others.
    fn next_text(&self) -> Option<String> {
        let (prompt, sample) = (self.printed / self.samples, self.printed % self.samples);
        let completion = self.done.get(&(prompt, sample))?;
        let newline = if completion.text.ends_with('\n') { "" } else { "\n" };
        Some(format!("{}{}{newline}", self.title(prompt, sample), completion.text))
    }

    fn title(&self, prompt: usize, sample: usize) -> String {
        let (prompts, samples) = (self.prompts, self.samples);
        let prompt = (prompts > 1).then(|| format!("prompt {} of {prompts}", prompt + 1));
        let sample = (samples > 1).then(|| format!("sample {} of {samples}", sample + 1));
        match prompt.into_iter().chain(sample).collect::<Vec<_>>().join(", ") {
            title if title.is_empty() => title,
            title => format!("=== {title} ===\n"),
        }
    }

    /// All of them, prompt by prompt.
    pub(super) fn finish(self) -> anyhow::Result<Vec<Vec<Completion>>> {
        if let Some(err) = self.trouble {
            return Err(err);
        }
        let mut all = vec![Vec::new(); self.prompts];
        for ((prompt, _), completion) in self.done {
            all[prompt].push(completion);
        }
        Ok(all)
    }
}

/// Seconds of each part.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Seconds {
    pub(super) load: f64,
    pub(super) prefill: f64,
    pub(super) decode: f64,
}

/// The whole answer as JSON.
#[derive(Debug, Serialize)]
pub(super) struct GenerateOutput<'a> {
    pub(super) v: u32,
    pub(super) model: String,
    pub(super) prompts: Vec<PromptReport<'a>>,
    pub(super) usage: UsageReport,
    pub(super) seconds: Seconds,
}

#[derive(Debug, Serialize)]
pub(super) struct PromptReport<'a> {
    prompt: &'a str,
    prompt_tokens: &'a [u32],
    completions: Vec<Completion>,
}

#[derive(Debug, Serialize)]
pub(super) struct UsageReport {
    prompt_tokens: usize,
    sampled_tokens: usize,
    steps: usize,
    most_sequences: usize,
    most_pages: usize,
}

/// Prompts with their completions.
pub(super) fn prompt_reports(
    prompts: &[Rendered],
    completions: Vec<Vec<Completion>>,
) -> Vec<PromptReport<'_>> {
    let both = prompts.iter().zip(completions);
    both.map(|(prompt, completions)| PromptReport {
        prompt: &prompt.text,
        prompt_tokens: &prompt.tokens,
        completions,
    })
    .collect()
}

impl From<&Usage> for UsageReport {
    fn from(usage: &Usage) -> Self {
        Self {
            prompt_tokens: usage.prefilled,
            sampled_tokens: usage.sampled,
            steps: usage.steps,
            most_sequences: usage.widest,
            most_pages: usage.most_pages,
        }
    }
}

/// Prints the timings.
pub(super) fn talk(usage: &Usage, completions: &[Vec<Completion>], printer: Printer) {
    let line = |what: &str, tokens: usize, time: Duration| {
        let rate = rate(tokens, time);
        let tokens = counted(tokens, "token");
        printer.note(format_args!("{what} {tokens} in {:.2} s ({rate})", time.as_secs_f64()));
    };
    line("prompt: ", usage.prefilled, usage.prefill_time);
    line("sampled:", usage.sampled, usage.decode_time);
    let all = completions.iter().flatten();
    let cut = all.clone().filter(|completion| completion.finish == Finish::Length).count();
    if cut > 0 {
        let of = all.count();
        printer.note(format_args!(
            "{cut} of {} cut off by the limit of tokens",
            counted(of, "completion")
        ));
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
fn rate(tokens: usize, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { format!("{:.0} tokens/s", tokens as f64 / seconds) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(text: &str) -> Completion {
        Completion { text: text.to_owned(), reasoning: None, finish: Finish::Stop, tokens: None }
    }

    fn printed(prompts: usize, samples: usize, arrivals: &[(usize, usize)]) -> Vec<String> {
        let mut all = Completions::new(prompts, samples, None);
        let mut texts = Vec::new();
        for &(prompt, sample) in arrivals {
            let text = format!("{prompt}{sample}");
            let _ = all.take(SampledCompletion { prompt, sample, completion: completion(&text) });
            while let Some(text) = all.next_text() {
                texts.push(text);
                all.printed += 1;
            }
        }
        texts
    }

    #[test]
    fn completions_leave_in_order_each_under_its_title() {
        let found = printed(2, 2, &[(1, 1), (0, 1), (0, 0), (1, 0)]);
        let expected = [
            "=== prompt 1 of 2, sample 1 of 2 ===\n00\n",
            "=== prompt 1 of 2, sample 2 of 2 ===\n01\n",
            "=== prompt 2 of 2, sample 1 of 2 ===\n10\n",
            "=== prompt 2 of 2, sample 2 of 2 ===\n11\n",
        ];
        assert_eq!(found, expected);
        assert_eq!(printed(1, 2, &[(0, 1)]), Vec::<String>::new(), "the first is not there");
    }

    #[test]
    fn a_completion_alone_has_no_title() {
        assert_eq!(printed(1, 1, &[(0, 0)]), ["00\n"]);
        assert_eq!(printed(1, 2, &[(0, 0)]), ["=== sample 1 of 2 ===\n00\n"]);
    }
}
