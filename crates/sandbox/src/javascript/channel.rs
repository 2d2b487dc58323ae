//! The child's end of its channel: four bytes of length, one of kind, the payload.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::unistd::{read, write};

use crate::jail::order::CHANNEL;

/// One message from the supervisor.
pub(crate) struct OutgoingFrame {
    pub(crate) kind: u8,
    pub(crate) payload: Vec<u8>,
}

fn channel() -> BorrowedFd<'static> {
    borrow(CHANNEL)
}

/// The next message; `None` when there will be none.
pub(crate) fn receive() -> Option<OutgoingFrame> {
    let length = u32::from_le_bytes(take(4)?.try_into().ok()?) as usize;
    let mut payload = take(length)?;
    if payload.is_empty() {
        return None;
    }
    let kind = payload.remove(0);
    Some(OutgoingFrame { kind, payload })
}

fn take(count: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; count];
    let mut filled = 0;
    while filled < count {
        match read(channel(), &mut bytes[filled..]) {
            Ok(0) => return None,
            Ok(more) => filled += more,
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

/// Sends one message; `None` when the other end is closed.
pub(crate) fn send(kind: u8, payload: &[u8]) -> Option<()> {
    let length = u32::try_from(payload.len() + 1).ok()?;
    let frame = [&length.to_le_bytes(), [kind].as_slice(), payload].concat();
    write_all(channel(), &frame)
}

/// A descriptor that a child has from its beginning to its end.
#[expect(unsafe_code, reason = "the jail's descriptors by their numbers")]
pub(crate) fn borrow(descriptor: i32) -> BorrowedFd<'static> {
    // SAFETY: 0 to 3 are opened by the jail, and nothing in this process closes them.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Writes all of it; `None` if that is not possible.
pub(crate) fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// Texts that stand one after another, each with its length before it.
pub(crate) fn texts<const N: usize>(payload: &[u8]) -> Option<[String; N]> {
    let mut rest = payload;
    let mut found = [const { String::new() }; N];
    for place in &mut found {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        *place = String::from_utf8(text.to_vec()).ok()?;
        rest = after;
    }
    rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_all_there_or_none_is() {
        let payload = b"\x01\0\0\0a\0\0\0\0\x03\0\0\0\xe2\x82\xac";
        assert_eq!(texts(payload), Some(["a", "", "€"].map(str::to_owned)));
        assert_eq!(texts::<2>(payload), None);
        assert_eq!(texts::<4>(payload), None);
        assert_eq!(texts::<3>(&payload[..payload.len() - 1]), None);
    }
}
