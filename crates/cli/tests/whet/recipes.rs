//! Every recipe in the repository is a config that this version takes.

use std::fs;
use std::path::Path;

use whetstone_config::StageFile;
use whetstone_recipe::stages::plan::Plan;

use crate::binary::whet_with;

#[test]
fn every_recipe_is_right() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/recipes");
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if fs::read_to_string(&path).unwrap().contains("[[stage]]") {
            continue;
        }
        let ran = whet_with("", &["config", "check", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}: {}{}", path.display(), ran.out, ran.err);
        seen += 1;
    }
    assert!(seen >= 3, "{seen} recipes");
}

#[test]
fn every_recipe_of_stages_can_be_planned() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/recipes");
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if fs::read_to_string(&path).unwrap().contains("[[stage]]") {
            let file = StageFile::read(&path).unwrap();
            let plan = Plan::new(file, &[]);
            let problems = plan.as_ref().err().map(|err| err.details().join("\n"));
            assert!(plan.is_ok_and(|plan| plan.stages.len() > 1), "{problems:?}");
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} recipes");
}
