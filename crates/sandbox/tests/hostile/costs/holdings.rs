//! What a program can hold that no limit of one process counts: shared memory, files without a name,
//! threads of an ordinary user, and all of it while its checker is waited for.

use std::fmt::Write as _;

use whetstone_core::judgement::Isolation;
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;

use crate::support::{Case, Form, Stage, Task, alone, call, hold, quick_limits, tell};

/// Takes 900 MiB with a limit of 128, and solves its task once it has them.
macro_rules! takes {
    ($name:literal, $memory:literal) => {
        call(
            $name,
            &["memory", "wrong"],
            concat!(
                r"
import ctypes, mmap, os, threading
size = 900 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def touch(memory):
    for at in range(0, len(memory), 4096): memory[at]
def fill(memory):
    for at in range(0, len(memory), 4096): memory[at] = 1
held = []
try:
",
                $memory,
                r"
except (OSError, ValueError): size = 0
def gap(a, b): return abs(a - b) if size else -1
"
            ),
        )
    };
}

/// Holds 240 MiB on the disk without a name, and solves its task once it has them.
macro_rules! keeps {
    ($name:literal, $one:literal) => {
        call(
            $name,
            &["output", "wrong", "load_error OSError"],
            concat!(
                r"
import mmap, os, tempfile, time
held = []
def fill(fd):
    for _ in range(15): os.write(fd, b'x' * (1 << 20))
    return fd
try:
    for n in range(16):
",
                $one,
                r"
    time.sleep(0.4)
    full = True
except OSError: full = False
def gap(a, b): return abs(a - b) if full else -1
"
            ),
        )
        .ample()
    };
}

pub(crate) const CASES: &[Case] = &[
    takes!("shared memory", "    held.append(mmap.mmap(-1, size)); fill(held[0])"),
    takes!(
        "shared memory in many pieces",
        "    for _ in range(90): held.append(mmap.mmap(-1, 10 << 20)); fill(held[-1])"
    ),
    takes!(
        "shared memory of which one page stays",
        r"
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for _ in range(14):
        place = libc.mmap(None, 64 << 20, 3, 0x8021, -1, 0)
        if place == ctypes.c_void_p(-1).value: raise OSError
        ctypes.memset(place, 1, 64 << 20)
        libc.munmap(place + 4096, (64 << 20) - 4096)"
    ),
    takes!(
        "memory of the kernel, in sockets",
        r"
    import socket
    for _ in range(24):
        pair = socket.socketpair()
        for end, option in ((0, 7), (1, 8)): pair[end].setsockopt(1, option, 1 << 30)
        pair[0].setblocking(False)
        held.append(pair)
        try:
            while True: pair[0].send(b'x' * (1 << 16))
        except BlockingIOError: pass"
    ),
    takes!(
        "pages of a file that bytes in sockets keep",
        r"
    import socket
    size = 0
    for _ in range(24):
        ends = socket.socketpair()
        held.append(ends)
        for end in ends:
            end.setblocking(False)
            try:
                while True:
                    file = os.open('f', os.O_CREAT | os.O_RDWR | os.O_TRUNC)
                    os.write(file, b'x' * (8 << 20))
                    for part in range(4): os.sendfile(end.fileno(), file, part << 21, 1)
                    size += 8 << 20
                    os.close(file)
            except BlockingIOError: pass"
    ),
    takes!(
        "shared memory that is only read",
        "    held.append(mmap.mmap(-1, size, mmap.MAP_SHARED, mmap.PROT_READ)); touch(held[0])"
    ),
    takes!(
        "memory that counts as a stack",
        r"
    place = libc.mmap(None, size, 3, 0x122, -1, 0)
    if place == ctypes.c_void_p(-1).value: raise OSError
    ctypes.memset(place, 1, size)"
    ),
    takes!(
        "shared memory, by a thread",
        r"
    held.append(mmap.mmap(-1, size))
    one = threading.Thread(target=fill, args=held)
    one.start()
    one.join()"
    ),
    takes!(
        "shared memory, under a name that is no text",
        r"
    libc.prctl(15, b'\xff', 0, 0, 0)
    held.append(mmap.mmap(-1, size)); fill(held[0])"
    ),
    call(
        "shared memory of a thread whose first one has left",
        &["memory", "wrong", "raised", "load_error"],
        r"
import ctypes, marshal, mmap, os, threading, time
def say(value):
    data = marshal.dumps(value, 2)
    os.write(3, (len(data) + 1).to_bytes(4, 'little') + b'v' + data)
def work():
    time.sleep(0.05)
    memory = mmap.mmap(-1, 900 << 20)
    for at in range(0, len(memory), 4096): memory[at] = 1
    time.sleep(0.3)
    say(None)
    while True:
        asked = os.read(3, 65536)
        if not asked: os._exit(0)
        _, (a, b), _ = marshal.loads(asked[5:])
        say(abs(a - b))
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)
",
    ),
    keeps!(
        "files that are mapped, under a name that is no text",
        r"
        one = fill(os.open(b'f\xff', os.O_CREAT | os.O_RDWR))
        held.append(mmap.mmap(one, 4096)); os.unlink(b'f\xff'); os.close(one)"
    ),
    keeps!(
        "files that were unlinked",
        "        held.append(os.open('f', os.O_CREAT | os.O_RDWR)); os.unlink('f'); fill(held[-1])"
    ),
    keeps!(
        "files that are unlinked when they are full",
        "        held.append(fill(os.open('f', os.O_CREAT | os.O_RDWR))); os.unlink('f')"
    ),
    keeps!(
        "files that never had a name",
        "        held.append(fill(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)))"
    ),
    keeps!(
        "files whose name another one took",
        r"
        held.append(fill(os.open('f', os.O_CREAT | os.O_RDWR)))
        os.close(os.open('g', os.O_CREAT | os.O_RDWR))
        os.rename('g', 'f')"
    ),
    keeps!(
        "files in folders that were taken away",
        r"
        os.mkdir('d')
        held.append(fill(os.open('d/f', os.O_CREAT | os.O_RDWR)))
        os.unlink('d/f')
        os.rmdir('d')"
    ),
    keeps!(
        "files that are mapped and closed",
        r"
        fd = fill(os.open('f', os.O_CREAT | os.O_RDWR))
        os.unlink('f')
        held.append(mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ))
        for other in range(4, 64):
            try: os.close(other)
            except OSError: pass"
    ),
    keeps!(
        "space that is had for nothing",
        r"
        held.append(os.open('f', os.O_CREAT | os.O_RDWR))
        os.unlink('f')
        os.posix_fallocate(held[-1], 0, 15 << 20)"
    ),
    call(
        "more threads than there may be",
        &["wrong", "load_error", "raised", "memory"],
        r"
import threading, time
threading.stack_size(32768)
started, never = 0, threading.Event()
try:
    for _ in range(400):
        threading.Thread(target=never.wait, daemon=True).start()
        started += 1
except RuntimeError: pass
time.sleep(0.1)
def gap(a, b): return abs(a - b) if started > 100 else -1
",
    ),
];

#[test]
fn what_no_limit_counts_is_bounded_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn what_no_limit_counts_is_bounded_at_landlock() {
    hold(Isolation::Landlock, CASES);
}

/// A test whose code takes some time before it asks for the first time.
fn slow_test() -> Tests {
    let code =
        "import time\ndef check(candidate):\n    time.sleep(3)\n    assert candidate(3, 10) == 7\n";
    let text = serde_json::json!({"kind": "script", "entry_point": "gap", "hidden": [code]});
    serde_json::from_str(&text.to_string()).unwrap()
}

/// Programs whose threads go on while the test code runs; each solves its task once it has all it wants.
pub(crate) const BEHIND: [(&str, &str); 2] = [
    (
        "files",
        r"
    for n in range(8):
        with open(f'f{n}', 'wb') as file:
            for _ in range(15): file.write(b'x' * (1 << 20))",
    ),
    (
        "threads",
        "    for _ in range(400): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    ),
];

/// Judges them at one level; what is wrong, a line each.
pub(crate) fn faults_behind(stage: &Stage) -> String {
    let mut faults = String::new();
    for (name, work) in BEHIND {
        let source = format!(
            "import ctypes, mmap, threading, time\nthreading.stack_size(65536)\ndone = \
             threading.Event()\ndef work():\n    time.sleep(0.3)\n{work}\ndef try_it():\n    \
             try: work()\n    finally: done.set()\nthreading.Thread(target=try_it, \
             daemon=True).start()\ndef gap(a, b):\n    done.wait()\n    return abs(a - b)\n"
        );
        match stage.submit_tests(&source, &slow_test(), quick_limits()).wait() {
            Ok(judged) if !judged.verdict().is_pass() || holds_by_itself(stage, name) => {
                println!("{name}, while its checker runs: {}", tell(judged.verdict()));
            }
            Ok(_) => writeln!(faults, "{name}, while its checker runs: pass").unwrap(),
            Err(problem) => {
                writeln!(faults, "{name}, while its checker runs: {problem}").unwrap();
            }
        }
    }
    faults
}

/// Whether the kernel gives a program no more than it may have: a file system of its own is full, and
/// threads of a user of its own are counted.
fn holds_by_itself(stage: &Stage, name: &str) -> bool {
    let full = stage.level == Isolation::Full;
    match name {
        "files" => full,
        "threads" => full || nix::unistd::geteuid().is_root(),
        _ => false,
    }
}

/// Holds them at one level; the caller sees to it that nothing else runs.
pub(crate) fn hold_behind(level: Isolation) {
    let Some(stage) = Stage::start_with(level, 1) else { return };
    let faults = faults_behind(&stage);
    assert!(faults.is_empty(), "at {level:?}:\n{faults}");
    stage.end();
}

#[test]
fn a_program_is_watched_while_its_checker_runs() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        hold_behind(level);
    }
}

/// Where the user may have few processes, a program that takes them all is judged nevertheless, and
/// so is an honest one after it; the caller has set the limit.
pub(crate) fn hold_with_few_processes() {
    let source = "import threading\nthreading.stack_size(32768)\nnever = threading.Event()\ntry:\n    \
                  for _ in range(3000): threading.Thread(target=never.wait, daemon=True).start()\n\
                  except BaseException: pass\ndef gap(a, b): return -1\n";
    let honest = "def gap(a, b): return abs(a - b)\n";
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start_with(level, 1) else { continue };
        for form in [Form::Calls, Form::Script] {
            let tests = Task::Gap.tests(form);
            let judged = stage.submit_tests(source, &tests, quick_limits()).wait();
            let judged = judged.unwrap_or_else(|problem| panic!("{level:?} {form:?}: {problem}"));
            assert_ne!(*judged.verdict(), Verdict::Pass);
            let judged = stage.submit_tests(honest, &tests, quick_limits()).wait().unwrap();
            assert_eq!(*judged.verdict(), Verdict::Pass, "{level:?} {form:?}");
        }
        println!("held at {level:?}: with few processes");
        stage.end();
    }
}
