//! A tokenizer of one's own, trained on texts: byte-level BPE for English and Python.
//!
//! A text is cut into words, and tokens are learnt inside them: a newline with the indentation behind
//! it is one word, so that Python's blocks cost one token a line; a digit is one, so that numbers
//! are read digit by digit; letters take the blank or the underscore before them along. Every byte is
//! a token, so every text can be said and comes back as it was.
//!
//! Some words are tokens of their own. [`END_OF_TEXT`], [`MESSAGE_START`] and [`MESSAGE_END`] are
//! special: they are not part of a completion's text. The tags of thinking and the fences of code
//! are ordinary text in one token.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use tokenizers::{OffsetReferential, OffsetType, PreTokenizer};

use super::merges::LearntMerges;
use super::{Specials, Tokenizer, TokenizerError};
use crate::shown;

/// Ends a text, and fills.
pub const END_OF_TEXT: &str = "<|endoftext|>";
/// Begins a message.
pub const MESSAGE_START: &str = "<|im_start|>";
/// Ends a message, and so a completion.
pub const MESSAGE_END: &str = "<|im_end|>";

const SPECIAL: [&str; 3] = [END_OF_TEXT, MESSAGE_START, MESSAGE_END];
const WHOLE: [&str; 4] = ["<think>", "</think>", "```python", "```"];

/// Tokens that there are before anything is learnt: the bytes, and words of their own.
pub const LEAST_TOKENS: usize = 256 + SPECIAL.len() + WHOLE.len();

/// Newlines with the indentation after them; letters with a space or an underscore before them; a
/// digit; runs of other characters; runs of spaces. There is no look-ahead, so one pass suffices.
const WORDS: &str = r"[\r\n]+[ \t]*|[ _]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|[^\S\r\n]+";

/// Longer words are data: nothing is learnt from them.
const LONGEST_BYTES: usize = 1024;

/// Its name in messages: it has no file yet.
const PATH: &str = "tokenizer.json";

/// Word counts of texts: the input of tokenizer training.
#[derive(Debug)]
pub struct Trainer {
    splitter: tokenizers::Tokenizer,
    words: BTreeMap<String, u64>,
}

impl Trainer {
    /// No texts so far.
    pub fn new() -> Result<Self, TokenizerError> {
        let text = describe(&[split()], &LearntMerges::bytes()).to_string();
        let splitter = text.parse().map_err(|err: tokenizers::Error| failed(&err))?;
        Ok(Self { splitter, words: BTreeMap::new() })
    }

    /// Counts the words of a text.
    pub fn add(&mut self, text: &str) -> Result<(), TokenizerError> {
        let splitter = &self.splitter;
        let mut pieces =
            splitter.get_added_vocabulary().extract_and_normalize(splitter.get_normalizer(), text);
        if let Some(split) = splitter.get_pre_tokenizer() {
            split.pre_tokenize(&mut pieces).map_err(|err| failed(&err))?;
        }
        let pieces = pieces.get_splits(OffsetReferential::Original, OffsetType::Byte);
        // A word that is already a token is not counted.
        let words = pieces.into_iter().filter(|(_, _, tokens)| tokens.is_none());
        for (word, ..) in words.filter(|(word, ..)| word.len() <= LONGEST_BYTES) {
            match self.words.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(self.words.insert(word.to_owned(), 1)),
            }
        }
        Ok(())
    }

    /// A tokenizer of `size` tokens, or fewer if the texts have no more pairs that occur twice. The
    /// same texts, in any order, give the same tokenizer.
    ///
    /// # Errors
    ///
    /// If `size` is below [`LEAST_TOKENS`].
    pub fn train(&self, size: usize) -> Result<Tokenizer, TokenizerError> {
        let own = SPECIAL.len() + WHOLE.len();
        if size < LEAST_TOKENS {
            let problem = format!("{size} tokens are too few; every byte and {own} words are one");
            return Err(TokenizerError::Format { path: PATH.into(), problem });
        }
        let learnt = LearntMerges::from_words(&self.words, size - own);
        let text = describe(&[split(), bytes()], &learnt).to_string();
        let mut tokenizer = Tokenizer::from_json(&text, Path::new(PATH))?;
        tokenizer.set_specials(Specials {
            eos: Some(MESSAGE_END.to_owned()),
            pad: Some(END_OF_TEXT.to_owned()),
            ..Specials::default()
        });
        Ok(tokenizer)
    }
}

fn failed(err: &tokenizers::Error) -> TokenizerError {
    TokenizerError::Encode(shown::beginning(&err.to_string()))
}

/// The `tokenizer.json` with these steps before the merges.
fn describe(steps: &[Value], learnt: &LearntMerges) -> Value {
    let names: Vec<String> = learnt.tokens.iter().map(|bytes| written(bytes)).collect();
    let name = |id: u32| names[id as usize].as_str();
    let merges = learnt.merges.iter().map(|pair| [name(pair.left), name(pair.right)]);
    let vocab: Map<String, Value> =
        (0..).zip(&names).map(|(id, name): (u32, _)| (name.clone(), id.into())).collect();
    json!({
        "version": "1.0",
        "added_tokens": added(names.len()),
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": null,
        "decoder": bytes(),
        "model": {"type": "BPE", "vocab": vocab, "merges": merges.collect::<Vec<_>>()},
    })
}

/// The words that are tokens of their own, with the numbers behind all others.
fn added(first: usize) -> Vec<Value> {
    let words =
        SPECIAL.iter().map(|word| (word, true)).chain(WHOLE.iter().map(|word| (word, false)));
    let token = |(id, (content, special)): (usize, (&&str, bool))| {
        json!({
            "id": id, "content": content, "special": special, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false,
        })
    };
    (first..).zip(words).map(token).collect()
}

fn split() -> Value {
    json!({
        "type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": false,
    })
}

fn bytes() -> Value {
    json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false,
    })
}

/// Bytes as they are written in a byte-level vocabulary: one visible character each.
fn written(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| character(byte)).collect()
}

/// A visible byte is the character of its number; the others are those from 256 on, in their order.
fn character(byte: u8) -> char {
    let visible = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if visible(&byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !visible(byte)).count();
    let number = u32::try_from(256 + before).expect("a small number");
    char::from_u32(number).expect("a letter with a mark")
}
