//! Text to tokens and back, as the hub's `tokenizer.json` says.
//!
//! It wraps the crate `tokenizers`, with its regular expressions run by `fancy-regex` instead of
//! the C library Oniguruma. Ours are: no truncation and no padding, whatever the file asks for; no
//! automatic special tokens (a chat template writes its own); and [`TextStream`], which decodes
//! incrementally.
//!
//! A text is searched for special tokens: `<|im_end|>` in a task's statement becomes the token that
//! ends a message. Callers that put untrusted text into a prompt must be aware of that.

mod error;
mod merges;
mod settings;
mod stream;
mod train;

use std::path::{Path, PathBuf};

pub use error::TokenizerError;
pub use settings::Specials;
pub(crate) use settings::TokenizerSettings;
pub use stream::TextStream;
pub use train::{END_OF_TEXT, LEAST_TOKENS, MESSAGE_END, MESSAGE_START, Trainer};

use crate::shown;
use crate::small_file;

/// The largest tokenizers are some twenty megabytes.
const LIMIT_BYTES: u64 = 256 << 20;

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    specials: Specials,
    path: PathBuf,
    last: u32,
}

/// Digits of a vocabulary's digest: 128 bits.
const DIGEST_DIGITS: usize = 32;

/// Whether special tokens are part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialTokens {
    /// They are written as they are.
    Shown,
    /// They are left out.
    Dropped,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub fn from_file(path: &Path) -> Result<Self, TokenizerError> {
        let text = small_file::read_text(path, LIMIT_BYTES)
            .map_err(|source| TokenizerError::Read { path: path.to_owned(), source })?;
        Self::from_json(&text, path)
    }

    /// A tokenizer from the text of a `tokenizer.json`; `path` is for messages.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, TokenizerError> {
        let bad = |problem| TokenizerError::Format { path: path.to_owned(), problem };
        let mut inner: tokenizers::Tokenizer = text
            .parse()
            .map_err(|err: tokenizers::Error| bad(shown::beginning(&err.to_string())))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|err| bad(err.to_string()))?;
        check_added(&inner, text).map_err(bad)?;
        let ids = inner.get_vocab(true).into_values();
        let last = ids.max().ok_or_else(|| bad("it has no tokens".to_owned()))?;
        Ok(Self { inner, specials: Specials::default(), path: path.to_owned(), last })
    }

    /// The text of a `tokenizer.json` that says the same.
    pub fn to_json(&self) -> Result<String, TokenizerError> {
        self.inner.to_string(false).map_err(|err| TokenizerError::Format {
            path: self.path.clone(),
            problem: shown::beginning(&err.to_string()),
        })
    }

    /// Tells which of the tokens have a meaning.
    pub fn set_specials(&mut self, specials: Specials) {
        self.specials = specials;
    }

    /// The tokens that have a meaning.
    pub fn specials(&self) -> &Specials {
        &self.specials
    }

    /// The tokens of a text, special ones recognised, nothing added.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|err| TokenizerError::Encode(shown::beginning(&err.to_string())))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The text of tokens. Unknown ids are left out; bytes that are not UTF-8 become replacement
    /// characters.
    pub fn decode(&self, ids: &[u32], special: SpecialTokens) -> Result<String, TokenizerError> {
        self.inner
            .decode(ids, special == SpecialTokens::Dropped)
            .map_err(|err| TokenizerError::Decode(shown::beginning(&err.to_string())))
    }

    /// A decoder that gives text while tokens arrive.
    pub fn stream(&self, special: SpecialTokens) -> TextStream<'_> {
        TextStream::new(self, special)
    }

    /// The id of a token, written as it is in the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// A token as it is written in the vocabulary.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Whether an id is that of a special token.
    pub fn is_special(&self, id: u32) -> bool {
        self.token(id)
            .is_some_and(|token| self.inner.get_added_vocabulary().is_special_token(&token))
    }

    /// The id of the token that ends a completion, by the tokenizer's own settings.
    pub fn eos(&self) -> Option<u32> {
        self.id(self.specials.eos.as_deref()?)
    }

    /// One more than the largest id: the rows that an embedding needs.
    pub fn size(&self) -> usize {
        self.last as usize + 1
    }

    /// Identifies the vocabulary: two tokenizers with the same digest have the same token for every
    /// id. A model's safetensors and GGUF files have the same digest, although other fields are
    /// written differently.
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for id in 0..=self.last {
            let token = self.token(id).unwrap_or_default();
            hasher.update(&(token.len() as u64).to_le_bytes());
            hasher.update(token.as_bytes());
        }
        hasher.finalize().to_hex().as_str()[..DIGEST_DIGITS].to_owned()
    }

    /// Checks that each token has a row of an embedding of `rows` rows. Rows may be left over: many
    /// models round their number up.
    pub fn check_embedding(&self, rows: usize) -> Result<(), TokenizerError> {
        if self.size() > rows {
            let path = self.path.clone();
            return Err(TokenizerError::Embedding { path, last: self.last, rows });
        }
        Ok(())
    }
}

/// The library assigns ids to added tokens itself, after the vocabulary, and ignores the ids in the
/// file; a model whose vocabulary has gaps would get other tokens than it was trained on.
fn check_added(tokenizer: &tokenizers::Tokenizer, text: &str) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct File {
        #[serde(default)]
        added_tokens: Vec<Added>,
    }
    #[derive(serde::Deserialize)]
    struct Added {
        id: u32,
        content: String,
    }
    let file: File =
        serde_json::from_str(text).map_err(|err| shown::beginning(&err.to_string()))?;
    for Added { id, content } in file.added_tokens {
        let used = tokenizer.token_to_id(&content);
        if used != Some(id) {
            let (token, used) = (shown::beginning(&content), used.unwrap_or_default());
            return Err(format!("`{token}` is token {id} in the file and {used} in use"));
        }
    }
    Ok(())
}
