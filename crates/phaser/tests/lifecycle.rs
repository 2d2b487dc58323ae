//! Which parts of a game are seen.

use whetstone_phaser::check::Lifecycle;

use crate::program::findings;

fn parts(source: &str) -> Lifecycle {
    findings(source).lifecycle
}

const NONE: Lifecycle =
    Lifecycle { preload: false, create: false, update: false, scene_class: false, new_game: false };

#[test]
fn a_class_of_a_scene_and_a_game_are_seen() {
    let all =
        Lifecycle { preload: true, create: true, update: true, scene_class: true, new_game: true };
    assert_eq!(
        parts(
            "class A extends Phaser.Scene { preload() {} create() {} update() {} } new Phaser.Game({ scene: A });"
        ),
        all
    );
    assert_eq!(
        parts(
            "import { Scene, Game } from 'phaser'; class B extends Scene { preload() {} } class A extends B { create() {} update() {} } const g = new Game({ scene: A });"
        ),
        all
    );
    assert_eq!(
        parts(
            "var A = new Phaser.Class({ Extends: Phaser.Scene, preload: f, create: f, update: f }); new Phaser.Game({});"
        ),
        all
    );
}

#[test]
fn a_literal_of_a_scene_is_seen_without_a_class() {
    let source =
        "function create() {} new Phaser.Game({ scene: { preload() {}, create: create } });";
    assert_eq!(parts(source), Lifecycle { preload: true, create: true, new_game: true, ..NONE });
    let assigned = "const s = new Phaser.Scene('a'); s.update = function () {};";
    assert_eq!(parts(assigned), Lifecycle { update: true, ..NONE });
}

#[test]
fn other_classes_and_objects_are_no_scenes() {
    for source in [
        "class A { preload() {} create() {} update() {} }",
        "class A extends Phaser.GameObjects.Sprite { update() {} }",
        "const o = { create() {}, update() {} };",
        "new Game({ scene: 1 });",
        "// class A extends Phaser.Scene { create() {} } new Phaser.Game();",
        "Phaser.Game; 'new Phaser.Game()';",
    ] {
        assert_eq!(parts(source), NONE, "{source}");
    }
}
