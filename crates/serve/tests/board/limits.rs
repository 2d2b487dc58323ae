//! Connections that take too much.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use whetstone_serve::http::{Limits, Request, Response, Server};

use crate::served::{answer, connect, get, request, rest, serve, status};

/// A server whose `/endless` never ends.
fn endless(limits: Limits) -> SocketAddr {
    let server = Server::listen(Ipv4Addr::LOCALHOST.into(), 0).unwrap().within(limits);
    let address = server.address();
    let write = |out: &mut dyn Write| -> std::io::Result<()> {
        loop {
            out.write_all(&[b'x'; 8 << 10])?;
        }
    };
    let answer = move |request: &Request| match request.path.as_str() {
        "/endless" => Response::page(String::new(), Box::new(write)),
        _ => Response::sentence(200, "Here."),
    };
    thread::spawn(move || server.run(answer));
    address
}

#[test]
fn who_does_not_read_gives_their_place_back() {
    let write_time = Duration::from_millis(50);
    let address = endless(Limits { write_time, connections: 1, ..Limits::default() });
    let mut stuck = connect(address);
    stuck.write_all(request(address, "/endless").as_bytes()).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while status(&get(address, "/")) != 200 {
        assert!(Instant::now() < end, "the place is still taken");
    }
}

#[test]
fn an_answer_that_takes_too_long_breaks_off_and_is_seen_to() {
    let answer_time = Duration::from_millis(50);
    let address = endless(Limits { answer_time, ..Limits::default() });
    let mut stream = connect(address);
    stream.write_all(request(address, "/endless").as_bytes()).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let (mut piece, mut last) = (vec![0; 64 << 10], Vec::new());
    // Nothing is kept but the end: there may be very much.
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        last = piece[..count].to_vec();
        assert!(Instant::now() < end, "it does not end");
    }
    assert!(!last.is_empty() && !last.ends_with(b"\r\n0\r\n\r\n"), "it has no last chunk");
}

fn board(limits: Limits) -> (tempfile::TempDir, SocketAddr) {
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
