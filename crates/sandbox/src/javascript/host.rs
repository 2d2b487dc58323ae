//! The functions that `shim.js` is built on; the program itself cannot name them.
//!
//! They write to standard output and standard error, read standard input, turn bytes into text and
//! back, and leave. There is no other way out of the engine.

#![expect(unsafe_code, reason = "the bytes of an array of the engine")]

use std::cell::RefCell;
use std::rc::Rc;

use nix::errno::Errno;
use nix::unistd::read;
use rquickjs::{Ctx, Function, Object, Result, TypedArray, Value};

use super::channel::{borrow, write_all};
use super::read::text;
use crate::jail::sys;

/// Bytes of output that are held back until a write is worth it.
const HELD_BACK: usize = 1 << 16;

/// Buffered standard output and standard error.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams(Rc<RefCell<[Vec<u8>; 2]>>);

impl Streams {
    fn write(&self, stream: usize, bytes: &[u8]) {
        let mut streams = self.0.borrow_mut();
        let Some(held) = streams.get_mut(stream) else { return };
        held.extend_from_slice(bytes);
        if held.len() >= HELD_BACK {
            send(stream, held);
        }
    }

    /// Writes what was held back.
    pub(super) fn flush(&self) {
        for (stream, held) in self.0.borrow_mut().iter_mut().enumerate() {
            send(stream, held);
        }
    }
}

fn send(stream: usize, held: &mut Vec<u8>) {
    let descriptor = if stream == 0 { 1 } else { 2 };
    // A stream without a reader is not the program's fault.
    let _ = write_all(borrow(descriptor), held);
    held.clear();
}

/// The object that the shim is called with.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, streams: &Streams) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let out = streams.clone();
    let write = move |stream: usize, value: Value<'js>| {
        out.write(stream, &printable(text(&value).unwrap_or_default()));
    };
    host.set("write", Function::new(ctx.clone(), write)?)?;
    let input = |ctx: Ctx<'js>| TypedArray::<u8>::new(ctx, input());
    host.set("input", Function::new(ctx.clone(), input)?)?;
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    let encode = |ctx: Ctx<'js>, value: Value<'js>| {
        TypedArray::<u8>::new(ctx, printable(text(&value).unwrap_or_default()))
    };
    host.set("encode", Function::new(ctx.clone(), encode)?)?;
    let streams = streams.clone();
    let exit = move || {
        streams.flush();
        sys::exit(0)
    };
    host.set("exit", Function::new(ctx.clone(), move || -> () { exit() })?)?;
    Ok(host)
}

/// All of standard input.
fn input() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match read(borrow(0), &mut block) {
            Ok(0) => return bytes,
            Ok(count) => bytes.extend_from_slice(&block[..count]),
            Err(Errno::EINTR) => {}
            Err(_) => return bytes,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called by the engine")]
fn decode(bytes: TypedArray<'_, u8>) -> String {
    // SAFETY: copied at once; no JavaScript runs in between that could move the buffer.
    let bytes = bytes.as_raw().map_or(Vec::new(), |bytes| unsafe { bytes.as_ref() }.to_vec());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Half of a surrogate pair is written as the replacement character, which is as long.
fn printable(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_pair_is_printed_as_a_replacement_character() {
        assert_eq!(printable(b"a\xED\xA0\x80b".to_vec()), "a\u{FFFD}b".as_bytes());
        // The last character before the surrogates begins with the same byte.
        assert_eq!(printable("\u{D7FF}😀".as_bytes().to_vec()), "\u{D7FF}😀".as_bytes());
    }
}
