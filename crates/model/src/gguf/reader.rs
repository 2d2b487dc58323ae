//! Reads a GGUF header in order, and keeps track of the bytes left in the file.

use std::io::Read;

use super::value::{MetadataValue, NumberArray, NumberType, TextArray};
use crate::weights::HeaderError;

/// The type ids of texts and lists, besides those of [`NumberType`].
const TEXT: u32 = 8;
const LIST: u32 = 9;

/// Lists within lists, at most.
const MAX_DEPTH: u32 = 4;

/// A reader that knows how much is left.
#[derive(Debug)]
pub(super) struct BoundedReader<'a, R> {
    inner: std::io::BufReader<&'a mut R>,
    position: u64,
    end: u64,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    pub(super) fn new(inner: &'a mut R, end: u64) -> Self {
        Self { inner: std::io::BufReader::new(inner), position: 0, end }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn bytes<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], HeaderError> {
        let mut bytes = [0; N];
        self.claim(what, Some(N as u64))?;
        self.inner.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn word(&mut self, what: &'static str) -> Result<u32, HeaderError> {
        self.bytes(what).map(u32::from_le_bytes)
    }

    pub(super) fn unsigned(&mut self, what: &'static str) -> Result<u64, HeaderError> {
        self.bytes(what).map(u64::from_le_bytes)
    }

    /// A text of at most `limit_bytes`.
    pub(super) fn text(
        &mut self,
        what: &'static str,
        limit_bytes: u64,
    ) -> Result<String, HeaderError> {
        let length = self.unsigned("the length of a text")?;
        if length > limit_bytes {
            let problem = format!("{what} of {length} bytes is longer than {limit_bytes}");
            return Err(HeaderError::Format(problem));
        }
        String::from_utf8(self.many(what, Some(length))?).map_err(|_| not_utf8(what))
    }

    /// A value, with its kind in front.
    pub(super) fn value(&mut self) -> Result<MetadataValue, HeaderError> {
        match self.word("the kind of a value")? {
            TEXT => Ok(MetadataValue::Text(self.text("a text", u64::MAX)?)),
            LIST => self.list(0),
            code => {
                let kind = kind_of(code)?;
                let bytes = self.many("a number", Some(kind.bytes() as u64))?;
                kind.value(&bytes).ok_or_else(not_a_bool)
            }
        }
    }

    fn list(&mut self, depth: u32) -> Result<MetadataValue, HeaderError> {
        let code = self.word("the kind of a list")?;
        let length = self.unsigned("the length of a list")?;
        match code {
            TEXT => self.texts(length).map(MetadataValue::Texts),
            LIST if depth == MAX_DEPTH => {
                let problem = format!("lists within lists, more than {MAX_DEPTH} deep");
                Err(HeaderError::Format(problem))
            }
            LIST => {
                self.at_least("a list of lists", length, 12)?;
                for _ in 0..length {
                    self.list(depth + 1)?;
                }
                Ok(MetadataValue::Nested)
            }
            code => {
                let kind = kind_of(code)?;
                let needs = length.checked_mul(kind.bytes() as u64);
                let bytes = self.many("a list of numbers", needs)?;
                if kind == NumberType::Bool && bytes.iter().any(|&byte| byte > 1) {
                    return Err(not_a_bool());
                }
                Ok(MetadataValue::Numbers(NumberArray { kind, bytes }))
            }
        }
    }

    fn texts(&mut self, length: u64) -> Result<TextArray, HeaderError> {
        self.at_least("a list of texts", length, 8)?;
        let mut texts = TextArray::default();
        for _ in 0..length {
            let bytes = self.unsigned("the length of a text")?;
            let part = self.many("a text of a list", Some(bytes))?;
            let part = str::from_utf8(&part).map_err(|_| not_utf8("a text of a list"))?;
            if texts.text.capacity() - texts.text.len() < part.len() {
                // Capacity is doubled, but never beyond what the rest of the file could fill.
                let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
                texts.text.reserve_exact(part.len() + left.min(texts.text.len()));
            }
            texts.text.push_str(part);
            texts.ends.push(texts.text.len());
        }
        texts.text.shrink_to_fit();
        texts.ends.shrink_to_fit();
        Ok(texts)
    }

    /// As many bytes as are left in the file, or an error before any of them is made room for.
    fn many(&mut self, what: &'static str, needs: Option<u64>) -> Result<Vec<u8>, HeaderError> {
        let length = self.claim(what, needs)?;
        let mut bytes = vec![0; length];
        self.inner.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Subtracts bytes from the rest; `None` means an overflow.
    fn claim(&mut self, what: &'static str, needs: Option<u64>) -> Result<usize, HeaderError> {
        let has = self.end - self.position;
        let needs = needs.unwrap_or(u64::MAX);
        match usize::try_from(needs) {
            Ok(length) if needs <= has => {
                self.position += needs;
                Ok(length)
            }
            _ => Err(HeaderError::Short { what, needs, has }),
        }
    }

    /// Refuses a list that would be longer than the file, before its first element is read.
    fn at_least(&self, what: &'static str, length: u64, each: u64) -> Result<(), HeaderError> {
        let (needs, has) = (length.saturating_mul(each), self.end - self.position);
        if needs > has { Err(HeaderError::Short { what, needs, has }) } else { Ok(()) }
    }
}

fn kind_of(code: u32) -> Result<NumberType, HeaderError> {
    NumberType::from_code(code)
        .ok_or_else(|| HeaderError::Format(format!("kind {code} is unknown")))
}

fn not_a_bool() -> HeaderError {
    HeaderError::Format("a yes or no that is neither 0 nor 1".to_owned())
}

fn not_utf8(what: &str) -> HeaderError {
    HeaderError::Format(format!("{what} is not UTF-8"))
}
