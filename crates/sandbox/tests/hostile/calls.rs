//! The system call filter from the inside: every call that is known by name is tried by its number,
//! and fails or goes through as the list says.

use std::time::Duration;

use serde_json::json;
use whetstone_core::judgement::Isolation;
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::filter::{
    FilterAction as Decision, NAMES, PROGRAM, Root, SyscallRules, number,
};
use whetstone_sandbox::job::Limits;

use crate::support::{Stage, alone, tell};

const LIMITS: Limits = Limits { cpu: Duration::from_secs(8), memory: 256 << 20 };

/// `tried(calls)`: the error of each raw call, 0 if it went through.
const PROGRAM_THAT_TRIES: &str = r"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
room = ctypes.create_string_buffer(4096)

def tried(calls):
    found = []
    for number, *arguments in calls:
        words = {'room': ctypes.addressof(room), 'pid': os.getpid(), 'tid': libc.syscall(TID)}
        arguments = [words.get(a, a) for a in arguments]
        arguments += [0] * (6 - len(arguments))
        ctypes.set_errno(0)
        done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
        found.append(ctypes.get_errno() if done == -1 else 0)
    return found
";

const EPERM: i32 = 1;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const ENOSYS: i32 = 38;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

fn nr(name: &str) -> Option<u32> {
    number(name).unwrap_or_else(|| panic!("{name} has no number"))
}

/// Tries calls in the jail at both levels; `wanted` has the errors they must fail with.
fn try_out(calls: &[serde_json::Value], wanted: &[i32]) {
    let _alone = alone();
    let text = json!({"kind": "calls", "entry_point": "tried", "hidden": [
        {"args": [calls], "expected": wanted}]})
    .to_string();
    let tests: Tests = serde_json::from_str(&text).unwrap();
    let source = PROGRAM_THAT_TRIES.replace("TID", &nr("gettid").unwrap().to_string());
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        let judged = stage.submit_tests(&source, &tests, LIMITS).wait().unwrap();
        if *judged.verdict() != Verdict::Pass {
            one_by_one(&stage, &source, calls, wanted);
            panic!("at {level:?}: {}", tell(judged.verdict()));
        }
        stage.end();
    }
}

/// Says which of them it was.
fn one_by_one(stage: &Stage, source: &str, calls: &[serde_json::Value], wanted: &[i32]) {
    for (call, wanted) in calls.iter().zip(wanted) {
        let text = json!({"kind": "calls", "entry_point": "tried", "hidden": [
            {"args": [[call]], "expected": [wanted]}]})
        .to_string();
        let tests = serde_json::from_str(&text).unwrap();
        let judged = stage.submit_tests(source, &tests, LIMITS).wait().unwrap();
        if *judged.verdict() != Verdict::Pass {
            println!("{call}: not {wanted}: {}", tell(judged.verdict()));
        }
    }
}

#[test]
fn every_call_that_is_not_listed_fails_with_eperm() {
    let rules = SyscallRules::parse(PROGRAM).unwrap();
    let listed = |name: &str| rules.0.iter().any(|rule| rule.name == name);
    let refused = NAMES.iter().filter(|(name, number)| *number >= 0 && !listed(name));
    let calls: Vec<_> = refused.map(|(_, number)| json!([number])).collect();
    assert!(calls.len() > 100, "{}", calls.len());
    try_out(&calls, &vec![EPERM; calls.len()]);
}

#[test]
fn a_call_with_a_condition_fails_outside_it() {
    let bad: &[(&str, &[i64], i32)] = &[
        ("clone", &[17], EPERM),
        ("clone", &[0x4111], EPERM),
        ("clone", &[0x10b00], EPERM),
        ("clone", &[0x31f00], EPERM),
        ("mmap", &[0, 4096, 3, 0x21, -1, 0], ENOMEM),
        ("fallocate", &[-1, 0, 0, 1], EOPNOTSUPP),
        ("sendfile", &[-1, -1, 0, 1], EINVAL),
        ("futex", &[0, 1, 1], EPERM),
        ("futex", &[0, 4, 1], EPERM),
        ("futex", &[0, 0, 1], EAGAIN),
        ("futex", &[0, 9, 1], EAGAIN),
        ("madvise", &[0, 0, 12], EPERM),
        ("statx", &[0, 0, 0, 0x4000, 0], EINVAL),
        ("madvise", &[0, 0, 20], EPERM),
        ("madvise", &[0, 0, 21], EPERM),
        // The CPU clock of process 1.
        ("clock_gettime", &[-14, 0], EPERM),
        ("clock_getres", &[-14, 0], EPERM),
        ("clock_nanosleep", &[-14, 0, 0, 0], EPERM),
        ("getpgid", &[2], EPERM),
        ("getsid", &[2], EPERM),
        ("getpriority", &[0, 2], EPERM),
        ("sched_getaffinity", &[2, 8, 0], EPERM),
        ("setsockopt", &[3, 1, 7], EPERM),
        ("setsockopt", &[3, 1, 8], EPERM),
        ("close_range", &[60, 61, 2], EPERM),
        ("mmap", &[0, 4096, 3, 0x122, -1], ENOMEM),
        ("clone3", &[0, 88], ENOSYS),
        ("ioctl", &[0, 0x5412], EPERM),
        ("ioctl", &[0, 0x8901], EPERM),
        ("kill", &[0, 0], EPERM),
        ("kill", &[-1, 0], EPERM),
        ("kill", &[2, 0], EPERM),
        ("tgkill", &[2, 2, 0], EPERM),
        ("prctl", &[4, 1], EPERM),
        ("prctl", &[1, 0], EPERM),
        ("prctl", &[22, 1], EPERM),
        ("prctl", &[38, 1], EPERM),
        ("prlimit64", &[0, 7, 1], EPERM),
        ("prlimit64", &[0, 7, 1 << 32], EPERM),
        ("prlimit64", &[1, 7, 0], EPERM),
        ("socketpair", &[2, 1, 0], EPERM),
        ("socketpair", &[10, 1, 0], EPERM),
        ("socketpair", &[16, 3, 0], EPERM),
        ("sendto", &[3, 0, 0, 0, 1, 2], EPERM),
        ("fcntl", &[0, 8, 1], EPERM),
        ("fcntl", &[0, 10, 9], EPERM),
        ("fcntl", &[0, 15, 1], EPERM),
        ("fcntl", &[0, 36, 1], EPERM),
        ("fcntl", &[0, 37, 1], EPERM),
        ("fcntl", &[0, 38, 1], EPERM),
        ("getsockopt", &[3, 1, 77], EPERM),
        ("getsockopt", &[3, 1, 17], EPERM),
        ("getsockopt", &[3, 6, 4], EPERM),
        ("setsockopt", &[3, 1, 26], EPERM),
        ("setsockopt", &[3, 1, 50], EPERM),
        ("setsockopt", &[3, 1, 16], EPERM),
    ];
    let there = bad.iter().filter_map(|(name, arguments, error)| {
        let mut call = vec![json!(nr(name)?)];
        call.extend(arguments.iter().map(|argument| json!(argument)));
        Some((json!(call), *error))
    });
    let (calls, wanted): (Vec<_>, Vec<_>) = there.unzip();
    try_out(&calls, &wanted);
    let rules = SyscallRules::parse(PROGRAM).unwrap();
    let conditional = rules.0.iter().filter(|rule| !rule.conditions.is_empty());
    for rule in conditional {
        assert!(bad.iter().any(|(name, ..)| *name == rule.name), "`{}` is not tried", rule.name);
    }
}

/// Harmless arguments for every call that goes through, and the error it then ends with: whatever
/// the kernel itself says, never the filter's EPERM. Most get a descriptor or an address that is
/// none.
fn harmless(name: &str) -> (Vec<serde_json::Value>, i32) {
    const EBADF: i32 = 9;
    const EFAULT: i32 = 14;
    const ENOENT: i32 = 2;
    const ERANGE: i32 = 34;
    let none = json!(-1);
    let (arguments, error) = match name {
        // Paths: an empty one is nowhere.
        "stat" | "lstat" | "statfs" | "chdir" | "mkdir" | "rmdir" | "unlink" | "rename"
        | "link" | "symlink" | "chmod" | "listxattr" => (json!(["room", "room", 0]), ENOENT),
        "openat" | "newfstatat" | "faccessat" | "faccessat2" | "mkdirat" | "unlinkat"
        | "fchmodat" | "statx" => (json!([-100, "room", 0]), ENOENT),
        "access" | "open" | "truncate" => (json!(["room", 0]), ENOENT),
        "readlink" => (json!(["room", "room", 64]), ENOENT),
        "getxattr" => (json!(["room", "room", 0]), ERANGE),
        "readlinkat" => (json!([-100, "room", "room", 64]), ENOENT),
        "symlinkat" => (json!(["room", -100, "room"]), ENOENT),
        "renameat" | "renameat2" | "linkat" => (json!([-100, "room", -100, "room"]), ENOENT),
        "utimensat" => (json!([-100, "room", 0, 0]), ENOENT),
        // Descriptors: there is no -1.
        "close" | "read" | "write" | "readv" | "writev" | "lseek" | "fstat" | "fstatfs"
        | "getdents64" | "fchdir" | "fchmod" | "ftruncate" | "fsync" | "fdatasync" | "recvfrom"
        | "shutdown" | "getsockname" | "getpeername" => (json!([none, "room", 2]), EBADF),
        "pread64" | "pwrite64" | "epoll_wait" | "epoll_pwait" => {
            (json!([none, "room", 1, 0]), EBADF)
        }
        "dup2" => (json!([none, 60]), EBADF),
        "dup3" => (json!([none, 60, 0]), EBADF),
        "fcntl" => (json!([none, 1]), EBADF),
        "ioctl" => (json!([none, 0x5401]), EBADF),
        "copy_file_range" => (json!([none, none, 0, 1]), EBADF),
        "sendto" => (json!([none, "room", 1]), EBADF),
        "getsockopt" | "setsockopt" => (json!([none, 1, 20, "room", 4]), EBADF),
        "epoll_ctl" => (json!([none, 1, 0, "room"]), EBADF),
        // Addresses: there is nothing at 1.
        "pipe" | "pipe2" | "uname" | "sysinfo" | "times" | "nanosleep" => (json!([1]), EFAULT),
        "getcwd" => (json!([1, 64]), EFAULT),
        "gettimeofday" | "getresuid" | "getresgid" | "time" => (json!([1, 1, 1]), EFAULT),
        "clock_gettime" | "clock_getres" | "getrusage" | "getrlimit" | "getitimer" => {
            (json!([0, 1]), EFAULT)
        }
        "setitimer" => (json!([0, 1, 1]), EFAULT),
        "clock_nanosleep" => (json!([0, 0, 1]), EFAULT),
        "prlimit64" => (json!([0, 7, 0, 1]), EFAULT),
        "getrandom" => (json!([1, 8, 0]), EFAULT),
        "prctl" => (json!([16, 1]), EFAULT),
        "socketpair" => (json!([1, 1, 0, 1]), EFAULT),
        "rt_sigtimedwait" => (json!([1, 0, 0, 8]), EFAULT),
        "poll" => (json!([1, 1, 0]), EFAULT),
        "ppoll" => (json!([1, 1, "room", 0, 0]), EFAULT),
        "select" | "pselect6" => (json!([1, 1, 0, 0, "room"]), EFAULT),
        // What is no such thing.
        "munmap" => (json!([1, 4096]), EINVAL),
        "mmap" => (json!([0, 0, 0, 0x22, -1]), EINVAL),
        "mremap" => (json!([1, 1, 1]), EINVAL),
        "mprotect" | "madvise" => (json!([1, 4096, 0]), EINVAL),
        "clone" => (json!([0x30f00]), EINVAL),
        "set_robust_list" => (json!([0, 1]), EINVAL),
        "rseq" => (json!([0, 1, 0, 0]), EINVAL),
        "sched_getaffinity" => (json!([0, 1, "room"]), EINVAL),
        "epoll_create1" | "eventfd2" => (json!([-1, -1]), EINVAL),
        "close_range" => (json!([9, 8]), EINVAL),
        "rt_sigaction" | "rt_sigprocmask" => (json!([0, 0, 0, 1]), EINVAL),
        "sigaltstack" => (json!([1, 0]), EFAULT),
        "rt_sigpending" => (json!([1, 8]), EFAULT),
        "getgroups" => (json!([-1]), EINVAL),
        "getpriority" => (json!([9]), EINVAL),
        "getpgid" | "getsid" => (json!([0]), 0),
        "futex" => (json!(["room", 0x80 + 99]), ENOSYS),
        "restart_syscall" => (json!([]), 4),
        "kill" => (json!(["pid", 0]), 0),
        "tgkill" => (json!(["pid", "tid", 0]), 0),
        "umask" => (json!([0o77]), 0),
        "brk" | "alarm" | "getpid" | "getppid" | "getuid" | "geteuid" | "getgid" | "getegid"
        | "getpgrp" | "gettid" | "sched_yield" => (json!([]), 0),
        other => panic!("`{other}` is allowed and not tried here"),
    };
    (arguments.as_array().unwrap().clone(), error)
}

/// Calls that cannot be tried and come back; each is used by every program or by an honest one.
const ONE_WAY: [(&str, &str); 4] = [
    ("exit", "a thread of `honest` ends"),
    ("exit_group", "every program ends"),
    ("rt_sigreturn", "the alarm of `honest` returns"),
    ("pause", "`time` waits for a signal"),
];

#[test]
fn every_call_that_is_listed_goes_through() {
    let rules = SyscallRules::parse(PROGRAM).unwrap();
    let mut calls = Vec::new();
    let mut wanted = Vec::new();
    for rule in &rules.0 {
        let one_way = ONE_WAY.iter().any(|(name, _)| *name == rule.name);
        let is_allowed = rule.verdict == Decision::Allow && rule.root != Some(Root::Shared);
        let Some(number) = rule.number.filter(|_| !one_way && is_allowed) else { continue };
        let (arguments, error) = harmless(&rule.name);
        let mut call = vec![json!(number)];
        call.extend(arguments);
        calls.push(json!(call));
        wanted.push(error);
        assert_ne!(error, EPERM, "{}", rule.name);
    }
    try_out(&calls, &wanted);
}

/// What the kernel was told to allow a program, as the program sees it.
#[test]
fn limits_are_set_and_cannot_be_raised() {
    const PROGRAM: &str = r"
import resource
def limits():
    names = 'CPU FSIZE DATA STACK CORE NOFILE MEMLOCK AS MSGQUEUE'.split()
    return {name: list(resource.getrlimit(getattr(resource, 'RLIMIT_' + name))) for name in names}
";
    let _alone = alone();
    let both = |value: u64| json!([value, value]);
    let memory = LIMITS.memory;
    let expected = json!({
        "CPU": both(LIMITS.cpu.as_secs() + 2), "FSIZE": both(16 << 20), "DATA": both(memory),
        "STACK": both(64 << 20), "CORE": both(1), "NOFILE": both(64), "MEMLOCK": both(0),
        "AS": both(2 * memory + (1 << 30)), "MSGQUEUE": both(0),
    });
    let text = json!({"kind": "calls", "entry_point": "limits", "hidden": [
        {"args": [], "expected": expected}]})
    .to_string();
    let tests = serde_json::from_str(&text).unwrap();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        let judged = stage.submit_tests(PROGRAM, &tests, LIMITS).wait().unwrap();
        assert_eq!(*judged.verdict(), Verdict::Pass, "at {level:?}");
        stage.end();
    }
}
