//! Text while tokens arrive.
//!
//! A token may end in the middle of a character, and what a decoder makes of a token may depend on
//! the one before it. So the last tokens are decoded together, with and without the newest, and the
//! difference is given out once it does not end in a replacement character. The pieces, one behind
//! the other, are what decoding all tokens at once gives.
//!
//! A completion that is no text at all (bytes that never become a character) would be held back for
//! ever, at a cost that grows with its square; after [`HELD_TOKENS`] it is given out as it stands.

use super::{SpecialTokens, Tokenizer, TokenizerError};

/// Tokens held back at most. A character has four bytes, and so at most four tokens.
const HELD_TOKENS: usize = 16;

/// Text while tokens arrive; see [`Tokenizer::stream`].
#[derive(Debug)]
pub struct TextStream<'a> {
    tokenizer: &'a Tokenizer,
    special: SpecialTokens,
    /// Tokens whose text was given out, for context, and behind them those that are held back.
    ids: Vec<u32>,
    /// How many of them are context.
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

    /// Gives what is held back: the beginning of a character that never came to its end.
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

/// What `text` has behind that which it has in common with `known`.
///
/// That is all of `known`, unless a broken character was given out and is whole now.
fn behind<'a>(known: &str, text: &'a str) -> &'a str {
    let same = known.chars().zip(text.chars()).take_while(|(one, other)| one == other);
    &text[same.map(|(c, _)| c.len_utf8()).sum()..]
}
