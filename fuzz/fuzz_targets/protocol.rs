//! The judge's two protocols: frames between a judge and its supervisor, and what a child writes to
//! its channel.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_sandbox::channel::{ChannelError, Inbox};
use whetstone_sandbox::plan::plan;
use whetstone_sandbox::protocol::{Hello, JudgeRequest, JudgeResponse, Start, read_frame, write_frame};
use whetstone_sandbox::value::{ValueLimits, decode};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    match first % 5 {
        0 => requests(rest),
        1 => drop(read_frame::<Start>(rest)),
        2 => drop(read_frame::<Hello>(rest)),
        3 => drop(read_frame::<JudgeResponse>(rest)),
        _ => answers(rest, usize::from(first / 5) + 1),
    }
});

/// A request that can be read can be written and read again, and its tests planned.
fn requests(bytes: &[u8]) {
    // With a frame around it or as the JSON alone, which a fuzzer finds more easily.
    let mut framed = u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes().to_vec();
    framed.extend_from_slice(bytes);
    for frame in [bytes, &framed] {
        let Ok(Some(request)) = read_frame::<JudgeRequest>(frame) else { continue };
        let mut written = Vec::new();
        write_frame(&mut written, &request).expect("what was read can be written");
        let again = read_frame::<JudgeRequest>(written.as_slice());
        assert!(again.is_ok_and(|again| again.is_some_and(|again| again.id == request.id)));
        drop(plan(&request.tests, &request.setup, request.program.language));
    }
}

/// Bytes in pieces are the same messages as bytes at once, and nothing is believed before `R`.
fn answers(bytes: &[u8], piece: usize) {
    let mut inbox = Inbox::new();
    for piece in bytes.chunks(piece) {
        let put = |place: &mut [u8]| {
            place.copy_from_slice(piece);
            Ok::<_, ()>(piece.len())
        };
        inbox.fill(piece.len(), put).expect("never fails");
        match inbox.take() {
            Ok(Some(frame)) => {
                assert!(bytes[0] == b'R' && inbox.is_empty());
                if let Ok(value) = decode(&frame.payload, ValueLimits::default()) {
                    assert!(whetstone_sandbox::value::check(&value).is_ok());
                }
            }
            Ok(None) => {}
            Err(ChannelError::Jail(_)) => return assert!(bytes[0] != b'R'),
            Err(ChannelError::Garbled) => return,
        }
    }
}
