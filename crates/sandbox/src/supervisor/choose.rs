//! Chooses the strongest isolation that works on this machine, and records why a stronger one does not.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use whetstone_core::judgement::Isolation;

use super::cores;
use super::hard_limits::HardLimits;
use super::setting::{self, LANDLOCK_MIN, SupervisorSettings, random, ways};
use super::slot::Slot;
use crate::protocol::{About, Start};
use crate::zygote::folders::SCRATCH;
use crate::zygote::interpreter::Interpreter;
use crate::zygote::launch::RootKind;
use crate::zygote::shown;

/// The chosen isolation.
#[derive(Debug)]
pub(crate) struct ChosenIsolation {
    pub(crate) setting: SupervisorSettings,
    pub(crate) about: About,
}

/// Tries the ways, best first, each with a real child.
pub(crate) fn choose(start: &Start) -> Result<ChosenIsolation, String> {
    let interpreter = Interpreter::find(&start.python).map_err(|error| error.to_string())?;
    let landlock = setting::landlock_version(start);
    let mut why: Vec<Reason> = Vec::new();
    for (isolation, root) in ways(start) {
        if isolation < start.minimum {
            break;
        }
        if isolation == Isolation::Landlock && landlock < LANDLOCK_MIN {
            why.push(Reason { isolation, problem: old_landlock(landlock) });
            continue;
        }
        // There the program's own empty folder would lie over it.
        let hidden = |path: &PathBuf| path.starts_with(SCRATCH);
        if root != RootKind::None && shown(&interpreter).iter().any(hidden) {
            let path = interpreter.path.display();
            let problem = format!("the interpreter {path} is in {SCRATCH}");
            why.push(Reason { isolation, problem });
            continue;
        }
        let setting = SupervisorSettings {
            command: start.command.clone(),
            interpreter: interpreter.clone(),
            isolation,
            root,
            landlock,
            groups: true,
            scratch: PathBuf::from(&start.scratch),
            user_offset: u32::try_from(random() >> 32).unwrap_or(0),
            hash_seed: start.hash_seed,
            phaser: start.phaser.clone(),
            hard_limits: HardLimits::read(),
        };
        let mut trial = Slot::new(0, std::sync::Arc::new(setting.clone()));
        match trial.try_out() {
            Ok(()) => {
                let better = why.first().map(Reason::text);
                let mut about = about(start, &setting, better);
                about.control_groups = trial.has_groups();
                return Ok(ChosenIsolation { setting, about });
            }
            Err(problem) => why.push(Reason { isolation, problem }),
        }
    }
    Err(refusal(start.minimum, &why))
}

/// Why a level is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reason {
    isolation: Isolation,
    problem: String,
}

impl Reason {
    fn text(&self) -> String {
        format!("{}: {}", self.isolation.name(), self.problem)
    }
}

/// Why nothing works, in the order in which it was tried. The last way is the lowest level's simplest, so its
/// reason is what is in the way; the others follow in brackets.
fn refusal(minimum: Isolation, why: &[Reason]) -> String {
    let level = minimum.name();
    let Some(last) = why.last() else {
        return format!("programs cannot be held at `{level}` here: a lower level was asked for");
    };
    let mut text = format!("programs cannot be held at `{level}` here: {}", last.problem);
    let lacks_landlock =
        [NO_LANDLOCK, OLD_LANDLOCK].iter().any(|start| last.problem.starts_with(start));
    if minimum == Isolation::Landlock && lacks_landlock {
        text.push_str("; ");
        text.push_str(WITHOUT_LANDLOCK);
    }
    let mut told = BTreeSet::from([last.problem.as_str()]);
    let others = why.iter().filter(|reason| told.insert(&reason.problem));
    let others: Vec<String> = others.map(Reason::text).collect();
    if !others.is_empty() {
        let _ = write!(text, " ({})", others.join("; "));
    }
    text.push_str("; `whet doctor` shows what this machine supports");
    text
}

/// How the reasons of [`old_landlock`] begin.
const NO_LANDLOCK: &str = "the kernel has no Landlock";
const OLD_LANDLOCK: &str = "the kernel's Landlock, version";

/// What to do without it.
const WITHOUT_LANDLOCK: &str = "`--set sandbox.min_isolation=rlimit` judges without it: programs may then read \
                                all files that their user may read";

/// Why a kernel with this version of Landlock cannot isolate programs with it alone.
fn old_landlock(version: u32) -> String {
    match version {
        0 => NO_LANDLOCK.to_owned(),
        old => format!(
            "{OLD_LANDLOCK} {old}, does not keep files from being cut off; {LANDLOCK_MIN} does, \
             since Linux 6.2"
        ),
    }
}

fn about(start: &Start, setting: &SupervisorSettings, why_not_better: Option<String>) -> About {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let workers = match start.workers {
        0 => u32::try_from(cores).unwrap_or(1),
        workers => workers,
    };
    About {
        isolation: setting.isolation,
        why_not_better,
        landlock: setting.landlock,
        control_groups: false,
        python: setting.interpreter.path.clone(),
        python_version: setting.interpreter.version,
        workers,
        slots: cores::slots(workers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(told: &[(Isolation, &str)]) -> Vec<Reason> {
        let reason = |&(isolation, problem): &(Isolation, &str)| Reason {
            isolation,
            problem: problem.to_owned(),
        };
        told.iter().map(reason).collect()
    }

    #[test]
    fn the_reason_of_the_lowest_level_is_first_and_each_is_told_once() {
        use Isolation::{Full, Landlock};
        let why = reasons(&[(Full, "a"), (Landlock, "b"), (Landlock, "a"), (Landlock, "c")]);
        assert_eq!(
            refusal(Landlock, &why),
            "programs cannot be held at `landlock` here: c (full: a; landlock: b); `whet doctor` shows what \
             this machine supports"
        );
        assert_eq!(
            refusal(Full, &reasons(&[(Full, "a")])),
            "programs cannot be held at `full` here: a; `whet doctor` shows what this machine supports"
        );
    }

    #[test]
    fn without_landlock_the_setting_that_does_without_it_is_named_with_what_is_lost() {
        for version in [0, 2] {
            let missing = old_landlock(version);
            let why = reasons(&[(Isolation::Full, "no"), (Isolation::Landlock, &missing)]);
            let told = refusal(Isolation::Landlock, &why);
            let first = format!("`landlock` here: {missing}; `--set sandbox.min_isolation=rlimit`");
            assert!(told.contains(&first), "{told}");
            assert!(told.contains("may then read all files"), "{told}");
        }
    }
}
