//! One JSON array of objects, element by element.
//!
//! An element is held as text, so one that is not an object does not hide the next; where the JSON
//! itself is invalid, the rest cannot be found. Each element has a budget of bytes, which keeps a
//! hostile one from filling memory.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;
use std::rc::Rc;

use serde::Deserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::row::brief;
use super::{Each, TableError};

/// Reads the elements of an array, each of at most `limit` bytes.
pub(super) fn read(
    reader: &mut dyn BufRead,
    limit: usize,
    each: Each<'_>,
) -> Result<(), TableError> {
    let budget = Rc::new(Cell::new(limit));
    let row = Cell::new(0);
    let ended = Cell::new(false);
    let elements = Elements { each, limit, budget: &budget, row: &row, ended: &ended };
    skip_mark(reader).map_err(|err| TableError::of(err, 0))?;
    let bounded = io::BufReader::new(Bounded { reader, budget: Rc::clone(&budget) });
    let mut json = serde_json::Deserializer::from_reader(bounded);
    let read = json.deserialize_seq(elements).and_then(|()| json.end());
    match read {
        Ok(()) => Ok(()),
        Err(_) if ended.get() => Ok(()),
        Err(err) => Err(broken(err, row.get(), limit)),
    }
}

fn broken(err: serde_json::Error, row: u64, limit: usize) -> TableError {
    let problem = format!("expected one JSON array of objects: {}", brief(&err.to_string()));
    match err.io_error_kind() {
        Some(io::ErrorKind::FileTooLarge) => {
            let problem = format!("an element longer than {} MiB", limit >> 20);
            TableError::Broken { row: row + 1, problem }
        }
        Some(_) => TableError::of(err.into(), row + 1),
        None => TableError::Broken { row: if row == 0 { 0 } else { row + 1 }, problem },
    }
}

/// A byte order mark carries nothing.
fn skip_mark(reader: &mut dyn BufRead) -> io::Result<()> {
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok(())
}

struct Elements<'a> {
    each: Each<'a>,
    limit: usize,
    budget: &'a Cell<usize>,
    row: &'a Cell<u64>,
    ended: &'a Cell<bool>,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<Box<RawValue>>()? {
            self.budget.set(self.limit);
            self.row.set(self.row.get() + 1);
            let object = serde_json::from_str(element.get()).map_err(|err| {
                format!("expected one row as a JSON object: {}", brief(&err.to_string()))
            });
            if let ControlFlow::Break(()) = (self.each)(self.row.get(), object) {
                self.ended.set(true);
                return Err(de::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

/// A reader that returns no more than the budget until it is renewed.
struct Bounded<'a> {
    reader: &'a mut dyn BufRead,
    budget: Rc<Cell<usize>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        if left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let length = buffer.len().min(left);
        let read = self.reader.read(&mut buffer[..length])?;
        self.budget.set(left - read);
        Ok(read)
    }
}
