//! How many records a journal takes in a second, and how long one append can take.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench journal             # a table
//! cargo bench -p whetstone-benches --bench journal -- --json   # for benches/baselines/
//! ```
//!
//! Records of about 110 bytes, one writer, the background sync on, in the folder for temporary
//! files. The figure without the last sync is what a run sees; the one with it is what the disk
//! sustains.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod told;

use std::error::Error;
use std::time::Instant;

use serde_json::{Value, json};
use whetstone_record::journal::{Journal, read};

const RECORDS: u32 = 300_000;

fn main() -> Result<(), Box<dyn Error>> {
    told::tell(&measure()?);
    Ok(())
}

fn measure() -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("journal.jsonl");
    let (mut journal, _) = Journal::open(&path)?;
    let mut slowest: f64 = 0.0;
    let start = Instant::now();
    for n in 0..RECORDS {
        let record = json!({"stage": "grpo", "step": n, "values": {"reward": 0.5, "kl": 0.01}});
        let before = Instant::now();
        journal.append(&record)?;
        slowest = slowest.max(before.elapsed().as_secs_f64());
    }
    let appended = start.elapsed().as_secs_f64();
    journal.sync()?;
    let synced = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let count = read(&path)?.collect::<Result<Vec<_>, _>>()?.len();
    let reading = start.elapsed().as_secs_f64();
    assert_eq!(count, RECORDS as usize, "every record is read back");
    let per_second = |seconds: f64| (f64::from(RECORDS) / seconds).round();
    Ok(json!({
        "appended_per_s": per_second(appended),
        "appended_and_synced_per_s": per_second(synced),
        "read_back_per_s": per_second(reading),
        "slowest_append_ms": (slowest * 1e5).round() / 1e2,
        "bytes_a_record": std::fs::metadata(&path)?.len() / u64::from(RECORDS),
    }))
}
