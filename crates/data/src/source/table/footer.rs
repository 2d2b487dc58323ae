//! The foot of a parquet file, looked at before the library is asked.
//!
//! The library builds the tree of columns recursively, one call per level. A file of 50 kB can have
//! enough levels to overflow the stack, which ends the process without a panic. So the list of
//! columns is walked here first, without recursion, and a tree of more than [`MAX_LEVELS`] is
//! refused; data sets have four.
//!
//! The foot is a `FileMetaData` in Thrift's compact protocol, its length and `PAR1`. Only its shape
//! is followed; of each column, only how many columns it holds. What cannot be followed is refused:
//! the library might follow it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::TableError;

/// Columns within columns.
const MAX_LEVELS: usize = 64;
/// Maximal nesting of structs; a footer has five levels.
const MAX_DEPTH: usize = 16;
/// The longest foot that is read: ten times that of a data set of a hundred shards in one.
const MAX_FOOT_BYTES: usize = 64 << 20;
/// The length and the mark behind the foot.
const TAIL_BYTES: usize = 8;

/// Kinds of values in the compact protocol.
mod kind {
    pub(super) const I32: u8 = 5;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = 12;
}

/// Checks the footer of `file`. A file without one is left to the library, which reports it.
pub(super) fn check(file: &File) -> Result<(), TableError> {
    let length = file.metadata().map_err(TableError::Io)?.len();
    let Some(tail_at) = length.checked_sub(TAIL_BYTES as u64) else { return Ok(()) };
    let mut tail = [0; TAIL_BYTES];
    file.read_exact_at(&mut tail, tail_at).map_err(TableError::Io)?;
    let [a, b, c, d, mark @ ..] = tail;
    let foot = u32::from_le_bytes([a, b, c, d]);
    let Some(foot_at) = tail_at.checked_sub(u64::from(foot)).filter(|_| mark == *b"PAR1") else {
        return Ok(());
    };
    let foot = foot as usize;
    if foot > MAX_FOOT_BYTES {
        let problem = format!("its metadata has {foot} bytes, more than the limit of 64 MiB");
        return Err(TableError::Broken { row: 0, problem });
    }
    let mut bytes = vec![0; foot];
    file.read_exact_at(&mut bytes, foot_at).map_err(TableError::Io)?;
    let problem = match levels(&bytes) {
        Some(levels) if levels <= MAX_LEVELS => return Ok(()),
        Some(_) => format!("its columns are nested in more than {MAX_LEVELS} levels"),
        None => "its metadata cannot be read".to_owned(),
    };
    Err(TableError::Broken { row: 0, problem })
}

/// Nesting depth of the columns, one more than [`MAX_LEVELS`] if deeper than that; `None` if the
/// bytes cannot be parsed.
fn levels(foot: &[u8]) -> Option<usize> {
    const SCHEMA: u64 = 2;
    let mut foot = Compact(foot);
    let mut deepest = 0;
    foot.fields(|foot, id, kind| {
        if (id, kind) != (SCHEMA, kind::LIST) {
            return foot.skip(kind, MAX_DEPTH);
        }
        deepest = deepest.max(foot.tree()?);
        Some(())
    })?;
    Some(deepest)
}

/// Bytes of the compact protocol, from the next to be read.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    /// The depth of a list of columns, each with how many of those behind it are its own.
    fn tree(&mut self) -> Option<usize> {
        let (kind, count) = self.list()?;
        if kind != kind::STRUCT {
            return None;
        }
        // Of each column that is open, how many columns it still lacks.
        let mut open: Vec<u64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..count {
            let children = self.column()?;
            open.last_mut().into_iter().for_each(|lacks| *lacks -= 1);
            if children > 0 && open.len() <= MAX_LEVELS {
                open.push(children);
            }
            deepest = deepest.max(open.len());
            while open.pop_if(|lacks| *lacks == 0).is_some() {}
        }
        Some(deepest)
    }

    /// Number of children of a column.
    fn column(&mut self) -> Option<u64> {
        const NUM_CHILDREN: u64 = 5;
        let mut children = 0;
        self.fields(|foot, id, kind| {
            if (id, kind) != (NUM_CHILDREN, kind::I32) {
                return foot.skip(kind, MAX_DEPTH);
            }
            let zigzag = foot.varint()?;
            // A negative number holds nothing, as the library has it.
            children = if zigzag % 2 == 0 { zigzag / 2 } else { 0 };
            Some(())
        })?;
        Some(children)
    }

    /// Visits the fields of a struct: number and type. The callback must read the field to its end.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, u64, u8) -> Option<()>) -> Option<()> {
        let mut last = 0;
        loop {
            let head = self.byte()?;
            let (step, kind) = (head >> 4, head & 15);
            if kind == 0 {
                return Some(());
            }
            // A number that does not follow from the last one is written out.
            let id =
                if step == 0 { self.varint()? / 2 } else { u64::checked_add(last, step.into())? };
            each(self, id, kind)?;
            last = id;
        }
    }

    /// Passes over a value.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match kind {
            // A truth value is in its field's head.
            1 | 2 => Some(()),
            3 => self.take(1),
            4..=6 => self.varint().map(drop),
            7 => self.take(8),
            8 => {
                let length = self.varint()?;
                self.take(usize::try_from(length).ok()?)
            }
            // Lists and sets.
            9 | 10 => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_in_list(kind, deeper))
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_in_list(kinds >> 4, deeper)?;
                    self.skip_in_list(kinds & 15, deeper)
                })
            }
            12 => self.fields(|foot, _, kind| foot.skip(kind, deeper)),
            13 => self.take(16),
            _ => None,
        }
    }

    /// Passes over an element: there, a truth value has a byte of its own.
    fn skip_in_list(&mut self, kind: u8, depth: usize) -> Option<()> {
        if matches!(kind, 1 | 2) { self.take(1) } else { self.skip(kind, depth) }
    }

    /// The head of a list: the kind of its elements, and how many there are.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((head & 15, count))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn take(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose list of columns has these numbers of children, between other fields.
    fn foot(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2]; // field 1: a number
        bytes.extend([0x19, 0xfc, u8::try_from(children.len()).unwrap()]); // field 2: a list of structs
        for count in children {
            bytes.extend([0x48, 1, b'x']); // field 4: a text
            bytes.extend([0x15, 2 * count]); // field 5: a number
            bytes.push(0);
        }
        bytes.extend([0x19, 0x1c, 0x11, 0x1b, 1, 0x81, 1, b'k', 1, 0]); // field 3: a list of structs
        bytes.extend([0x08, 20, 2, b'y', b'z', 0]); // field 10, written out: a text
        bytes
    }

    #[test]
    fn levels_are_counted_as_the_tree_has_them() {
        assert_eq!(levels(&foot(&[0])), Some(0));
        assert_eq!(levels(&foot(&[2, 0, 0])), Some(1));
        // Two lists, one behind the other: root, list, element.
        assert_eq!(levels(&foot(&[3, 1, 1, 0, 1, 1, 0, 0])), Some(3));
        assert_eq!(levels(&foot(&[1; 65])), Some(65));
        assert_eq!(levels(&foot(&[1; 120])), Some(65), "no more are counted");
    }

    #[test]
    fn a_second_list_of_columns_is_looked_at_too() {
        let (mut shallow, deep) = (foot(&[2, 0, 0]), foot(&[1; 9]));
        assert_eq!(shallow.pop(), Some(0));
        // Field 2 again: its number is written out, its kind is a list.
        shallow.extend([0x09, 4]);
        shallow.extend(&deep[3..]);
        assert_eq!(levels(&shallow), Some(9));
    }

    #[test]
    fn bytes_that_cannot_be_followed_have_no_levels() {
        let whole = foot(&[3, 1, 1, 0, 1, 1, 0, 0]);
        for length in 0..whole.len() {
            assert_eq!(levels(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(levels(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f]), None, "a list without end");
        assert_eq!(levels(&[0x1c; 100]), None, "structs without end");
        assert_eq!(levels(&[0x1e, 0]), None, "no such kind");
    }
}
