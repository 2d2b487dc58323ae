//! Connections that take too much.

use std::io::Write;
use std::time::Duration;

use whetstone_serve::http::Limits;

use crate::served::{answer, connect, get, request, rest, serve, status};

fn board(limits: Limits) -> (tempfile::TempDir, std::net::SocketAddr) {
    let dir = tempfile::tempdir().unwrap();
    let address = serve(dir.path(), limits);
    (dir, address)
}

#[test]
fn a_head_has_8_kib_and_no_more() {
    let (_dir, address) = board(Limits::default());
    let filled = |bytes: usize| {
        let start = format!("GET /list HTTP/1.1\r\nHost: {address}\r\nX: ");
        let text = format!("{start}{}\r\n\r\n", "x".repeat(bytes - start.len() - 4));
        assert_eq!(text.len(), bytes);
        status(&answer(address, text.as_bytes()))
    };
    assert_eq!(filled(8 << 10), 200);
    assert_eq!(filled((8 << 10) + 1), 431);
    assert_eq!(filled(60 << 10), 431);
    let long = format!("GET /{} HTTP/1.1\r\nHost: {address}\r\n\r\n", "a".repeat(60_000));
    assert_eq!(status(&answer(address, long.as_bytes())), 431);
}

#[test]
fn a_head_that_does_not_end_is_waited_for_only_so_long() {
    let limits = Limits { head_time: Duration::from_millis(50), ..Limits::default() };
    let (_dir, address) = board(limits);
    let mut slow = connect(address);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    assert_eq!(status(&rest(&mut slow)), 408);
    let mut silent = connect(address);
    assert_eq!(rest(&mut silent), "", "who says nothing is told nothing");
    let mut gone = connect(address);
    gone.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    gone.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut gone), "");
}

#[test]
fn bytes_that_come_one_by_one_are_a_request_too() {
    let (_dir, address) = board(Limits::default());
    let mut stream = connect(address);
    stream.set_nodelay(true).unwrap();
    for byte in request(address, "/list").bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(status(&rest(&mut stream)), 200);
}

#[test]
fn too_many_at_once_are_told_so_and_the_places_come_back() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let (_dir, address) = board(limits);
    let mut open: Vec<_> = (0..3).map(|_| connect(address)).collect();
    // Connections are taken in their order, so these three have their places by then.
    let mut fourth = connect(address);
    assert_eq!(status(&rest(&mut fourth)), 503);
    for stream in &mut open {
        stream.write_all(request(address, "/list").as_bytes()).unwrap();
        assert_eq!(status(&rest(stream)), 200);
    }
    drop(open);
    let served = (0..1000).any(|_| status(&get(address, "/list")) == 200);
    assert!(served, "a place is free again");
}
