//! Frames from a child: bytes that a program may have written.
//!
//! The first byte is the jail's own, written before anything of the program runs: `R` when every
//! lock is shut, `X` with a step and an error when one could not be. Everything after it is the
//! program's: four bytes of length, one of kind, a payload. One question has one answer, so
//! anything beyond a whole frame is refused.

use crate::value::MAX_BYTES;

/// Bytes of one frame, at most: a value of the largest size, and a little.
pub const FRAME_MAX: usize = MAX_BYTES + 16;

/// One message from a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: u8,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelError {
    /// The jail could not be shut: the step's letter and the error's number, if they came.
    Jail(Option<(u8, u8)>),
    /// No frame of ours looks like that.
    Garbled,
}

/// The bytes that have arrived and are not a whole message yet.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// The read buffer: allocated once, not for each read.
    place: Vec<u8>,
    ready: bool,
}

impl Inbox {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the jail has said that it is shut.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Lets `read` fill a place for `room` bytes behind what is there; it says how many it wrote.
    pub fn fill<E>(
        &mut self,
        room: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        if self.place.len() < room {
            self.place.resize(room, 0);
        }
        let result = read(&mut self.place[..room]);
        let count = result.as_ref().map_or(0, |count| (*count).min(room));
        self.bytes.extend_from_slice(&self.place[..count]);
        result
    }

    /// The number of unread bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none do.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next message, if it is whole.
    pub fn take(&mut self) -> Result<Option<Frame>, ChannelError> {
        if !self.ready {
            match self.bytes.as_slice() {
                [] => return Ok(None),
                [b'R', ..] => {
                    self.bytes.remove(0);
                    self.ready = true;
                }
                [b'X', step, error, ..] => return Err(ChannelError::Jail(Some((*step, *error)))),
                _ => return Err(ChannelError::Jail(None)),
            }
        }
        let Some((head, rest)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length == 0 || length > FRAME_MAX || rest.len() > length {
            return Err(ChannelError::Garbled);
        }
        if rest.len() < length {
            return Ok(None);
        }
        let frame = Frame { kind: rest[0], payload: rest[1..].to_vec() };
        self.bytes.clear();
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbox(bytes: &[u8]) -> Inbox {
        let mut inbox = Inbox::new();
        put(&mut inbox, bytes);
        inbox
    }

    fn put(inbox: &mut Inbox, bytes: &[u8]) {
        let write = |place: &mut [u8]| {
            place.copy_from_slice(bytes);
            Ok::<_, ()>(bytes.len())
        };
        inbox.fill(bytes.len(), write).unwrap();
    }

    #[test]
    fn a_frame_comes_out_when_its_last_byte_has_come_in() {
        let mut inbox = inbox(b"R");
        for byte in b"\x03\0\0\0vhi" {
            assert_eq!(inbox.take(), Ok(None));
            put(&mut inbox, &[*byte]);
        }
        let frame = Frame { kind: b'v', payload: b"hi".to_vec() };
        assert_eq!(inbox.take(), Ok(Some(frame)));
        assert_eq!(inbox.take(), Ok(None));
    }

    #[test]
    fn nothing_is_believed_before_the_jail_has_spoken() {
        assert_eq!(inbox(b"\x01\0\0\0p").take(), Err(ChannelError::Jail(None)));
        assert_eq!(inbox(b"Xm\x16").take(), Err(ChannelError::Jail(Some((b'm', 22)))));
        assert!(!inbox(b"").is_ready());
    }

    #[test]
    fn an_answer_to_a_question_not_yet_asked_is_garbled() {
        assert_eq!(inbox(b"R\x01\0\0\0p\x01\0\0\0p").take(), Err(ChannelError::Garbled));
        assert_eq!(inbox(b"R\0\0\0\0").take(), Err(ChannelError::Garbled));
        assert_eq!(inbox(b"R\xff\xff\xff\xff").take(), Err(ChannelError::Garbled));
    }
}
