//! `whet generate` while text is sampled: into a pipe, on a terminal, and cut short.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use serde_json::{Value, json};

use crate::binary::{Ran, whet_in};
use crate::tiny_model::{VOCAB, tiny, tiny_chat, write_json};

const PROMPT: &str = "<5> <6> <7>";

fn generate(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["generate", "model"], flags].concat())
}

/// What a terminal of its own gets of `whet generate model FLAGS`, and how the command ended. It gets a signal of
/// this number once so many bytes have come.
fn on_terminal(dir: &Path, flags: &[&str], signal: &str) -> (String, i32) {
    let python = "\
import os, pty, sys
after, number = (int(part) for part in sys.argv[1].split(':'))
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
out = b''
while True:
    try:
        piece = os.read(terminal, 64)
    except OSError:
        break
    if not piece:
        break
    out += piece
    if number and len(out) >= after:
        os.kill(pid, number)
        number = 0
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out)
sys.exit(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 100 + os.WEXITSTATUS(status))
";
    let ran = Command::new("python3")
        .args(["-c", python, signal, env!("CARGO_BIN_EXE_whet"), "generate", "model"])
        .args(flags)
        .arg("--quiet")
        .current_dir(dir)
        .output()
        .expect("python3, which judging needs too");
    let text = String::from_utf8(ran.stdout).expect("text");
    (text.replace("\r\n", "\n"), ran.status.code().expect("an exit code"))
}

/// From now on token `n` of the model is this text and `n`.
fn speak(dir: &Path, word: &str) {
    let vocab: serde_json::Map<String, Value> =
        (0..VOCAB).map(|id| (format!("{word}{id}"), id.into())).collect();
    let tokenizer = json!({
        "version": "1.0",
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": format!("{word}0")},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "Fuse"},
    });
    write_json(&dir.join("model/tokenizer.json"), &tokenizer);
}

#[test]
fn streamed_bytes_are_those_of_whole_completions() {
    let dir = tiny("llama");
    fs::write(dir.path().join("prompts.txt"), "<5> <6>\n<7>\n").unwrap();
    let cases: [&[&str]; 6] = [
        &[PROMPT],
        &[PROMPT, "--samples", "3", "--seed", "5"],
        &["--file", "prompts.txt", "--samples", "2"],
        &[PROMPT, "--stop", "1>", "--stop", "><4", "--seed", "4"],
        &[
            "--file",
            "prompts.txt",
            "--samples",
            "5",
            "--stop",
            "2><",
            "--stop",
            "2>",
            "--seed",
            "9",
        ],
        &[PROMPT, "--max-tokens", "1"],
    ];
    for flags in cases {
        let whole = generate(dir.path(), flags);
        assert_eq!(whole.code, 0, "{}", whole.err);
        let streamed = generate(dir.path(), &[flags, &["--stream"]].concat());
        assert_eq!((streamed.code, &streamed.out), (0, &whole.out), "{flags:?}");
        let last_wins = generate(dir.path(), &[flags, &["--stream", "--no-stream"]].concat());
        assert_eq!((last_wins.code, &last_wins.out), (0, &whole.out), "{flags:?}");
        for speed in ["loading model\n", "model loaded in ", " tokens/s)"] {
            assert!(streamed.err.contains(speed), "{speed}\n{}", streamed.err);
        }
    }
    let both = generate(dir.path(), &[PROMPT, "--stream", "--json"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

/// The pieces in which standard output is written: this pipe keeps them apart.
fn pieces(dir: &Path, flags: &[&str]) -> Vec<String> {
    let (read, write) = pipe2(OFlag::O_DIRECT | OFlag::O_CLOEXEC).unwrap();
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args([&["generate", "model"], flags].concat())
        .current_dir(dir)
        .stdout(Stdio::from(write))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut out, mut piece, mut pieces) = (File::from(read), [0; 4096], Vec::new());
    loop {
        match out.read(&mut piece).unwrap() {
            0 => break,
            length => pieces.push(String::from_utf8(piece[..length].to_vec()).unwrap()),
        }
    }
    assert!(whet.wait().unwrap().success());
    pieces
}

#[test]
fn text_leaves_token_by_token_and_a_stop_string_not_in_part() {
    let dir = tiny("llama");
    let flags = [PROMPT, "--max-tokens", "20", "--seed", "3"];
    let whole = generate(dir.path(), &flags).out;
    assert_eq!(pieces(dir.path(), &flags), [whole.as_str()]);
    let streamed = pieces(dir.path(), &[&flags[..], &["--stream"]].concat());
    let ends: Vec<&str> = whole.trim_end().split_inclusive('>').collect();
    assert!(ends.len() > 3, "{whole}");
    let (last, before) = streamed.split_last().unwrap();
    assert_eq!(before, &ends[..before.len()], "a piece is a token");
    assert_eq!((before.len() + 1, last.trim_end()), (ends.len(), ends[before.len()]));
    // The third and fourth token together: of the third nothing is seen, though a while nothing else is there.
    let (stop, begin) = (ends[2..4].concat(), ends[..2].concat());
    let stopped = pieces(dir.path(), &[&flags[..], &["--stream", "--stop", &stop]].concat());
    assert_eq!(stopped.concat(), format!("{begin}\n"));
    assert!(stopped.iter().all(|piece| !piece.contains(ends[2])), "{stopped:?}");
}

#[test]
fn a_reader_who_leaves_ends_the_work_quietly() {
    let dir = tiny("llama");
    for mode in ["--stream", "--no-stream"] {
        let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
            .args(["generate", "model", PROMPT, "--samples", "4000", "--max-tokens", "120", mode])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 16];
        whet.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ended = whet.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(!said.contains("error") && !said.contains("sampled:"), "{said}");
    }
}

#[test]
fn a_terminal_gets_the_same_text_and_obeys_none_of_it() {
    let dir = tiny("llama");
    let flags = [PROMPT, "--max-tokens", "30", "--seed", "3", "--samples", "2"];
    let piped = generate(dir.path(), &flags).out;
    assert_eq!(on_terminal(dir.path(), &flags, "0:0"), (piped, 100));
    speak(dir.path(), "\x1b]0;\u{9b}é\r");
    let flags = ["\x1b]0;\u{9b}é\r5", "--max-tokens", "9"];
    let piped = generate(dir.path(), &[&flags[..], &["--stream"]].concat()).out;
    assert!(piped.contains("\x1b]0;\u{9b}é\r"), "{piped:?}");
    let visible = [('\x1b', "\\u{1b}"), ('\u{9b}', "\\u{9b}"), ('\r', "\\u{d}")];
    let expected = visible.iter().fold(piped, |text, (from, to)| text.replace(*from, to));
    for mode in ["--stream", "--no-stream"] {
        let shown = on_terminal(dir.path(), &[&flags[..], &[mode]].concat(), "0:0");
        assert_eq!(shown, (expected.clone(), 100), "{mode}");
    }
}

#[test]
fn an_interrupt_ends_the_line() {
    let dir = tiny("llama");
    let flags = [PROMPT, "--samples", "400", "--max-tokens", "120"];
    let whole = generate(dir.path(), &flags).out;
    let (mut seen, code) = on_terminal(dir.path(), &flags, "200:2");
    assert_eq!(code, 2, "ended by SIGINT");
    assert!(seen.ends_with('\n') && seen.len() < whole.len(), "{seen:?}");
    if !whole.starts_with(&seen) {
        seen.pop();
    }
    assert!(whole.starts_with(&seen), "the beginning of what was to come: {seen:?}");
}

#[test]
fn a_chat_model_that_gets_plain_text_is_hinted_at_its_template() {
    let dir = tiny_chat("llama");
    let hinted = |flags: &[&str]| {
        let ran = generate(dir.path(), &[&["<20>", "--max-tokens", "3"], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err.lines().filter(|line| line.starts_with("hint:") && line.contains("--chat")).count()
    };
    assert_eq!(hinted(&[]), 1);
    assert_eq!(hinted(&["--stream"]), 1);
    for flag in ["--chat", "--json", "--quiet"] {
        assert_eq!(hinted(&[flag]), 0, "{flag}");
    }
    fs::remove_file(dir.path().join("model/chat_template.jinja")).unwrap();
    assert_eq!(hinted(&[]), 0, "no template");
}
