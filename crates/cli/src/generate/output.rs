//! Output of completions: text in order, or one JSON document; and the timings.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use whetstone_core::Completion;
use whetstone_core::completion::Finish;
use whetstone_infer::{SampleId, SampledCompletion, Usage};
use whetstone_recipe::prompts::Rendered;
use whetstone_recipe::text::counted;

use crate::printer::Printer;

/// Completions arrive as they are sampled, and leave in the order of prompts and samples.
#[derive(Debug)]
pub(super) struct Completions {
    prompts: usize,
    samples: usize,
    done: BTreeMap<(usize, usize), Completion>,
    /// Those that have left as a whole.
    printed: usize,
    /// Of the next one, whether its title has left, and how many bytes of its text.
    is_begun: bool,
    shown: usize,
}

impl Completions {
    /// For this many prompts and samples of each.
    pub(super) fn new(prompts: usize, samples: usize) -> Self {
        Self { prompts, samples, done: BTreeMap::new(), printed: 0, is_begun: false, shown: 0 }
    }

    /// Takes one that is whole; returns those that leave now, or the rest of the one that leaves.
    pub(super) fn take(&mut self, drawn: SampledCompletion) -> Vec<String> {
        self.done.insert((drawn.prompt, drawn.sample), drawn.completion);
        let mut texts = Vec::new();
        while let Some(completion) = self.done.get(&self.next()) {
            let newline = if completion.text.ends_with('\n') { "" } else { "\n" };
            let rest = completion.text.get(self.shown..).unwrap_or_default();
            texts.push(format!("{}{rest}{newline}", self.title()));
            self.printed += 1;
            (self.is_begun, self.shown) = (false, 0);
        }
        texts
    }

    /// Looks at the text so far of one that is being sampled; returns what is new if it is the next to leave.
    pub(super) fn grow(&mut self, id: SampleId, text: &str) -> Vec<String> {
        let new = text.get(self.shown..).unwrap_or_default();
        if (id.prompt, id.sample) != self.next() || new.is_empty() {
            return Vec::new();
        }
        let piece = format!("{}{new}", self.title());
        (self.is_begun, self.shown) = (true, text.len());
        vec![piece]
    }

    /// The one that leaves next: its prompt and sample.
    fn next(&self) -> (usize, usize) {
        (self.printed / self.samples, self.printed % self.samples)
    }

    /// The title of the next one, if there are others and it has not left.
    fn title(&self) -> String {
        if self.is_begun {
            return String::new();
        }
        let ((prompt, sample), prompts, samples) = (self.next(), self.prompts, self.samples);
        let prompt = (prompts > 1).then(|| format!("prompt {} of {prompts}", prompt + 1));
        let sample = (samples > 1).then(|| format!("sample {} of {samples}", sample + 1));
        match prompt.into_iter().chain(sample).collect::<Vec<_>>().join(", ") {
            title if title.is_empty() => title,
            title => format!("=== {title} ===\n"),
        }
    }

    /// All of them, prompt by prompt.
    pub(super) fn finish(self) -> Vec<Vec<Completion>> {
        let mut all = vec![Vec::new(); self.prompts];
        for ((prompt, _), completion) in self.done {
            all[prompt].push(completion);
        }
        all
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
pub(super) fn talk(usage: &Usage, finished: &[Finish], printer: Printer) {
    let line = |what: &str, tokens: usize, time: Duration| {
        let rate = rate(tokens, time);
        let tokens = counted(tokens, "token");
        printer.note(format_args!("{what} {tokens} in {:.2} s ({rate})", time.as_secs_f64()));
    };
    line("prompt: ", usage.prefilled, usage.prefill_time);
    line("sampled:", usage.sampled, usage.decode_time);
    let cut = finished.iter().filter(|&&finish| finish == Finish::Length).count();
    if cut > 0 {
        let of = finished.len();
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
        let mut all = Completions::new(prompts, samples);
        let take = |&(prompt, sample): &(usize, usize)| {
            let completion = completion(&format!("{prompt}{sample}"));
            all.take(SampledCompletion { prompt, sample, completion })
        };
        arrivals.iter().flat_map(take).collect()
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
    fn the_first_unfinished_one_is_streamed_and_the_bytes_are_those_of_whole_ones() {
        let mut all = Completions::new(1, 3);
        let id = |sample| SampleId { prompt: 0, sample };
        let whole =
            |sample, text| SampledCompletion { prompt: 0, sample, completion: completion(text) };
        assert_eq!(all.grow(id(0), ""), [""; 0], "nothing is certain yet");
        assert_eq!(all.grow(id(0), "é"), ["=== sample 1 of 3 ===\né"]);
        assert_eq!(all.grow(id(1), "xy"), [""; 0], "not the first");
        assert_eq!(all.grow(id(0), "éa"), ["a"]);
        assert_eq!(all.take(whole(2, "z\n")), [""; 0]);
        assert_eq!(all.take(whole(0, "éab")), ["b\n"]);
        assert_eq!(all.grow(id(1), "xyz"), ["=== sample 2 of 3 ===\nxyz"]);
        assert_eq!(all.take(whole(1, "xyz\n")), ["\n", "=== sample 3 of 3 ===\nz\n"]);
    }

    #[test]
    fn a_completion_alone_has_no_title() {
        assert_eq!(printed(1, 1, &[(0, 0)]), ["00\n"]);
        assert_eq!(printed(1, 2, &[(0, 0)]), ["=== sample 1 of 2 ===\n00\n"]);
    }
}
