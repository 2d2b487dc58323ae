//! Whatever is sent: an answer or nothing, and 200 for no path but the board's own.

use std::net::SocketAddr;
use std::sync::OnceLock;

use proptest::prelude::*;
use whetstone_serve::board::Board;
use whetstone_serve::http::{Hosts, parse};

use crate::runs::run;

/// A board of one run, which every case asks.
fn board() -> &'static (tempfile::TempDir, Board) {
    static BOARD: OnceLock<(tempfile::TempDir, Board)> = OnceLock::new();
    BOARD.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), "a");
        let board = Board::open(dir.path()).unwrap();
        (dir, board)
    })
}

fn is_route(path: &str, query: &str) -> bool {
    let is_page = ["/", "/list", "/runs/a"].contains(&path) && query.is_empty();
    is_page || (path == "/runs/a/feed" && query.starts_with("from="))
}

/// The status that bytes would get.
fn asked(bytes: &[u8]) -> Option<u16> {
    let hosts = Hosts::new(SocketAddr::from(([127, 0, 0, 1], 8130)));
    match parse(bytes) {
        Err(refusal) => Some(refusal.status),
        Ok(None) => None,
        Ok(Some(request)) if !hosts.answer_for(&request.host) => Some(421),
        Ok(Some(request)) => {
            let status = board().1.answer(&request).status;
            assert!(status != 200 || is_route(&request.path, &request.query), "{request:?}");
            Some(status)
        }
    }
}

proptest! {
    #[test]
    fn only_its_own_paths_are_answered_with_200(
        path in "/|/list|/runs/(a|b|\\.\\.|[a-z.%/]{0,4})(/feed)?|[ -~]{0,12}",
        query in "|\\?from=[0-9a-f.-]{0,40}(&texts=none)?|\\?[ -~]{0,12}",
        host in "127\\.0\\.0\\.1:8130|localhost:8130|[a-z.:0-9]{0,14}",
    ) {
        let head = format!("GET {path}{query} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        prop_assert_ne!(asked(head.as_bytes()), Some(500));
        if !host.ends_with(":8130") {
            prop_assert_ne!(asked(head.as_bytes()), Some(200));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_waited_on(
        bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..60,
    ) {
        let head = b"GET /runs/a HTTP/1.1\r\nHost: localhost:8130\r\n\r\n";
        let at = at.min(head.len());
        asked(&bytes);
        asked(&[&head[..at], &bytes, &head[at..]].concat());
    }
}

#[test]
fn the_laws_are_not_empty() {
    assert_eq!(asked(b"GET /runs/a HTTP/1.1\r\nHost: localhost:8130\r\n\r\n"), Some(200));
    assert_eq!(asked(b"GET /list HTTP/1.1\r\nHost: evil.test:8130\r\n\r\n"), Some(421));
}
