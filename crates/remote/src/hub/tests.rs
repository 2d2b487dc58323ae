//! The hub's client against a hub of our own, whole and broken.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use whetstone_core::with_causes;

use super::*;
use crate::loopback::http::{Reply, Server, Wire};
use crate::loopback::hub::{COMMIT, Holding, HubServer};
use crate::secret::Secret;

const REPO: &str = "datasets/ada/tasks";

/// More than one piece, and no two parts alike.
fn large() -> Vec<u8> {
    (0..50_000u32).flat_map(u32::to_le_bytes).collect()
}

fn holding() -> Holding {
    Holding::new(REPO, &[("a.json", b"{}\n"), ("data/train.parquet", &large())])
}

fn settings(endpoint: &str, cache: &Path) -> HubSettings {
    HubSettings {
        endpoint: endpoint.to_owned(),
        cache: cache.to_owned(),
        token: None,
        offline: false,
        timeout: Duration::from_secs(20),
        max_tries: 3,
        pause: Duration::from_millis(1),
        file_limit_bytes: 1 << 20,
    }
}

fn hub(endpoint: &str, cache: &Path) -> Hub {
    Hub::new(settings(endpoint, cache)).unwrap()
}

fn repo() -> Repo {
    Repo::dataset("ada/tasks").unwrap()
}

fn fetch(hub: &Hub, path: &str) -> Result<Fetched, HubError> {
    hub.file(&repo(), path, &mut |_| {})
}

/// What comes of fetching the large file from a hub that breaks so, and in how many transfers.
fn fetch_broken(
    transfer: impl Fn(u64, Reply) -> Reply + Send + Sync + 'static,
) -> (Result<Vec<u8>, HubError>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding().breaking(transfer));
    let fetched = fetch(&hub(&server.url(), dir.path()), "data/train.parquet");
    (fetched.map(|file| fs::read(file.path).unwrap()), server.transfers())
}

#[test]
fn a_file_arrives_in_the_layout_that_other_tools_read() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let hub = hub(&server.url(), dir.path());
    let fetched = fetch(&hub, "data/train.parquet").unwrap();
    let root = dir.path().join("datasets--ada--tasks");
    assert_eq!(fetched.path, root.join("snapshots").join(COMMIT).join("data/train.parquet"));
    assert_eq!(fetched.origin, Origin::Downloaded(200_000));
    assert_eq!(fs::read(&fetched.path).unwrap(), large());
    assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), COMMIT);
    let target = fs::read_link(&fetched.path).unwrap();
    let etag = target.file_name().unwrap().to_str().unwrap();
    assert_eq!(target, Path::new("../../../blobs").join(etag));
    assert_eq!(etag.len(), 64);
    let blobs: Vec<_> = fs::read_dir(root.join("blobs")).unwrap().flatten().collect();
    assert_eq!(blobs.len(), 1);
    let small = fetch(&hub, "a.json").unwrap();
    assert_eq!(fs::read_link(&small.path).unwrap().components().count(), 4);
    assert_eq!(fs::read(&small.path).unwrap(), b"{}\n");
}

#[test]
fn what_is_in_the_cache_is_not_fetched_again_and_needs_no_hub() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let (url, hub) = (server.url(), hub(&server.url(), dir.path()));
    let first = fetch(&hub, "a.json").unwrap();
    let second = fetch(&hub, "a.json").unwrap();
    assert_eq!((second.path, second.origin), (first.path.clone(), Origin::Cache));
    assert_eq!(server.transfers(), 1);
    drop(server);
    let third = fetch(&hub, "a.json").unwrap();
    assert_eq!((&third.path, third.origin), (&first.path, Origin::CacheUnasked));
    let offline = HubSettings { offline: true, ..settings(&url, dir.path()) };
    let offline = Hub::new(offline).unwrap();
    assert_eq!(fetch(&offline, "a.json").unwrap().path, first.path);
    let listed = offline.list(&repo()).unwrap();
    assert_eq!((listed.files[0].path.as_str(), listed.files[0].bytes), ("a.json", Some(3)));
    let at_commit = repo().at(COMMIT).unwrap();
    assert_eq!(offline.file(&at_commit, "a.json", &mut |_| {}).unwrap().path, first.path);
}

#[test]
fn files_are_listed_with_their_commit() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let listing = hub(&server.url(), dir.path()).list(&repo()).unwrap();
    assert_eq!(listing.commit, COMMIT);
    let files: Vec<_> = listing.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    assert_eq!(files, [("a.json", Some(3)), ("data/train.parquet", Some(200_000))]);
}

#[test]
fn a_hub_that_stumbles_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let asked = AtomicU64::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::new(503, "text/plain", "busy"),
        1 => Reply::new(200, "text/plain", "cut").sent(Wire::CutInHeaders),
        _ => Reply::json(200, &json!({"sha": COMMIT, "siblings": [{"rfilename": "a"}]})),
    });
    let listing = hub(&server.url(), dir.path()).list(&repo()).unwrap();
    assert_eq!(listing.files, [RemoteFile { path: "a".to_owned(), bytes: None }]);
    let asked = AtomicU64::new(0);
    let busy = Server::start(move |_| {
        let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::new(503, "text/plain", format!("busy {number}"))
    });
    let err = with_causes(&hub(&busy.url(), dir.path()).list(&repo()).unwrap_err());
    assert!(err.ends_with("answers 503: busy 3"), "{err}");
}

#[test]
fn progress_grows_to_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let mut seen = Vec::new();
    let hub = hub(&server.url(), dir.path());
    hub.file(&repo(), "data/train.parquet", &mut |progress| seen.push(progress)).unwrap();
    assert!(seen.iter().all(|progress| progress.total == Some(200_000)));
    assert!(seen.is_sorted_by_key(|progress| progress.bytes) && seen.len() > 2, "{seen:?}");
    assert_eq!((seen[0].bytes, seen.last().unwrap().bytes), (0, 200_000));
}

#[test]
fn a_broken_transfer_goes_on_where_it_broke() {
    let cut = |n, reply: Reply| if n < 4 { reply.sent(Wire::CutInBody(40_000)) } else { reply };
    let (bytes, transfers) = fetch_broken(cut);
    assert_eq!((bytes.unwrap() == large(), transfers), (true, 5));
    let refuse = |n, reply| if n < 2 { Reply::new(503, "text/plain", "busy") } else { reply };
    let (bytes, transfers) = fetch_broken(refuse);
    assert_eq!((bytes.unwrap() == large(), transfers), (true, 3));
}

#[test]
fn a_hub_that_knows_no_ranges_sends_all_of_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let ignore = |n, reply: Reply| match n {
        0 => reply.sent(Wire::CutInBody(40_000)),
        _ => Reply { status: 200, body: large(), ..reply },
    };
    let server = HubServer::start(holding().breaking(ignore));
    let fetched = fetch(&hub(&server.url(), dir.path()), "data/train.parquet").unwrap();
    assert_eq!(fs::read(fetched.path).unwrap(), large());
}

#[test]
fn another_part_than_was_asked_for_is_not_taken() {
    let shifted = |n, reply: Reply| match n {
        0 => reply.sent(Wire::CutInBody(40_000)),
        _ => Reply { body: large()[30_000..].to_vec(), ..Reply::new(206, "text/plain", "") }
            .with("content-range", "bytes 30000-199999/200000"),
    };
    let err = fetch_broken(shifted).0.unwrap_err().to_string();
    assert!(err.ends_with("it sends another part of the file than was asked for"), "{err}");
}

#[test]
fn what_an_earlier_process_left_is_used_if_it_is_good_and_dropped_if_not() {
    let begin = |left: &[u8]| {
        let dir = tempfile::tempdir().unwrap();
        let server = HubServer::start(holding());
        let hub = hub(&server.url(), dir.path());
        let described = hub.ask_about(&repo(), "data/train.parquet").unwrap();
        let incomplete = hub.cache(&repo()).incomplete(&described.etag);
        fs::create_dir_all(incomplete.parent().unwrap()).unwrap();
        fs::write(&incomplete, left).unwrap();
        let fetched = fetch(&hub, "data/train.parquet").unwrap();
        assert_eq!(fs::read(fetched.path).unwrap(), large());
        assert!(!incomplete.exists());
        fetched.origin
    };
    assert_eq!(begin(&large()[..199_000]), Origin::Downloaded(1000));
    assert_eq!(begin(&large()), Origin::Downloaded(0));
    assert_eq!(begin(&vec![7; 199_000]), Origin::Downloaded(1000 + 200_000));
    // More than there is: the hub has nothing behind it, so all comes anew.
    assert!(matches!(begin(&vec![7; 300_000]), Origin::Downloaded(_)));
}

#[test]
fn a_transfer_that_never_works_ends_with_a_clear_error() {
    let (outcome, transfers) = fetch_broken(|_, reply| reply.sent(Wire::CutInBody(0)));
    let err = outcome.unwrap_err();
    assert_eq!(transfers, 3);
    assert!(err.to_string().contains("broke 3 times, the last time at byte 0"), "{err}");
    assert!(err.hint().contains("pass the path of a local file"), "{}", err.hint());
}

#[test]
fn a_transfer_that_comes_a_little_further_each_time_has_an_end() {
    let (outcome, transfers) = fetch_broken(|_, reply| reply.sent(Wire::CutInBody(1)));
    let err = outcome.unwrap_err();
    assert_eq!(transfers, 101);
    assert!(err.to_string().contains("broke 101 times, the last time at byte 101"), "{err}");
}

#[test]
fn damage_is_found_and_nothing_of_it_is_kept() {
    let flip = |_, mut reply: Reply| {
        reply.body[2] ^= 1;
        reply
    };
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding().breaking(flip));
    for path in ["data/train.parquet", "a.json"] {
        let err = fetch(&hub(&server.url(), dir.path()), path).unwrap_err();
        assert!(matches!(err, HubError::Damaged { .. }), "{err}");
        assert!(err.to_string().contains("its hash is "), "{err}");
    }
    let blobs = dir.path().join("datasets--ada--tasks/blobs");
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
    let (longer, _) = fetch_broken(|_, reply| Reply { body: vec![0; 300_000], ..reply });
    assert!(longer.unwrap_err().to_string().contains("more than the 200000 bytes"));
    let (shorter, _) = fetch_broken(|_, reply| Reply { body: vec![0; 9], ..reply });
    assert!(shorter.unwrap_err().to_string().contains("9 bytes instead of 200000"));
}

#[test]
fn two_at_a_time_fetch_a_file_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let fetch = || fetch(&hub(&server.url(), dir.path()), "data/train.parquet").unwrap();
    let paths: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(fetch)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().path).collect()
    });
    assert_eq!(server.transfers(), 1);
    assert!(paths.iter().all(|path| fs::read(path).unwrap() == large()));
}

#[test]
fn what_is_not_there_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let hub = hub(&server.url(), dir.path());
    let file = |repo: Repo, path: &str| hub.file(&repo, path, &mut |_| {}).unwrap_err();
    let wrong_name = file(Repo::dataset("ada/nothing").unwrap(), "a.json");
    assert!(wrong_name.to_string().contains("no repository `ada/nothing`"), "{wrong_name}");
    let wrong_file = file(repo(), "b.json").to_string();
    assert!(
        wrong_file.ends_with("no file `b.json`; it has a.json, data/train.parquet"),
        "{wrong_file}"
    );
    let wrong_revision = file(repo().at("v9").unwrap(), "a.json");
    assert!(matches!(wrong_revision, HubError::NoRevision { .. }), "{wrong_revision}");
    let gated = file(Repo::model("ada/gated").unwrap(), "a.json");
    assert!(gated.hint().contains("HF_TOKEN"), "{gated}");
    let listed = hub.list(&Repo::dataset("ada/nothing").unwrap()).unwrap_err();
    for err in [wrong_name, wrong_revision, gated, listed] {
        assert!(err.hint().ends_with("pass the path of a local file or folder instead"));
    }
    let offline = HubSettings { offline: true, ..settings(&server.url(), dir.path()) };
    let err = fetch(&Hub::new(offline).unwrap(), "a.json").unwrap_err().to_string();
    assert!(err.contains("HF_HUB_OFFLINE"), "{err}");
    assert_eq!(server.transfers(), 0);
}

#[test]
fn a_web_page_is_not_taken_for_a_hub() {
    let dir = tempfile::tempdir().unwrap();
    let portal = Server::start(|_| Reply::new(200, "text/html", "<html>Please log in</html>"));
    let hub = hub(&portal.url(), dir.path());
    let err = fetch(&hub, "a.json").unwrap_err().to_string();
    assert!(err.contains("sends text/html and names no commit"), "{err}");
    let err = hub.list(&repo()).unwrap_err().to_string();
    assert!(
        err.contains("is not a valid response of a hub") && err.contains("Please log in"),
        "{err}"
    );
    let (page, _) = fetch_broken(|_, _| Reply::new(200, "text/html", "<html>"));
    let err = page.unwrap_err().to_string();
    assert!(err.ends_with("it sends a web page"), "{err}");
}

#[test]
fn names_from_the_hub_that_lead_elsewhere_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(Holding::new(REPO, &[("../../../.profile", b"x")]));
    let hub = hub(&server.url(), dir.path());
    let err = hub.list(&repo()).unwrap_err();
    assert!(matches!(err, HubError::FileName { .. }), "{err}");
    let err = fetch(&hub, "../../../.profile").unwrap_err();
    assert!(matches!(err, HubError::FileName { .. }), "{err}");
}

#[test]
fn a_file_larger_than_allowed_is_not_begun() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let small = HubSettings { file_limit_bytes: 1000, ..settings(&server.url(), dir.path()) };
    let err = fetch(&Hub::new(small).unwrap(), "data/train.parquet").unwrap_err();
    assert!(matches!(err, HubError::TooLarge { bytes: 200_000, .. }), "{err}");
    assert_eq!(server.transfers(), 0);
}

#[test]
fn the_token_goes_to_the_hub_and_not_to_its_store() {
    let dir = tempfile::tempdir().unwrap();
    let server = HubServer::start(holding());
    let token = Secret::new("hf_1").unwrap();
    let with_token = HubSettings { token, ..settings(&server.url(), dir.path()) };
    fetch(&Hub::new(with_token).unwrap(), "data/train.parquet").unwrap();
    for asked in server.requests() {
        let sent = asked.headers.get("authorization").map(String::as_str);
        let is_store = asked.path.starts_with("/store/");
        assert_eq!(sent, (!is_store).then_some("Bearer hf_1"), "{}", asked.path);
    }
}

#[test]
fn the_token_stands_in_no_message_even_if_the_hub_repeats_it() {
    let dir = tempfile::tempdir().unwrap();
    let token = Secret::new("hf_sesame").unwrap();
    for status in [200, 400, 429, 500] {
        let echo = move |_: &_| Reply::new(status, "text/plain", "you sent hf_sesame");
        let server = Server::start(echo);
        let token = token.clone();
        let hub = Hub::new(HubSettings { token, ..settings(&server.url(), dir.path()) }).unwrap();
        let err = hub.list(&repo()).unwrap_err();
        let shown = format!("{err} {err:?} {hub:?}");
        assert!(shown.contains("you sent [key]"), "{shown}");
        assert!(!shown.contains("sesame"), "{shown}");
    }
}

#[test]
fn a_repository_that_was_renamed_is_listed_with_the_token_and_a_stranger_gets_none() {
    let dir = tempfile::tempdir().unwrap();
    let stranger = Server::start(|asked| {
        let token = asked.headers.contains_key("authorization");
        Reply::json(200, &json!({"sha": COMMIT, "siblings": [{"rfilename": token.to_string()}]}))
    });
    let elsewhere = format!("{}/api", stranger.url());
    let server = Server::start(move |asked| match asked.path.as_str() {
        "/new"
            if asked.headers.get("authorization").is_some_and(|token| token == "Bearer hf_1") =>
        {
            Reply::json(200, &json!({"sha": COMMIT, "siblings": [{"rfilename": "a"}]}))
        }
        path if path.contains("ada/tasks") => {
            Reply::new(307, "text/plain", "").with("location", "/new")
        }
        _ => Reply::new(307, "text/plain", "").with("location", &elsewhere),
    });
    let token = Secret::new("hf_1").unwrap();
    let hub = Hub::new(HubSettings { token, ..settings(&server.url(), dir.path()) }).unwrap();
    assert_eq!(hub.list(&repo()).unwrap().files[0].path, "a");
    let err = hub.list(&Repo::dataset("ada/other").unwrap()).unwrap_err();
    assert!(err.to_string().contains("answers 307"), "{err}");
    assert_eq!(stranger.connections(), 0);
}

#[test]
fn a_hub_that_forbids_says_so_in_its_own_words() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(|_| {
        Reply::new(403, "text/plain", "").with("x-error-message", "your address is blocked")
    });
    let err = fetch(&hub(&server.url(), dir.path()), "a.json").unwrap_err();
    assert!(err.to_string().ends_with("answers 403: your address is blocked"), "{err}");
}

#[test]
fn a_token_that_may_be_the_trouble_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(|_| Reply::new(401, "text/plain", "Invalid credentials"));
    let hint = |token: &str| {
        let token = Secret::new(token).unwrap();
        let settings = HubSettings { token, ..settings(&server.url(), dir.path()) };
        Hub::new(settings).unwrap().list(&repo()).unwrap_err().hint()
    };
    assert!(hint("hf_1").contains("and the token (HF_TOKEN"), "{}", hint("hf_1"));
    assert!(!hint("").contains("token"), "{}", hint(""));
}
