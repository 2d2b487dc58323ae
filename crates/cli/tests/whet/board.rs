//! `whet board`: what it prints, what it refuses, how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::binary::whet_in;
use crate::hostile_run::hostile_run;

/// A board that runs until it is dropped.
pub(crate) struct RunningBoard {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl RunningBoard {
    /// Serves `runs` in a folder, on any free port.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_whet"))
            .args(["board", "--port", "0"])
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("whet starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    /// Sends a signal, and waits for the end: the exit code, and what was said.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id()).expect("a process");
        kill(Pid::from_raw(pid), signal).expect("it runs");
        let mut said = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for RunningBoard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(url: &str, path: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("the board answers");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("the board answers");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the board answers");
    answer
}

#[test]
fn it_prints_its_address_serves_and_ends_with_0_at_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    hostile_run(&dir.path().join("runs"));
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut board = RunningBoard::start(dir.path(), &[]);
        let url = board.line();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{url}");
        assert!(get(&url, "/list").contains("\"name\":\"hostile\""));
        assert!(get(&url, "/runs/hostile").starts_with("HTTP/1.1 200"));
        // An open connection does not block it.
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let _idle = TcpStream::connect(address).unwrap();
        let (code, said) = board.end(signal);
        assert_eq!((code, said.as_str()), (Some(0), "the runs in `runs`; Ctrl-C ends it\n"));
    }
}

#[test]
fn json_is_one_object_and_other_addresses_come_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = RunningBoard::start(dir.path(), &[".", "--json", "--host", "0.0.0.0"]);
    let text: String = (0..4).map(|_| board.line()).collect();
    let told: Value = serde_json::from_str(&text).unwrap();
    let url = told["url"].as_str().unwrap();
    assert!(url.starts_with("http://localhost:"), "{url}");
    let (code, said) = board.end(Signal::SIGINT);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("warning: everybody who can reach this address reads"), "{said}");
    assert!(said.contains("hidden tests"), "{said}");
}

#[test]
fn what_cannot_be_served_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let ran = whet_in(dir.path(), &["board"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("there is no folder `runs`") && ran.err.contains("hint:"),
        "{}",
        ran.err
    );
    std::fs::write(dir.path().join("file"), "").unwrap();
    let ran = whet_in(dir.path(), &["board", "file"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = whet_in(dir.path(), &["board", ".", "--port", &port]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", ran.err);
    assert!(ran.err.contains("--port 0"), "{}", ran.err);
    let ran = whet_in(dir.path(), &["board", ".", "--host", "board.example"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}
