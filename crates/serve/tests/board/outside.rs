//! Paths and links that lead out of the folder.

use std::fs;
use std::os::unix::fs::symlink;

use whetstone_serve::http::Limits;

use crate::runs::{SECRET, run};
use crate::served::{answer, get, serve, status};

#[test]
fn no_path_leads_out_of_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    run(&runs, "a");
    run(dir.path(), "secret");
    fs::write(dir.path().join("passwd"), SECRET).unwrap();
    let address = serve(&runs, Limits::default());
    let paths = [
        "/../../etc/passwd",
        "/runs/../secret",
        "/runs/..",
        "/runs/.",
        "/runs/../../passwd",
        "/runs/%2e%2e/secret",
        "/runs/..%2fsecret",
        "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/runs/..%c0%afsecret",
        "/runs/..\\secret",
        "//etc/passwd",
        "/runs//a",
        "/runs/a/../a",
        "/runs/a/",
        "/runs/a/events.jsonl",
        "/runs/a/rollouts/rollouts.jsonl",
        "/runs/a%00",
        "/runs/-a",
        "/runs/nothing",
        "/etc/passwd",
        "http://localhost/etc/passwd",
        "file:///etc/passwd",
        "http://169.254.169.254/",
        "*",
    ];
    for path in paths {
        let found = get(address, path);
        assert!([400, 404].contains(&status(&found)), "{path}: {found}");
        assert!(!found.contains(SECRET) && !found.contains("root:"), "{path}: {found}");
    }
    for raw in [
        &b"GET /runs/a\0 HTTP/1.1\r\n\r\n"[..],
        b"GET /runs/\xff HTTP/1.1\r\n\r\n",
        b"\0\0\0\r\n\r\n",
    ] {
        assert!([400, 404].contains(&status(&answer(address, raw))), "{raw:?}");
    }
    assert_eq!(status(&get(address, "/runs/a")), 200, "it is still there");
}

#[test]
fn no_link_leads_out_of_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    run(dir.path(), "secret");
    let secret = dir.path().join("secret");
    for name in ["events.jsonl", "config.toml", "rollouts"] {
        let view = run(&runs, &format!("by-{}", name.replace('.', "-")));
        let path = view.dir().join(name);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        symlink(secret.join(name), path).unwrap();
    }
    let view = run(&runs, "by-journal");
    symlink(secret.join("rollouts/rollouts.jsonl"), view.rollouts_dir().join("more.jsonl"))
        .unwrap();
    symlink(&secret, runs.join("by-run")).unwrap();
    symlink("/etc", runs.join("etc")).unwrap();
    let address = serve(&runs, Limits::default());
    let start = "0-0-.0-00000000.0-0-.0-0-.00000000";
    for name in ["by-events-jsonl", "by-config-toml", "by-rollouts", "by-journal", "by-run", "etc"]
    {
        for path in [format!("/runs/{name}"), format!("/runs/{name}/feed?from={start}")] {
            let found = get(address, &path);
            assert_eq!(status(&found), 404, "{path}: {found}");
            assert!(!found.contains(SECRET), "{path}");
        }
    }
    let list = get(address, "/list");
    assert!(!list.contains(SECRET) && list.contains("\"runs\":[]"), "{list}");
}

#[test]
fn a_link_that_is_made_while_the_board_runs_is_refused_too() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let view = run(&runs, "a");
    run(dir.path(), "secret");
    let address = serve(&runs, Limits::default());
    assert_eq!(status(&get(address, "/runs/a")), 200);
    fs::remove_file(view.events_path()).unwrap();
    symlink(dir.path().join("secret/events.jsonl"), view.events_path()).unwrap();
    assert_eq!(status(&get(address, "/runs/a")), 404);
}
