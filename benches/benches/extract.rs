//! How fast extraction is, and that its time grows with the text and not faster.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench extract             # a table
//! cargo bench -p whetstone-benches --bench extract -- --json   # for benches/baselines/
//! ```
//!
//! One thread. *Throughput* reads a few megabytes of replies of the usual size, one by one. *Growth*
//! reads one text of 2 MiB, and 16 texts of 128 KiB one after another, made of the same awkward
//! piece: one text of 16 times the size must take at most 20 times the time of one of them. Both
//! read the same 2 MiB, so both fit the cache or neither does, and what grows is the work. A
//! throughput is the best of eleven rounds; a growth is the median of eleven rounds that measure both
//! sizes one right after the other, since a shared machine changes its speed between rounds. A
//! growth over the bound ends the benchmark with 1.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_core::extract::{Form, Reply, Response, extract};

const SMALL_BYTES: usize = 128 << 10;
const MOST_GROWTH: f64 = 20.0;
const ROUNDS: usize = 11;

/// Pieces whose repetition makes a careless scan look at every byte for every byte.
const AWKWARD: [(&str, &str); 15] = [
    ("backticks", "`"),
    ("tildes", "~"),
    ("bare fences", "```\n"),
    ("tagged fences", "```python\n"),
    ("opening tags", "<think>"),
    ("opening tags behind prose", "x<think>\n"),
    ("closing tags", "</think>"),
    ("closing tags on lines", "</think>\n"),
    ("pairs of tags", "<think>a</think>"),
    ("quoted tags", "'</think>' "),
    ("angle brackets", "<"),
    ("blocks on one line", "```python x```\n"),
    ("fences behind prose", "a: ```python\n"),
    ("Windows lines", "x\r\n"),
    ("prose", "the quick brown fox jumps over the lazy dog\n"),
];

fn main() -> ExitCode {
    let throughput: Vec<_> =
        workloads().iter().map(|(name, replies)| throughput(name, replies)).collect();
    let growth: Vec<_> = AWKWARD.iter().map(|(name, piece)| growth(name, piece)).collect();
    let linear = growth.iter().all(|row| row["growth"].as_f64().is_some_and(|g| g <= MOST_GROWTH));
    if std::env::args().any(|arg| arg == "--json") {
        println!("{:#}", json!({ "throughput": throughput, "growth": growth }));
    } else {
        table(&throughput, &growth);
    }
    if linear { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Replies of the usual size, by what they are.
fn workloads() -> [(&'static str, Vec<String>); 3] {
    let code = "def largest(xs):\n    \"\"\"The largest of some numbers.\"\"\"\n    best = xs[0]\n    \
                for x in xs[1:]:\n        if x > best:\n            best = x\n    return best";
    let thought = "The list is not sorted, so every number has to be looked at once.\n";
    let replies =
        |render: &dyn Fn(usize) -> String| -> Vec<String> { (0..1500).map(render).collect() };
    let formatted = |n: usize| {
        let response = Response::new(Form::ThinkPython, &thought.repeat(20 + n % 40), code);
        response.map(|response| response.render()).unwrap_or_default()
    };
    let truncated = |n: usize| format!("<think>\n{}", thought.repeat(30 + n % 60));
    let plain = |n: usize| format!("{code}\n\nLIMIT = {n}\n{}", "# a comment\n".repeat(n % 40));
    [
        ("thinking and code", replies(&formatted)),
        ("broken off in the thinking", replies(&truncated)),
        ("a program without a fence", replies(&plain)),
    ]
}

fn throughput(name: &str, replies: &[String]) -> Value {
    let bytes: usize = replies.iter().map(String::len).sum();
    let read = || {
        seconds(|| {
            for reply in replies {
                black_box(extract(Reply::text(reply), Form::ThinkPython));
            }
        })
    };
    let best = (0..ROUNDS).map(|_| read()).fold(f64::INFINITY, f64::min);
    let per_second = as_f64(bytes) / best;
    json!({
        "replies": name,
        "mean_bytes": bytes / replies.len(),
        "mb_per_s": rounded(per_second / 1e6),
        "gb_per_min": rounded(per_second * 60.0 / 1e9),
    })
}

fn growth(name: &str, piece: &str) -> Value {
    let text = |bytes: usize| piece.repeat(bytes / piece.len());
    let (small, large) = (vec![text(SMALL_BYTES); 16], [text(16 * SMALL_BYTES)]);
    let read = |texts: &[String]| {
        seconds(|| {
            for text in texts {
                black_box(extract(Reply::text(text), Form::ThinkPython));
            }
        })
    };
    let mut pairs: Vec<_> = (0..ROUNDS).map(|_| (read(&small) / 16.0, read(&large))).collect();
    pairs.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (small, large) = pairs[ROUNDS / 2];
    json!({
        "text": name,
        "mb_per_s": rounded(as_f64(16 * SMALL_BYTES) / large / 1e6),
        "growth": rounded(large / small),
    })
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn table(throughput: &[Value], growth: &[Value]) {
    println!("{:<28} {:>10} {:>10} {:>10}", "replies", "mean bytes", "MB/s", "GB/min");
    for row in throughput {
        let name = row["replies"].as_str().unwrap_or_default();
        let (bytes, mb, gb) = (&row["mean_bytes"], &row["mb_per_s"], &row["gb_per_min"]);
        println!("{name:<28} {bytes:>10} {mb:>10} {gb:>10}");
    }
    println!("\n{:<28} {:>10} {:>10}", "2 MiB of", "MB/s", "growth");
    for row in growth {
        let name = row["text"].as_str().unwrap_or_default();
        println!("{name:<28} {:>10} {:>10}", row["mb_per_s"], row["growth"]);
    }
    println!("\ngrowth: time for 2 MiB over time for 128 KiB, at most {MOST_GROWTH} allowed");
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 bytes")]
fn as_f64(bytes: usize) -> f64 {
    bytes as f64
}
