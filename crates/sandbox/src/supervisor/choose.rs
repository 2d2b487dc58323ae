//! Chooses the strongest isolation that works on this machine, and records why a stronger one does not.

use std::collections::BTreeSet;
use std::path::PathBuf;

use whetstone_core::judgement::Isolation;

use super::cores;
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
    let mut why: Vec<String> = Vec::new();
    for (isolation, root) in ways(start) {
        if isolation < start.minimum {
            break;
        }
        if isolation == Isolation::Landlock && landlock < LANDLOCK_MIN {
            why.push(old_landlock(landlock));
            continue;
        }
        // There the program's own empty folder would lie over it.
        let hidden = |path: &PathBuf| path.starts_with(SCRATCH);
        if root != RootKind::None && shown(&interpreter).iter().any(hidden) {
            let path = interpreter.path.display();
            why.push(format!("{}: the interpreter {path} is in {SCRATCH}", isolation.name()));
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
        };
        let mut trial = Slot::new(0, std::sync::Arc::new(setting.clone()));
        match trial.try_out() {
            Ok(()) => {
                let better = why.into_iter().next();
                let mut about = about(start, &setting, better);
                about.control_groups = trial.has_groups();
                return Ok(ChosenIsolation { setting, about });
            }
            Err(problem) => why.push(format!("{}: {problem}", isolation.name())),
        }
    }
    let why = once_each(why).join("; ");
    Err(format!(
        "programs cannot be held at `{}` here ({why}); `whet doctor` says what this machine \
         allows, `sandbox.min_isolation` is what is asked for",
        start.minimum.name()
    ))
}

/// Without repetitions: a level has several ways, which may fail alike.
fn once_each(mut reasons: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons
}

/// Why a kernel with this version of Landlock cannot isolate programs with it alone.
fn old_landlock(version: u32) -> String {
    match version {
        0 => "landlock: the kernel has no Landlock".to_owned(),
        old => format!(
            "landlock: the kernel's Landlock, version {old}, does not keep files from being cut \
             off; {LANDLOCK_MIN} does, since Linux 6.2"
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

    #[test]
    fn a_reason_is_told_once_in_the_order_in_which_it_came_up() {
        let reasons = ["full: no", "landlock: b", "landlock: a", "landlock: b", "full: no"];
        let told = once_each(reasons.map(str::to_owned).to_vec());
        assert_eq!(told, ["full: no", "landlock: b", "landlock: a"]);
    }
}
