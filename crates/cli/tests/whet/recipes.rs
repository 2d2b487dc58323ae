//! Every recipe in the repository is a config that this version takes.

use std::fs;
use std::path::Path;

use crate::binary::whet_with;

#[test]
fn every_recipe_is_right() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/recipes");
    let mut seen = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let ran = whet_with("", &["config", "check", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}: {}{}", path.display(), ran.out, ran.err);
        seen += 1;
    }
    assert!(seen >= 3, "{seen} recipes");
}
