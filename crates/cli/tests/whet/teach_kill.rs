//! `whet teach` killed with SIGKILL at random moments, again and again.
//!
//! A kill happens after a given number of requests. One request before that is never answered,
//! so a run cannot come to its end first; the others are, and what becomes of them until the kill is
//! left to chance. In the end the traces must be those of an undisturbed run, byte for
//! byte, and no request may have been sent whose answer was stored. Episodes of several turns are killed in
//! their middle, also of a server that breaks besides ([`Fault`]).
//!
//! Five kills; with `WHETSTONE_FULL=1` twenty, on more tasks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs};

use serde_json::Value;
use whetstone_core::seed::Seed;
use whetstone_record::journal;
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners, Speech};
use whetstone_remote::loopback::http::Wire;

use crate::binary::whet_in;
use crate::teach::{said, task};
use crate::teach_episodes::{guess, guessed};

/// Requests at a time: as many answers can be under way when a kill falls.
const IN_FLIGHT: u64 = 4;
const NEVER: u64 = u64::MAX;

/// When the server is silent and when it calls for a kill, by the number of the request.
struct Fate {
    silent: AtomicU64,
    kill: AtomicU64,
    call: Mutex<Sender<()>>,
    /// Set once requests are answered with faults.
    breaks: AtomicBool,
    /// Seeds of requests that were answered with a fault.
    broken: Mutex<HashSet<u64>>,
}

/// What breaks the first answer to a request, by its seed; the second one is fine.
pub(crate) type Fault = fn(u64) -> Option<Act>;

impl Fate {
    fn of(&self, number: u64, seed: u64, fault: Fault) -> Act {
        if number == self.kill.load(Ordering::SeqCst) {
            self.call.lock().expect("no test panics there").send(()).expect("the test waits");
        }
        if number == self.silent.load(Ordering::SeqCst) {
            return Act::Over(Wire::Silence);
        }
        let fault = fault(seed).filter(|_| self.breaks.load(Ordering::SeqCst));
        let is_first = |_: &Act| self.broken.lock().expect("no test panics there").insert(seed);
        fault.filter(is_first).unwrap_or(Act::Answer)
    }

    fn broken(&self) -> u64 {
        self.broken.lock().expect("no test panics there").len() as u64
    }
}

fn start_server(text: Box<Speech>, fault: Fault) -> (ChatServer, Arc<Fate>, Receiver<()>) {
    let (call, calls) = channel();
    let (silent, kill) = (AtomicU64::new(NEVER), AtomicU64::new(NEVER));
    let (breaks, broken) = (AtomicBool::new(false), Mutex::default());
    let fate = Arc::new(Fate { silent, kill, call: Mutex::new(call), breaks, broken });
    let own = Arc::clone(&fate);
    let act = Box::new(move |number, asked: &Value| {
        own.of(number, asked["seed"].as_u64().expect("a seed"), fault)
    });
    let server = ChatServer::start(Manners { act, text, ..Manners::default() });
    (server, fate, calls)
}

/// The seeds of all requests that the server got, in order.
fn asked(server: &ChatServer) -> Vec<u64> {
    let chats = server.requests().into_iter().filter(|asked| asked.method == "POST");
    let seed = |body: &[u8]| {
        serde_json::from_slice::<Value>(body).expect("JSON")["seed"].as_u64().expect("a seed")
    };
    chats.map(|asked| seed(&asked.body)).collect()
}

/// The seeds of all answers that are stored, up to where a kill tore the journal, and how many of
/// them have a verdict.
fn stored(journal: &Path) -> (HashSet<u64>, usize) {
    let (mut seeds, mut verdicts) = (HashSet::new(), 0);
    let Ok(reader) = journal::read(journal) else { return (seeds, verdicts) };
    for record in reader {
        let record = match record {
            Err(err) if err.is_torn() => break,
            record => record.expect("only its end can be torn"),
        };
        let record: Value = serde_json::from_str(&record.json).expect("JSON");
        verdicts += usize::from(record.get("verdict").is_some());
        if let Some(answer) = record.get("answer") {
            assert!(seeds.insert(answer["seed"].as_u64().expect("a seed")), "stored twice");
        }
    }
    (seeds, verdicts)
}

/// A folder with tasks, a server, and the command that is run again and again.
pub(crate) struct Stage {
    dir: tempfile::TempDir,
    server: ChatServer,
    fate: Arc<Fate>,
    calls: Receiver<()>,
    flags: Vec<String>,
    /// Turns of an episode at most.
    turns: u64,
}

impl Stage {
    fn new(lines: &str, turns: u64, text: Box<Speech>) -> Self {
        Self::breaking(lines, turns, text, |_| None)
    }

    /// With a server that breaks once [`Stage::break_from_now`] is called.
    pub(crate) fn breaking(lines: &str, turns: u64, text: Box<Speech>, fault: Fault) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("tasks.jsonl"), lines).expect("a file");
        let (server, fate, calls) = start_server(text, fault);
        let url = format!("teacher.api_url={}", server.url());
        let flags = ["teach", "--tasks=tasks.jsonl", "--num-samples=4", "--set", &url];
        let mut flags: Vec<_> = flags.map(str::to_owned).into();
        flags.extend(["--set".to_owned(), format!("teacher.max_concurrent_requests={IN_FLIGHT}")]);
        Self { dir, server, fate, calls, flags, turns }
    }

    /// Lets the server break.
    pub(crate) fn break_from_now(&self) {
        self.fate.breaks.store(true, Ordering::SeqCst);
    }

    /// Adds `--set KEY=VALUE`.
    pub(crate) fn set(&mut self, key: &str) {
        self.flags.extend(["--set".to_owned(), key.to_owned()]);
    }

    fn command(&self, out: &'static str) -> Vec<String> {
        let rows = format!("--rows=rows_{out}");
        self.flags.iter().cloned().chain(["--out".to_owned(), out.to_owned(), rows]).collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs to the end, undisturbed; returns the seeds that were asked for.
    pub(crate) fn run(&self, out: &'static str) -> Vec<u64> {
        let already = asked(&self.server).len();
        self.fate.silent.store(NEVER, Ordering::SeqCst);
        self.fate.kill.store(NEVER, Ordering::SeqCst);
        let command = self.command(out);
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran = whet_in(self.dir.path(), &args);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        asked(&self.server).split_off(already)
    }

    /// Runs until the server has got `kill` requests, without an answer to number `silent`, and
    /// kills it; returns the seeds that were asked for.
    fn kill(&self, out: &'static str, silent: u64, kill: u64) -> Vec<u64> {
        let already = asked(&self.server).len();
        self.fate.silent.store(already as u64 + silent, Ordering::SeqCst);
        self.fate.kill.store(already as u64 + kill, Ordering::SeqCst);
        let mut child = Command::new(env!("CARGO_BIN_EXE_whet"))
            .args(self.command(out))
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("whet starts");
        self.calls.recv_timeout(Duration::from_mins(5)).expect("the run asks so much");
        child.kill().expect("it waits for an answer");
        let status = child.wait().expect("it was started here");
        assert!(status.code().is_none(), "it came to an end: {status}");
        asked(&self.server).split_off(already)
    }
}

/// Kills of one test, and tasks.
pub(crate) fn extent() -> (u64, u64) {
    let full = env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1");
    if full { (20, 60) } else { (5, 16) }
}

#[test]
fn killed_at_random_moments_it_pays_for_no_answer_twice_and_writes_the_same_traces() {
    let (kills, tasks) = extent();
    let lines: String = (0..tasks).map(|n| task(&format!("t/{n}"), "")).collect();
    let mut stage = Stage::new(&lines, 1, Box::new(said));
    if whet_in(stage.dir.path(), &["doctor"]).code != 0 {
        println!("SKIPPED: the judge, which `whet doctor` says cannot work here");
        stage.flags.push("--no-judge".to_owned());
    }
    assert_eq!(stage.run("whole.jsonl").len() as u64, tasks * 4);
    kill_again_and_again(&stage, kills, tasks * 4);
}

#[test]
fn killed_in_the_middle_of_episodes_it_asks_no_turn_twice_and_writes_the_same_episodes_and_rows() {
    let (kills, tasks) = extent();
    let lines: String = (0..tasks).map(|n| guess(n % 10, n)).collect();
    let stage = Stage::new(&lines, 2, Box::new(guessed));
    let total = stage.run("whole.jsonl").len() as u64;
    assert!(total > tasks * 4, "some episodes have two turns");
    kill_again_and_again(&stage, kills, total);
    let rows = fs::read_to_string(stage.path("rows_out.jsonl")).expect("rows");
    assert!(rows.lines().any(|row| row.contains(r#""history":[["Guess a number."#)), "{rows}");
}

/// Kills runs until nothing is left to ask, when the undisturbed run has sent `total` requests.
#[expect(clippy::print_stdout, reason = "how many kills fell where")]
pub(crate) fn kill_again_and_again(stage: &Stage, kills: u64, total: u64) {
    let journal = stage.path("out.jsonl.journal");
    let (mut sent, mut unjudged) = (Vec::new(), Vec::new());
    for kill in 0..kills {
        let (before, _) = stored(&journal);
        let open = total - before.len() as u64;
        let chance = |stage: &str, below: u64| Seed::new(7).derive(stage, kill).get() % below;
        // Somewhere in this run's share of what is left, and a few requests later. What waits for the silent
        // one is not asked.
        let silent = chance("silent", (2 * open / (kills - kill + 1)).max(1)).min(open - 1);
        let reached = open.saturating_sub(stage.turns).max(silent);
        let later = (silent + chance("later", IN_FLIGHT + 2)).min(reached);
        let seeds = stage.kill("out.jsonl", silent, later);
        assert!(seeds.iter().all(|seed| !before.contains(seed)), "asked for what was stored");
        let (after, verdicts) = stored(&journal);
        assert!(before.is_subset(&after), "an answer is lost");
        assert!(!stage.path("out.jsonl").exists(), "traces before the end");
        unjudged.push(after.len() - verdicts);
        sent.extend(seeds);
    }
    let (before, _) = stored(&journal);
    let seeds = stage.run("out.jsonl");
    assert!(seeds.iter().all(|seed| !before.contains(seed)), "asked for what was stored");
    let read = |name: &str| fs::read(stage.path(name)).expect("an output");
    assert!(read("out.jsonl") == read("whole.jsonl"), "the traces differ");
    assert!(read("rows_out.jsonl") == read("rows_whole.jsonl"), "the rows differ");
    assert!(!journal.exists());

    sent.extend(seeds);
    let distinct: HashSet<_> = sent.iter().collect();
    assert_eq!(distinct.len() as u64, total);
    let broken = stage.fate.broken();
    let repeated = sent.len() as u64 - total - broken;
    println!(
        "{kills} kills: {total} requests, {broken} broken, {repeated} repeated that were under way at a kill \
         ({} at most); answers without a verdict at the kills: {unjudged:?}",
        kills * IN_FLIGHT
    );
    assert!(repeated <= kills * IN_FLIGHT, "{repeated} requests were repeated");
}
