//! From rules to instructions: a binary search over the numbers of system calls.

use super::rules::{Condition, FilterAction, REFUSED, SyscallRule, SyscallRules};
use crate::jail::order::{CHILD_FILTER_MAX, FILTER_MAX, Instruction};

/// Instructions for the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The instructions that compare with the process's own id, which the process fills in.
    pub own_pid_at: Vec<u32>,
}

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

/// Numbers from here on are x32's, which share x86-64's architecture.
const X32: u32 = 0x4000_0000;

/// Stands for the process's own id until the process is there.
const OWN_PID: u32 = u32::MAX - 1;

/// Compiles a list that refuses what is not on it, and kills for calls of another architecture.
///
/// # Panics
///
/// If the result is longer than the jail has room for: the list is part of the binary, and a test
/// compiles it.
pub(super) fn compile(rules: &SyscallRules) -> Compiled {
    let guard = vec![
        step(LOAD, ARCH_AT),
        jump(IF_EQUAL, ARCH, 1, 0),
        give(FilterAction::Kill),
        step(LOAD, NUMBER_AT),
        jump(IF_AT_LEAST, X32, 0, 1),
        give(FilterAction::Kill),
    ];
    assemble(guard, rules, REFUSED, FILTER_MAX)
}

/// Compiles a list that allows what is not on it: of use only where another filter refuses.
///
/// # Panics
///
/// If the result is longer than the jail has room for.
pub(super) fn compile_exceptions(rules: &SyscallRules) -> Compiled {
    assemble(vec![step(LOAD, NUMBER_AT)], rules, FilterAction::Allow, CHILD_FILTER_MAX)
}

fn assemble(
    mut instructions: Vec<Instruction>,
    rules: &SyscallRules,
    otherwise: FilterAction,
    most: usize,
) -> Compiled {
    let mut numbers: Vec<u32> = rules.0.iter().filter_map(|rule| rule.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let about = |number: u32| rules.0.iter().filter(move |rule| rule.number == Some(number));
    let listed: Vec<(u32, Vec<Instruction>)> =
        numbers.into_iter().map(|number| (number, decide(about(number)))).collect();
    instructions.extend(search(&ranges(&listed, otherwise)));
    assert!(instructions.len() <= most, "{} instructions", instructions.len());
    let is_own =
        |instruction: &Instruction| instruction.code == IF_EQUAL && instruction.k == OWN_PID;
    let places = instructions.iter().enumerate().filter(|(_, one)| is_own(one));
    let own_pid_at = places.filter_map(|(at, _)| u32::try_from(at).ok()).collect();
    Compiled { instructions, own_pid_at }
}

/// The first call number of each decision, which holds up to the next one.
fn ranges(
    listed: &[(u32, Vec<Instruction>)],
    otherwise: FilterAction,
) -> Vec<(u32, Vec<Instruction>)> {
    let mut ranges: Vec<(u32, Vec<Instruction>)> = vec![(0, vec![give(otherwise)])];
    let mut add = |start: u32, code: Vec<Instruction>| match ranges.last_mut() {
        Some((last, old)) if *last == start => *old = code,
        Some((_, old)) if *old == code => {}
        _ => ranges.push((start, code)),
    };
    for (at, (number, code)) in listed.iter().enumerate() {
        add(*number, code.clone());
        if listed.get(at + 1).is_none_or(|(next, _)| *next != number + 1) {
            add(number + 1, vec![give(otherwise)]);
        }
    }
    ranges
}

fn search(ranges: &[(u32, Vec<Instruction>)]) -> Vec<Instruction> {
    if let [(_, code)] = ranges {
        return code.clone();
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let middle = high[0].0;
    let low = search(low);
    let mut code = if let Ok(distance) = u8::try_from(low.len()) {
        vec![jump(IF_AT_LEAST, middle, distance, 0)]
    } else {
        let distance = u32::try_from(low.len()).unwrap_or(u32::MAX);
        vec![jump(IF_AT_LEAST, middle, 0, 1), step(JUMP, distance)]
    };
    code.extend(low);
    code.extend(search(high));
    code
}

/// What decides about one call: the first of its rules that holds; ends in a return on every path.
fn decide<'a>(rules: impl Iterator<Item = &'a SyscallRule>) -> Vec<Instruction> {
    let mut code = Vec::new();
    for rule in rules {
        // From the end, so that a condition that does not hold knows how far the next rule is.
        let mut one = vec![give(rule.verdict)];
        for condition in rule.conditions.iter().rev() {
            let mut block = test(condition, u8::try_from(one.len()).unwrap_or(u8::MAX));
            block.append(&mut one);
            one = block;
        }
        code.append(&mut one);
        if rule.conditions.is_empty() {
            return code;
        }
    }
    code.push(give(REFUSED));
    code
}

/// Goes on behind itself if the condition holds, and `rest` instructions further if not.
fn test(condition: &Condition, rest: u8) -> Vec<Instruction> {
    match condition {
        Condition::In(argument, values) => {
            let mut code = vec![step(LOAD, low_half(*argument))];
            for (at, &value) in values.iter().enumerate() {
                let to_end = u8::try_from(values.len() - 1 - at).unwrap_or(u8::MAX);
                let otherwise = if to_end == 0 { rest } else { 0 };
                code.push(jump(IF_EQUAL, value, to_end, otherwise));
            }
            code
        }
        Condition::Has(argument, bits) => {
            vec![step(LOAD, low_half(*argument)), step(AND, *bits), jump(IF_EQUAL, *bits, 0, rest)]
        }
        Condition::OwnPid(argument) => {
            vec![step(LOAD, low_half(*argument)), jump(IF_EQUAL, OWN_PID, 0, rest)]
        }
        Condition::Null(argument) => vec![
            step(LOAD, low_half(*argument)),
            jump(IF_EQUAL, 0, 0, rest + 2),
            step(LOAD, low_half(*argument) + 4),
            jump(IF_EQUAL, 0, 0, rest),
        ],
    }
}

/// Both architectures are little-endian.
fn low_half(argument: u8) -> u32 {
    ARGUMENTS_AT + 8 * u32::from(argument)
}

fn step(code: u16, k: u32) -> Instruction {
    Instruction { code, jump_true: 0, jump_false: 0, k }
}

fn jump(code: u16, k: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction { code, jump_true, jump_false, k }
}

fn give(verdict: FilterAction) -> Instruction {
    let k = match verdict {
        FilterAction::Allow => 0x7fff_0000,
        FilterAction::Errno(error) => 0x0005_0000 | u32::from(error),
        FilterAction::Kill => 0x8000_0000,
    };
    step(RETURN, k)
}
