//! What looking at a large run takes: writing its page, and asking the board for what is new.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench look             # a table
//! cargo bench -p whetstone-benches --bench look -- --json   # for benches/baselines/
//! ```
//!
//! A run of 100,000 completions in 1,562 steps, made here. The board is asked over loopback, as a browser
//! asks, from the same process.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod told;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write, sink};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_record::event::{Event, TimedEvent};
use whetstone_record::journal::Journal;
use whetstone_record::report::{self, PageRequest};
use whetstone_record::run_dir::RunDir;
use whetstone_serve::board::Board;
use whetstone_serve::http::Server;

const STEPS: u64 = 1_562;
const GROUPS: u64 = 16;
const SAMPLES: u64 = 4;
/// The cursor of a page without data.
const BEGINNING: &str = "0-0-.0-00000000.0-0-.0-0-.00000000";
const ASKED: usize = 101;

fn main() -> Result<(), Box<dyn Error>> {
    told::tell(&measure()?);
    Ok(())
}

fn measure() -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut run = Run::create(folder.path())?;
    for step in 1..=STEPS {
        run.step(step)?;
    }
    let view = RunDir::open_read_only(folder.path(), "large")?;
    let began = Instant::now();
    let contents = report::write_to(&view, PageRequest::default(), &mut sink(), &mut |_, _| ())?;
    let report_s = began.elapsed().as_secs_f64();

    let server = Server::listen(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)?;
    let (address, board) = (server.address(), Board::open(folder.path())?);
    thread::spawn(move || server.run(move |request| board.answer(request)));
    let ask = |path: &str| get(address, path);
    let first_list = ask("/list")?;
    let page = ask("/runs/large")?;
    let (cursor, answers) = caught_up(address)?;
    let path = format!("/runs/large/feed?from={cursor}");
    let nothing_new = median(|| ask(&path))?;
    run.step(STEPS + 1)?;
    let a_step_new = median(|| ask(&path))?;
    Ok(json!({
        "completions": contents.completions,
        "report_s": round(report_s),
        "page_first_byte_s": round(page.first_byte_s),
        "page_s": round(page.all_s),
        "page_bytes": page.body.len(),
        "answers_from_the_beginning": answers,
        "nothing_new_ms": round(1e3 * nothing_new.all_s),
        "nothing_new_bytes": nothing_new.body.len(),
        "a_step_of_64_new_ms": round(1e3 * a_step_new.all_s),
        "a_step_of_64_new_bytes": a_step_new.body.len(),
        "list_first_ms": round(1e3 * first_list.all_s),
        "list_again_ms": round(1e3 * median(|| ask("/list"))?.all_s),
    }))
}

/// A run that is being made.
struct Run {
    dir: RunDir,
    rollouts: Journal,
}

impl Run {
    fn create(root: &Path) -> Result<Self, Box<dyn Error>> {
        let dir = RunDir::create(root, "large", "seed = 1\n", 0)?;
        let (rollouts, _) = Journal::open(&dir.view().rollouts_dir().join("rollouts.jsonl"))?;
        Ok(Self { dir, rollouts })
    }

    fn step(&mut self, step: u64) -> Result<(), Box<dyn Error>> {
        for number in 0..GROUPS * SAMPLES {
            let (task, sample) = (step * GROUPS + number / SAMPLES, number % SAMPLES);
            self.rollouts.append(&rollout(step, task, sample))?;
        }
        let values = (0_u8..40).map(|at| (format!("grpo/{at}"), 0.5 + f64::from(at) / 7.0));
        let values: BTreeMap<String, f64> = values.collect();
        let event = Event::Metrics { stage: "grpo".to_owned(), step, values };
        self.dir.append_event(&TimedEvent { time_ms: step, event })?;
        Ok(())
    }
}

/// A completion of about 600 characters, no two alike.
fn rollout(step: u64, task: u64, sample: u64) -> Value {
    let line = |at: u64| format!("    total_{at} = values[{at}] * {} + {task}\n", step % 97 + at);
    let code: String = (0..12).map(line).collect();
    let text = format!(
        "<think>\nOf {task} I take {sample}.\n</think>\n```python\ndef f(values):\n{code}```\n"
    );
    let passed = u32::from((task + sample).is_multiple_of(3));
    let (verdict, total) = (["timeout", "pass"][passed as usize], f64::from(passed));
    json!({
        "step": step, "prompt_id": format!("task/{task}"), "group_id": sample, "text": text,
        "meta": {"tokens": 180, "finish": "stop"}, "advantage": total - 0.33,
        "validation": {"verdict": verdict, "tests_passed": passed, "tests_total": 1, "cpu_ms": 1.5, "isolation": "full"},
        "reward": {"total": total, "terms": {"tests": total}, "gates": {}},
    })
}

/// An answer, and when it came.
struct Answer {
    first_byte_s: f64,
    all_s: f64,
    body: Vec<u8>,
}

fn get(address: SocketAddr, path: &str) -> Result<Answer, Box<dyn Error>> {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut text = vec![0];
    stream.read_exact(&mut text)?;
    let first_byte_s = began.elapsed().as_secs_f64();
    stream.read_to_end(&mut text)?;
    let all_s = began.elapsed().as_secs_f64();
    let end = text
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .ok_or("an answer without a head")?;
    assert!(text.starts_with(b"HTTP/1.1 200 "), "{path}");
    Ok(Answer { first_byte_s, all_s, body: text.split_off(end + 4) })
}

/// Asks until there is nothing more; returns the cursor of then, and how many answers that took.
fn caught_up(address: SocketAddr) -> Result<(String, u32), Box<dyn Error>> {
    let (mut cursor, mut answers) = (BEGINNING.to_owned(), 0);
    loop {
        let answer = get(address, &format!("/runs/large/feed?from={cursor}"))?;
        let news: Value = serde_json::from_slice(&answer.body)?;
        answers += 1;
        news["cursor"].as_str().ok_or("news without a cursor")?.clone_into(&mut cursor);
        if news["more"] == false {
            return Ok((cursor, answers));
        }
    }
}

/// The answer that took the middle time.
fn median(ask: impl Fn() -> Result<Answer, Box<dyn Error>>) -> Result<Answer, Box<dyn Error>> {
    let mut answers = (0..ASKED).map(|_| ask()).collect::<Result<Vec<_>, _>>()?;
    answers.sort_by(|one, other| one.all_s.total_cmp(&other.all_s));
    Ok(answers.swap_remove(ASKED / 2))
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
