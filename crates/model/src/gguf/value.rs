//! A value of GGUF's metadata, held in no more bytes than it takes in the file.
//!
//! Lists are the large part of a header: a vocabulary, its merges, the type of each token. A list
//! of numbers is kept as its bytes, and a list of texts as one text with offsets, so that a hostile
//! header cannot make us allocate several times its own size. Lists of lists are skipped: no key
//! that we read has one.

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataValue {
    /// An integer without a sign, of any width.
    Unsigned(u64),
    /// An integer with a sign, of any width.
    Signed(i64),
    /// A float, of either width.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// Text.
    Text(String),
    /// A list of numbers, or of yes and no.
    Numbers(NumberArray),
    /// A list of texts.
    Texts(TextArray),
    /// A list of lists, which was not kept.
    Nested,
}

/// The types of numbers, with their ids in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// 0: one byte.
    U8,
    /// 1: one byte with a sign.
    I8,
    /// 2: two bytes.
    U16,
    /// 3: two bytes with a sign.
    I16,
    /// 4: four bytes.
    U32,
    /// 5: four bytes with a sign.
    I32,
    /// 6: a float of four bytes.
    F32,
    /// 7: yes or no, in one byte.
    Bool,
    /// 10: eight bytes.
    U64,
    /// 11: eight bytes with a sign.
    I64,
    /// 12: a float of eight bytes.
    F64,
}

impl NumberType {
    pub(super) fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The value of exactly as many bytes as this type has; `None` for an invalid bool.
    pub(super) fn value(self, bytes: &[u8]) -> Option<MetadataValue> {
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        // Shifted to the top and back, a number takes its sign along.
        let shift = 64 - 8 * u32::try_from(self.bytes()).ok()?;
        let signed = (bits << shift).cast_signed() >> shift;
        Some(match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => MetadataValue::Unsigned(bits),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => MetadataValue::Signed(signed),
            Self::F32 => MetadataValue::Float(f64::from(f32::from_bits(u32::try_from(bits).ok()?))),
            Self::F64 => MetadataValue::Float(f64::from_bits(bits)),
            Self::Bool if bits <= 1 => MetadataValue::Bool(bits == 1),
            Self::Bool => return None,
        })
    }
}

/// A list of numbers as in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberArray {
    pub(super) kind: NumberType,
    pub(super) bytes: Vec<u8>,
}

impl NumberArray {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.kind.bytes()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The numbers, if they are integers.
    pub fn integers(&self) -> Option<impl Iterator<Item = i64> + '_> {
        let integers = !matches!(self.kind, NumberType::F32 | NumberType::F64 | NumberType::Bool);
        let one = |bytes: &[u8]| match self.kind.value(bytes) {
            Some(MetadataValue::Unsigned(number)) => i64::try_from(number).unwrap_or(i64::MAX),
            Some(MetadataValue::Signed(number)) => number,
            _ => 0,
        };
        integers.then(|| self.bytes.chunks_exact(self.kind.bytes()).map(one))
    }
}

/// A list of texts: one behind the other, and where each ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextArray {
    pub(super) text: String,
    pub(super) ends: Vec<usize>,
}

impl TextArray {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at a place of the list.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(begin..end)
    }

    /// The texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind_keep_their_sign_and_value() {
        let check = |code: u32, bytes: &[u8], expected: Option<MetadataValue>| {
            assert_eq!(NumberType::from_code(code).unwrap().value(bytes), expected, "kind {code}");
        };
        check(0, &[0xff], Some(MetadataValue::Unsigned(255)));
        check(1, &[0xff], Some(MetadataValue::Signed(-1)));
        check(2, &[1, 2], Some(MetadataValue::Unsigned(513)));
        check(3, &[0, 0x80], Some(MetadataValue::Signed(-32768)));
        check(4, &[0, 0, 0, 0x80], Some(MetadataValue::Unsigned(1 << 31)));
        check(5, &[0, 0, 0, 0x80], Some(MetadataValue::Signed(-(1 << 31))));
        check(6, &[0, 0, 0xc0, 0xbf], Some(MetadataValue::Float(-1.5)));
        check(7, &[1], Some(MetadataValue::Bool(true)));
        check(7, &[2], None);
        check(10, &[0xff; 8], Some(MetadataValue::Unsigned(u64::MAX)));
        check(11, &[0xff; 8], Some(MetadataValue::Signed(-1)));
        check(12, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], Some(MetadataValue::Float(1.5)));
        assert!(NumberType::from_code(8).is_none() && NumberType::from_code(13).is_none());
    }

    #[test]
    fn texts_are_found_at_their_places() {
        let texts = TextArray { text: "abéc".to_owned(), ends: vec![1, 1, 4, 5] };
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "bé", "c"]);
        assert_eq!(texts.get(4), None);
    }

    #[test]
    fn only_integers_are_given_as_integers() {
        let numbers = |kind, bytes: &[u8]| NumberArray { kind, bytes: bytes.to_vec() };
        let list = numbers(NumberType::I8, &[1, 0xfe]);
        assert_eq!(list.integers().unwrap().collect::<Vec<_>>(), [1, -2]);
        assert!(numbers(NumberType::F32, &[0; 4]).integers().is_none());
    }
}
