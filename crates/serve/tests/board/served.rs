//! A board over a real socket, and requests as raw bytes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use whetstone_serve::board::Board;
use whetstone_serve::http::{Limits, Server};

/// Serves the runs in a folder for as long as the test runs.
pub(crate) fn serve(root: &Path, limits: Limits) -> SocketAddr {
    let board = Board::open(root).expect("a folder");
    let server = Server::listen(Ipv4Addr::LOCALHOST.into(), 0).expect("a free port").within(limits);
    let address = server.address();
    thread::spawn(move || server.run(move |request| board.answer(request)));
    address
}

/// A connection that gives up after a while.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    stream
}

/// What is answered to these bytes, all of it, as text.
pub(crate) fn answer(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes).expect("it listens");
    rest(&mut stream)
}

/// What comes until the connection is closed.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A refused client may be disconnected after the answer, with its request unread.
    let read = stream.read_to_end(&mut text);
    assert!(read.is_ok() || !text.is_empty(), "{read:?}");
    let _ = stream.shutdown(Shutdown::Both);
    String::from_utf8(text).expect("text")
}

/// What is answered to a path.
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    answer(address, request(address, path).as_bytes())
}

/// A request as a browser sends it.
pub(crate) fn request(address: SocketAddr, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n\r\n")
}

/// The status of an answer.
#[track_caller]
pub(crate) fn status(answer: &str) -> u16 {
    let line = answer.strip_prefix("HTTP/1.1 ").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    line[..3].parse().expect("a number")
}
