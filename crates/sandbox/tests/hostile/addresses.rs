//! The objects of a program lie at the same addresses in every judge, and in every child of it: a guess that
//! rests on an address is not drawn anew.

use std::process::Command;

use whetstone_core::judgement::Isolation;

use crate::expected::judge;
use crate::support::{Stage, alone};

/// Whether this machine lets a process fix the addresses of what it executes; some containers do not.
fn can_fix() -> bool {
    let tried = Command::new("setarch").args(["--addr-no-randomize", "true"]).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        println!("SKIPPED: addresses cannot be fixed here");
    }
    can
}

/// The bits of an object's address that randomising changes, as programs tell them by passing.
fn address(stage: &Stage) -> Vec<bool> {
    let bit = |at: u32| {
        let program = format!("def g(): pass\ndef bit(): return id(g) >> {at} & 1\n");
        judge(stage, "", "assert bit() == 1", &program) == Ok("pass".to_owned())
    };
    (12..34).map(bit).collect()
}

#[test]
fn addresses_are_the_same_in_every_judge() {
    let _alone = alone();
    if !can_fix() {
        return;
    }
    for level in [Isolation::Full, Isolation::Landlock] {
        let found: Vec<_> = (0..3)
            .filter_map(|_| {
                let stage = Stage::start_with(level, 1)?;
                let found = [address(&stage), address(&stage)];
                stage.end();
                Some(found)
            })
            .collect();
        println!("at {level:?}: {found:?}");
        assert!(found.iter().all(|one| one[0] == one[1]), "children of a judge, at {level:?}");
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "judges, at {level:?}");
    }
}
