//! The client against a server that behaves and misbehaves.

use super::*;
use crate::loopback::http::{Asked, Reply, Server, Wire};

fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(10),
        total: Duration::from_mins(1),
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
    let answer = client.open(&url(3), 0, Redirects::Follow).unwrap();
    assert_eq!((answer.status, answer.url.as_str()), (200, url(0).as_str()));
    let err = client.open(&url(4), 0, Redirects::Follow).map(|opened| opened.url).unwrap_err();
    assert!(matches!(err, HttpError::Redirects { .. }), "{err}");
    for shown in [client.head(&url(3)).unwrap(), client.get(&url(3)).unwrap()] {
        assert_eq!((shown.status, shown.redirect()), (302, Some("/2")));
    }
    let opened = client.open(&url(3), 0, Redirects::Show).unwrap();
    assert_eq!((opened.status, opened.redirect()), (302, Some("/2")));
}

#[test]
fn a_body_is_not_sent_on_along_a_redirect() {
    let server = Server::start(steps);
    let answer = client(&server, None).post_json(&format!("{}/1", server.url()), "{}").unwrap();
    assert_eq!((answer.status, answer.redirect()), (302, Some("/0")));
}

/// The environment of a process is read when a client is made, so this test runs itself once more
/// in an environment that names a proxy without a listener.
#[test]
fn this_machine_is_asked_without_a_proxy_and_others_are_not() {
    const WITHIN: &str = "WHET_TEST_WITHIN_A_PROXY";
    if std::env::var_os(WITHIN).is_none() {
        let name = "http::tests::this_machine_is_asked_without_a_proxy_and_others_are_not";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args([name, "--exact"]).env(WITHIN, "1").env("ALL_PROXY", "http://127.0.0.1:1");
        let output = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let server = Server::start(|_| text(200, "here"));
    assert_eq!(client(&server, None).get(&server.url()).unwrap().body, b"here");
    let other = Address::parse("http://198.51.100.1/").unwrap();
    let err = Client::new(&other, limits(), None).get("http://198.51.100.1/").unwrap_err();
    let HttpError::Unreachable { source, .. } = err else { panic!("{err:?}") };
    assert!(source.to_string().contains("Connection refused"), "{source}");
}

#[test]
fn a_place_without_the_status_of_a_redirect_is_none() {
    let server = Server::start(|_| text(200, "here").with("location", "/elsewhere"));
    let client = client(&server, None);
    assert_eq!(client.get(&server.url()).unwrap().redirect(), None);
    assert_eq!(client.open(&server.url(), 0, Redirects::Follow).unwrap().redirect(), None);
}

#[test]
fn a_key_is_not_carried_along_a_redirect() {
    let server = Server::start(steps);
    let client = client(&server, Some("sk-1"));
    let body = |n: u32| {
        let opened = client.open(&format!("{}/{n}", server.url()), 0, Redirects::Follow);
        client.read(opened.unwrap()).unwrap().body
    };
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
fn of_an_error_only_the_beginning_is_held() {
    let server = Server::start(|_| text(500, vec![b'x'; 1 << 20]));
    let answer = client(&server, None).get(&server.url()).unwrap();
    assert_eq!(answer.body.len() as u64, ERROR_BODY_BYTES + 1);
}

#[test]
fn a_body_that_comes_in_drops_ends_with_the_time_for_all_of_it_unless_the_caller_reads_it() {
    // Takes two seconds at least, on any machine.
    let drops = Wire::Dripping(Duration::from_millis(20));
    let server = Server::start(move |_| text(200, vec![b'x'; 100]).sent(drops));
    for redirects in [0, 3] {
        let limits = Limits { total: Duration::from_millis(500), redirects, ..limits() };
        let client = Client::new(&Address::parse(&server.url()).unwrap(), limits, None);
        let err = client.get(&server.url()).unwrap_err();
        assert!(matches!(err, HttpError::Timeout { .. }) && err.is_passing(), "{err}");
        let mut body = Vec::new();
        let opened = client.open(&server.url(), 0, Redirects::Follow).unwrap();
        opened.into_reader().read_to_end(&mut body).unwrap();
        assert_eq!(body.len(), 100);
    }
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

/// What a server of TLS 1.2 says first, with a certificate that is none: the client looks at it
/// before anything that would need real keys.
fn first_flight() -> Vec<u8> {
    let certificate = b"no certificate";
    // Version, 32 random bytes, no session, ECDHE_RSA with AES-128-GCM, no compression.
    let hello = [&[3, 3][..], &[7; 32], &[0, 0xc0, 0x2f, 0]].concat();
    let length = u8::try_from(certificate.len()).unwrap();
    let chain = [&[0, 0, length + 3, 0, 0, length][..], certificate].concat();
    // A point on X25519 and a signature, RSA-PSS with SHA-256, of one byte.
    let key = [&[3, 0, 0x1d, 32][..], &[9; 32], &[8, 4, 0, 1, 0]].concat();
    let mut handshake = Vec::new();
    for (kind, body) in [(2, hello), (11, chain), (12, key), (14, Vec::new())] {
        handshake.extend([kind, 0, 0, u8::try_from(body.len()).unwrap()]);
        handshake.extend(body);
    }
    let length = u16::try_from(handshake.len()).unwrap().to_be_bytes();
    [&[22, 3, 3, length[0], length[1]][..], &handshake].concat()
}

/// What is said of `https://` to somebody who answers so.
fn secure(answer: &[u8]) -> HttpError {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let client = Client::new(&Address::parse(&url).unwrap(), limits(), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut hello = [0; 5];
            stream.read_exact(&mut hello).unwrap();
            let length = u16::from_be_bytes([hello[3], hello[4]]);
            stream.read_exact(&mut vec![0; length.into()]).unwrap();
            std::io::Write::write_all(&mut stream, answer).unwrap();
            // Until the client goes away.
            drop(std::io::copy(&mut stream, &mut std::io::sink()));
        });
        client.get(&url).unwrap_err()
    })
}

#[test]
fn a_certificate_that_is_refused_is_final_and_told_from_a_broken_connection() {
    let err = secure(&first_flight());
    assert!(matches!(err, HttpError::Tls { .. }) && !err.is_passing(), "{err:?}");
    assert!(err.to_string().contains("/v1`: invalid peer certificate: BadEncoding"), "{err}");
    let err = secure(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(matches!(err, HttpError::Tls { .. }) && !err.is_passing(), "{err:?}");
    assert!(err.to_string().ends_with("is it an http:// address?"), "{err}");
    // A fatal alert, internal error: of a machine that is not well now.
    let err = secure(&[21, 3, 3, 0, 2, 2, 80]);
    assert!(matches!(err, HttpError::Broken { .. }) && err.is_passing(), "{err:?}");
}
