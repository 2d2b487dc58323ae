//! `kill -9` at 200 random moments, all on one journal.
//!
//! A child appends records of 10 bytes to 300 KB and prints the number of each one that was
//! acknowledged. The parent kills it after a random number of those: in even rounds a random few
//! hundred microseconds later, in odd rounds as soon as it sees the file grow by a large piece, so
//! that many kills fall into a `write`. It opens the journal again and checks that every
//! acknowledged record is there. The payload follows from the round and the number, so a record
//! that was lost and written again by a later child would be found too.
//!
//! `WHET_TEST_SEED` repeats the choices of an earlier run; the scheduler adds its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ChildStdout;
use std::time::{Duration, Instant};
use std::{env, fs, hint, iter};

use crate::child;

use serde_json::value::RawValue;
use whetstone_record::event::now_ms;
use whetstone_record::journal::{Journal, Record, read};

const KILLS: u32 = 200;
const ROUND: &str = "WHET_TEST_ROUND";
const SEED: &str = "WHET_TEST_SEED";

/// `SplitMix64`: small, seeded, good enough to choose moments.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }
}

/// The payload that every child writes as record `seq` of `round`: one in three is large.
///
/// Made and written as raw text, or a child would spend its time there and not in `write`.
fn payload(round: u32, seq: u64) -> String {
    let mut random = Random(u64::from(round) << 32 ^ seq);
    let largest = [10, 2_000, 300_000][usize::try_from(seq % 3).expect("it is below 3")];
    let word = format!("{:016x}\\n\\\"ü", random.next());
    let words = usize::try_from(random.within(10..=largest)).expect("it fits") / word.len();
    format!("{{\"round\":{round},\"text\":\"{}\"}}", word.repeat(words))
}

/// Runs one child and kills it; returns the numbers it acknowledged.
fn kill_one(path: &Path, round: u32, random: &mut Random) -> Vec<u64> {
    let mut child = child::command("", "kill::writer_child", path)
        .env(ROUND, round.to_string())
        .spawn()
        .expect("there is a shell");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let wanted = random.within(0..=25);
    let mut acks: Vec<u64> = iter::from_fn(|| next_ack(&mut lines))
        .take(usize::try_from(wanted).expect("few"))
        .collect();
    if round.is_multiple_of(2) {
        spin(Duration::from_micros(random.within(0..=400)));
    } else {
        wait_for_a_large_write(path);
    }
    child.kill().expect("the child still runs");
    acks.extend(iter::from_fn(|| next_ack(&mut lines)));
    let status = child.wait().expect("the child was started here");
    assert!(!status.success(), "the child ended by itself: {status}");
    acks
}

fn next_ack(lines: &mut BufReader<ChildStdout>) -> Option<u64> {
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).expect("the child prints text") == 0 {
            return None;
        }
        if let Some(seq) = line.strip_prefix("ack ").and_then(|rest| rest.strip_suffix('\n')) {
            return Some(seq.parse().expect("an acknowledged number"));
        }
    }
}

/// Waits without giving the processor away: sleeping would round the moment up.
fn spin(delay: Duration) {
    let start = Instant::now();
    while start.elapsed() < delay {
        hint::spin_loop();
    }
}

/// Watches the file until it grows by more than a small record at once, for a second at most.
fn wait_for_a_large_write(path: &Path) {
    let len = || fs::metadata(path).map_or(0, |meta| meta.len());
    let start = Instant::now();
    let mut before = len();
    while start.elapsed() < Duration::from_secs(1) {
        let now = len();
        if now > before + 4096 {
            return;
        }
        before = now;
    }
}

/// Reads the whole journal: payloads as written, in the round that acknowledged them.
fn check_all(path: &Path, acked: &BTreeMap<u64, u32>) {
    let mut count = 0;
    for record in read(path).expect("the journal opens") {
        let Record { seq, json, .. } = record.expect("no record is half");
        assert_eq!(seq, count, "numbers have no gap");
        count += 1;
        let round = round_of(&json);
        assert!(json == payload(round, seq), "record {seq} is not what was written");
        if let Some(&expected) = acked.get(&seq) {
            assert_eq!(round, expected, "record {seq} was lost and written again");
        }
    }
    assert!(acked.keys().all(|&seq| seq < count), "an acknowledged record is missing");
}

fn round_of(json: &str) -> u32 {
    let digits = json.strip_prefix("{\"round\":").and_then(|rest| rest.split(',').next());
    digits.and_then(|digits| digits.parse().ok()).expect("every payload begins with its round")
}

#[test]
fn no_acknowledged_record_is_lost_in_200_kills() {
    let seed = env::var(SEED).map_or_else(|_| now_ms(), |text| text.parse().unwrap());
    println!("{SEED}={seed}");
    let mut random = Random(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let mut acked = BTreeMap::new();
    let mut torn = 0;
    for round in 0..KILLS {
        let acks = kill_one(&path, round, &mut random);
        acked.extend(acks.iter().map(|&seq| (seq, round)));
        let (_, recovery) = Journal::open(&path).unwrap();
        torn += u32::from(recovery.cut_bytes > 0);
        assert!(recovery.last_seq >= acks.last().copied(), "round {round}: {recovery:?}");
        if round % 40 == 39 {
            check_all(&path, &acked);
        }
    }
    println!("{KILLS} kills, {} acknowledged records, {torn} torn lines", acked.len());
    assert!(torn > 0, "no kill fell into a write: the test no longer tests what it should");
}

#[test]
#[ignore = "the child process of other tests"]
fn writer_child() {
    let path = child::path();
    let round = env::var(ROUND).unwrap().parse().unwrap();
    let (mut journal, _) = Journal::open(&path).unwrap();
    loop {
        let text = payload(round, journal.next_seq());
        let seq = journal.append(&RawValue::from_string(text).unwrap()).unwrap();
        println!("ack {seq}");
    }
}
