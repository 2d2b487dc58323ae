//! One connection: a head is read, an answer sent, and the connection closed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::host::MISDIRECTED;
use super::request::{Method, Refusal, Request, TOO_LONG, TOO_SLOW, parse};
use super::response::Response;
use super::{Hosts, Limits};

const BUSY: Refusal =
    Refusal { status: 503, reason: "Too many connections at once: try again in a moment." };

/// Unread bytes to drain from a closing connection, and for how long. Closing a socket with unread
/// bytes sends a reset, which may discard the response before the client has read it.
const LEFTOVER_BYTES: usize = 64 << 10;
const LEFTOVER_TIME: Duration = Duration::from_millis(500);

/// Reads a request and answers it. Errors of the connection are ignored.
pub(super) fn answer(
    mut stream: TcpStream,
    handler: &impl Fn(&Request) -> Response,
    hosts: &Hosts,
    limits: &Limits,
) {
    let sent = match read_head(&mut stream, limits) {
        Ok(Ok(Some(request))) if !hosts.answer_for(&request.host) => {
            send(&stream, request.method, MISDIRECTED.into(), *limits)
        }
        Ok(Ok(Some(request))) => send(&stream, request.method, handler(&request), *limits),
        Ok(Ok(None)) => return,
        Ok(Err(refusal)) => send(&stream, Method::Get, refusal.into(), *limits),
        Err(err) => Err(err),
    };
    match sent {
        Ok(()) => close(stream),
        Err(err) => tracing::debug!("a connection broke: {err}"),
    }
}

/// Says that there are too many. The one thread that takes connections does not wait for this one.
pub(super) fn turn_away(mut stream: TcpStream, limits: Limits) {
    let limits = Limits { write_time: Duration::from_millis(100), ..limits };
    let sent = send(&stream, Method::Get, BUSY.into(), limits);
    if sent.is_ok() && stream.set_nonblocking(true).is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read(&mut [0; 4 << 10]);
    }
}

/// The request; nothing if the connection was closed before there was one.
fn read_head(
    stream: &mut TcpStream,
    limits: &Limits,
) -> io::Result<Result<Option<Request>, Refusal>> {
    let end = Instant::now() + limits.head_time;
    let mut head = Vec::new();
    let mut piece = [0; 2 << 10];
    loop {
        let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        else {
            return Ok(if head.is_empty() { Ok(None) } else { Err(TOO_SLOW) });
        };
        stream.set_read_timeout(Some(left))?;
        let count = match stream.read(&mut piece) {
            Ok(0) => return Ok(Ok(None)),
            Ok(count) => count,
            Err(err) if is_timeout(&err) => continue,
            Err(err) => return Err(err),
        };
        head.extend_from_slice(&piece[..count]);
        match parse(&head[..head.len().min(limits.head_bytes)]) {
            Ok(None) if head.len() >= limits.head_bytes => return Ok(Err(TOO_LONG)),
            Ok(None) => {}
            parsed => return Ok(parsed),
        }
    }
}

fn is_timeout(err: &io::Error) -> bool {
    matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn send(stream: &TcpStream, method: Method, response: Response, limits: Limits) -> io::Result<()> {
    stream.set_write_timeout(Some(limits.write_time))?;
    let end = Instant::now() + limits.answer_time;
    response.send(method, &mut Patient { stream, end })
}

/// Lets go of a connection when all of the answer has arrived.
fn close(mut stream: TcpStream) {
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let end = Instant::now() + LEFTOVER_TIME;
    let (mut rest, mut piece) = (LEFTOVER_BYTES, [0; 4 << 10]);
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        if stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut piece) {
            Ok(count) if count > 0 && count < rest => rest -= count,
            _ => return,
        }
    }
}

/// A reader that is waited for, up to an end.
struct Patient<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if Instant::now() > self.end {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
