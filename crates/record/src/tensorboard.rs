//! Measurements as a file that TensorBoard reads, for those who like to look at curves there.
//!
//! A file is a list of framed records (`TFRecord`): the length as 8 bytes, a checksum of it, the
//! record, a checksum of the record. A record is a protocol buffer, `Event`, with four fields in
//! use:
//!
//! ```text
//! 1 wall_time: double   2 step: int64   3 file_version: string   5 summary: { 1 value: { 1 tag, 2 simple_value } }
//! ```
//!
//! Both formats are in TensorFlow's sources (`record_writer.cc`, `event.proto`, `summary.proto`). The
//! checksum is CRC-32C, turned by 15 bits and with a constant added. TensorBoard keeps numbers as f32.
//!
//! Not here: anything but scalars.

use std::io::{self, Write};

/// The text of the first record of a file.
const VERSION: &[u8] = b"brain.Event:2";

/// A file of measurements that is being written.
#[derive(Debug)]
pub(crate) struct Scalars<W: Write> {
    out: W,
}

impl<W: Write> Scalars<W> {
    /// Begins a file.
    pub(crate) fn begin(out: W, time_ms: u64) -> io::Result<Self> {
        let mut scalars = Self { out };
        let mut event = seconds(time_ms);
        text(&mut event, 3, VERSION);
        scalars.frame(&event)?;
        Ok(scalars)
    }

    /// Appends to an existing file.
    pub(crate) fn go_on(out: W) -> Self {
        Self { out }
    }

    /// Adds the measurements of a step.
    pub(crate) fn step<'v>(
        &mut self,
        time_ms: u64,
        step: u64,
        values: impl IntoIterator<Item = (&'v str, f64)>,
    ) -> io::Result<()> {
        let mut summary = Vec::new();
        for (tag, value) in values {
            let mut one = Vec::new();
            text(&mut one, 1, tag.as_bytes());
            one.push(2 << 3 | FOUR_BYTES);
            #[expect(clippy::cast_possible_truncation, reason = "the format's numbers are f32")]
            one.extend((value as f32).to_le_bytes());
            text(&mut summary, 1, &one);
        }
        let mut event = seconds(time_ms);
        event.push(2 << 3 | VARINT);
        varint(&mut event, step);
        text(&mut event, 5, &summary);
        self.frame(&event)
    }

    fn frame(&mut self, record: &[u8]) -> io::Result<()> {
        let length = (record.len() as u64).to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&masked(&length))?;
        self.out.write_all(record)?;
        self.out.write_all(&masked(record))
    }
}

/// Kinds of fields in a protocol buffer.
const VARINT: u8 = 0;
const EIGHT_BYTES: u8 = 1;
const TEXT: u8 = 2;
const FOUR_BYTES: u8 = 5;

/// An event with its time.
fn seconds(time_ms: u64) -> Vec<u8> {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few decades")]
    let seconds = time_ms as f64 / 1000.0;
    let mut event = vec![1 << 3 | EIGHT_BYTES];
    event.extend(seconds.to_le_bytes());
    event
}

/// A field of bytes.
fn text(to: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    to.push(field << 3 | TEXT);
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

/// A number, seven bits at a time.
#[expect(clippy::cast_possible_truncation, reason = "the lowest seven bits")]
fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// CRC-32C (Castagnoli), bit by bit: a step's record is a kilobyte.
fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc));
    !bytes.iter().fold(!0, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C, and a vector of RFC 3720, B.4.
    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn numbers_are_seven_bits_a_byte() {
        let of = |number| {
            let mut bytes = Vec::new();
            varint(&mut bytes, number);
            bytes
        };
        assert_eq!((of(0), of(127), of(300)), (vec![0], vec![0x7f], vec![0xac, 2]));
        assert_eq!(of(u64::MAX).len(), 10);
    }

    /// The encoding by TensorBoard's own classes:
    ///
    /// ```python
    /// from tensorboard.compat.proto.event_pb2 import Event
    /// from tensorboard.compat.proto.summary_pb2 import Summary
    /// value = Summary.Value(tag="a/b", simple_value=0.5)
    /// Event(wall_time=1.5, step=300, summary=Summary(value=[value])).SerializeToString().hex()
    /// # 09000000000000f83f10ac022a0c0a0a0a03612f62150000003f
    /// ```
    #[test]
    fn a_step_is_the_record_that_tensorboard_knows() {
        let mut scalars = Scalars::begin(Vec::new(), 0).unwrap();
        let before = scalars.out.len();
        scalars.step(1500, 300, [("a/b", 0.5)]).unwrap();
        let bytes = scalars.out;
        let record = &bytes[before + 12..bytes.len() - 4];
        let expected = 0x0900_0000_0000_00f8_3f10_ac02_2a0c_0a0a_u128.to_be_bytes();
        assert_eq!(record[..16], expected);
        assert_eq!(record[16..], [0x0a, 3, b'a', b'/', b'b', 0x15, 0, 0, 0, 0x3f]);
        assert_eq!(bytes[before..before + 8], 26_u64.to_le_bytes());
        assert_eq!(bytes[bytes.len() - 4..], masked(record));
    }
}
