//! Any bytes as a request to the board, and as a cursor: nothing panics, what is accepted is plain, and a
//! name that is not an address is refused.

#![no_main]

use std::net::{IpAddr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use whetstone_record::report::live::Cursor;
use whetstone_serve::http::{Hosts, parse};

fuzz_target!(|bytes: &[u8]| {
    let hosts = Hosts::new(SocketAddr::from(([127, 0, 0, 1], 8130)));
    match parse(bytes) {
        Ok(Some(request)) => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/=&".contains(&byte);
            assert!(request.path.starts_with('/'), "{request:?}");
            assert!(request.path.bytes().chain(request.query.bytes()).all(plain), "{request:?}");
            assert!(!hosts.answer_for(&request.host) || is_here(&request.host), "{request:?}");
        }
        Ok(None) => {}
        Err(refusal) => assert!((400..=505).contains(&refusal.status)),
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string(), text);
    }
});

fn is_here(host: &str) -> bool {
    let name = host.strip_suffix(":8130").expect("the port").to_ascii_lowercase();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
