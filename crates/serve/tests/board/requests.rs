//! What is answered, and what hostile requests get.

use serde_json::Value;
use whetstone_serve::http::Limits;

use crate::runs::{SECRET, append, run};
use crate::served::{answer, get, request, serve, status};

/// A run `a` in a folder, served.
fn board() -> (tempfile::TempDir, std::net::SocketAddr) {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), "a");
    let address = serve(dir.path(), Limits::default());
    (dir, address)
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn the_list_has_the_runs_and_says_which_cannot_be_shown() {
    let (dir, address) = board();
    let list = get(address, "/list");
    let told: Value = serde_json::from_str(body(&list)).unwrap();
    assert_eq!((&told["runs"][0]["name"], &told["runs"][0]["step"]), (&"a".into(), &1.into()));
    let cut = run(dir.path(), "cut");
    std::fs::remove_file(cut.config_path()).unwrap();
    run(dir.path(), "b");
    let told: Value = serde_json::from_str(body(&get(address, "/list"))).unwrap();
    let names: Vec<&str> =
        told["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b"], "one that came later is there");
    assert_eq!(told["unreadable"][0]["name"], "cut");
    assert!(told["unreadable"][0]["error"].as_str().unwrap().contains("has no `config.toml`"));
    assert!(get(address, "/").contains("<title>Runs</title>"));
}

#[test]
fn a_page_is_whole_and_its_feed_has_what_came_later() {
    let (dir, address) = board();
    let page = get(address, "/runs/a");
    assert_eq!(status(&page), 200, "{page}");
    assert!(page.contains("Transfer-Encoding: chunked") && page.ends_with("\r\n0\r\n\r\n"));
    assert!(page.contains("</html>") && !page.contains(SECRET), "hostile text is packed");
    let start = "0-0-.0-00000000.0-0-.0-0-.00000000";
    let feed = |cursor: &str| -> Value {
        let found = get(address, &format!("/runs/a/feed?from={cursor}"));
        assert_eq!(status(&found), 200, "{found}");
        serde_json::from_str(body(&found)).unwrap()
    };
    let first = feed(start);
    assert_eq!(first["completions"]["index"]["step"].as_array().unwrap().len(), 1);
    let cursor = first["cursor"].as_str().unwrap();
    assert_eq!(feed(cursor)["completions"], Value::Null);
    append(&whetstone_record::run_dir::RunDir::open_read_only(dir.path(), "a").unwrap());
    assert_eq!(feed(cursor)["completions"]["index"]["step"].as_array().unwrap().len(), 1);
    let other = "9-1-00000000.0-00000000.0-0-.0-0-.00000000";
    assert_eq!(feed(other)["moved"], true, "a cursor of another run");
}

#[test]
fn every_answer_keeps_a_browser_from_guessing_keeping_and_sharing() {
    let (_dir, address) = board();
    for path in ["/", "/list", "/runs/a", "/runs/a/feed?from=1", "/nothing"] {
        let found = get(address, path);
        let head = found.split_once("\r\n\r\n").unwrap().0;
        for header in [
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "Cross-Origin-Resource-Policy: same-origin",
            "Cache-Control: no-store",
            "Connection: close",
            "frame-ancestors 'none'",
            "Content-Security-Policy: default-src 'none'",
        ] {
            assert!(head.contains(header), "{path}: {header} in {head}");
        }
        assert!(!head.to_lowercase().contains("access-control"), "{path}: {head}");
        assert!(!head.contains("unsafe"), "{path}: {head}");
    }
}

#[test]
fn a_name_that_leads_here_is_not_answered() {
    let (_dir, address) = board();
    let port = address.port();
    let asked = |host: &str| {
        let text = format!("GET /runs/a HTTP/1.1\r\nHost: {host}\r\n\r\n");
        status(&answer(address, text.as_bytes()))
    };
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(asked(&host), 200, "{host}");
    }
    let strangers = [
        format!("evil.test:{port}"),
        "127.0.0.1:1".to_owned(),
        "localhost".to_owned(),
        String::new(),
    ];
    for host in strangers {
        assert_eq!(asked(&host), 421, "{host}");
    }
    let text = format!("GET / HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n");
    assert!(answer(address, text.as_bytes()).contains("under its address alone"));
    let both = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.test\r\n\r\n");
    assert_eq!(status(&answer(address, both.as_bytes())), 400);
}

#[test]
fn other_methods_bodies_and_versions_are_refused() {
    let (_dir, address) = board();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get"] {
        let found = answer(address, request(address, "/").replacen("GET", method, 1).as_bytes());
        assert_eq!(status(&found), 405, "{method}");
        assert!(found.contains("\r\nAllow: GET, HEAD\r\n"), "{found}");
    }
    let with = |header: &str, rest: &str| {
        let text =
            request(address, "/").replace("\r\n\r\n", &format!("\r\n{header}\r\n\r\n{rest}"));
        status(&answer(address, text.as_bytes()))
    };
    assert_eq!(with("Content-Length: 5", "hello"), 400);
    assert_eq!(with("Transfer-Encoding: chunked", "0\r\n\r\n"), 400);
    assert_eq!(with("Content-Length: 1000000", &"x".repeat(100_000)), 400);
    assert_eq!(
        status(&answer(address, request(address, "/").replace("1.1", "1.0").as_bytes())),
        505
    );
    // A second request behind the first is not answered.
    let two = format!("{0}{0}", request(address, "/list"));
    assert_eq!(answer(address, two.as_bytes()).matches("HTTP/1.1").count(), 1);
    let head = answer(address, request(address, "/runs/a").replacen("GET", "HEAD", 1).as_bytes());
    assert!(
        status(&head) == 200 && head.ends_with("\r\n\r\n") && !head.contains("<html"),
        "{head}"
    );
}

#[test]
fn a_run_that_is_broken_is_an_error_in_words() {
    let (dir, address) = board();
    let journal = dir.path().join("a/rollouts/rollouts.jsonl");
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let found = get(address, "/runs/a");
    assert_eq!(status(&found), 500);
    assert!(found.contains("line 1 of") && found.contains("is damaged"), "{found}");
}
