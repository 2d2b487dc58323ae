//! The limits that this process may not exceed: where they are lower than what a program is given, the kernel
//! refuses to set the program's, and its jail cannot be shut.
//!
//! A lower limit would let honest programs fail, so it is an error that names the limit. Only that of core dumps
//! may be lower: none is wanted.

use std::fmt::Write as _;
use std::time::Duration;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

use crate::jail::harden::FILES;
use crate::jail::order::Order;
use crate::job::Limits;

/// The limit of core dumps for programs: to one byte the kernel writes none, and to a program of the machine's
/// it hands none either, which it does at 0.
const CORE: u64 = 1;

/// The limits of the trial at the start; no setting lowers them.
pub(crate) const TRIAL: Limits = Limits { cpu: Duration::from_secs(5), memory: 256 << 20 };

/// Hard limits, as they were at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HardLimits {
    cpu: u64,
    file: u64,
    data: u64,
    stack: u64,
    core: u64,
    files: u64,
    address_space: u64,
    processes: u64,
}

/// A limit, and what a program needs of it.
struct Need {
    /// The letter of the shell's `ulimit`.
    letter: char,
    noun: &'static str,
    limit: u64,
    needed: u64,
    unit: Unit,
    /// A setting that lowers the need.
    setting: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Unit {
    Mebibytes,
    Seconds,
    Count,
}

impl HardLimits {
    /// Reads them.
    pub(crate) fn read() -> Self {
        let hard = |resource| getrlimit(resource).map_or(RLIM_INFINITY, |(_, hard)| hard);
        Self {
            cpu: hard(Resource::RLIMIT_CPU),
            file: hard(Resource::RLIMIT_FSIZE),
            data: hard(Resource::RLIMIT_DATA),
            stack: hard(Resource::RLIMIT_STACK),
            core: hard(Resource::RLIMIT_CORE),
            files: hard(Resource::RLIMIT_NOFILE),
            address_space: hard(Resource::RLIMIT_AS),
            processes: hard(Resource::RLIMIT_NPROC),
        }
    }

    /// The limit of core dumps. Servers often set a hard limit of 0: then programs have 0 too, and the kernel may still
    /// pipe a dump to the handler that the administrator configured. Where the judge
    /// does not have to see a program's open files, the program allows no dump anyway (`jail/harden.rs`).
    pub(crate) fn core(&self) -> u64 {
        CORE.min(self.core)
    }

    /// The first limit that is too low for a child with this order, and what to do.
    pub(crate) fn too_low(&self, order: &Order) -> Option<String> {
        let memory = (order.data > TRIAL.memory).then_some("sandbox.memory_mib");
        let time = (order.cpu > TRIAL.cpu.as_secs() + 2).then_some("sandbox.cpu_seconds");
        let need = |letter, noun, limit, needed| {
            let (unit, setting) = match letter {
                't' => (Unit::Seconds, time),
                'n' | 'u' => (Unit::Count, None),
                'd' | 'v' => (Unit::Mebibytes, memory),
                _ => (Unit::Mebibytes, None),
            };
            Need { letter, noun, limit, needed, unit, setting }
        };
        [
            need('t', "CPU time", self.cpu, order.cpu),
            need('f', "file size", self.file, order.file),
            need('d', "data", self.data, order.data),
            need('s', "stack", self.stack, order.stack),
            need('n', "open files", self.files, FILES),
            need('v', "address space", self.address_space, order.address_space),
            need('u', "processes", self.processes, order.threads),
        ]
        .into_iter()
        .find(|need| need.limit < need.needed)
        .map(|need| need.text())
    }
}

impl Need {
    fn text(&self) -> String {
        let (limit, needed) = match self.unit {
            Unit::Mebibytes => (self.limit >> 20, self.needed.div_ceil(1 << 20)),
            Unit::Seconds | Unit::Count => (self.limit, self.needed),
        };
        let unit = match self.unit {
            Unit::Mebibytes => " MiB",
            Unit::Seconds => " s",
            Unit::Count => "",
        };
        let (letter, noun) = (self.letter, self.noun);
        let mut text = format!(
            "the hard limit `ulimit -H{letter}` ({noun}) is {limit}{unit}, and a program needs \
             {needed}{unit}: raise it"
        );
        if let Some(setting) = self.setting {
            let _ = write!(text, ", or lower `{setting}`");
        }
        text
    }
}

/// Lets core dumps be limited to [`CORE`] where we have the right to raise a limit.
pub(crate) fn raise_core() {
    if let Ok((_, 0)) = getrlimit(Resource::RLIMIT_CORE) {
        let _ = setrlimit(Resource::RLIMIT_CORE, CORE, CORE);
    }
}

/// The soft limits that can keep processes from starting, in brackets; empty if none is set.
pub(crate) fn in_force() -> String {
    let limits = [
        ('v', Resource::RLIMIT_AS, Unit::Mebibytes),
        ('d', Resource::RLIMIT_DATA, Unit::Mebibytes),
        ('u', Resource::RLIMIT_NPROC, Unit::Count),
    ];
    let soft = limits.map(|(letter, resource, unit)| {
        (letter, getrlimit(resource).map_or(RLIM_INFINITY, |(soft, _)| soft), unit)
    });
    brackets(&soft)
}

fn brackets(limits: &[(char, u64, Unit)]) -> String {
    let told = limits.iter().filter(|(_, limit, _)| *limit != RLIM_INFINITY);
    let told: Vec<String> = told
        .map(|(letter, limit, unit)| match unit {
            Unit::Mebibytes => format!("`ulimit -{letter}` is {} MiB", limit >> 20),
            Unit::Seconds | Unit::Count => format!("`ulimit -{letter}` is {limit}"),
        })
        .collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jail::order::MAGIC;

    const NONE: HardLimits = HardLimits {
        cpu: RLIM_INFINITY,
        file: RLIM_INFINITY,
        data: RLIM_INFINITY,
        stack: RLIM_INFINITY,
        core: RLIM_INFINITY,
        files: RLIM_INFINITY,
        address_space: RLIM_INFINITY,
        processes: RLIM_INFINITY,
    };

    #[track_caller]
    fn check(limits: HardLimits, expected: Option<&str>) {
        assert_eq!(limits.too_low(&order(12, 512)).as_deref(), expected);
    }

    fn order(cpu: u64, mebibytes: u64) -> Order {
        let data = mebibytes << 20;
        Order {
            magic: MAGIC,
            kind: 0,
            cpu,
            data,
            address_space: 2 * data + (1 << 30),
            file: 16 << 20,
            stack: 64 << 20,
            threads: 32,
            scratch: 64 << 20,
            core: 1,
        }
    }

    #[test]
    fn a_setting_is_named_only_where_it_lowers_the_need() {
        let limits = HardLimits { address_space: 1 << 30, ..NONE };
        let told = limits.too_low(&order(7, 256)).unwrap();
        assert!(told.ends_with("a program needs 1536 MiB: raise it"), "{told}");
    }

    #[test]
    fn a_limit_that_is_too_low_is_named_with_its_value_and_the_needed_one() {
        check(NONE, None);
        check(
            HardLimits { address_space: 1 << 30, ..NONE },
            Some(
                "the hard limit `ulimit -Hv` (address space) is 1024 MiB, and a program needs 2048 MiB: \
                 raise it, or lower `sandbox.memory_mib`",
            ),
        );
        check(
            HardLimits { files: 63, ..NONE },
            Some(
                "the hard limit `ulimit -Hn` (open files) is 63, and a program needs 64: raise it",
            ),
        );
        check(
            HardLimits { cpu: 11, processes: 0, ..NONE },
            Some(
                "the hard limit `ulimit -Ht` (CPU time) is 11 s, and a program needs 12 s: raise it, or \
                 lower `sandbox.cpu_seconds`",
            ),
        );
    }

    #[test]
    fn limits_at_the_need_and_no_core_dumps_are_enough() {
        let just =
            HardLimits { cpu: 12, file: 16 << 20, stack: 64 << 20, files: 64, core: 0, ..NONE };
        check(HardLimits { data: 512 << 20, processes: 32, ..just }, None);
        assert_eq!((just.core(), NONE.core()), (0, 1));
    }

    #[test]
    fn limits_in_force_are_told_in_brackets() {
        let limits = [('v', 3 << 30, Unit::Mebibytes), ('u', 40, Unit::Count)];
        assert_eq!(brackets(&limits), " (`ulimit -v` is 3072 MiB, `ulimit -u` is 40)");
        assert_eq!(brackets(&[('v', RLIM_INFINITY, Unit::Mebibytes)]), "");
    }
}
