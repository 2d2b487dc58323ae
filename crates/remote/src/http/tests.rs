//! The client against a server that behaves and misbehaves.

use super::*;
use crate::loopback::http::{Asked, Reply, Server, Wire};

fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(10),
        total: Some(Duration::from_mins(1)),
        silence: Duration::from_mins(1),
        answer_bytes: 100,
        redirects: 3,
        connections: 4,
    }
}

fn client(server: &Server, secret: Option<&str>) -> Client {
    let secret = secret.and_then(|text| Secret::new(text).unwrap());
    Client::new(&Address::parse(&server.url()).unwrap(), limits(), secret)
}

fn text(status: u16, body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(status, "text/plain", body)
}

/// `/n` leads to `/n-1`, and `/0` is the end.
fn steps(asked: &Asked) -> Reply {
    match asked.path[1..].parse::<u32>().unwrap() {
        0 => text(200, format!("key: {:?}", asked.headers.get("authorization"))),
        n => text(302, "").with("location", &format!("/{}", n - 1)),
    }
}

#[test]
fn redirects_are_followed_so_far_and_no_further() {
    let server = Server::start(steps);
    let client = client(&server, None);
    let url = |n: u32| format!("{}/{n}", server.url());
    let answer = client.get(&url(3)).unwrap();
    assert_eq!((answer.status, answer.url.as_str()), (200, url(0).as_str()));
    let err = client.get(&url(4)).unwrap_err();
    assert!(matches!(err, HttpError::Redirects { .. }), "{err}");
    let shown = client.head(&url(3), Redirects::Show).unwrap();
    assert_eq!((shown.status, shown.headers.get("location")), (302, Some("/2")));
}

#[test]
fn a_key_is_not_carried_along_a_redirect() {
    let server = Server::start(steps);
    let client = client(&server, Some("sk-1"));
    let body = |n: u32| client.get(&format!("{}/{n}", server.url())).unwrap().body;
    assert_eq!(body(0), b"key: Some(\"Bearer sk-1\")");
    assert_eq!(body(1), b"key: None");
}

#[test]
fn a_body_of_the_limit_is_read_and_one_byte_more_is_an_error() {
    for wire in [Wire::Whole, Wire::Chunked(16), Wire::UntilClose] {
        let server = Server::start(move |asked| {
            text(200, vec![b'x'; asked.path[1..].parse().unwrap()]).sent(wire)
        });
        let client = client(&server, None);
        assert_eq!(client.get(&format!("{}/100", server.url())).unwrap().body.len(), 100);
        let err = client.get(&format!("{}/101", server.url())).unwrap_err();
        assert!(matches!(err, HttpError::TooLong { limit_bytes: 100, .. }), "{wire:?}: {err}");
        assert!(!err.is_passing());
    }
}

#[test]
fn a_status_that_says_no_tells_who_and_how_it_begins() {
    let server = Server::start(|_| text(418, "I am\na teapot, sk-1 ".repeat(1000)));
    let client = client(&server, Some("sk-1"));
    let url = format!("{}/tea", server.url());
    let answer = client.get(&format!("{url}?leaf=green")).unwrap();
    let err = answer.success(client.secret()).unwrap_err().to_string();
    assert!(err.starts_with(&format!("`{url}` answers 418: I am a teapot, [key] I")), "{err}");
    assert!(err.len() < 400 && !err.contains("sk-1") && !err.contains("green"), "{err}");
}

#[test]
fn nobody_there_and_somebody_who_hangs_up_are_told_apart() {
    let server = Server::start(|_| text(200, "whole").sent(Wire::CutInBody(2)));
    let (client, url) = (client(&server, None), server.url());
    let err = client.get(&url).unwrap_err();
    assert!(matches!(err, HttpError::Broken { .. }) && err.is_passing(), "{err}");
    drop(server);
    let err = client.get(&url).unwrap_err();
    assert!(matches!(err, HttpError::Unreachable { .. }) && err.is_passing(), "{err}");
}

#[test]
fn the_rest_of_a_body_is_asked_for_by_its_first_byte() {
    let server = Server::start(|asked| text(200, format!("{:?}", asked.headers.get("range"))));
    let client = client(&server, None);
    let read = |from| {
        let mut text = String::new();
        let opened = client.open(&server.url(), from, Redirects::Follow).unwrap();
        opened.into_reader().read_to_string(&mut text).unwrap();
        text
    };
    assert_eq!((read(0).as_str(), read(7).as_str()), ("None", "Some(\"bytes=7-\")"));
}
