//! The compiled filters against the list: a slow machine for the kernel's instructions, and a lookup
//! that reads the rules as they are written. Both decide about every call, and must agree.

use super::rules::{Condition, Root, SyscallRules};
use super::{Compiled, NAMES, PROGRAM, Stages, TOOLS, number};

const ROOTS: [Root; 2] = [Root::Private, Root::Shared];

/// The data of one call that the kernel passes to a filter.
#[derive(Debug, Clone, Copy)]
struct SyscallData {
    number: u32,
    arch: u32,
    arguments: [u64; 6],
}

const OWN_PID: u32 = 4321;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const EPERM: u32 = 0x0005_0001;
const ENOSYS: u32 = 0x0005_0026;
const ENOMEM: u32 = 0x0005_000c;
const EOPNOTSUPP: u32 = 0x0005_005f;
/// The call is not made, and says that it was.
const DONE: u32 = 0x0005_0000;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
const I386: u32 = 0x4000_0003;
const ARM: u32 = 0x4000_0028;
const X32: u32 = 0x4000_0000;

/// The list as the judge compiles it, with a process id filled in as the jail does.
fn program(root: Root) -> (SyscallRules, Stages) {
    let rules = SyscallRules::parse(PROGRAM).unwrap().under(root);
    let mut stages = Stages::new(&rules, &SyscallRules::parse(TOOLS).unwrap());
    for &at in &stages.child.own_pid_at {
        stages.child.instructions[at as usize].k = OWN_PID;
    }
    (rules, stages)
}

/// What becomes of a call in a child: of two filters the kernel follows the stricter.
fn run(stages: &Stages, call: SyscallData) -> u32 {
    let strictness = |verdict: &u32| match *verdict & 0xffff_0000 {
        KILL => 0,
        0x0005_0000 => 1,
        _ => 2,
    };
    let verdicts = [execute(&stages.child, call), execute(&stages.zygote, call)];
    verdicts.into_iter().min_by_key(strictness).unwrap()
}

/// The word at a place in the kernel's `struct seccomp_data`.
fn word(call: SyscallData, at: u32) -> u32 {
    match at {
        0 => call.number,
        4 => call.arch,
        16..64 => {
            let argument = call.arguments[(at as usize - 16) / 8];
            let half = if (at - 16).is_multiple_of(8) { argument } else { argument >> 32 };
            u32::try_from(half & 0xffff_ffff).unwrap()
        }
        other => panic!("nothing at {other}"),
    }
}

/// Runs the instructions as the kernel would; whatever it would refuse to load panics.
fn execute(compiled: &Compiled, call: SyscallData) -> u32 {
    let mut accumulator = 0;
    let mut at = 0;
    loop {
        let one = compiled.instructions[at];
        let branch = |holds: bool| usize::from(if holds { one.jump_true } else { one.jump_false });
        at += 1;
        match one.code {
            0x20 => accumulator = word(call, one.k),
            0x54 => accumulator &= one.k,
            0x05 => at += one.k as usize,
            0x15 => at += branch(accumulator == one.k),
            0x35 => at += branch(accumulator >= one.k),
            0x06 => return one.k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// The action by the list, read line by line.
fn look_up(rules: &SyscallRules, call: SyscallData) -> u32 {
    if call.arch != ARCH || call.number >= X32 {
        return KILL;
    }
    let low = |argument: u8| (call.arguments[usize::from(argument)] & 0xffff_ffff) as u32;
    let holds = |condition: &Condition| match condition {
        Condition::In(argument, values) => values.contains(&low(*argument)),
        Condition::Has(argument, bits) => low(*argument) & bits == *bits,
        Condition::OwnPid(argument) => low(*argument) == OWN_PID,
        Condition::Null(argument) => call.arguments[usize::from(*argument)] == 0,
    };
    let about = rules.0.iter().filter(|rule| rule.number == Some(call.number));
    let decides = about.into_iter().find(|rule| rule.conditions.iter().all(holds));
    match decides.map(|rule| rule.verdict) {
        None => EPERM,
        Some(super::FilterAction::Allow) => ALLOW,
        Some(super::FilterAction::Errno(error)) => 0x0005_0000 | u32::from(error),
        Some(super::FilterAction::Kill) => KILL,
    }
}

/// Values that sit on both sides of every condition in the list.
fn samples(rules: &SyscallRules) -> Vec<u64> {
    let mut samples = vec![0, 1, 2, u64::from(OWN_PID), u64::from(OWN_PID) + 1, u64::MAX];
    for condition in rules.0.iter().flat_map(|rule| &rule.conditions) {
        match condition {
            Condition::In(_, values) => {
                for &value in values {
                    let value = u64::from(value);
                    samples.extend([value, value + 1, value.saturating_sub(1)]);
                }
            }
            Condition::Has(_, bits) => {
                let bits = u64::from(*bits);
                samples.extend([bits, bits | 1, bits - 1, bits | 0x7e02_0000, !bits]);
            }
            _ => {}
        }
    }
    let high: Vec<u64> = samples.iter().map(|value| value | 1 << 32).collect();
    samples.extend(high);
    samples.sort_unstable();
    samples.dedup();
    samples
}

#[test]
fn the_compiled_filter_decides_as_the_list_says_about_every_call() {
    for root in ROOTS {
        decides_as_the_list_says(root);
    }
}

fn decides_as_the_list_says(root: Root) {
    let (rules, stages) = program(root);
    let samples = samples(&rules);
    let foreign = [I386, ARM, 0, u32::MAX, ARCH ^ 1];
    for number in (0..=600).chain(X32 - 2..X32 + 600).chain(u32::MAX - 2..=u32::MAX) {
        for arch in [ARCH].into_iter().chain(foreign) {
            let call = SyscallData { number, arch, arguments: [0; 6] };
            assert_eq!(run(&stages, call), look_up(&rules, call), "{call:?}");
        }
        for &sample in &samples {
            for place in 0..6 {
                let mut arguments = [u64::MAX; 6];
                arguments[place] = sample;
                let call = SyscallData { number, arch: ARCH, arguments };
                assert_eq!(run(&stages, call), look_up(&rules, call), "{call:?}");
            }
            for level in [1, sample] {
                // As a level of a socket's options, in front of the sample.
                let arguments = [sample, level, sample, sample, sample, sample];
                let call = SyscallData { number, arch: ARCH, arguments };
                assert_eq!(run(&stages, call), look_up(&rules, call), "{call:?}");
            }
        }
    }
}

/// One call by name, with some arguments; the others are 0.
fn decide(name: &str, arguments: &[(usize, u64)]) -> u32 {
    decide_under(Root::Private, name, arguments)
}

fn decide_under(root: Root, name: &str, arguments: &[(usize, u64)]) -> u32 {
    let (_, stages) = program(root);
    let mut call =
        SyscallData { number: number(name).unwrap().unwrap(), arch: ARCH, arguments: [0; 6] };
    for &(place, value) in arguments {
        call.arguments[place] = value;
    }
    run(&stages, call)
}

#[test]
fn dangerous_calls_are_refused_whatever_their_arguments() {
    let (rules, stages) = program(Root::Private);
    let listed = |name: &str| rules.0.iter().any(|rule| rule.name == name);
    let mut refused = 0;
    for (name, number) in NAMES.iter().filter(|(name, _)| !listed(name)) {
        let Ok(number) = u32::try_from(*number) else { continue };
        for value in [0, 1, u64::from(OWN_PID), 0x10000, u64::MAX] {
            let call = SyscallData { number, arch: ARCH, arguments: [value; 6] };
            assert_eq!(run(&stages, call), EPERM, "{name}");
        }
        refused += 1;
    }
    assert!(refused > 100, "only {refused} calls are known by name and refused");
}

#[test]
fn calls_that_can_be_good_or_bad_are_told_apart() {
    let thread = 0x003d_0f00; // what the C library asks for
    assert_eq!(decide("clone", &[(0, thread)]), ALLOW);
    assert_eq!(decide("clone", &[(0, 17)]), EPERM, "a process");
    assert_eq!(decide("clone", &[(0, thread | 0x1000)]), EPERM, "a number of the machine");
    assert_eq!(decide("mmap", &[(3, 0x22)]), ALLOW);
    assert_eq!(decide("mmap", &[(3, 0x1)]), ALLOW, "a file");
    assert_eq!(decide("mmap", &[(3, 0x21)]), ENOMEM, "memory that is shared with nobody");
    assert_eq!(decide("mmap", &[(3, 0x23)]), ENOMEM, "the same, asked for strictly");
    assert_eq!(decide("clone", &[(0, thread & !0x400)]), EPERM, "open files of its own");
    assert_eq!(decide("close_range", &[(2, 0)]), ALLOW);
    assert_eq!(decide("close_range", &[(2, 2)]), EPERM, "open files of its own");
    assert_eq!(decide("mmap", &[(3, 0x22)]), ALLOW);
    assert_eq!(decide("mmap", &[(3, 0x122)]), ENOMEM, "memory that counts as a stack");
    assert_eq!(decide("clone3", &[]), ENOSYS);
    assert_eq!(decide("kill", &[(0, u64::from(OWN_PID)), (1, 15)]), ALLOW);
    assert_eq!(decide("kill", &[(0, 0), (1, 9)]), EPERM, "its group");
    assert_eq!(decide("kill", &[(0, u64::MAX), (1, 9)]), EPERM, "everyone");
    assert_eq!(decide("tgkill", &[(0, u64::from(OWN_PID)), (1, 9)]), ALLOW);
    assert_eq!(decide("tgkill", &[(0, 1), (1, 1)]), EPERM);
    assert_eq!(decide("kill", &[(0, u64::from(OWN_PID)), (1, 9)]), EPERM, "as the machine does");
    assert_eq!(decide("tgkill", &[(0, u64::from(OWN_PID)), (1, 9), (2, 9)]), EPERM);
    assert_eq!(decide("ioctl", &[(1, 0x5401)]), ALLOW);
    assert_eq!(decide("ioctl", &[(1, 0x5412)]), EPERM, "words put into a terminal");
    assert_eq!(decide("ioctl", &[(1, 0x5412 | 1 << 32)]), EPERM, "the kernel looks at 32 bits");
    assert_eq!(decide("prctl", &[(0, 15)]), ALLOW);
    assert_eq!(decide("prctl", &[(0, 4)]), EPERM, "to be dumped");
    assert_eq!(decide("prlimit64", &[(1, 7)]), ALLOW);
    assert_eq!(decide("prlimit64", &[(2, 1 << 32)]), EPERM, "to set a limit");
    assert_eq!(decide("prlimit64", &[(0, 1), (1, 7)]), EPERM, "limits of another");
    assert_eq!(decide("socketpair", &[(0, 1)]), ALLOW);
    assert_eq!(decide("socketpair", &[(0, 2)]), EPERM, "of the net");
    assert_eq!(decide("sendto", &[(0, 5)]), ALLOW);
    assert_eq!(decide("sendto", &[(4, 1 << 40)]), EPERM, "to an address");
    assert_eq!(decide("fcntl", &[(1, 4)]), ALLOW);
    assert_eq!(decide("fcntl", &[(1, 8)]), EPERM, "an owner for its signals");
    assert_eq!(decide("fcntl", &[(1, 10)]), EPERM, "which signal");
    assert_eq!(decide("getsockopt", &[(1, 1), (2, 4)]), ALLOW, "an error that waits");
    assert_eq!(decide("getsockopt", &[(1, 1), (2, 77)]), EPERM, "the process at the other end");
    assert_eq!(decide("getsockopt", &[(1, 1), (2, 17)]), EPERM, "who is at the other end");
    assert_eq!(decide("getsockopt", &[(1, 6), (2, 4)]), EPERM, "of another level");
    assert_eq!(decide("setsockopt", &[(1, 1), (2, 20)]), ALLOW, "a time");
    assert_eq!(decide("setsockopt", &[(1, 1), (2, 7)]), EPERM, "memory of the kernel");
    assert_eq!(decide("setsockopt", &[(1, 1), (2, 26)]), EPERM, "instructions for the kernel");
    assert_eq!(decide("setsockopt", &[(1, 1), (2, 50)]), EPERM, "a filter that is loaded");
}

#[test]
fn locks_are_said_to_be_taken_and_none_is() {
    for command in [6, 7] {
        assert_eq!(decide("fcntl", &[(1, command)]), DONE, "{command}");
    }
    assert_eq!(decide("fcntl", &[(1, 5)]), ALLOW, "asks, and finds none that a program has");
    for command in [36, 37, 38, 1024, 1025] {
        assert_eq!(decide("fcntl", &[(1, command)]), EPERM, "{command}");
    }
    assert_eq!(decide("flock", &[(1, 2)]), DONE);
}

#[test]
fn without_a_private_root_no_mode_and_no_time_changes() {
    for name in ["chmod", "fchmod", "fchmodat", "utimensat"] {
        assert_eq!(decide_under(Root::Private, name, &[]), ALLOW, "{name}");
        assert_eq!(decide_under(Root::Shared, name, &[]), DONE, "{name}");
    }
    for name in ["truncate", "link", "linkat"] {
        assert_eq!(decide_under(Root::Private, name, &[]), ALLOW, "{name}");
        assert_eq!(decide_under(Root::Shared, name, &[]), EPERM, "{name}");
    }
    assert_eq!(decide_under(Root::Private, "fallocate", &[]), EOPNOTSUPP);
    assert_eq!(decide_under(Root::Shared, "fallocate", &[]), EOPNOTSUPP);
    for name in ["fchmodat2", "utime", "utimes", "futimesat", "chown", "setxattr"] {
        if super::number(name).is_some() {
            assert_eq!(decide_under(Root::Shared, name, &[]), EPERM, "{name}");
        }
    }
}

#[test]
fn a_child_installs_a_short_filter_that_knows_who_it_is() {
    let (_, Stages { zygote, child }) = program(Root::Private);
    let lengths = (zygote.instructions.len(), child.instructions.len());
    assert!(lengths.0 <= 512 && lengths.1 <= 100, "{lengths:?}");
    assert!(zygote.own_pid_at.is_empty());
    assert!(!child.own_pid_at.is_empty() && child.own_pid_at.len() <= 8);
}

#[test]
fn a_zygote_has_its_tools_and_little_else_that_a_program_has_not() {
    let (rules, Stages { zygote, .. }) = program(Root::Private);
    let tools = SyscallRules::parse(TOOLS).unwrap();
    for number in 0..=600 {
        // Meets no condition of a tool.
        let call = SyscallData { number, arch: ARCH, arguments: [2; 6] };
        let more = execute(&zygote, call) == ALLOW && look_up(&rules, call) != ALLOW;
        let is_tool = tools.0.iter().any(|tool| tool.number == Some(number));
        let signals = ["kill", "tgkill"].map(|name| super::number(name).unwrap());
        assert_eq!(more, is_tool || signals.contains(&Some(number)), "{number}");
    }
}

#[track_caller]
fn refused(text: &str, line: usize, problem: &str) {
    let error = SyscallRules::parse(text).unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (line, problem));
}

#[test]
fn a_list_that_is_wrong_says_where_and_why() {
    refused("allow read\nallow raed\n", 2, "`raed` is no system call that we know");
    refused("allow read\n\n# so\nallow read\n", 4, "`read` stands twice");
    refused("allow read\nerrno 38 read\n", 2, "`read` stands twice");
    refused("permit read\n", 1, "`permit read` is no rule");
    refused("allow\n", 1, "`allow` is no rule");
    refused("errno many read\n", 1, "`many` is no error number");
    refused("errno 38\n", 1, "`errno 38` is no rule");
    refused("allow kill arg6 self\n", 1, "`arg6` is none of arg0 to arg5");
    refused("allow kill first self\n", 1, "`first` is none of arg0 to arg5");
    refused("allow kill arg0\n", 1, "`arg0` is no condition");
    refused("allow kill arg0 in\n", 1, "`arg0 in` is no condition");
    refused("allow kill arg0 in 1 x\n", 1, "`x` is no 32-bit number");
    refused("allow kill arg0 in 0x100000000\n", 1, "`0x100000000` is no 32-bit number");
    refused("allow kill arg0 has 1 2\n", 1, "`arg0 has 1 2` is no condition");
    refused("allow kill arg0 is 1\n", 1, "`arg0 is 1` is no condition");
    refused("allow kill arg0 null arg1 is 1\n", 1, "`arg1 is 1` is no condition");
    refused("private read\n", 1, "`read` is no rule");
    refused("private allow read\nallow read\n", 2, "`read` stands twice");
    refused("allow kill arg0 in 1\nerrno 0 kill arg0 in 1\n", 2, "`kill` stands twice");
}

#[test]
fn comments_and_blank_lines_are_no_rules() {
    assert_eq!(
        SyscallRules::parse("# allow ptrace\n\n   # so\nallow read # and write\n").unwrap().0.len(),
        1
    );
}

#[test]
fn names_are_sorted_so_that_they_are_found() {
    assert!(NAMES.is_sorted_by(|one, next| one.0 < next.0));
    for (name, here) in NAMES {
        assert_eq!(number(name), Some(u32::try_from(*here).ok()), "{name}");
    }
    assert_eq!(number("no_such_call"), None);
}
