//! Findings of the API check, one rule a test.

use whetstone_phaser::check::{FewArguments, MAX_FINDINGS, UnknownName};

use crate::program::{assert_unknown, findings, scene, unknown};

#[test]
fn an_unknown_method_is_found_with_its_place_and_the_nearest_name() {
    let found = findings(&scene(
        "    this.add.image(0, 0, 'a').setVelocitty(1);\n    const s = this.physics.add.sprite(0, 0, 'a');\n    s.setVelocityZ(1);",
    ));
    let expected = [
        UnknownName {
            line: 3,
            column: 31,
            what: "Phaser.GameObjects.Image.setVelocitty".into(),
            nearest: None,
        },
        UnknownName {
            line: 5,
            column: 7,
            what: "Phaser.Types.Physics.Arcade.SpriteWithDynamicBody.setVelocityZ".into(),
            nearest: Some("setVelocity".into()),
        },
    ];
    assert_eq!(found.api.unknown, expected);
    assert_eq!(found.api.resolved, 7);
}

#[test]
fn plugins_of_a_scene_are_known() {
    assert_unknown(
        "this.cameras.main.shakeScreen(100);",
        &["Phaser.Cameras.Scene2D.Camera.shakeScreen"],
    );
    assert_unknown("this.tweens.animate({});", &["Phaser.Tweens.TweenManager.animate"]);
    assert_unknown("this.time.after(1, f);", &["Phaser.Time.Clock.after"]);
    assert_unknown("this.load.picture('a', 'b');", &["Phaser.Loader.LoaderPlugin.picture"]);
    assert_unknown("this.physics.add.box(1, 2);", &["Phaser.Physics.Arcade.Factory.box"]);
    assert_unknown("this.addd.image(1, 2, 'a');", &["Phaser.Scene.addd"]);
}

#[test]
fn paths_from_phaser_are_known() {
    assert_unknown(
        "new Phaser.Geom.Hexagon(); Phaser.Math.Betwen(1, 2); Phaser.AUTOMATIC;\nuse(Phaser.Input.Keyboard.KeyCodes.SPACEBAR, Phaser.WEBGL2);",
        &[
            "Phaser.Geom.Hexagon",
            "Phaser.Math.Betwen",
            "Phaser.Input.Keyboard.KeyCodes.SPACEBAR",
            "Phaser.WEBGL2",
        ],
    );
    let fine = "use(Phaser.AUTO, Phaser.Scale.FIT, Phaser.Scale.CENTER_BOTH, Phaser.Input.Keyboard.KeyCodes.SPACE, Phaser.BlendModes.ADD, Phaser.Math.Between(1, 2), new Phaser.Geom.Rectangle(), Phaser.Math.PI2, Phaser.VERSION);";
    assert_unknown(fine, &[]);
}

#[test]
fn a_member_of_an_heir_is_missing_on_what_a_factory_made() {
    assert_unknown(
        "this.add.sprite(1, 2, 'a').setVelocity(1);",
        &["Phaser.GameObjects.Sprite.setVelocity"],
    );
    assert_unknown("this.add.image(1, 2, 'a').play('walk');", &["Phaser.GameObjects.Image.play"]);
    assert_unknown("this.physics.add.sprite(1, 2, 'a').setVelocity(1).play('walk');", &[]);
}

#[test]
fn values_of_a_typedef_that_the_engine_makes_have_its_members_alone() {
    assert_unknown(
        "const keys = this.input.keyboard.createCursorKeys(); use(keys.left.isDown, keys.leftt.isDown, keys.up.pressed);",
        &["Phaser.Types.Input.Keyboard.CursorKeys.leftt", "Phaser.Input.Keyboard.Key.pressed"],
    );
}

#[test]
fn calls_with_too_few_arguments_are_found() {
    let found = findings(&scene(
        "this.add.circle(1, 2);\nPhaser.Math.Between(1);\nthis.add.bitmapText(1, 2);\nPhaser.Math.Between(...xs);\nnew Phaser.Math.RandomDataGenerator();",
    ));
    let few = |line, column, what: &str, given, needed| FewArguments {
        line,
        column,
        what: what.into(),
        given,
        needed,
    };
    let expected = [
        few(4, 13, "Phaser.Math.Between", 1, 2),
        few(5, 10, "Phaser.GameObjects.GameObjectFactory.bitmapText", 2, 3),
    ];
    assert_eq!(found.api.few_args, expected);
    let new = findings("new Phaser.Input.Keyboard.Key();");
    assert_eq!(new.api.few_args, [few(1, 1, "new Phaser.Input.Keyboard.Key", 0, 2)]);
}

#[test]
fn findings_are_bounded() {
    let many = "Phaser.Nothing.Here; use(Phaser.Nothing);\nPhaser.Math.Between();".repeat(200);
    let found = findings(&many);
    assert_eq!(found.api.unknown.len(), MAX_FINDINGS);
    assert_eq!(found.api.few_args.len(), MAX_FINDINGS);
    let long = format!("use(Phaser.{});", "a".repeat(5000));
    assert!(unknown(&long)[0].chars().count() < 200);
}

#[test]
fn findings_read_back_from_json() {
    let found = findings(&scene("this.add.imagee(1); Phaser.Math.Between();"));
    let text = serde_json::to_string(&found).unwrap();
    assert!(
        text.starts_with(r#"{"parse":{"ok":true,"mode":"module","errors":[]},"api":{"resolved":"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<whetstone_phaser::check::Findings>(&text).unwrap(), found);
}
