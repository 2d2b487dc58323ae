//! The head of a request, read strictly.
//!
//! `httparse` splits the lines; the target is checked here. A target is a path of letters, digits
//! and `._-/`, and a query of the same with `=` and `&`: nothing is ever decoded, so each path has
//! exactly one spelling.

use std::str;

/// Headers of a request. A browser sends about fifteen.
const MAX_HEADERS: usize = 64;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The answer.
    Get,
    /// Its headers alone.
    Head,
}

/// A request that a handler may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, from its first `/`.
    pub path: String,
    /// The text after `?`; empty if there is none.
    pub query: String,
    /// The `Host` header.
    pub host: String,
}

/// Why a request is not answered, as its answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// A sentence.
    pub reason: &'static str,
}

const fn refusal(status: u16, reason: &'static str) -> Refusal {
    Refusal { status, reason }
}

pub(super) const TOO_LONG: Refusal = refusal(431, "The head of the request is too long.");
pub(super) const TOO_SLOW: Refusal = refusal(408, "The request took too long to arrive.");
const BAD_HEAD: Refusal = refusal(400, "This is not a request of HTTP/1.1.");
const BAD_VERSION: Refusal = refusal(505, "Only HTTP/1.1 is spoken here.");
const BAD_METHOD: Refusal = refusal(405, "Only GET and HEAD are answered here.");
const BAD_TARGET: Refusal = refusal(400, "A path is asked for by its name, beginning with `/`.");
const BAD_HOST: Refusal = refusal(400, "A request has one `Host` header.");
const HAS_BODY: Refusal = refusal(400, "A request has no body here.");
/// There is nothing under a path.
pub(super) const NOT_FOUND: Refusal = refusal(404, "There is nothing here.");

/// A request's head, if `bytes` hold all of it.
pub fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => read(&head).map(Some),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(TOO_LONG),
        Err(httparse::Error::Version) => Err(BAD_VERSION),
        Err(_) => Err(BAD_HEAD),
    }
}

fn read(head: &httparse::Request<'_, '_>) -> Result<Request, Refusal> {
    if head.version != Some(1) {
        return Err(BAD_VERSION);
    }
    let method = match head.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => return Err(BAD_METHOD),
    };
    if has_body(head.headers) {
        return Err(HAS_BODY);
    }
    let host = host(head.headers)?.to_owned();
    let (path, query) = target(head.path.unwrap_or_default())?;
    Ok(Request { method, path: path.to_owned(), query: query.to_owned(), host })
}

fn named<'a>(
    headers: &'a [httparse::Header<'_>],
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}

fn has_body(headers: &[httparse::Header<'_>]) -> bool {
    named(headers, "content-length").any(|value| value != b"0")
        || named(headers, "transfer-encoding").next().is_some()
}

fn host<'a>(headers: &'a [httparse::Header<'_>]) -> Result<&'a str, Refusal> {
    let mut all = named(headers, "host");
    let (Some(host), None) = (all.next(), all.next()) else { return Err(BAD_HOST) };
    str::from_utf8(host).map_err(|_| BAD_HOST)
}

fn target(text: &str) -> Result<(&str, &str), Refusal> {
    if !text.starts_with('/') {
        return Err(BAD_TARGET);
    }
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_path = path.bytes().all(|byte| is_plain(byte) || byte == b'/');
    let is_query = query.bytes().all(|byte| is_plain(byte) || b"=&".contains(&byte));
    if is_path && is_query { Ok((path, query)) } else { Err(NOT_FOUND) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOST: &str = "Host: localhost:8130\r\n";

    #[track_caller]
    fn check(head: &str, expected: Result<(&str, &str), u16>) {
        let found = parse(head.as_bytes()).map(|request| request.expect("a whole head"));
        let found = found.as_ref().map(|request| (request.path.as_str(), request.query.as_str()));
        assert_eq!(found.map_err(|refusal| refusal.status), expected, "{head}");
    }

    fn asked(target: &str) -> String {
        format!("GET {target} HTTP/1.1\r\n{HOST}\r\n")
    }

    #[test]
    fn plain_targets_are_taken_apart_and_all_others_are_refused() {
        check(&asked("/"), Ok(("/", "")));
        check(
            &asked("/runs/a.b_c-1/feed?from=0-0-.1&texts=none"),
            Ok(("/runs/a.b_c-1/feed", "from=0-0-.1&texts=none")),
        );
        for path in
            ["/%2e%2e/etc/passwd", "/a%00", "/a?b=%41", "/a\\b", "/a;b", "/~root", "/a#b", "/a?b?c"]
        {
            check(&asked(path), Err(404));
        }
        for path in ["http://localhost:8130/", "*", "a", "localhost:8130"] {
            check(&asked(path), Err(400));
        }
    }

    #[test]
    fn heads_that_are_none_of_ours_are_refused_with_their_reason() {
        check(&format!("GET / HTTP/1.0\r\n{HOST}\r\n"), Err(505));
        check(&format!("GET / HTTP/2.0\r\n{HOST}\r\n"), Err(505));
        check(&format!("POST / HTTP/1.1\r\n{HOST}\r\n"), Err(405));
        check(&format!("get / HTTP/1.1\r\n{HOST}\r\n"), Err(405));
        check("GET / HTTP/1.1\r\n\r\n", Err(400));
        check(&format!("GET / HTTP/1.1\r\n{HOST}{HOST}\r\n"), Err(400));
        check(&format!("GET / HTTP/1.1\r\n{HOST}Content-Length: 4\r\n\r\n"), Err(400));
        check(&format!("GET / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"), Err(400));
        check(&format!("GET / HTTP/1.1\r\n{HOST}{}\r\n", "a: b\r\n".repeat(64)), Err(431));
        check("GET  HTTP/1.1\r\n\r\n", Err(400));
        check("\0\0\0\0", Err(400));
        check(&format!("HEAD / HTTP/1.1\r\n{HOST}content-length: 0\r\n\r\n"), Ok(("/", "")));
    }

    #[test]
    fn a_head_is_not_read_before_all_of_it_is_there() {
        let head = asked("/runs/a");
        for end in 0..head.len() {
            assert_eq!(parse(&head.as_bytes()[..end]), Ok(None), "{end}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_is_plain(
            target in "/[a-z0-9./%?&=_-]{0,20}|[ -~]{0,20}", junk in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let head = asked(&target).into_bytes();
            let at = junk.len() * 7 % head.len();
            for bytes in [head.clone(), [&head[..at], &junk, &head[at..]].concat(), junk] {
                let Ok(Some(request)) = parse(&bytes) else { continue };
                prop_assert!(request.path.starts_with('/'));
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/=&".contains(&byte);
                prop_assert!(request.path.bytes().chain(request.query.bytes()).all(plain));
            }
        }
    }
}
