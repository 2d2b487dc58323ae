//! Text while tokens arrive.
//!
//! A token may end in the middle of a character, and the text of a token may depend on the one
//! before it. So the last tokens are decoded together, with and without the newest, and the
//! difference is returned once it does not end in a replacement character. The concatenated pieces
//! equal the result of decoding all tokens at once.
//!
//! A completion that is not text (bytes that never form a character) would be held back forever, at
//! quadratic cost; after [`HELD_TOKENS`] it is returned as it is.

use super::{SpecialTokens, Tokenizer, TokenizerError};

/// Tokens held back at most. A character has four bytes, and so at most four tokens.
const HELD_TOKENS: usize = 16;

/// Text while tokens arrive; see [`Tokenizer::stream`].
#[derive(Debug)]
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    special: SpecialTokens,
    /// Tokens whose text was returned, for context, followed by those that are held back.
    ids: Vec<u32>,
    /// The number of context tokens.
    context: usize,
    /// The context's text.
    known: String,
}

impl<'a> TextStream<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, special: SpecialTokens) -> Self {
        Self { tokenizer, special, ids: Vec::new(), context: 0, known: String::new() }
    }

    /// Takes a token, and gives the text that has become certain: often none.
    pub fn push(&mut self, id: u32) -> Result<String, TokenizerError> {
        self.ids.push(id);
        let text = self.tokenizer.decode(&self.ids, self.special)?;
        let held = self.ids.len() - self.context;
        if text.ends_with(char::REPLACEMENT_CHARACTER) && held < HELD_TOKENS {
            return Ok(String::new());
        }
        self.give(&text)
    }

    /// Returns the rest: the beginning of a character that was not completed.
    pub fn finish(mut self) -> Result<String, TokenizerError> {
        let text = self.tokenizer.decode(&self.ids, self.special)?;
        self.give(&text)
    }

    fn give(&mut self, text: &str) -> Result<String, TokenizerError> {
        let new = behind(&self.known, text).to_owned();
        if new.is_empty() {
            // A special token that is left out: the old context stays, because a decoder may treat
            // the first token of a text differently.
            self.ids.truncate(self.context);
            return Ok(new);
        }
        self.ids.drain(..self.context);
        self.context = self.ids.len();
        self.known = self.tokenizer.decode(&self.ids, self.special)?;
        Ok(new)
    }
}

/// The part of `text` after its common prefix with `known`.
///
/// That is all of `known`, unless a broken character was given out and is whole now.
fn behind<'a>(known: &str, text: &'a str) -> &'a str {
    let same = known.chars().zip(text.chars()).take_while(|(one, other)| one == other);
    &text[same.map(|(c, _)| c.len_utf8()).sum()..]
}
