//! Real `CPython` reads what we write, writes what we write, and finds equal what we find equal.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::laws::{pairs, values};
use crate::value::{EqualityRule, Value, encode, equal};

const PAIRS: usize = 4000;

/// Reads pairs of values, each after its length; answers one letter for each pair.
const SCRIPT: &str = r"
import marshal, sys
data = sys.stdin.buffer.read()
at = 0
def take():
    global at
    length = int.from_bytes(data[at:at + 4], 'little')
    at += 4 + length
    return data[at - length:at]
while at < len(data):
    a, b, plain = take(), take(), take()
    left, right = marshal.loads(a), marshal.loads(b)
    if plain == b'plain' and marshal.dumps(left, 2) != a:
        sys.stdout.write('X')
    else:
        sys.stdout.write('=' if left == right else '!')
";

#[test]
fn cpython_agrees_on_every_pair() {
    let mut runner = TestRunner::deterministic();
    let sample = (pairs(), values());
    let mut cases = Vec::new();
    let mut input = Vec::new();
    for _ in 0..PAIRS {
        let ((a, b), other) = sample.new_tree(&mut runner).unwrap().current();
        for (a, b) in [(a.clone(), b), (other.clone(), a), (other.clone(), other)] {
            let plain: &[u8] = if has_set(&a) { b"" } else { b"plain" };
            for bytes in [&encode(&a)[..], &encode(&b), plain] {
                input.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
                input.extend(bytes);
            }
            cases.push((a, b));
        }
    }
    let Some(answers) = ask(input) else {
        eprintln!("SKIPPED: there is no python3 here");
        return;
    };
    assert_eq!(answers.len(), cases.len());
    let mut found = [0, 0];
    for ((a, b), answer) in cases.iter().zip(answers.chars()) {
        let ours = equal(a, b, EqualityRule::default());
        assert_eq!(if ours { '=' } else { '!' }, answer, "{a:?}\n{b:?}");
        found[usize::from(ours)] += 1;
    }
    assert!(found.iter().all(|count| *count > PAIRS / 4), "{found:?}");
}

fn has_set(value: &Value) -> bool {
    match value {
        Value::Set(_) | Value::FrozenSet(_) => true,
        Value::List(items) | Value::Tuple(items) => items.iter().any(has_set),
        Value::Dict(items) => items.iter().any(|(key, value)| has_set(key) || has_set(value)),
        _ => false,
    }
}

fn ask(input: Vec<u8>) -> Option<String> {
    let mut child = Command::new("python3")
        .args(["-I", "-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}
