//! Types reach a use: each way in which they do has a program with an invented name at its end.

use crate::program::{assert_unknown, unknown};

const SPRITE: &str = "Phaser.Types.Physics.Arcade.SpriteWithDynamicBody.hop";

#[test]
fn variables_fields_and_chains_keep_their_type() {
    assert_unknown("let a; a = this.physics.add.sprite(1, 2, 'a'); a.hop();", &[SPRITE]);
    assert_unknown("this.a = this.physics.add.sprite(1, 2, 'a'); this.a.hop();", &[SPRITE]);
    assert_unknown("this.physics.add.sprite(1, 2, 'a').setBounce(1).setDepth(2).hop();", &[SPRITE]);
    assert_unknown(
        "const { main } = this.cameras; main.hop();",
        &["Phaser.Cameras.Scene2D.Camera.hop"],
    );
    assert_unknown(
        "const add = this.add; add.text(1, 2, 'a').hop();",
        &["Phaser.GameObjects.Text.hop"],
    );
    assert_unknown(
        "const a = ok ? this.add.image(1, 2, 'a') : this.add.sprite(1, 2, 'a'); a.hop();",
        &["Phaser.GameObjects.Image.hop"],
    );
    assert_unknown(
        "const o = { a: this.add.image(1, 2, 'a') }; o.a.hop();",
        &["Phaser.GameObjects.Image.hop"],
    );
    assert_unknown("this.cameras?.main?.hop();", &["Phaser.Cameras.Scene2D.Camera.hop"]);
    assert_unknown("this['add'].hop();", &["Phaser.GameObjects.GameObjectFactory.hop"]);
}

#[test]
fn fields_of_a_class_are_known_in_its_other_methods() {
    let source = "class Main extends Phaser.Scene {
        speed = 1;
        create() { this.a = this.physics.add.sprite(1, 2, 'a'); this.b = null; }
        update() { this.a.hop(this.speed, this.b); }
    }";
    assert_eq!(unknown(source), [SPRITE]);
}

#[test]
fn functions_of_a_scene_literal_have_its_this() {
    for literal in [
        "scene: { create() { this.add.hop(); } }",
        "scene: { create: function () { this.add.hop(); } }",
        "scene: [{ create: create }]",
        "scene: { create }",
        "scene: main",
        "scene: [main]",
    ] {
        let source = format!(
            "function create() {{ {} }} const main = {{ create() {{ {} }} }}; new Phaser.Game({{ {literal} }});",
            if literal.contains("create }") || literal.contains("create: create") {
                "this.add.hop();"
            } else {
                ""
            },
            if literal.contains("main") { "this.add.hop();" } else { "" },
        );
        assert_eq!(unknown(&source), ["Phaser.GameObjects.GameObjectFactory.hop"], "{literal}");
    }
}

#[test]
fn classes_made_by_phaser_class_have_their_base() {
    let source = "var Main = new Phaser.Class({ Extends: Phaser.Scene,
        initialize: function Main() { Phaser.Scene.call(this, 'a'); this.score = 0; },
        create: function () { this.add.hop(); this.lift(this.score); },
        lift: function () {} });";
    assert_eq!(unknown(source), ["Phaser.GameObjects.GameObjectFactory.hop"]);
    let called = "var Ship = Phaser.Class({ Extends: Phaser.GameObjects.Image, fly: function () { this.hop(); } });";
    assert_eq!(unknown(called), ["Phaser.GameObjects.Image.hop"]);
}

#[test]
fn classes_of_classes_have_the_base_below() {
    let source = "class A extends Phaser.Physics.Arcade.Sprite { jump() { this.hop(); } }
        class B extends A { jump() { super.jump(); super.hop(); this.setVelocity(1); this.play('a'); } }
        new B().hop();";
    assert_eq!(unknown(source), ["Phaser.Physics.Arcade.Sprite.hop"; 3]);
}

#[test]
fn imports_and_destructuring_of_phaser_are_followed() {
    for start in [
        "import Phaser from 'phaser'; const { Scene } = Phaser;",
        "import { Scene } from 'phaser';",
        "import * as Phaser from 'https://cdn.example/npm/phaser@3.90.0/dist/phaser.esm.js'; const Scene = Phaser.Scene;",
    ] {
        let source =
            format!("{start} class Main extends Scene {{ create() {{ this.add.hop(); }} }}");
        assert_eq!(unknown(&source), ["Phaser.GameObjects.GameObjectFactory.hop"], "{start}");
    }
}

#[test]
fn this_in_callbacks_is_that_of_their_context() {
    for call in [
        "this.input.on('pointerdown', () => { this.add.hop(); });",
        "this.input.on('pointerdown', function () { this.add.hop(); }, this);",
        "this.time.delayedCall(1, function () { this.add.hop(); }, [], this);",
        "this.time.addEvent({ delay: 1, callback: function () { this.add.hop(); }, callbackScope: this });",
        "list.forEach(function () { this.add.hop(); }.bind(this));",
        "const self = this; self.input.on('x', function () { self.add.hop(); });",
        "function fire() { this.add.hop(); } this.input.on('pointerdown', fire, this);",
    ] {
        assert_unknown(call, &["Phaser.GameObjects.GameObjectFactory.hop"]);
    }
    assert_unknown(
        "this.add.text(1, 2, 'a').on('pointerdown', function () { this.hop(); });",
        &["Phaser.GameObjects.Text.hop"],
    );
    assert_unknown(
        "const s = new Phaser.Scene('a'); s.create = function () { this.add.hop(); };",
        &["Phaser.GameObjects.GameObjectFactory.hop"],
    );
}

#[test]
fn parameters_of_callbacks_have_the_declared_types() {
    assert_unknown(
        "this.input.on('pointerdown', (pointer) => pointer.hop());",
        &["Phaser.Input.Pointer.hop"],
    );
    assert_unknown(
        "this.input.on('gameobjectdown', (p, object) => object.hop());",
        &["Phaser.GameObjects.GameObject.hop"],
    );
    assert_unknown(
        "this.tweens.add({ targets: x, onComplete: (tween) => tween.hop() });",
        &["Phaser.Tweens.Tween.hop"],
    );
    assert_unknown(
        "this.add.group().children.iterate((child) => { child.hop(); });",
        &["Phaser.GameObjects.GameObject.hop"],
    );
    assert_unknown(
        "this.add.group().getChildren().forEach((child) => child.hop());",
        &["Phaser.GameObjects.GameObject.hop"],
    );
    assert_unknown(
        "for (const child of this.add.group().getChildren()) child.hop();",
        &["Phaser.GameObjects.GameObject.hop"],
    );
    assert_unknown(
        "this.physics.add.overlap(a, b, (one, two) => { two.hop(); });",
        &["Phaser.Types.Physics.Arcade.GameObjectWithBody.hop"],
    );
    assert_unknown(
        "this.add.group().create(1, 2, 'a').setVelocity(1).hop();",
        &["Phaser.GameObjects.GameObject.hop"],
    );
}

#[test]
fn methods_that_are_handed_over_have_the_parameters_of_the_callback() {
    let source = "class Main extends Phaser.Scene {
        create() { this.physics.add.overlap(this.a, this.b, this.collect, null, this); this.a = 1; this.b = 1; }
        collect(player, coin) { coin.hop(); coin.disableBody(true, true); }
    }";
    assert_eq!(unknown(source), ["Phaser.Types.Physics.Arcade.GameObjectWithBody.hop"]);
}

#[test]
fn functions_of_the_program_return_and_take_known_values() {
    assert_unknown(
        "const make = () => this.add.image(1, 2, 'a'); make().hop();",
        &["Phaser.GameObjects.Image.hop"],
    );
    assert_unknown(
        "function draw(g) { g.hop(); } draw(this.add.graphics());",
        &["Phaser.GameObjects.Graphics.hop"],
    );
    let source = "class Hero extends Phaser.GameObjects.Sprite { constructor(scene) { super(scene, 1, 2, 'a'); scene.add.hop(); } }
        class Main extends Phaser.Scene { create() { this.hero = new Hero(this); this.hero.hop(); this.make2().hop(); } make2() { return this.add.text(1, 2, 'a'); } }";
    assert_eq!(
        unknown(source),
        [
            "Phaser.GameObjects.GameObjectFactory.hop",
            "Phaser.GameObjects.Sprite.hop",
            "Phaser.GameObjects.Text.hop"
        ]
    );
}
