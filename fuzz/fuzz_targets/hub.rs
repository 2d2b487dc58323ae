//! Any bytes as what a hub says: its listings, the headers that describe a file, and names. Nothing
//! panics, and no name that is taken leads out of the folder it is put into.

#![no_main]

use std::io::Read;
use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use whetstone_remote::fuzzing::{described, digest, folder, listing, path};
use whetstone_remote::hub::Repo;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    match first % 4 {
        0 => files(rest),
        1 => headers(first, rest),
        2 => names(rest),
        _ => hashes(rest),
    }
});

fn files(body: &[u8]) {
    match listing(body) {
        Ok(listing) => {
            assert!(listing.files.is_sorted() && listing.commit.len() == 40);
            assert!(listing.files.iter().all(|file| stays(&file.path)));
        }
        Err(err) => shown(&err.to_string()),
    }
}

/// The parts of the input between line ends are the values of headers.
fn headers(first: u8, rest: &[u8]) {
    let names = ["x-repo-commit", "x-linked-etag", "etag", "x-linked-size", "content-length"];
    let fields: Vec<_> = names.into_iter().zip(rest.split(|&byte| byte == b'\n')).collect();
    let status = if first & 64 == 0 { 200 } else { 302 };
    match described(status, &fields) {
        Ok((commit, etag, _)) => {
            assert!(commit.len() == 40 && etag.len() <= 128);
            let parts: Vec<_> = Path::new(&etag).components().collect();
            assert!(matches!(parts[..], [Component::Normal(_)]) && !etag.contains('.'), "{etag}");
        }
        Err(err) => shown(&err.to_string()),
    }
}

fn names(rest: &[u8]) {
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if let Some(encoded) = path(text) {
        assert!(stays(text), "{text}");
        assert_eq!(decoded(&encoded), text.as_bytes());
        assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\\".contains(&byte)));
    }
    match Repo::dataset(text) {
        Ok(repo) => {
            let folder = folder(&repo);
            assert!(stays(&folder) && !folder.contains('/'), "{folder}");
            // Two names never share a folder: the name can be read from it.
            let name = folder.strip_prefix("datasets--").expect("a data set");
            let parts = name.rsplit_once("--");
            assert_eq!(
                parts.map_or(name.to_owned(), |(owner, name)| format!("{owner}/{name}")),
                text
            );
            if let Ok(repo) = repo.at(text) {
                assert!(stays(repo.revision()));
            }
        }
        Err(err) => shown(&err.to_string()),
    }
}

/// A hash does not depend on the pieces in which the bytes come.
fn hashes(rest: &[u8]) {
    let length = rest.len() as u64;
    for etag in ["a".repeat(40), "a".repeat(64)] {
        let whole = digest(&etag, rest, length).expect("memory can be read");
        assert_eq!(whole.len(), etag.len());
        assert_eq!(digest(&etag, Single(rest), length).as_ref(), Some(&whole));
    }
}

/// Gives one byte at a time.
struct Single<'a>(&'a [u8]);

impl Read for Single<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

fn stays(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn shown(message: &str) {
    assert!(!message.chars().any(char::is_control), "{message:?}");
    assert!(message.chars().count() < 2000, "{message}");
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit =
            || char::from(bytes.next().expect("a digit")).to_digit(16).expect("a digit");
        decoded.push(if byte == b'%' {
            u8::try_from(digit() * 16 + digit()).expect("two digits")
        } else {
            byte
        });
    }
    decoded
}
