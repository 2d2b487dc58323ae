//! SFT rows: token ids of a prompt and a response, of which the response's have labels.
//!
//! Labels are assigned here, when the tokens are made, and never searched for later: prompt and
//! response are encoded separately and concatenated, so no token spans both, and the border is the
//! number of the prompt's tokens. If they were encoded as one text, the last characters of the
//! prompt and the first ones of the response could become one token, which would be trained on in
//! part or not at all; and at inference a model never sees such a token, since its prompt ends
//! before.
//!
//! A row that is too long is left out whole and counted. A response that is cut teaches a model to
//! stop anywhere.

use whetstone_core::extract::{Form, Response};

use whetstone_core::trace::Trace;

/// The part of a tokenizer that rows need.
pub trait Tokens {
    /// The ids of a text. Adds no special token at either end; those that the text spells are its.
    fn encode(&self, text: &str) -> Vec<u32>;

    /// The id that ends a response.
    fn end(&self) -> u32;
}

/// A prompt and a response as one list of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    tokens: Vec<u32>,
    first_label: usize,
}

/// Settings for turning traces into rows.
pub struct Making<'a, T> {
    /// The tokenizer.
    pub tokens: &'a T,
    /// The layout of responses.
    pub form: Form,
    /// The chat template: renders the teacher's prompt for the student.
    pub render: &'a dyn Fn(&str) -> String,
    /// Tokens that a row may have.
    pub max_tokens: usize,
    /// The traces to use.
    pub take: Take,
    /// The handling of their thinking.
    pub thinking: Thinking,
}

/// The handling of a trace's thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Thinking {
    /// It is part of the response.
    #[default]
    Included,
    /// The response is the code alone.
    LeftOut,
}

impl Thinking {
    /// The text of a response behind a rendered prompt.
    pub fn response(self, response: &Response, prompt: &str) -> String {
        match self {
            Self::Included => response.render_after(prompt),
            Self::LeftOut => response.render_answer_after(prompt),
        }
    }
}

/// The traces that become rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Take {
    /// Those whose program solves its task.
    #[default]
    Passing,
    /// All that have a program.
    All,
}

/// Rows, and what became of the traces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// The rows, in the order of their traces.
    pub rows: Vec<Row>,
    /// Why each trace does not become a row, by its place.
    pub left_out: Vec<(usize, LeftOut)>,
    /// Counts of traces by outcome.
    pub counts: RowCounts,
}

/// Counts of traces by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Traces there were.
    pub traces: u64,
    /// Those that became rows.
    pub rows: u64,
    /// Left out: the program does not solve its task, or was not judged.
    pub not_passing: u64,
    /// Left out: there is no program, it has no layout that extraction reads back, or the prompt
    /// has no tokens.
    pub no_response: u64,
    /// Left out: the row would have been too long.
    pub too_long: u64,
}

impl Row {
    /// The row of a prompt, as the model reads it, and a response; `None` if the prompt has no
    /// token, as then nothing comes before the response's first one to tell it from.
    pub fn new(tokens: &impl Tokens, prompt: &str, response: &str) -> Option<Self> {
        let mut all = tokens.encode(prompt);
        let first_label = all.len();
        all.extend(tokens.encode(response));
        all.push(tokens.end());
        (first_label > 0).then_some(Self { tokens: all, first_label })
    }

    /// All tokens: the prompt's, the response's, the end.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The position of the first labelled token. It and all behind it are labelled, none before is.
    pub fn first_label(&self) -> usize {
        self.first_label
    }

    /// For each token the label it carries.
    pub fn labels(&self) -> impl Iterator<Item = Option<u32>> {
        let labelled = |(at, token): (usize, &u32)| (at >= self.first_label).then_some(*token);
        self.tokens.iter().enumerate().map(labelled)
    }
}

/// Makes rows of traces.
pub fn from_traces<'a, T: Tokens>(
    traces: impl IntoIterator<Item = &'a Trace>,
    making: &Making<'_, T>,
) -> Made {
    let mut made = Made::default();
    for (at, trace) in traces.into_iter().enumerate() {
        made.counts.traces += 1;
        match making.row(trace) {
            Ok(row) => {
                made.rows.push(row);
                made.counts.rows += 1;
            }
            Err(reason) => {
                made.left_out.push((at, reason));
                made.counts.leave_out(reason);
            }
        }
    }
    made
}

/// Why a trace gives no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// The program does not solve its task, or was not judged.
    NotPassing,
    /// There is no program, it has no layout that extraction reads back, or the prompt has no
    /// tokens.
    NoResponse,
    /// The row would have been too long.
    TooLong,
}

impl RowCounts {
    fn leave_out(&mut self, reason: LeftOut) {
        let place = match reason {
            LeftOut::NotPassing => &mut self.not_passing,
            LeftOut::NoResponse => &mut self.no_response,
            LeftOut::TooLong => &mut self.too_long,
        };
        *place += 1;
    }
}

impl<T: Tokens> Making<'_, T> {
    fn row(&self, trace: &Trace) -> Result<Row, LeftOut> {
        if self.take == Take::Passing && !trace.passes() {
            return Err(LeftOut::NotPassing);
        }
        let code = trace.code.as_deref().ok_or(LeftOut::NoResponse)?;
        let thinking = match self.thinking {
            Thinking::Included => trace.thinking.as_deref().unwrap_or_default(),
            Thinking::LeftOut => "",
        };
        let response = Response::new(self.form, thinking, code).map_err(|_| LeftOut::NoResponse)?;
        let prompt = (self.render)(&trace.prompt);
        let response = self.thinking.response(&response, &prompt);
        let row = Row::new(self.tokens, &prompt, &response).ok_or(LeftOut::NoResponse)?;
        if row.tokens.len() > self.max_tokens { Err(LeftOut::TooLong) } else { Ok(row) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use whetstone_core::verdict::Verdict;
    use whetstone_core::wire::Object;

    use super::*;
    use whetstone_core::trace::VerdictName;

    /// The longest word of the vocabulary that fits, again and again; other characters by their
    /// number.
    struct Greedy;

    const WORDS: [&str; 9] = ["<", "think", "\n<think", ">\n", ">\n<", "ab", "bc", "abc", "\n\n"];
    const END: u32 = 0;

    impl Tokens for Greedy {
        fn encode(&self, text: &str) -> Vec<u32> {
            let mut ids = Vec::new();
            let mut rest = text;
            while let Some(first) = rest.chars().next() {
                let fits = |(_, word): &(usize, &str)| rest.starts_with(*word);
                let longest = WORDS.iter().copied().enumerate().filter(fits);
                if let Some((at, word)) = longest.max_by_key(|(_, word)| word.len()) {
                    ids.push(u32::try_from(at).unwrap() + 1);
                    rest = &rest[word.len()..];
                } else {
                    ids.push(1000 + u32::from(first));
                    rest = &rest[first.len_utf8()..];
                }
            }
            ids
        }

        fn end(&self) -> u32 {
            END
        }
    }

    fn decode(ids: &[u32]) -> String {
        let text = |id: &u32| match id {
            1..=9 => WORDS[*id as usize - 1].to_owned(),
            _ => char::from_u32(id - 1000).unwrap().to_string(),
        };
        ids.iter().map(text).collect()
    }

    fn trace(thinking: Option<&str>, code: Option<&str>, verdict: Option<&Verdict>) -> Trace {
        Trace {
            task_id: "x".to_owned().try_into().unwrap(),
            sample: 0,
            prompt: "ab".to_owned(),
            thinking: thinking.map(str::to_owned),
            code: code.map(str::to_owned),
            text: String::new(),
            verdict: verdict.map(VerdictName::from),
            usage: None,
            model: "m".to_owned(),
            rest: Object::new(),
        }
    }

    fn making(take: Take, max_tokens: usize) -> Making<'static, Greedy> {
        let render = &|prompt: &str| format!("{prompt}\n");
        let thinking = Thinking::Included;
        Making { tokens: &Greedy, form: Form::ThinkPython, render, max_tokens, take, thinking }
    }

    #[test]
    fn a_token_that_would_straddle_the_border_is_not_made() {
        // As one text, `a` + `b` and `>\n` + `<` would each be one token.
        assert_eq!(Greedy.encode("ab"), [6]);
        let row = Row::new(&Greedy, "a", "b").unwrap();
        assert_eq!(row.tokens(), [1097, 1098, END]);
        assert_eq!(row.labels().collect::<Vec<_>>(), [None, Some(1098), Some(END)]);
        let row = Row::new(&Greedy, "user>\n", "<think").unwrap();
        assert_eq!(&row.tokens()[row.first_label()..], [1, 2, END]);
    }

    #[test]
    fn an_empty_response_is_its_end_and_an_empty_prompt_is_no_row() {
        let row = Row::new(&Greedy, "abc", "").unwrap();
        assert_eq!((row.tokens(), row.first_label()), (&[8, END][..], 1));
        assert_eq!(Row::new(&Greedy, "", "abc"), None);
    }

    #[test]
    fn a_trace_becomes_prompt_thinking_code_and_end() {
        let made = from_traces(
            &[trace(Some("Add."), Some("x = 1"), Some(&Verdict::Pass))],
            &making(Take::Passing, 1000),
        );
        let row = &made.rows[0];
        let (end, tokens) = row.tokens().split_last().unwrap();
        assert_eq!(*end, END);
        assert_eq!(decode(&tokens[..row.first_label()]), "ab\n");
        let response = Response::new(Form::ThinkPython, "Add.", "x = 1").unwrap().render();
        assert_eq!(decode(&tokens[row.first_label()..]), response);
    }

    #[test]
    fn thinking_is_left_out_if_asked_also_where_the_prompt_opens_it() {
        let traces = [trace(Some("Add.</think>"), Some("x = 1"), Some(&Verdict::Pass))];
        let render: [&dyn Fn(&str) -> String; 2] =
            [&|prompt| format!("{prompt}\n"), &|prompt| format!("{prompt}\n<think>\n")];
        let said = render.map(|render| {
            let making = making(Take::Passing, 1000);
            let made =
                from_traces(&traces, &Making { thinking: Thinking::LeftOut, render, ..making });
            let row = &made.rows[0];
            decode(&row.tokens()[row.first_label()..row.tokens().len() - 1])
        });
        let block = "```python\nx = 1\n```\n";
        assert_eq!(said, [block.to_owned(), format!("\n</think>\n\n{block}")]);
        let made = from_traces(&traces, &making(Take::Passing, 1000));
        assert_eq!(made.counts.no_response, 1, "with its thinking it could not be read back");
    }

    #[test]
    fn what_is_left_out_is_counted_by_its_reason() {
        let traces = [
            trace(None, Some("x = 1"), Some(&Verdict::Pass)),
            trace(None, Some("x = 1"), Some(&Verdict::Timeout)),
            trace(None, Some("x = 1"), None),
            trace(Some("t"), None, Some(&Verdict::Pass)),
            trace(None, Some(&"x = 1\n".repeat(100)), Some(&Verdict::Pass)),
        ];
        let passing = from_traces(&traces, &making(Take::Passing, 100)).counts;
        let expected =
            RowCounts { traces: 5, rows: 1, not_passing: 2, no_response: 1, too_long: 1 };
        assert_eq!(passing, expected);
        let all = from_traces(&traces, &making(Take::All, 100));
        assert_eq!((all.counts.rows, all.counts.not_passing), (3, 0));
    }

    #[test]
    fn a_row_as_long_as_it_may_be_is_kept_whole_and_one_longer_is_left_out() {
        let traces = [trace(None, Some("x = 1"), Some(&Verdict::Pass))];
        let whole = from_traces(&traces, &making(Take::Passing, usize::MAX)).rows;
        let length = whole[0].tokens().len();
        assert_eq!(from_traces(&traces, &making(Take::Passing, length)).rows, whole);
        let less = from_traces(&traces, &making(Take::Passing, length - 1));
        assert_eq!((less.rows.len(), less.counts.too_long), (0, 1));
    }

    proptest! {
        #[test]
        fn no_prompt_token_is_labelled_and_every_response_token_and_the_end_are(
            prompt in "[abc<>\n]{1,40}", response in "[abc<>\n]{0,40}"
        ) {
            let row = Row::new(&Greedy, &prompt, &response).unwrap();
            let labels: Vec<_> = row.labels().collect();
            let unlabelled = labels.iter().take_while(|label| label.is_none()).count();
            prop_assert_eq!(decode(&row.tokens()[..unlabelled]), prompt);
            let labelled: Option<Vec<u32>> = labels[unlabelled..].iter().copied().collect();
            let labelled = labelled.expect("no gap between labels");
            let (end, tokens) = labelled.split_last().expect("at least the end");
            prop_assert_eq!(*end, END);
            prop_assert_eq!(decode(tokens), response);
        }
    }
}
