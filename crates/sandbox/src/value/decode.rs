//! Reads a value that a program sent: `CPython`'s `marshal` of version 2, data tags only.
//!
//! The bytes are the program's, so they are believed in nothing. A tag of code, a reference to an
//! earlier object, a number in a longer form than `CPython` writes, a key that stands twice, bytes
//! left over: each is an error, and the program has given no answer. A count is refused when the
//! bytes that are left cannot hold it beside everything else that was promised, so memory stays
//! within a small multiple of the input, and time is linear in it.

use super::{Flaw, Int, MAX_BYTES, MAX_DEPTH, Text, Value, check};

/// Limits on the size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueLimits {
    /// Bytes of its encoding.
    pub bytes: usize,
    /// Containers inside one another; never more than [`MAX_DEPTH`].
    pub depth: usize,
}

impl Default for ValueLimits {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, depth: MAX_DEPTH }
    }
}

/// Why bytes are not a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no plain data at byte {at}: {problem}")]
pub struct DecodeError {
    /// The offset of the problem.
    pub at: usize,
    /// The problem.
    pub problem: DecodeProblem,
}

/// A problem in the bytes of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// More bytes than allowed.
    #[error("{0} bytes are too many")]
    Long(usize),
    /// More containers inside one another than allowed.
    #[error("too many values inside one another")]
    Deep,
    /// The bytes end before the value does, or a count promises more than they can hold.
    #[error("the bytes end too early")]
    Short,
    /// The value ends before the bytes do.
    #[error("bytes are left over")]
    Leftover,
    /// The tag of something that is not plain data.
    #[error("tag {0:#04x} is not one of plain data")]
    Tag(u8),
    /// A number in a form that `CPython` does not write.
    #[error("a number is not in its shortest form")]
    Unnormalised,
    /// A string's bytes are no UTF-8.
    #[error("a string is not UTF-8")]
    NotText,
    /// No such value exists in Python.
    #[error(transparent)]
    Flaw(#[from] Flaw),
}

/// Reads one value, which must be all of `bytes`.
pub fn decode(bytes: &[u8], limits: ValueLimits) -> Result<Value, DecodeError> {
    if bytes.len() > limits.bytes {
        return Err(DecodeError { at: 0, problem: DecodeProblem::Long(bytes.len()) });
    }
    let mut reader = ByteReader { bytes, at: 0, promised: 0 };
    let value = reader.whole(limits.depth.min(MAX_DEPTH));
    value.map_err(|problem| DecodeError { at: reader.at, problem })
}

struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Items of open containers that are still to come: each takes a byte at least.
    promised: usize,
}

impl ByteReader<'_> {
    fn whole(&mut self, depth: usize) -> Result<Value, DecodeProblem> {
        let value = self.value(depth)?;
        if self.at != self.bytes.len() {
            return Err(DecodeProblem::Leftover);
        }
        check(&value)?;
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Value, DecodeProblem> {
        let tag = self.byte()?;
        if matches!(tag, b'(' | b'[' | b'{' | b'<' | b'>') && depth == 0 {
            return Err(DecodeProblem::Deep);
        }
        Ok(match tag {
            b'N' => Value::None,
            b'.' => Value::Ellipsis,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => Value::Int(Int::from(i64::from(self.number()?))),
            b'l' => Value::Int(self.long()?),
            b'g' => Value::Float(self.float()?),
            b'y' => Value::Complex(self.float()?, self.float()?),
            b's' => Value::Bytes(self.string()?),
            b'u' => Value::Str(Text::from_bytes(self.string()?).ok_or(DecodeProblem::NotText)?),
            b'(' => Value::Tuple(self.items(depth - 1)?),
            b'[' => Value::List(self.items(depth - 1)?),
            b'<' => Value::Set(self.items(depth - 1)?),
            b'>' => Value::FrozenSet(self.items(depth - 1)?),
            b'{' => Value::Dict(self.pairs(depth - 1)?),
            other => {
                self.at -= 1;
                return Err(DecodeProblem::Tag(other));
            }
        })
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Value>, DecodeProblem> {
        let count = self.count()?;
        if count > self.left().saturating_sub(self.promised) {
            return Err(DecodeProblem::Short);
        }
        self.promised += count;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            self.promised -= 1;
            items.push(self.value(depth)?);
        }
        Ok(items)
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(Value, Value)>, DecodeProblem> {
        let mut pairs = Vec::new();
        while self.bytes.get(self.at) != Some(&b'0') {
            pairs.push((self.value(depth)?, self.value(depth)?));
        }
        self.at += 1;
        pairs.shrink_to_fit();
        Ok(pairs)
    }

    fn long(&mut self) -> Result<Int, DecodeProblem> {
        let count = self.number()?;
        let length = usize::try_from(count.unsigned_abs()).map_err(|_| DecodeProblem::Short)?;
        let bytes = self.take(length.checked_mul(2).ok_or(DecodeProblem::Short)?)?;
        let digits: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        if digits.iter().any(|digit| *digit > 0x7FFF) || matches!(digits.last(), None | Some(0)) {
            return Err(DecodeProblem::Unnormalised);
        }
        let value = Int::from_digits(count < 0, &digits);
        if value.as_i64().is_some_and(|small| i32::try_from(small).is_ok()) {
            return Err(DecodeProblem::Unnormalised);
        }
        Ok(value)
    }

    fn float(&mut self) -> Result<f64, DecodeProblem> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    fn string(&mut self) -> Result<Vec<u8>, DecodeProblem> {
        let count = self.count()?;
        Ok(self.take(count)?.to_vec())
    }

    fn count(&mut self) -> Result<usize, DecodeProblem> {
        usize::try_from(self.number()?).map_err(|_| DecodeProblem::Short)
    }

    fn number(&mut self) -> Result<i32, DecodeProblem> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    fn byte(&mut self) -> Result<u8, DecodeProblem> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeProblem> {
        self.take(N)?.try_into().map_err(|_| DecodeProblem::Short)
    }

    fn take(&mut self, count: usize) -> Result<&[u8], DecodeProblem> {
        let end = self.at.checked_add(count).ok_or(DecodeProblem::Short)?;
        let bytes = self.bytes.get(self.at..end).ok_or(DecodeProblem::Short)?;
        self.at = end;
        Ok(bytes)
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(bytes: &[u8], at: usize, problem: DecodeProblem) {
        assert_eq!(decode(bytes, ValueLimits::default()), Err(DecodeError { at, problem }));
    }

    #[track_caller]
    fn accepted(bytes: &[u8], value: &Value) {
        assert_eq!(decode(bytes, ValueLimits::default()).as_ref(), Ok(value));
    }

    /// `marshal.dumps(value, 2)` of `CPython` 3.11.
    #[test]
    fn what_cpython_writes_is_read() {
        accepted(b"N", &Value::None);
        accepted(b".", &Value::Ellipsis);
        accepted(b"i\xff\xff\xff\xff", &Value::int(-1));
        accepted(b"l\x03\0\0\0\0\0\0\0\x02\0", &Value::int(1 << 31));
        accepted(b"l\xfd\xff\xff\xff\x01\0\0\0\x02\0", &Value::int(-(1 << 31) - 1));
        accepted(b"g\0\0\0\0\0\0\xf8?", &Value::Float(1.5));
        accepted(
            b"(\x02\0\0\0T[\x01\0\0\0u\x02\0\0\0\xc3\x9f",
            &Value::Tuple(vec![Value::Bool(true), Value::List(vec![Value::str("ß")])]),
        );
        accepted(
            b"{u\x01\0\0\0as\x01\0\0\0b0",
            &Value::Dict(vec![(Value::str("a"), Value::Bytes(b"b".to_vec()))]),
        );
        accepted(b"<\x01\0\0\0>\0\0\0\0", &Value::Set(vec![Value::FrozenSet(vec![])]));
        accepted(
            b"u\x03\0\0\0\xed\xa0\x80",
            &Value::Str(Text::from_bytes(b"\xed\xa0\x80".to_vec()).unwrap()),
        );
    }

    #[test]
    fn tags_of_other_things_and_references_are_refused_by_name() {
        for tag in *b"SIftRrcxaAzZ)?0\0" {
            refused(&[tag, 1, 0, 0, 0, b'N'], 0, DecodeProblem::Tag(tag));
        }
        refused(b"\xce", 0, DecodeProblem::Tag(0xCE));
        refused(b"[\x01\0\0\0\xe9\0\0\0\0", 5, DecodeProblem::Tag(0xE9));
    }

    #[test]
    fn the_bytes_are_the_value_and_nothing_more() {
        refused(b"", 0, DecodeProblem::Short);
        refused(b"NN", 1, DecodeProblem::Leftover);
        refused(b"i\0\0\0", 1, DecodeProblem::Short);
        refused(b"u\x02\0\0\0a", 5, DecodeProblem::Short);
        refused(b"u\xff\xff\xff\xffa", 5, DecodeProblem::Short);
        refused(b"{NN", 3, DecodeProblem::Short);
        refused(b"u\x01\0\0\0\xff", 6, DecodeProblem::NotText);
    }

    #[test]
    fn a_number_has_one_form() {
        refused(b"l\0\0\0\0", 5, DecodeProblem::Unnormalised);
        refused(b"l\x01\0\0\0\x05\0", 7, DecodeProblem::Unnormalised);
        refused(b"l\x03\0\0\0\xff\x7f\xff\x7f\x01\0", 11, DecodeProblem::Unnormalised);
        refused(b"l\x04\0\0\0\0\0\0\0\x02\0\0\0", 13, DecodeProblem::Unnormalised);
        refused(b"l\x03\0\0\0\0\x80\0\0\x02\0", 11, DecodeProblem::Unnormalised);
        refused(b"l\0\0\0\x80", 5, DecodeProblem::Short);
    }

    #[test]
    fn what_cannot_exist_in_python_is_refused() {
        refused(b"<\x01\0\0\0[\0\0\0\0", 10, DecodeProblem::Flaw(Flaw::Unhashable));
        refused(b"<\x02\0\0\0Ti\x01\0\0\0", 11, DecodeProblem::Flaw(Flaw::Twice));
        refused(b"{NTNF0", 6, DecodeProblem::Flaw(Flaw::Twice));
    }

    #[test]
    fn depth_and_length_end_where_the_limits_say() {
        let nested = |depth: usize| [b"(\x01\0\0\0".repeat(depth), b"N".to_vec()].concat();
        assert!(decode(&nested(MAX_DEPTH), ValueLimits::default()).is_ok());
        refused(&nested(MAX_DEPTH + 1), 5 * MAX_DEPTH + 1, DecodeProblem::Deep);
        let deep = ValueLimits { depth: usize::MAX, ..ValueLimits::default() };
        assert!(decode(&nested(MAX_DEPTH + 1), deep).is_err());
        assert!(decode(&nested(2), ValueLimits { depth: 1, ..ValueLimits::default() }).is_err());
        let long = vec![b'N'; MAX_BYTES + 1];
        refused(&long, 0, DecodeProblem::Long(MAX_BYTES + 1));
    }

    #[test]
    fn counts_that_together_promise_more_than_there_is_are_refused_at_once() {
        let mut bytes = Vec::new();
        for _ in 0..8 {
            bytes.extend_from_slice(b"[\x40\0\0\0");
        }
        bytes.extend([b'N'; 100]);
        // The first promises 64 of 135 bytes; with 63 still to come the second one may not.
        refused(&bytes, 15, DecodeProblem::Short);
    }
}
