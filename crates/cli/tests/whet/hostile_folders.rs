//! Run folders with anything in place of files: the board, `whet runs` and `whet report` name the run,
//! skip it, continue with the others, wait for nothing and stay small.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use whetstone_record::journal::Journal;
use whetstone_record::run_dir::RunDir;

use crate::board::RunningBoard;

/// Peak memory of a command, at most.
const MAX_RESIDENT_KB: u64 = 200_000;
/// No command takes that long unless it waits for something that never comes.
const PATIENCE: Duration = Duration::from_mins(1);
const SPARSE_BYTES: u64 = 600 << 20;

const FILES: [&str; 7] = [
    "run.lock",
    "config.toml",
    "events.jsonl",
    "cursors.json",
    "rollouts/more.jsonl",
    "train.jsonl",
    "quickstart.json",
];

/// Something that is put in a file's place.
type Put = fn(&Path);

const KINDS: [(&str, Put); 7] = [
    ("pipe", |path| mkfifo(path, Mode::S_IRWXU).expect("a pipe")),
    ("zero", |path| symlink("/dev/zero", path).expect("a link")),
    ("outside", |path| symlink("/etc/passwd", path).expect("a link")),
    ("loop", |path| symlink(path, path).expect("a link")),
    ("folder", |path| fs::create_dir(path).expect("a folder")),
    ("socket", |path| drop(UnixListener::bind(path).expect("a socket"))),
    ("large", |path| {
        File::create(path).and_then(|file| file.set_len(SPARSE_BYTES)).expect("a file");
    }),
];

/// A folder of runs: `good`, and one for each file and each kind, named after both.
fn folder(root: &Path) -> Vec<(String, &'static str, &'static str)> {
    drop(RunDir::create(root, "good", "seed = 1\n", 1).expect("a run"));
    let mut hostile = Vec::new();
    for file in FILES {
        for (kind, put) in KINDS {
            let name = format!("{}-{kind}", file.replace(['/', '.'], "-"));
            let run = RunDir::create(root, &name, "seed = 1\n", 1).expect("a run");
            let path = run.view().dir().join(file);
            drop(run);
            let _ = fs::remove_file(&path);
            put(&path);
            hostile.push((name, file, kind));
        }
    }
    hostile
}

/// What a command left, and the most memory it had.
struct Measured {
    code: Option<i32>,
    out: String,
    err: String,
    peak_kb: u64,
}

/// Runs `whet`; panics if it does not end.
fn whet(folder: &Path, args: &[&str]) -> Measured {
    let (out, err) = (folder.join("../out"), folder.join("../err"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(args)
        .current_dir(folder.parent().expect("a folder"))
        .stdin(Stdio::null())
        .stdout(File::create(&out).expect("a file"))
        .stderr(File::create(&err).expect("a file"))
        .spawn()
        .expect("whet starts");
    let (began, mut peak_kb) = (Instant::now(), 0);
    let code = loop {
        peak_kb = peak_kb.max(resident_kb(child.id()));
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status.code();
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("whet {args:?} does not end");
        }
        thread::sleep(Duration::from_millis(1));
    };
    let text = |path: &Path| fs::read_to_string(path).expect("text");
    Measured { code, out: text(&out), err: text(&err), peak_kb }
}

/// The most memory that a process has had so far.
fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn whet_runs_names_hostile_runs_and_lists_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("runs");
    let hostile = folder(&root);
    let ran = whet(&root, &["runs", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.peak_kb < MAX_RESIDENT_KB, "{} kB", ran.peak_kb);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let names = |list: &str| -> Vec<String> {
        let list = told[list].as_array().unwrap().iter();
        list.map(|run| run["name"].as_str().unwrap().to_owned()).collect()
    };
    let (runs, unreadable) = (names("runs"), names("unreadable"));
    assert!(runs.contains(&"good".to_owned()), "{runs:?}");
    for (name, file, kind) in hostile {
        assert!(runs.contains(&name) != unreadable.contains(&name), "{name} is not told of once");
        // A line of the list is made from these; of the others a large one is not looked at.
        let is_read = match file {
            "run.lock" | "events.jsonl" => true,
            "config.toml" | "cursors.json" => kind != "large",
            _ => false,
        };
        assert_eq!(unreadable.contains(&name), is_read, "{name}");
    }
}

#[test]
fn whet_report_ends_with_the_file_that_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("runs");
    for (name, file, kind) in folder(&root) {
        let ran = whet(&root, &["report", &name, "--out", "page.html"]);
        assert!(ran.peak_kb < MAX_RESIDENT_KB, "{name}: {} kB", ran.peak_kb);
        let is_read = match file {
            "run.lock" => false,
            "cursors.json" => kind != "large",
            _ => true,
        };
        let named = ran.err.contains(&name) && ran.err.contains(file);
        assert_eq!((ran.code != Some(0), named), (is_read, is_read), "{name}: {}", ran.err);
    }
    let ran = whet(&root, &["report", "good", "--out", "page.html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_run_with_more_steps_than_can_be_held_is_refused_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("runs");
    let run = RunDir::create(&root, "many", "", 1).unwrap();
    let (mut journal, _) = Journal::open(&run.view().rollouts_dir().join("r.jsonl")).unwrap();
    for step in 0..50_001 {
        journal.append(&json!({"step": step, "prompt_id": "a", "text": ""})).unwrap();
    }
    drop((journal, run));
    let ran = whet(&root, &["report", "many"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("many") && ran.err.contains("more than 50000 steps"), "{}", ran.err);
    assert!(ran.peak_kb < MAX_RESIDENT_KB, "{} kB", ran.peak_kb);
}

/// The answer to a request; whatever has come when the board hangs up.
fn get(url: &str, path: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("the board answers");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("the board answers");
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer);
    let waited = end.is_err_and(|err| err.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!waited, "{path} is not answered");
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn the_board_answers_for_the_others_and_stays_small() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("runs");
    let hostile = folder(&root);
    let mut board = RunningBoard::start(dir.path(), &[]);
    let url = board.line();
    let start = "0-0-.0-00000000.0-0-.0-0-.00000000";
    for round in 0..2 {
        let list = get(&url, "/list");
        assert!(list.contains("\"name\":\"good\""), "round {round}: {list}");
        for (name, ..) in &hostile {
            assert!(list.contains(&format!("\"name\":\"{name}\"")), "{name} is not named");
            let page = get(&url, &format!("/runs/{name}"));
            assert!(!page.contains("root:"), "{name}");
            get(&url, &format!("/runs/{name}/feed?from={start}"));
        }
        assert!(get(&url, "/runs/good").starts_with("HTTP/1.1 200"), "round {round}");
    }
    let peak_kb = resident_kb(board.id());
    assert!(peak_kb > 0 && peak_kb < MAX_RESIDENT_KB, "{peak_kb} kB");
}
