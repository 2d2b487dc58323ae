//! Older kernels: Landlock of versions 1 to 5, by using no right that came later.
//!
//! Before version 3 the length of files is not guarded, so a program could cut off every file of its
//! user: such a kernel has no level `landlock`. From 3 on everything about files must hold.

use whetstone_core::judgement::Isolation;
use whetstone_sandbox::{Judge, StartError};

use crate::support::{Case, Form, Stage, alone, options};

/// What a judge at `landlock` says on a kernel with this version; `None` if it starts.
fn refused(version: u32) -> Option<String> {
    let mut options = options(1);
    (options.minimum, options.ceiling) = (Isolation::Landlock, Isolation::Landlock);
    options.landlock = version;
    match Judge::start(&options) {
        Ok(judge) => {
            assert_eq!(judge.about().landlock, version);
            None
        }
        Err(StartError::Refused(problem)) => Some(problem),
        Err(error) => panic!("{error:?}"),
    }
}

/// Holds what is about files at each version; the caller sees to it that nothing else runs.
pub(crate) fn hold_versions() {
    let kernel = Judge::start(&options(1)).unwrap().about().landlock;
    for version in 0..=2 {
        let problem = refused(version).unwrap_or_else(|| panic!("version {version} is taken"));
        let wanted = if version == 0 { "has no Landlock" } else { "cut off" };
        assert!(problem.contains(wanted) || kernel < version, "{version}: {problem}");
    }
    let families = [crate::escape::CASES, crate::users::CASES].concat();
    let cases: Vec<Case> = families.into_iter().filter(Case::is_short).collect();
    for version in 3..=5 {
        if kernel < version {
            println!("SKIPPED: this kernel's Landlock is version {kernel}, not {version}");
            continue;
        }
        let Some(stage) = Stage::start_older(version) else { continue };
        stage.hold(&cases, &[Form::Calls]);
        println!("held at Landlock version {version}: {} programs", cases.len());
        stage.end();
    }
}

#[test]
fn files_are_held_by_every_version_that_is_taken() {
    let _alone = alone();
    hold_versions();
}
